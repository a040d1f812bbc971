"""The app: Streamlit with the media and edit routes of the canvas. Start it with `streamlit run app.py`."""

import streamlit as st

from pages.widgets.app.server import lifespan, middleware
from pages.widgets.routes import canvas_routes

app = st.App("pages/shell.py", routes=canvas_routes(), middleware=middleware(), lifespan=lifespan)

if __name__ == "__main__":
    app.run()
