"""The reliability diagram: how often predictions of a probability are right."""

from __future__ import annotations

from typing import Any

import streamlit as st

from miml_core.evaluation.reliability import ReliabilityBin

_CONFIG = {"displayModeBar": False, "scrollZoom": False}
_COLOUR = "#0d9488"


def reliability_chart(bins: list[ReliabilityBin], threshold: float, *, key: str) -> None:
    """Draw a point per bin with its 95 % interval, the line of perfect probabilities, and the threshold."""
    st.plotly_chart(
        _figure(bins, threshold),
        config=_CONFIG,
        key=key,
        alt="Share of right predictions by their probability: " + "; ".join(_words(one) for one in bins),
    )


def _figure(bins: list[ReliabilityBin], threshold: float) -> Any:
    import plotly.graph_objects as go

    shares = [100 * one.share_right for one in bins]
    figure = go.Figure()
    line = {"dash": "dot", "width": 1, "color": "#8a9296"}
    figure.add_trace(go.Scatter(x=[0, 100], y=[0, 100], mode="lines", line=line, hoverinfo="skip"))
    figure.add_trace(
        go.Scatter(
            x=[100 * one.mean_probability for one in bins],
            y=shares,
            mode="lines+markers",
            marker={"size": 9, "color": _COLOUR},
            line={"width": 1, "color": _COLOUR},
            error_y={
                "type": "data",
                "symmetric": False,
                "array": [100 * one.interval[1] - share for one, share in zip(bins, shares)],
                "arrayminus": [share - 100 * one.interval[0] for one, share in zip(bins, shares)],
                "thickness": 1,
                "color": _COLOUR,
            },
            customdata=[_words(one) for one in bins],
            hovertemplate="%{customdata}<extra></extra>",
        )
    )
    figure.add_vline(x=100 * threshold, line={"width": 1, "dash": "dash", "color": "#d97706"})
    figure.update_layout(
        height=300,
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
        showlegend=False,
        xaxis={"title": {"text": "Probability, %"}, "range": [0, 102], "dtick": 20},
        yaxis={"title": {"text": "Right, %"}, "range": [0, 102], "dtick": 20},
        uirevision="reliability",
    )
    return figure


def _words(one: ReliabilityBin) -> str:
    low, high = one.interval
    return (
        f"{100 * one.low:.0f} to {100 * one.high:.0f} %: {100 * one.share_right:.0f} % of {one.count} right "
        f"({100 * low:.0f} to {100 * high:.0f} %)"
    )
