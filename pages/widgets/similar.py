"""More like this: the segments most like one, as a wall."""

from __future__ import annotations

import streamlit as st

from miml_core.project import Project
from pages.widgets.errors import attempt
from pages.widgets.wall.selections import keep_selection, open_wall

N_SIMILAR = 200


def open_similar(project: Project, segment_id: int) -> None:
    """Show the wall of the segments most like one; a callback, also of a widget in a fragment."""
    attempt(_open_similar, project, segment_id)


def _open_similar(project: Project, segment_id: int) -> None:
    open_wall(project, {"selection": keep_similar(project, segment_id)})
    st.rerun()  # a fragment runs only itself, and another page is a run of the whole app


def open_reported_similar(project: Project, key: str) -> None:
    """Do so for the segment that a component, the canvas or the wall, reports."""
    segment_id = (st.session_state.get(key) or {}).get("similar")
    if isinstance(segment_id, int):
        open_similar(project, segment_id)


def keep_similar(project: Project, segment_id: int) -> str:
    """Find the segments most like one and keep them for the wall, it first; returns the token of the list."""
    found = project.similarity.nearest(segment_id, N_SIMILAR)
    segment = project.segments.get(segment_id)
    title = f"Like segment {segment.number} of {project.bags.get(segment.bag_id).name}"
    return keep_selection(project, title, [segment_id, *(each for each, _ in found)])
