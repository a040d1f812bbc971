"""Small Plotly charts: a training's curves, the probabilities of a segment."""

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


def probabilities(bars: Sequence[tuple[str, float, str]], *, key: str, height: int = 210) -> None:
    """Draw the likeliest labels of a segment, as (name, probability, colour), the first on top."""
    import plotly.graph_objects as go

    names = [_short(name) for name, _, _ in bars]
    figure = go.Figure(
        go.Bar(
            x=[value for _, value, _ in bars],
            y=list(range(len(bars))),
            orientation="h",
            marker={"color": [colour for _, _, colour in bars]},
            text=[f"{100 * value:.0f} %" for _, value, _ in bars],
            textposition="auto",
            hoverinfo="skip",
        )
    )
    figure.update_layout(
        height=height,
        margin={"l": 4, "r": 8, "t": 4, "b": 4},
        bargap=0.25,
        xaxis={"range": [0, 1], "visible": False, "fixedrange": True},
        yaxis={
            "autorange": "reversed",
            "fixedrange": True,
            "tickmode": "array",
            "tickvals": list(range(len(bars))),
            "ticktext": names,
            "automargin": True,
        },
        showlegend=False,
    )
    st.plotly_chart(figure, config=_PLAIN, key=key, alt="Probabilities of the selected segment")


def _short(name: str, most: int = 22) -> str:
    """Return a name as Plotly shows it: no tags, not too long."""
    cut = name if len(name) <= most else name[: most - 1] + "…"
    return cut.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
