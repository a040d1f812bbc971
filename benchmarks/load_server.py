"""The app as people start it, with one project open and its address and token written to a file for `bench_load`."""

import json
import os
from pathlib import Path

import streamlit as st

from pages.widgets.app.open_projects import key_of, open_once
from pages.widgets.app.server import lifespan, middleware
from pages.widgets.routes import canvas_routes
from pages.widgets.routes.auth import TOKEN

_folder = Path(os.environ["BAGTAG_LOAD_PROJECT"])
open_once(_folder)
_part = Path(os.environ["BAGTAG_LOAD_FILE"]).with_suffix(".part")
_part.write_text(json.dumps({"token": TOKEN, "key": key_of(_folder)}))
_part.replace(os.environ["BAGTAG_LOAD_FILE"])

app = st.App("../pages/shell.py", routes=canvas_routes(), middleware=middleware(), lifespan=lifespan)
