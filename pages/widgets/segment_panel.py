"""The selected segment beside the canvas: what the model thinks, what a person said."""

from __future__ import annotations

import streamlit as st

from miml_core import BACKGROUND
from miml_core.project import Class, Gone, Project, Segment
from pages.widgets import charts
from pages.widgets.text import plain
from pages.widgets.why_tagged import why_this_segment

_MOST_BARS = 6
_GREY = "#9aa3ad"


def segment_panel(project: Project, segment_id: int | None) -> None:
    """Its name, place and probabilities, and the tags it is the reason for."""
    segment = _segment(project, segment_id)
    if segment is None:
        st.caption("Click a segment, or press → to step through them. Press ? on the canvas for all keys.")
        return
    classes = {one.id: one for one in project.classes()}
    st.markdown(f"**Segment {segment.number}** · {_standing(segment, classes)}")
    if segment.prediction is None:
        st.caption("Nothing is predicted for it yet: train a model.")
        return
    likeliest = sorted(segment.prediction.probabilities.items(), key=lambda pair: -pair[1])[:_MOST_BARS]
    bars = [(_name(label, classes), value, _colour(label, classes)) for label, value in likeliest]
    charts.probabilities(bars, key="review.probabilities", height=28 * len(bars) + 16)
    why_this_segment(project, segment)
    if segment.prediction.contradicts:
        free = _name(segment.prediction.free_top, classes)
        st.caption(f":orange[:material/warning:] Without the tags the model would say {plain(free)}.")


def _segment(project: Project, segment_id: int | None) -> Segment | None:
    if segment_id is None:
        return None
    try:
        return project.segment(segment_id)
    except Gone:
        return None


def _standing(segment: Segment, classes: dict[int, Class]) -> str:
    if segment.label is None:
        return "not checked"
    who = f" by {plain(segment.annotator)}" if segment.annotator else ""
    return f"{plain(_name(segment.label, classes))}, {'accepted' if segment.accepted else 'corrected'}{who}"


def _name(label: int, classes: dict[int, Class]) -> str:
    if label == BACKGROUND:
        return "background"
    return classes[label].name if label in classes else "removed class"


def _colour(label: int, classes: dict[int, Class]) -> str:
    return classes[label].colour if label in classes else _GREY
