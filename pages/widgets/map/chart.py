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

Colours = Literal["predicted", "label", "doubt"]

_TITLES: dict[Colours, str] = {"predicted": "Predicted class", "label": "Checked label", "doubt": "Doubt"}
_MOST_CLASSES = 30
"""Further classes share one colour: nobody tells more apart."""
_GREY = "#9aa3a7"
_BACKGROUND_GREY = "#6b7478"
_OTHERS = "#8d6e63"
_OTHER_CLASSES = "other classes"
_FIRST, _LAST = 1, 2000
"""Places in the legend, which may be too long to be seen as a whole; all others are at 1000."""
_RING = "#e11d48"
_CONFIG = {"displaylogo": False, "scrollZoom": True, "modeBarButtonsToRemove": ["toImage", "autoScale2d"]}
_HEIGHT = 640


def choose_colours(project: Project) -> Colours:
    """Draw the choice of what the colours mean."""
    offered: list[Colours] = ["predicted", "label", "doubt"] if project.runs.current() else ["label"]
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


def map_chart(
    project: Project,
    segments: SegmentMap,
    state: MapState,
    clusters: list[NDArray[np.int64]],
    colours: Colours,
) -> Any:
    """Draw the map; return the selection of points, as Streamlit reports it."""
    import plotly.graph_objects as go

    figure = go.Figure()
    if colours == "doubt":
        figure.add_trace(doubt_trace(segments, state))
    else:
        for name, colour, rows in _groups(project, state, colours):
            trace = _trace(segments, rows, name, {"color": colour, "size": _size(segments)})
            figure.add_trace(trace.update(legendrank=_LAST) if name == _OTHER_CLASSES else trace)
    if clusters:
        rows = np.flatnonzero(np.isin(segments.segment_ids, np.concatenate(clusters)))
        ring = {"color": _RING, "size": _size(segments) + 4, "symbol": "circle-open"}
        figure.add_trace(_trace(segments, rows, "like nothing named", ring).update(legendrank=_FIRST))
    figure.update_layout(
        height=_HEIGHT,
        margin={"l": 0, "r": 0, "t": 36, "b": 0},  # the buttons of the chart are above it
        dragmode="lasso",
        hovermode="closest",
        uirevision=str(segments.made_at),
        legend={"itemsizing": "constant", "orientation": "v"},
        xaxis={"visible": False},
        yaxis={"visible": False, "scaleanchor": "x"},
    )
    return st.plotly_chart(
        figure,
        key="map.chart",
        config=_CONFIG,
        on_select="rerun",
        selection_mode=("points", "box", "lasso"),
        alt="Map of the segments: those that are alike lie together",
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
        name=html.escape(name, quote=False),  # Plotly reads some HTML in names
        marker=marker,
        hovertemplate="%{fullData.name}<extra></extra>",
    )


def doubt_trace(segments: SegmentMap, state: MapState) -> Any:
    """Return the points coloured by how unsure the prediction is."""
    rows = np.flatnonzero(state.live & (state.predicted != NO_LABEL))
    doubt = (100 * (1 - state.probability[rows])).astype(np.float32)
    marker = {
        "color": doubt,
        "colorscale": "Viridis",
        "cmin": 0,
        "cmax": 100,
        "size": _size(segments),
        "colorbar": {"title": {"text": "Doubt, %"}, "thickness": 12},
    }
    trace = _trace(segments, rows, "doubt", marker)
    trace.hovertemplate = "doubt %{marker.color:.0f} %<extra></extra>"
    trace.showlegend = False
    return trace


def _size(segments: SegmentMap) -> int:
    n = len(segments.segment_ids)
    return 8 if n < 1000 else 5 if n < 10_000 else 3
