"""Keep what a page sends at the wrong moment from bringing another page back, or from leaving a page half drawn.

Works around four faults of Streamlit 1.67.

1. The browser names its page with every message, and until the new page has arrived this is the old one
   (`sendRerunBackMsg` in App.tsx uses `currentPageScriptHash`, which only `new_session` sets). The server joins
   requests that wait, and takes the page of the later one even if that is of a fragment
   (`ScriptRequests._request_rerun_locked`). So a canvas that reports its state, or a button whose message is sent
   after that of a link, just then starts a run of the old page: the click on the link is lost, or the browser cannot
   place what comes next ("Bad delta path index") and takes no more keys. Here what a fragment or a button sends
   counts for the page last asked for: a fragment that is not on it is passed over by Streamlit, and the button's
   callback is run all the same. What a fragment sends by itself (`run_every`) while another page is awaited is
   dropped: it is sent again as long as the fragment exists.
2. For the same reason a link that is clicked in the moment in which the server itself switches to another page
   (`st.switch_page`) is lost: it is asked for again, once.
3. A button's trigger is stored at once, but sent a moment later (`setTriggerValue` in WidgetStateManager.ts). A
   fragment that runs by itself in between (which happens if the browser was busy) sends the trigger along, so that
   the callback runs twice. Here triggers are removed from what fragments send by themselves; the button's own message
   follows.
4. A request that is read when a run has just ended starts another script runner, and what the ended run has drawn but
   not delivered yet is discarded (`AppSession.request_rerun`, whose comment describes this, and "Ignoring event from
   non-current ScriptRunner"; https://github.com/streamlit/streamlit/issues/9921). If a fragment that runs by itself
   asks in that moment, a page stays half drawn, or a dialog does not show what a click in it has changed. Here what a
   fragment sends by itself is dropped while a page, or a fragment in which a person did something, is awaited or
   being drawn. If another run begins before the end of that one was sent, its result was lost, and it is asked for
   again with the next message of a fragment.

Without this, in `tests/browser/test_pages.py`,
`test_a_canvas_that_reports_while_its_page_is_left_does_not_bring_the_page_back`,
`test_a_click_is_not_lost_when_the_page_is_left_at_once` and `test_a_click_on_a_busy_page_is_done_once` fail, and
`tests/browser/test_half_drawn.py`. It can go when they pass without it: when the browser names the page it is going
to, or the server ignores the page of a fragment's request, when requests by `run_every` have no triggers, and when a
script runner that has ended still delivers what it has drawn.
"""

from __future__ import annotations

import time
from typing import Any

from google.protobuf.message import DecodeError
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

_STREAM = "/_stcore/stream"
_LONGEST_READ = 64 * 1024
"""Messages that name a page are far shorter; pictures and tables need not be looked into."""
_LOST_AFTER_S = 1.0
"""A run that was asked for begins at once when the run before it has ended; after this, it was lost."""
_WHOLE_PAGE = ""
_TRIGGERS = ("trigger_value", "string_trigger_value", "json_trigger_value", "chat_input_value")


class LateMessages:
    """Middleware between the browser and Streamlit that keeps, per connection, the page last asked for."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "websocket" or not scope["path"].endswith(_STREAM):
            await self.app(scope, receive, send)
            return
        visit = Visit()

        async def receive_message() -> Message:
            while True:
                message = await receive()
                if not message.get("bytes"):
                    return message
                if (content := visit.from_browser(message["bytes"])) is not None:
                    return {**message, "bytes": content}

        async def send_message(message: Message) -> None:
            if message.get("bytes"):
                visit.from_server(message["bytes"])
            await send(message)

        await self.app(scope, receive_message, send_message)


class Visit:
    """The page one browser tab is on, or on its way to."""

    def __init__(self) -> None:
        self.page = ""
        self._awaited = ""
        """The page that the browser asked for, until its run begins: runs that begin before were asked for earlier."""
        self._request = b""
        """The message that asked for it, as long as it may be sent once more."""
        self._other = ""
        """The page whose run began while another one is awaited."""
        self._ended_at: float | None = None
        """When that run ended."""
        self._asked_at: float | None = None
        """When a person did something whose run has not begun yet."""
        self._used: set[str] = set()
        """Fragments in which the person did something, until a run of theirs has ended."""
        self._drawing: set[str] = set()
        """Those of them whose run has begun but not ended yet; `_WHOLE_PAGE` for a page."""
        self._half_drawn: set[str] = set()
        """Those whose result was discarded."""

    def from_browser(self, content: bytes) -> bytes | None:
        """Return the browser's message, with the page it is on its way to; None if it is to be dropped."""
        message = _parsed(BackMsg, content)
        if message is None or message.WhichOneof("type") != "rerun_script":
            return content
        request = message.rerun_script
        if not request.is_auto_rerun:
            self._asked_at = time.monotonic()
        if self._is_lost() and (again := self._ask_again(request.is_auto_rerun)):
            return again
        if not request.fragment_id and not _is_pressed(request):
            self.page = self._awaited = request.page_script_hash or self.page
            self._request, self._other, self._ended_at = content, "", None
            return content
        if request.is_auto_rerun and self._is_drawing():
            return None
        if _WHOLE_PAGE in self._half_drawn or (self._half_drawn and request.is_auto_rerun):
            return self._ask_for_half_drawn(message)
        if not request.is_auto_rerun:
            self._used.add(request.fragment_id)
        is_late = bool(self.page) and request.page_script_hash != self.page
        if request.is_auto_rerun and (is_late or _remove_triggers(request)):
            return None if is_late else bytes(message.SerializeToString())
        if not is_late:
            return content
        request.page_script_hash = self.page
        request.page_name = ""
        return bytes(message.SerializeToString())

    def from_server(self, content: bytes) -> None:
        """Note what Streamlit sends: it may send the browser to another page, too.

        The run of a fragment never does; one that was asked for before a click on another page may begin after it. Nor
        does the run of a page that begins while another one is awaited: the server switches to a project's library,
        say, when the links to its pages can already be clicked.
        """
        message = _parsed(ForwardMsg, content) if len(content) <= _LONGEST_READ else None
        if message is None:
            return
        kind, fragments = message.WhichOneof("type"), set(message.metadata.run.fragment_ids)
        if kind == "new_session":
            self._note_begin(fragments)
        elif kind == "script_finished":
            self._drawing = set()
            self._used -= fragments
        if fragments:
            return
        if kind == "page_not_found":
            self._awaited = ""
        elif kind == "script_finished" and self._awaited and self._other:
            self._ended_at = time.monotonic()
        elif kind in ("new_session", "navigation"):
            page = getattr(message, kind).page_script_hash or self.page
            if self._awaited in ("", page):
                self.page, self._awaited, self._other = page, "", ""
            elif kind == "new_session":
                self._other = page
            self._ended_at = None

    def _note_begin(self, fragments: set[str]) -> None:
        """Note the run that begins: of these fragments, or of the whole page."""
        self._half_drawn |= self._drawing  # its end would have been sent before
        self._half_drawn = self._half_drawn - fragments if fragments else set()
        self._drawing = fragments & self._used if fragments else {_WHOLE_PAGE}
        if self._drawing:
            self._asked_at = None

    def _is_drawing(self) -> bool:
        """Return whether the effect of what a person did is being drawn, or about to be."""
        if self._drawing:
            return True
        return self._asked_at is not None and time.monotonic() - self._asked_at < _LOST_AFTER_S

    def _ask_for_half_drawn(self, message: Any) -> bytes:
        """Return a fragment's message as a request for what was lost; a button that was pressed stays so."""
        request = message.rerun_script
        if request.is_auto_rerun:
            _remove_triggers(request)
        request.fragment_id, request.is_auto_rerun = min(self._half_drawn), False  # the whole page first
        request.page_script_hash, request.page_name = self.page, ""
        self._half_drawn.discard(request.fragment_id)
        self._used.add(request.fragment_id)
        self._asked_at = time.monotonic()
        return bytes(message.SerializeToString())

    def _is_lost(self) -> bool:
        """Return whether the run of the awaited page should have begun by now."""
        return self._ended_at is not None and time.monotonic() - self._ended_at > _LOST_AFTER_S

    def _ask_again(self, instead_of_poll: bool) -> bytes:
        """Return the request for the awaited page once more; nothing if it was lost again, or the person did more."""
        again, self._request, self._ended_at = self._request if instead_of_poll else b"", b"", None
        if not again:
            self.page, self._awaited, self._other = self._other, "", ""
        return again


def _remove_triggers(request: Any) -> bool:
    """Remove the values of buttons that were just pressed; return whether there were any."""
    states = list(request.widget_states.widgets)
    kept = [state for state in states if state.WhichOneof("value") not in _TRIGGERS]
    if len(kept) < len(states):
        del request.widget_states.widgets[:]
        request.widget_states.widgets.extend(kept)
    return len(kept) < len(states)


def _is_pressed(request: Any) -> bool:
    """Return whether the message is of a button; a change of page presses none."""
    return any(
        state.WhichOneof("value") == "trigger_value" and state.trigger_value for state in request.widget_states.widgets
    )


def _parsed(kind: Any, content: bytes) -> Any:
    try:
        return kind.FromString(content)
    except DecodeError:
        return None
