"""Welcome: three doors - the demo, a project, a folder of recordings or pictures."""

import streamlit as st

from pages.widgets.doors import demo_door, new_project_door, open_project_door
from pages.widgets.guard import told

st.title("Bagtag")
st.markdown("Tag the recording. Bagtag labels the calls.")

demo, known, new = st.columns(3, gap="medium")
with demo, st.container(border=True, height="stretch"), told():
    demo_door()
with known, st.container(border=True, height="stretch"), told():
    open_project_door()
with new, st.container(border=True, height="stretch"), told():
    new_project_door()
