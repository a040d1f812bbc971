"""What a page and Streamlit sent each other: printed when a page does not arrive."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any

from google.protobuf.message import DecodeError
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

_KEPT = 200
_KEPT_ERRORS = 20
_CLICKED = "clicked: "
SAY_CLICKS = f"""addEventListener("click", event => {{
  const text = event.target.innerText ?? event.target.tagName;
  console.debug("{_CLICKED}" + text.slice(0, 40));
}}, true);"""
"""For all pages of a window: what is clicked becomes a message of the console."""


class MessageLog:
    """The requests for runs and their beginnings and ends, from when the page is first opened."""

    def __init__(self, page: Any) -> None:
        self.lines: list[str] = []
        self.errors: list[str] = []
        """What scripts of the page failed with: Streamlit shows an empty page after an error in its own code."""
        page.on("websocket", self._listen)
        page.on("pageerror", lambda error: self._add_error(f"{error}\n{error.stack or ''}"))
        page.on("console", self._note_console)

    def _note_console(self, said: Any) -> None:
        if said.type == "error":
            self._add_error(said.text)
        elif said.text.startswith(_CLICKED):
            self._add(said.text)

    def _listen(self, socket: Any) -> None:
        self._add("connected")
        socket.on("framesent", lambda content: self._sent(content))
        socket.on("framereceived", lambda content: self._received(content))
        socket.on("close", lambda _: self._add("closed"))

    def _add(self, line: str) -> None:
        self.lines = [*self.lines, f"{time.monotonic():.3f} {line}"][-_KEPT:]

    def _sent(self, content: Any) -> None:
        with suppress(DecodeError, TypeError):
            message = BackMsg.FromString(content)
            if message.WhichOneof("type") == "rerun_script":
                asked = message.rerun_script
                pressed = [one.id[-20:] for one in asked.widget_states.widgets if one.trigger_value]
                self._add(f"run {asked.page_script_hash[:8]} fragment {asked.fragment_id[:8]} pressed {pressed}")

    def _received(self, content: Any) -> None:
        with suppress(DecodeError, TypeError):
            message = ForwardMsg.FromString(content)
            kind = message.WhichOneof("type")
            fragments = [one[:8] for one in message.metadata.run.fragment_ids]
            if kind in ("new_session", "navigation"):
                self._add(f"{kind} {getattr(message, kind).page_script_hash[:8]} fragments {fragments}")
            elif kind == "script_finished":
                self._add(f"finished {message.script_finished} fragments {fragments}")

    def _add_error(self, text: str) -> None:
        self._add("error, see below")
        self.errors = [*self.errors, f"{time.monotonic():.3f} {text}"][-_KEPT_ERRORS:]

    def __str__(self) -> str:
        return "\n".join([*self.lines, *self.errors])
