"""Start page: open the demo, a project, or a folder of recordings or pictures."""

import streamlit as st

from pages.widgets.errors import show_errors
from pages.widgets.start.start_cards import demo_card, new_project_card, open_project_card

st.title("Bagtag")
st.markdown("Tag the recording. Bagtag labels the calls.")

demo, known, new = st.columns(3, gap="medium")
with demo, st.container(border=True, height="stretch"), show_errors():
    demo_card()
with known, st.container(border=True, height="stretch"), show_errors():
    open_project_card()
with new, st.container(border=True, height="stretch"), show_errors():
    new_project_card()
