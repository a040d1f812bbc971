"""Two pages and a fragment, on a server that stands still whenever it has read a fragment's request.

It goes on when no script runs any more, as on a machine that is busy in that moment: what the scripts have drawn
waits for the server.
"""

import threading
import time

import streamlit as st
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.proto.BackMsg_pb2 import BackMsg

from pages.widgets.app.server import lifespan, middleware


class StandStill:
    """Between Bagtag's middleware and Streamlit."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def receive_late() -> Message:
            message = await receive()
            if message.get("bytes") and BackMsg.FromString(message["bytes"]).rerun_script.fragment_id:
                while any("ScriptRunner" in thread.name for thread in threading.enumerate()):
                    time.sleep(0.005)
            return message

        await self.app(scope, receive_late if scope["type"] == "websocket" else receive, send)


app = st.App("stalled_script.py", middleware=[*middleware(), Middleware(StandStill)], lifespan=lifespan)
