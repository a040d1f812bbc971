"""Precision of a class above each threshold, with 95 % intervals."""

from __future__ import annotations

import math
from typing import Any

import streamlit as st

from miml_core.archive.sampling import ClassEstimates, Estimate

_CONFIG = {"displayModeBar": False, "scrollZoom": False}
_COLOUR = "#0d9488"


def precision_chart(one: ClassEstimates, *, key: str) -> None:
    """Draw a point per threshold with its interval."""
    points = [(low, n, found) for low, n, found in one.thresholds if not math.isnan(found.value)]
    st.plotly_chart(
        _figure(points),
        config=_CONFIG,
        key=key,
        alt="Precision by threshold: " + "; ".join(_words(*point) for point in points),
    )


def _figure(points: list[tuple[float, int, Estimate]]) -> Any:
    import plotly.graph_objects as go

    values = [100 * found.value for _, _, found in points]
    figure = go.Figure(
        go.Scatter(
            x=[f"{low:g}" for low, _, _ in points],
            y=values,
            mode="lines+markers",
            marker={"size": 9, "color": _COLOUR},
            line={"width": 1, "color": _COLOUR},
            error_y={
                "type": "data",
                "symmetric": False,
                "array": [100 * found.high - value for (_, _, found), value in zip(points, values)],
                "arrayminus": [value - 100 * found.low for (_, _, found), value in zip(points, values)],
                "thickness": 1,
                "color": _COLOUR,
            },
            customdata=[_words(*point) for point in points],
            hovertemplate="%{customdata}<extra></extra>",
        )
    )
    figure.update_layout(
        height=300,
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
        showlegend=False,
        xaxis={"title": {"text": "Detections of at least this probability"}, "type": "category"},
        yaxis={"title": {"text": "Right, %"}, "range": [0, 102], "dtick": 20},
        uirevision="precision",
    )
    return figure


def _words(low: float, n: int, found: Estimate) -> str:
    return f"from {low:g}: {100 * found.value:.0f} % of {n} right ({100 * found.low:.0f} to {100 * found.high:.0f} %)"
