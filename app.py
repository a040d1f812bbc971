"""The front door: Streamlit's app with the canvas's own routes beside it. Start it with `streamlit run app.py`."""

import streamlit as st
from starlette.middleware import Middleware

from pages.widgets.late_messages import LateMessages
from pages.widgets.routes import canvas_routes

app = st.App("pages/shell.py", routes=canvas_routes(), middleware=[Middleware(LateMessages)])

if __name__ == "__main__":
    app.run()
