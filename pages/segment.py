"""Segment: turn the knobs, see at once what they would find, apply them; or draw by hand."""

import streamlit as st

from pages.widgets.apply_settings import apply_settings
from pages.widgets.canvas import canvas
from pages.widgets.current_bag import look_at
from pages.widgets.empty import empty
from pages.widgets.guard import told
from pages.widgets.hints import hint
from pages.widgets.knobs import knobs
from pages.widgets.learn_segmenter import learn_segmenter
from pages.widgets.preview import part_tried, preview
from pages.widgets.segment_queue import bags_to_segment
from pages.widgets.session import the_project
from pages.widgets.words import count

project = the_project()


@st.fragment
@told()
def segment_editor() -> None:
    """Knobs and the two canvases: turning a knob runs only this."""
    bags, start = bags_to_segment(project)
    turned = knobs(project)
    buttons = st.container(horizontal=True, vertical_alignment="center")
    stored, tried = st.columns(2, gap="small")
    with stored:
        st.markdown("**Stored** · draw, merge, split and delete here")
        state = canvas(project, start, mode="segment", queue=bags, height=260, around=455, key="segment.canvas")
    look_at(project, state.bag_id)
    with buttons:
        apply_settings(project, state.bag_id, turned)
        learn_segmenter(project)
    with tried, told():
        with st.spinner("Trying the knobs …"):
            bag = project.bag(state.bag_id)
            name, found = preview(project, bag, turned)
        st.markdown(f"**With these knobs** · {count(found, 'segment')}{part_tried(project, bag)}")
        canvas(project, state.bag_id, mode="preview", preview=name, height=260, around=455, key="segment.preview")


with told():
    if project.progress().n_bags == 0:
        empty(
            "There is nothing to segment yet",
            "Add recordings or pictures first.",
            icon="graphic_eq",
            page="library.py",
            link="Library",
        )
    else:
        hint(
            project,
            "segment",
            "Segments are found by themselves: what stands out of the background. Turn "
            f"**{'Sensitivity' if project.kind == 'sound' else 'Segments a picture'}** and watch the right side; wrong "
            "ones do little harm, missing ones cannot be labelled.",
        )
        segment_editor()
