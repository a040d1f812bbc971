"""Small Plotly charts of a training's curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

_PLAIN = {"displayModeBar": False, "scrollZoom": False}
_MOST_POINTS = 400


def curves(lines: Mapping[str, Sequence[float]], *, key: str, height: int = 220) -> None:
    """Draw one small chart per curve, side by side: they have different units."""
    drawn = {name: values for name, values in lines.items() if len(values) > 1}
    if not drawn:
        return
    with st.grid(min(3, len(drawn)), min_column_width=260):
        for name, values in drawn.items():
            st.plotly_chart(
                _line(name, values, height), config=_PLAIN, key=f"{key}.{name}", alt=f"{name} by training step"
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
