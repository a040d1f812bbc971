"""Segment: change the settings, see at once what they would detect, apply them; or draw by hand."""

import streamlit as st

from miml_core.project import Project
from pages.widgets.app.session import the_project
from pages.widgets.canvas import canvas, reported_bag
from pages.widgets.errors import show_errors
from pages.widgets.guidance import empty_state, hint
from pages.widgets.segmentation.apply_settings import apply_settings, learn_segmenter
from pages.widgets.segmentation.preview import preview, previewed_part_text
from pages.widgets.segmentation.segment_settings import segment_settings
from pages.widgets.text import count

_CANVAS = "segment.canvas"
_EXPLAINED = {
    "sound": "Everything that stands out from the background is detected. Change **Sensitivity**",
    "picture": "Every picture is divided into regions. Change **Segments per picture**",
}


@st.fragment
@show_errors()
def segment_editor(project: Project) -> None:
    """Show the settings, the stored segments and those the settings would detect; a change runs only this."""
    settings = segment_settings(project)
    buttons = st.container(horizontal=True, vertical_alignment="center", key="segment-apply")
    stored, tried = st.columns(2, gap="small")
    with stored:
        st.markdown("**Stored** · draw, merge, split and delete here")
        bag_id = canvas(
            project,
            mode="segment",
            queue={"show": "all", "sort": "added", "bags": project.progress().n_bags},
            report_bag=True,
            height=260,
            around=455,
            key=_CANVAS,
        )
    if bag_id is None:  # the browser reports the bag a moment after the canvas is shown; nothing moves when it does
        buttons.markdown("**Apply**", width="content")
        return
    with buttons:
        apply_settings(project, bag_id, settings, lambda: reported_bag(_CANVAS))
        learn_segmenter(project)
    with tried, show_errors():
        with st.spinner("Detecting segments with these settings …"):
            bag = project.bags.get(bag_id)
            name, found = preview(project, bag, settings)
        st.markdown(f"**With these settings** · {count(found, 'segment')}{previewed_part_text(project, bag)}")
        canvas(project, bag_id, mode="preview", preview=name, height=260, around=455, key="segment.preview")


with show_errors():
    project = the_project()
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
            f"{_EXPLAINED[project.kind]} and compare the preview on the right. "
            "Too many segments do little harm, but a missing one cannot be labelled.",
        )
        segment_editor(project)
