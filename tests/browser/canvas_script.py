"""A page with nothing but canvases, steered by its address: what the canvas tests look at."""

import os
import time
from pathlib import Path

import streamlit as st

from miml_core.project import Project
from pages.widgets.app.open_projects import open_once
from pages.widgets.canvas import canvas

st.set_page_config("Canvas", layout="wide")
asked = st.query_params
project = Project(open_once(Path(os.environ["CANVAS_PROJECTS"]) / asked.get("in", "sound") / "project").store, "Ann")

away = st.toggle("Away", key="away")
st.button("Run again", key="again")
typed = st.text_input("Note", key="note")
ids = project.bag_ids()
time.sleep(float(asked.get("early", 0)))
if not away:
    state = canvas(
        project,
        int(asked.get("bag", ids[0])),
        mode=asked.get("mode", "review"),
        queue=ids,
        height=int(asked.get("height", 400)),
        key="editor",
    )
    st.caption(f"bag {state.bag_id} segment {state.segment_id} stored {state.stored}")
time.sleep(float(asked.get("sleep", 0)))
st.caption("the end")
