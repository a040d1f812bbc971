"""A page with nothing but canvases, controlled by its address: what the canvas tests use."""

import os
import time
from pathlib import Path

import streamlit as st

from miml_core.project import Project
from pages.widgets.app.open_projects import open_once
from pages.widgets.canvas import canvas, request_bag
from pages.widgets.follow import follow_server

st.set_page_config("Canvas", layout="wide")
asked = st.query_params
folder = Path(os.environ["CANVAS_PROJECTS"]) / asked.get("in", "sound") / "project"
project = Project(open_once(folder).store, "Ann")
st.session_state.runs = st.session_state.get("runs", 0) + 1
if "bag" in asked and st.session_state.runs == 1:
    request_bag(project, int(asked["bag"]))

follow_server()
away = st.toggle("Away", key="away")
st.button("Run again", key="again")
st.text_input("Note", key="note")
while "hold" in asked and Path(asked["hold"]).exists():
    time.sleep(0.02)
if not away:
    order = {"order": asked["order"]} if "order" in asked else {"show": asked.get("show", "all"), "sort": "added"}
    shown = canvas(
        project,
        mode=asked.get("mode", "review"),
        queue=order,
        report_bag="report" in asked,
        height=int(asked.get("height", 400)),
        key="editor",
    )
    st.caption(f"bag {shown}")
st.caption(f"page runs: {st.session_state.runs}")
time.sleep(float(asked.get("sleep", 0)))
