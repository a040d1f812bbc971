"""The map as a chart: one point per segment, drawn by WebGL."""

from __future__ import annotations

import html
from typing import Any, Literal

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from miml_core import BACKGROUND
from miml_core.project import Project
from miml_core.project.similarity.segment_map import NO_LABEL, MapState, SegmentMap
from pages.widgets.text import shorten

Colours = Literal["predicted", "label", "uncertainty"]
Tool = Literal["lasso", "pan"]

_TITLES: dict[Colours, str] = {
    "predicted": "Predicted class",
    "label": "Checked label",
    "uncertainty": "Uncertainty",
}
_MOST_CLASSES = 30
"""Further classes share one colour: nobody tells more apart."""
_GREY = "#9aa3a7"
_BACKGROUND_GREY = "#6b7478"
_OTHERS = "#8d6e63"
_OTHER_CLASSES = "other classes"
_FIRST, _LAST = 1, 2000
"""Places in the legend, which may be too long to be seen as a whole; all others are at 1000."""
_LONGEST_NAME = 20
"""Characters of a class's name in the legend, which would otherwise take half of a narrow screen."""
_WIDER = 1.1
_RING = "#e11d48"
_TOOLS: dict[Tool, str] = {"lasso": "Lasso", "pan": "Pan"}
_BUTTONS_REMOVED = ["toImage", "autoScale2d", "lasso2d", "pan2d", "select2d", "zoom2d"]
_CONFIG = {"displaylogo": False, "scrollZoom": True, "modeBarButtonsToRemove": _BUTTONS_REMOVED}


def choose_colours(project: Project) -> Colours:
    """Draw the choice of what the colours mean."""
    offered: list[Colours] = ["predicted", "label", "uncertainty"] if project.runs.current() else ["label"]
    if st.session_state.get("map.colours") not in offered:
        st.session_state.pop("map.colours", None)
    chosen: Colours = st.segmented_control(
        "Colour by",
        offered,
        default=offered[0],
        required=True,
        format_func=lambda one: _TITLES[one],
        key="map.colours",
        label_visibility="collapsed",
        persist_state="session",
    )
    return chosen


def choose_tool() -> Tool:
    """Draw the choice of what dragging does; a click picks a point in either case."""
    chosen: Tool = st.segmented_control(
        "Drag to",
        list(_TOOLS),
        default="lasso",
        required=True,
        format_func=lambda one: _TOOLS[one],
        key="map.tool",
        help="What dragging does: draw around points to select them, or move the map. A click shows a point, the "
        "wheel zooms, a double click ends the selection.",
        label_visibility="collapsed",
        persist_state="session",
    )
    return chosen


def map_chart(
    project: Project,
    segments: SegmentMap,
    state: MapState,
    clusters: list[NDArray[np.int64]],
    colours: Colours,
    tool: Tool = "lasso",
) -> None:
    """Draw the map; `map_selection` reports what is selected on it."""
    import plotly.graph_objects as go

    figure = go.Figure()
    if colours == "uncertainty":
        figure.add_trace(uncertainty_trace(segments, state))
    else:
        for name, colour, rows in _groups(project, state, colours):
            trace = _trace(segments, rows, name, {"color": colour, "size": _size(segments)})
            figure.add_trace(trace.update(legendrank=_LAST) if name == _OTHER_CLASSES else trace)
    figure.update_layout(
        shapes=[_outline(segments, ids, first=number == 0) for number, ids in enumerate(clusters)],
        margin={"l": 0, "r": 0, "t": 36, "b": 0},  # the buttons of the chart are above it
        dragmode=tool,
        hovermode="closest",
        clickmode="event",
        uirevision=str(segments.made_at),
        legend={"itemsizing": "constant", "orientation": "v", "font": {"size": 11}},
        xaxis={"visible": False},
        yaxis={"visible": False, "scaleanchor": "x"},
    )
    with st.container(key="map-chart"):
        st.plotly_chart(
            figure,
            key="map.chart",
            config=_CONFIG,
            height="stretch",
            alt="Map of the segments: similar ones are close together",
        )


def _groups(project: Project, state: MapState, colours: Colours) -> list[tuple[str, str, NDArray[np.int64]]]:
    """Return name, colour and rows of each group of points; those without a class first, so that they lie below."""
    values = state.predicted if colours == "predicted" else state.labels
    unknown = "not predicted" if colours == "predicted" else "not checked"
    used, counts = np.unique(values[state.live], return_counts=True)
    by_count = dict(zip(used.tolist(), counts.tolist()))
    classes = {one.id: one for one in project.classes.list()}
    shown = sorted((one for one in by_count if one in classes), key=lambda one: -by_count[one])[:_MOST_CLASSES]
    groups = [(unknown, _GREY, values == NO_LABEL), ("background", _BACKGROUND_GREY, values == BACKGROUND)]
    groups.append((_OTHER_CLASSES, _OTHERS, ~np.isin(values, [NO_LABEL, BACKGROUND, *shown])))
    groups += [(classes[one].name, classes[one].colour, values == one) for one in shown]
    found = [(name, colour, np.flatnonzero(chosen & state.live)) for name, colour, chosen in groups]
    return [each for each in found if len(each[2])]


def _trace(segments: SegmentMap, rows: NDArray[np.int64], name: str, marker: dict[str, Any]) -> Any:
    import plotly.graph_objects as go

    return go.Scattergl(
        x=segments.places[rows, 0],
        y=segments.places[rows, 1],
        customdata=segments.segment_ids[rows],
        mode="markers",
        name=_plotly_text(shorten(name, _LONGEST_NAME)),
        meta=_plotly_text(name),
        marker=marker,
        hovertemplate="%{meta}<extra></extra>",
    )


def _outline(segments: SegmentMap, segment_ids: NDArray[np.int64], *, first: bool) -> dict[str, Any]:
    """Return the line around a cluster: a ring around each point would double the time of each frame of a lasso."""
    from scipy.spatial import ConvexHull, QhullError

    points = segments.places[np.isin(segments.segment_ids, segment_ids)].astype(np.float64)
    try:
        corners = points[ConvexHull(points).vertices]
    except QhullError:  # all on a line
        corners = points
    centre = corners.mean(axis=0)
    corners = centre + _WIDER * (corners - centre)
    path = "M" + " L".join(f"{x:.4f},{y:.4f}" for x, y in corners) + " Z"
    line = {"color": _RING, "width": 2}
    shown = {"name": "not explained by tags", "showlegend": True, "legendrank": _FIRST} if first else {}
    return {"type": "path", "path": path, "line": line, **shown}


def _plotly_text(name: str) -> str:
    return html.escape(name, quote=False)  # Plotly reads some HTML in names


def uncertainty_trace(segments: SegmentMap, state: MapState) -> Any:
    """Return the points coloured by how uncertain the prediction is."""
    rows = np.flatnonzero(state.live & (state.predicted != NO_LABEL))
    uncertainty = (100 * (1 - state.probability[rows])).astype(np.float32)
    marker = {
        "color": uncertainty,
        "colorscale": "Viridis",
        "cmin": 0,
        "cmax": 100,
        "size": _size(segments),
        "colorbar": {"title": {"text": "Uncertainty (%)"}, "thickness": 12},
    }
    trace = _trace(segments, rows, "uncertainty", marker)
    trace.hovertemplate = "uncertainty %{marker.color:.0f} %<extra></extra>"
    trace.showlegend = False
    return trace


def _size(segments: SegmentMap) -> int:
    n = len(segments.segment_ids)
    return 8 if n < 1000 else 5 if n < 10_000 else 3
