"""What can be done with the points that are selected on the map."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

from miml_core.project import Project
from pages.widgets.app.session import go_to
from pages.widgets.canvas import request_bag
from pages.widgets.canvas.component import ignore_report
from pages.widgets.errors import attempt, show_errors
from pages.widgets.segment_selections import keep_selection, open_similar, open_wall
from pages.widgets.text import class_names, count, percent, plain

_SCRIPT = Path(__file__).resolve().parents[3] / "assets" / "map" / "map_selection.js"


@st.fragment
@show_errors()
def map_selection(project: Project) -> None:
    """Show what is selected on the map; another selection runs only this, and the chart stays as it is."""
    reported = _reporter()(key="map.selected", default={"segments": []}, on_segments_change=ignore_report)
    selection_actions(project, selected_segments(reported.segments))


def selected_segments(reported: Any) -> list[int]:
    """Return the ids of segments that the browser reported, each once, in their order."""
    ids = reported if isinstance(reported, list) else []
    return list(dict.fromkeys(one for one in ids if isinstance(one, int)))


@cache
def _reporter() -> Any:
    return st.components.v2.component("bagtag_map_selection", js=_SCRIPT.read_text(encoding="utf-8"))


def selection_actions(project: Project, segment_ids: list[int]) -> None:
    """Draw what the selection is and the buttons for it; its space stays, so that nothing below moves."""
    with st.container(key="map-selection", gap="small"):
        if not segment_ids:
            st.caption("Click a point to see what it is, or draw around points to see them on the wall.")
        elif len(segment_ids) == 1:
            _one(project, segment_ids[0])
        else:
            st.markdown(f"**{count(len(segment_ids), 'segment')}** selected")
            st.button(
                "Show on the wall",
                key="map.wall",
                icon=":material/grid_view:",
                type="primary",
                on_click=attempt,
                args=(_show_on_wall, project, segment_ids),
            )


def _one(project: Project, segment_id: int) -> None:
    segment = project.segments.get(segment_id)
    names = class_names(project.classes.list())
    lines = [f"**Segment {segment.number}** of {plain(project.bags.get(segment.bag_id).name)}"]
    if segment.label is not None:
        lines.append(f"Label: {plain(names.get(segment.label, ''))}")
    if (predicted := segment.prediction) is not None:
        lines.append(f"Predicted: {plain(names.get(predicted.top, ''))}, {percent(predicted.probability)}")
    st.markdown("  \n".join(lines))
    picture = project.segments.cutouts([segment_id]).pictures.get(segment_id)
    if picture is not None:
        st.image(picture)
    st.button(
        "Open in Review",
        key="map.review",
        icon=":material/fact_check:",
        on_click=attempt,
        args=(_open_in_review, project, segment.bag_id, segment_id),
    )
    st.button(
        "More like this",
        key="map.similar",
        icon=":material/join_inner:",
        on_click=open_similar,
        args=(project, segment_id),
    )


def _show_on_wall(project: Project, segment_ids: list[int]) -> None:
    token = keep_selection(project, f"From the map: {count(len(segment_ids), 'segment')}", segment_ids)
    open_wall(project, {"selection": token})
    st.rerun()  # the button is part of a fragment, and another page is a run of the whole app


def _open_in_review(project: Project, bag_id: int, segment_id: int) -> None:
    request_bag(project, bag_id, segment_id)
    go_to("review")
    st.rerun()
