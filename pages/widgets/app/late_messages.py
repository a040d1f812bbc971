"""Keep what a page sends at the wrong moment from bringing another page back, or from being done twice.

Works around four faults of Streamlit 1.67.

1. The browser names its page with every message, and until the new page has arrived this is the old one
   (`sendRerunBackMsg` in App.tsx uses `currentPageScriptHash`, which only `new_session` sets). The server joins
   requests that wait, and takes the page of the later one even if that is of a fragment
   (`ScriptRequests._request_rerun_locked`). So a canvas that reports its state, or a button whose message is sent
   after that of a link, just then starts a run of the old page: the click on the link is lost, or the browser cannot
   place what comes next ("Bad delta path index") and takes no more keys. Here what a fragment or a button sends
   counts for the page last asked for: a fragment that is not on it is passed over by Streamlit, and the button's
   callback is run all the same; so does a value that was changed on the page that was left. What a fragment sends by
   itself (`run_every`) while another page is awaited is dropped: it is sent again as long as the fragment exists.
2. For the same reason a link that is clicked in the moment in which the server itself switches to another page
   (`st.switch_page`) is lost: it is asked for again, once.
3. A button's trigger is stored at once, but sent a moment later (`setTriggerValue` in WidgetStateManager.ts). A
   fragment that runs by itself in between (which happens if the browser was busy) sends the trigger along, so that
   the callback runs twice. Here triggers are removed from what fragments send by themselves; the button's own message
   follows.
4. The browser may not be able to place what a fragment has drawn if the next page arrives at the same time: it fails
   with "Cannot set a node at a delta path" (`SetNodeByDeltaPathVisitor`), and shows an empty page from then on. Here
   what a fragment of the page that is being left draws is not sent to the browser.

Without this, in `tests/browser/test_pages.py`,
`test_a_canvas_that_reports_while_its_page_is_left_does_not_bring_the_page_back`,
`test_a_click_is_not_lost_when_the_page_is_left_at_once` and `test_a_click_on_a_busy_page_is_done_once` fail. It can go
when they pass without it: when the browser names the page it is going to, or the server ignores the page of a
fragment's request, and when requests by `run_every` have no triggers. The fourth fault was seen a few times on busy
computers only; `tests/pages/test_late_messages.py` tests what is done about it.
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
_GIVEN_UP_AFTER_S = 30.0
"""A page is awaited no longer if for this time nothing has run: its run was stopped before it began."""
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
            if not message.get("bytes") or visit.from_server(message["bytes"]):
                await send(message)

        await self.app(scope, receive_message, send_message)


class Visit:
    """The page one browser tab is on, or on its way to."""

    def __init__(self) -> None:
        self.page = ""
        self._shown = ""
        """The page whose run began last. The browser names it as soon as it has read of it."""
        self._left = ""
        """The one before: the browser names it until then."""
        self._awaited = ""
        """The page that the browser asked for, until its run begins: runs that begin before were asked for earlier."""
        self._request = b""
        """The message that asked for it, as long as it may be sent once more."""
        self._is_elsewhere = False
        """Whether the run of another page began while one is awaited."""
        self._ended_at: float | None = None
        """When a link was clicked or the last run ended; None while one goes on."""
        self._is_left_behind = False
        """Whether what the server sends is of a fragment that runs while another page is awaited."""
        self._values: dict[str, bytes] = {}
        """What the browser last sent of each widget."""

    def from_browser(self, content: bytes) -> bytes | None:
        """Return the browser's message, with the page it is on its way to; None if it is to be dropped."""
        message = _parsed(BackMsg, content)
        if message is None or message.WhichOneof("type") != "rerun_script":
            return content
        request = message.rerun_script
        changes_values = self._note_values(request)
        if self._is_lost() and (again := self._ask_again(request.is_auto_rerun)):
            return again
        if self._is_link(request, changes_values):
            self.page = self._awaited = request.page_script_hash or self.page
            self._request, self._is_elsewhere = content, False
            if self._ended_at is not None:
                self._ended_at = time.monotonic()
            return content
        is_late = bool(self.page) and request.page_script_hash != self.page
        if request.is_auto_rerun and (is_late or _remove_triggers(request)):
            return None if is_late else bytes(message.SerializeToString())
        if not is_late:
            return content
        request.page_script_hash = self.page
        request.page_name = ""
        return bytes(message.SerializeToString())

    def from_server(self, content: bytes) -> bool:
        """Note what Streamlit sends, and return whether the browser needs it: it may be sent to another page, too.

        The run of a fragment never does; one that was asked for before a click on another page may begin after it. Nor
        does the run of a page that begins while another one is awaited: the server switches to a project's library,
        say, when the links to its pages can already be clicked.
        """
        message = _parsed(ForwardMsg, content) if len(content) <= _LONGEST_READ else None
        if message is None:
            return not self._is_left_behind
        kind, of_fragments = message.WhichOneof("type"), bool(message.metadata.run.fragment_ids)
        needed = not self._is_left_behind or kind not in ("new_session", "delta", "script_finished")
        if kind == "new_session":
            self._ended_at = None
            self._is_left_behind = of_fragments and bool(self._awaited)
            needed = not self._is_left_behind
        elif kind == "script_finished":
            self._ended_at = time.monotonic()
            self._is_left_behind = False
        if of_fragments:
            return needed
        if kind == "page_not_found":
            self._awaited = ""
        elif kind in ("new_session", "navigation"):
            page = getattr(message, kind).page_script_hash or self.page
            if kind == "new_session" and page != self._shown:
                self._left, self._shown = self._shown, page
            if self._awaited in ("", page):
                self.page, self._awaited, self._is_elsewhere = page, "", False
            elif kind == "new_session":
                self._is_elsewhere = True
        return needed

    def _note_values(self, request: Any) -> bool:
        """Note the values of all widgets; return whether one has changed since the message before."""
        values = {
            state.id: bytes(state.SerializeToString(deterministic=True))
            for state in request.widget_states.widgets
            if state.WhichOneof("value") not in _TRIGGERS
        }
        changed = any(self._values.get(key, value) != value for key, value in values.items())
        self._values.update(values)
        return changed

    def _is_link(self, request: Any, changes_values: bool) -> bool:
        """Return whether the message asks for a page; otherwise something was done on the page it names."""
        if request.fragment_id or _is_pressed(request):
            return False
        page = request.page_script_hash
        if page == self._shown and not self._awaited:
            return False
        return page not in (self._shown, self._left) or not changes_values

    def _is_lost(self) -> bool:
        """Return whether the run of the awaited page should have begun by now."""
        if not self._awaited or self._ended_at is None:
            return False
        return time.monotonic() - self._ended_at > (_LOST_AFTER_S if self._is_elsewhere else _GIVEN_UP_AFTER_S)

    def _ask_again(self, instead_of_poll: bool) -> bytes:
        """Return the request for the awaited page once more; nothing if it was lost again, or the person did more."""
        again, self._request = self._request if instead_of_poll and self._is_elsewhere else b"", b""
        if again:
            self._ended_at = time.monotonic()
        else:
            self.page, self._awaited, self._is_elsewhere = self._shown, "", False
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
