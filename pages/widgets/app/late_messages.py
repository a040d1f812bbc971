"""Keep what a page sends after it was left from bringing it back.

Works around two faults of Streamlit 1.67. The browser names its page with every message, and until the new page has
arrived this is the old one (`sendRerunBackMsg` in App.tsx uses `currentPageScriptHash`, which only `new_session` sets).
The server joins requests that wait, and takes the page of the later one even if that is of a fragment
(`ScriptRequests._request_rerun_locked`). So a canvas that reports its state, or a button whose message is sent after
that of a link, just then starts a run of the old page: the click on the link is lost, or the browser cannot place what
comes next ("Bad delta path index") and takes no more keys.

Here what a fragment or a button sends counts for the page last asked for: a fragment that is not on it is passed over
by Streamlit, and the button's callback is run all the same. Without this, in `tests/browser/test_pages.py`,
`test_a_canvas_that_reports_while_its_page_is_left_does_not_bring_the_page_back` and
`test_a_click_is_not_lost_when_the_page_is_left_at_once` fail. It can go when they pass without it: when the browser
names the page it is going to, or the server ignores the page of a fragment's request.
"""

from __future__ import annotations

from typing import Any

from google.protobuf.message import DecodeError
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

_STREAM = "/_stcore/stream"
_LONGEST_READ = 64 * 1024
"""Messages that name a page are far shorter; pictures and tables need not be looked into."""


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
            message = await receive()
            return {**message, "bytes": visit.from_browser(message["bytes"])} if message.get("bytes") else message

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

    def from_browser(self, content: bytes) -> bytes:
        """Return the browser's message, with the page it is on its way to."""
        message = _parsed(BackMsg, content)
        if message is None or message.WhichOneof("type") != "rerun_script":
            return content
        request = message.rerun_script
        if not request.fragment_id and not _is_pressed(request):
            self.page = self._awaited = request.page_script_hash or self.page
            return content
        if not self.page or request.page_script_hash == self.page:
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
        kind = None if message is None else message.WhichOneof("type")
        if kind == "page_not_found":
            self._awaited = ""
        if message is None or kind not in ("new_session", "navigation") or message.metadata.run.fragment_ids:
            return
        page = getattr(message, kind).page_script_hash or self.page
        if self._awaited in ("", page):
            self.page, self._awaited = page, ""


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
