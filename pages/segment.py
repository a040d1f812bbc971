"""Segment: turn the knobs, see at once what they would find, apply them; or draw by hand."""

import streamlit as st

from pages.widgets.app.session import the_project
from pages.widgets.canvas import canvas
from pages.widgets.current_bag import look_at
from pages.widgets.errors import show_errors
from pages.widgets.guidance import empty_state, hint
from pages.widgets.segment_queue import bags_to_segment
from pages.widgets.segmentation.apply_settings import apply_settings, learn_segmenter
from pages.widgets.segmentation.preview import part_tried, preview
from pages.widgets.segmentation.segment_settings import segment_settings
from pages.widgets.text import count

project = the_project()


@st.fragment
@show_errors()
def segment_editor() -> None:
    """Knobs and the two canvases: turning a knob runs only this."""
    bags, start = bags_to_segment(project)
    turned = segment_settings(project)
    buttons = st.container(horizontal=True, vertical_alignment="center")
    stored, tried = st.columns(2, gap="small")
    with stored:
        st.markdown("**Stored** · draw, merge, split and delete here")
        state = canvas(project, start, mode="segment", queue=bags, height=260, around=455, key="segment.canvas")
    look_at(project, state.bag_id)
    with buttons:
        apply_settings(project, state.bag_id, turned)
        learn_segmenter(project)
    with tried, show_errors():
        with st.spinner("Trying the knobs …"):
            bag = project.bag(state.bag_id)
            name, found = preview(project, bag, turned)
        st.markdown(f"**With these knobs** · {count(found, 'segment')}{part_tried(project, bag)}")
        canvas(project, state.bag_id, mode="preview", preview=name, height=260, around=455, key="segment.preview")


with show_errors():
    if project.progress().n_bags == 0:
        empty_state(
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
