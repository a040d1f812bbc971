"""What a page still says after it has been left must not bring it back.

A browser says with everything which page it shows. Between a click on another page and that page's arrival this is the
old one: a canvas that tells where the person is, or a fragment that polls, just then made Streamlit start a run of the
old page. The browser threw the new page's elements away for it, could not place what came next ("Cannot set a node at
a delta path") and took no more keys; or the two requests were joined into one and the click was lost. A button pressed
just before a link is even told of after it. So whatever a fragment or a button says counts for the page last asked for:
a fragment that is not on it is passed over by Streamlit, and the button's callback is run all the same.
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
    """Between the browser and Streamlit: knows which page was last asked for, one for each connection."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "websocket" or not scope["path"].endswith(_STREAM):
            await self.app(scope, receive, send)
            return
        visit = Visit()

        async def heard() -> Message:
            message = await receive()
            return {**message, "bytes": visit.heard(message["bytes"])} if message.get("bytes") else message

        async def said(message: Message) -> None:
            if message.get("bytes"):
                visit.said(message["bytes"])
            await send(message)

        await self.app(scope, heard, said)


class Visit:
    """The page one browser tab is on, or on its way to."""

    def __init__(self) -> None:
        self.page = ""

    def heard(self, content: bytes) -> bytes:
        """What the browser said, with the page it is on its way to."""
        message = _parsed(BackMsg, content)
        if message is None or message.WhichOneof("type") != "rerun_script":
            return content
        asked = message.rerun_script
        if not asked.fragment_id and not _is_pressed(asked):
            self.page = asked.page_script_hash or self.page
            return content
        if not self.page or asked.page_script_hash == self.page:
            return content
        asked.page_script_hash = self.page
        asked.page_name = ""
        return bytes(message.SerializeToString())

    def said(self, content: bytes) -> None:
        """What Streamlit answers: it may send the browser to another page, too.

        The run of a fragment never does; one that was asked for before a click on another page may begin after it.
        """
        message = _parsed(ForwardMsg, content) if len(content) <= _LONGEST_READ else None
        kind = None if message is None else message.WhichOneof("type")
        if message is not None and kind in ("new_session", "navigation") and not message.metadata.run.fragment_ids:
            self.page = getattr(message, kind).page_script_hash or self.page


def _is_pressed(asked: Any) -> bool:
    """Does the message tell of a button? Whoever only goes to a page presses none."""
    return any(
        state.WhichOneof("value") == "trigger_value" and state.trigger_value for state in asked.widget_states.widgets
    )


def _parsed(kind: Any, content: bytes) -> Any:
    try:
        return kind.FromString(content)
    except DecodeError:
        return None
