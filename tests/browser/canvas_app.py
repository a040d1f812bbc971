"""The app of the canvas tests: the real routes and checks around `canvas_script`."""

import streamlit as st

from pages.widgets.app.server import lifespan, middleware
from pages.widgets.routes import canvas_routes

app = st.App("canvas_script.py", routes=canvas_routes(), middleware=middleware(), lifespan=lifespan)
