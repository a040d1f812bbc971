"""Plotly charts: learning curves of a training, reliability of predictions, precision by threshold."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import streamlit as st

if TYPE_CHECKING:
    from miml_core.archive.sampling import ClassEstimates, Estimate
    from miml_core.evaluation.reliability import ReliabilityBin

_CONFIG = {"displayModeBar": False, "scrollZoom": False}
_MOST_POINTS = 400
_COLOUR = "#0d9488"
_PERCENT = {"range": [0, 102], "dtick": 20}


def learning_curves(lines: Mapping[str, Sequence[float]], *, key: str, height: int = 220) -> None:
    """Draw one small chart per curve, side by side: they have different units."""
    drawn = {name: values for name, values in lines.items() if len(values) > 1}
    if not drawn:
        return
    with st.grid(min(3, len(drawn)), min_column_width=260):
        for name, values in drawn.items():
            st.plotly_chart(
                _line(name, values, height), config=_CONFIG, key=f"{key}.{name}", alt=f"{name} by training step"
            )


def _line(name: str, values: Sequence[float], height: int) -> Any:
    import plotly.graph_objects as go

    stride = max(1, len(values) // _MOST_POINTS)
    steps = list(range(1, len(values) + 1))[::stride]
    figure = go.Figure(
        go.Scatter(x=steps, y=list(values)[::stride], mode="lines", hovertemplate="step %{x}: %{y:.4g}<extra></extra>")
    )
    figure.update_layout(
        title={"text": name.replace("_", " "), "font": {"size": 13}},
        height=height,
        margin={"l": 8, "r": 8, "t": 32, "b": 8},
        showlegend=False,
        xaxis={"title": None, "nticks": 5},
        yaxis={"title": None, "nticks": 5},
        uirevision=name,
    )
    return figure


@dataclass(frozen=True)
class _Point:
    """A share of correct predictions with its 95 % interval; `text` is shown on hover and read by screen readers."""

    x: float | str
    share: float
    low: float
    high: float
    text: str


def reliability_chart(bins: Sequence[ReliabilityBin], threshold: float, *, key: str) -> None:
    """Draw a point per bin with its interval, the line of perfect probabilities, and the threshold."""
    points = [_point_of_bin(one) for one in bins]
    figure = _points_with_intervals(points, {"title": {"text": "Probability (%)"}, **_PERCENT}, name="reliability")
    dotted = {"dash": "dot", "width": 1, "color": "#8a9296"}
    figure.add_shape(type="line", x0=0, y0=0, x1=100, y1=100, line=dotted, layer="below")
    figure.add_vline(x=100 * threshold, line={"width": 1, "dash": "dash", "color": "#d97706"})
    _draw(figure, "Share of correct predictions by their probability", points, key)


def _point_of_bin(one: ReliabilityBin) -> _Point:
    bounds = f"{100 * one.low:.0f} to {100 * one.high:.0f} %"
    text = f"{bounds}: {_correct(one.share_right, one.count, *one.interval)}"
    return _Point(100 * one.mean_probability, one.share_right, *one.interval, text)


def precision_chart(one: ClassEstimates, *, key: str) -> None:
    """Draw the precision of a class above each threshold that has answers, with its interval."""
    points = [_point_of_threshold(*row) for row in one.thresholds if not math.isnan(row[2].value)]
    axis = {"title": {"text": "Detections of at least this probability"}, "type": "category"}
    _draw(_points_with_intervals(points, axis, name="precision"), "Precision by threshold", points, key)


def _point_of_threshold(threshold: float, n: int, found: Estimate) -> _Point:
    text = f"from {threshold:g}: {_correct(found.value, n, found.low, found.high)}"
    return _Point(f"{threshold:g}", found.value, found.low, found.high, text)


def _correct(share: float, n: int, low: float, high: float) -> str:
    return f"{100 * share:.0f} % of {n} correct ({100 * low:.0f} to {100 * high:.0f} %)"


def _points_with_intervals(points: Sequence[_Point], x_axis: dict[str, Any], *, name: str) -> Any:
    import plotly.graph_objects as go

    figure = go.Figure(
        go.Scatter(
            x=[one.x for one in points],
            y=[100 * one.share for one in points],
            mode="lines+markers",
            marker={"size": 9, "color": _COLOUR},
            line={"width": 1, "color": _COLOUR},
            error_y={
                "type": "data",
                "symmetric": False,
                "array": [100 * (one.high - one.share) for one in points],
                "arrayminus": [100 * (one.share - one.low) for one in points],
                "thickness": 1,
                "color": _COLOUR,
            },
            customdata=[one.text for one in points],
            hovertemplate="%{customdata}<extra></extra>",
        )
    )
    figure.update_layout(
        height=300,
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
        showlegend=False,
        xaxis=x_axis,
        yaxis={"title": {"text": "Correct (%)"}, **_PERCENT},
        uirevision=name,
    )
    return figure


def _draw(figure: Any, title: str, points: Sequence[_Point], key: str) -> None:
    st.plotly_chart(figure, config=_CONFIG, key=key, alt=f"{title}: " + "; ".join(one.text for one in points))
