"""Plotly figures of the aggregates, for the Insights page and for reports.

This is the one module of the core that may import Plotly: a figure is data (JSON), it needs no screen, and page and
command line show the same. Fonts and backgrounds are left to whoever shows it. Names are escaped: Plotly reads HTML.

Cells without a recording are grey, so that silence and absence of recording differ on the plot.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from miml_core.insights.activity import HOURS, Activity, DailyRhythm
from miml_core.insights.aggregates import (
    Accumulation,
    ClassSites,
    CoOccurrence,
    PerClip,
    ProbabilityHistogram,
    SiteDays,
)
from miml_core.insights.figure_texts import (
    cell_text,
    effort_title,
    effort_unit,
    nothing_text,
    number_text,
    pair_text,
    per_effort_title,
    short_name,
)

_NOT_RECORDED = "#b8bec2"
_SILENT = "#0b2e3a"
_SCALE = [[0.0, _SILENT], [0.02, "#155a68"], [0.25, "#1f8a83"], [0.6, "#7bc86c"], [1.0, "#fde725"]]
_COLOUR, _SECOND, _MUTED = "#0d9488", "#d97706", "#8a9296"
_SUNRISE, _SUNSET = "#f59e0b", "#ef4444"
_ROW = 22
MOST_TOGETHER = 40
"""Classes in the plot of co-occurrence; the table has all."""
_MOST_DAY_TICKS = 10
"""Days that each have a label."""
_POINT, _SMALLEST_POINT = 11, 2
_USUAL_WIDTH = 1000
"""Pixels of a plot on a laptop."""


def activity_figure(
    found: Activity,
    *,
    is_sound: bool = True,
    per_effort: bool = False,
    sun: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None,
    clickable: bool = True,
) -> go.Figure:
    """Return the heat map of hours (up) and dates (right).

    Parameters
    ----------
    found : Activity
    is_sound : bool
    per_effort : bool
        Colours are detections per recorded hour (per picture) instead of counts.
    sun : (sunrise, sunset), optional
        Hours of each date, see `sun_times`.
    clickable : bool
        Whether cells with detections can be selected.
    """
    amount = found.effort_s / 3600 if is_sound else found.clips.astype(float)
    title = per_effort_title(is_sound) if per_effort else "detections"
    values = _rates(found.counts, amount) if per_effort else np.where(found.recorded, found.counts, np.nan)
    names = [str(day) for day in found.dates]
    if found.is_complete:
        left = found.dates.astype("datetime64[h]")
        edges = [str(edge) for edge in [*left, *(left[-1:] + 24)]]
        middle = [str(edge) for edge in left + 12]
    else:
        edges = middle = names
    hours = np.arange(HOURS) + 0.5
    text = [
        [cell_text(f"{day} {h:02d}:00", found.counts[d, h], found.effort_s[d, h], found.clips[d, h], is_sound)
         for d, day in enumerate(names)]
        for h in range(HOURS)
    ]  # fmt: skip
    figure = go.Figure()
    _heat(figure, edges, np.arange(HOURS + 1), values.T, found.recorded.T, text, title, is_sound)
    for name, line, colour in zip(("sunrise", "sunset"), sun or (), (_SUNRISE, _SUNSET)):
        figure.add_trace(
            go.Scatter(
                x=middle, y=line, mode="lines", name=name, line={"color": colour, "width": 2}, connectgaps=False,
                hovertemplate=f"{name} %{{x|%Y-%m-%d}}<extra></extra>",
            )
        )  # fmt: skip
    cells = np.argwhere(found.counts * clickable)
    _clickable(
        figure,
        [middle[d] for d, _ in cells],
        [hours[h] for _, h in cells],
        [[names[d], int(h)] for d, h in cells],
        [text[h][d] for d, h in cells],
        n_columns=len(names),
    )
    figure.update_yaxes(title="hour of day", range=[0, HOURS], dtick=3, tickvals=list(range(0, 25, 3)))
    if found.is_complete and edges:
        figure.update_xaxes(range=[edges[0], edges[-1]])
        if len(names) <= _MOST_DAY_TICKS:
            figure.update_xaxes(tickvals=middle, ticktext=names)
    else:
        figure.update_xaxes(type="category")
    return _laid_out(figure, 420)


def rhythm_figure(found: DailyRhythm, *, is_sound: bool = True) -> go.Figure:
    """Return detections per recorded hour by hour of day, above the effort."""
    amount = found.effort_s / 3600 if is_sound else found.clips.astype(float)
    text = [
        cell_text(f"{hour:02d}:00", found.counts[hour], found.effort_s[hour], found.clips[hour], is_sound)
        for hour in range(HOURS)
    ]
    figure = make_subplots(2, 1, shared_xaxes=True, row_heights=[0.72, 0.28], vertical_spacing=0.06)
    bars = {"x": found.hours + 0.5, "width": 0.9, "customdata": found.hours, "hovertext": text, "hoverinfo": "text"}
    figure.add_trace(go.Bar(y=found.rate, marker={"color": _COLOUR}, **bars), 1, 1)
    figure.add_trace(go.Bar(y=amount, marker={"color": _MUTED}, **bars), 2, 1)
    band = {"type": "rect", "xref": "x", "yref": "y domain", "y0": 0, "y1": 1}
    grey = {"fillcolor": _NOT_RECORDED, "opacity": 0.6, "line": {"width": 0}}
    not_recorded = np.flatnonzero(np.isnan(found.rate)).tolist()
    # All at once: each call of `add_vrect` takes several milliseconds (Plotly 7).
    figure.update_layout(shapes=[{**band, **grey, "x0": hour, "x1": hour + 1} for hour in not_recorded])
    figure.update_yaxes(title=per_effort_title(is_sound), rangemode="tozero", row=1, col=1)
    figure.update_yaxes(title=effort_title(is_sound), rangemode="tozero", row=2, col=1)
    figure.update_xaxes(range=[0, HOURS], tickvals=list(range(0, 25, 3)))
    figure.update_xaxes(title="hour of day", row=2, col=1)
    return _laid_out(figure, 380)


def site_days_figure(
    found: SiteDays, *, is_sound: bool = True, per_effort: bool = False, clickable: bool = True
) -> go.Figure:
    """Return the heat map of sites (down) and days (right)."""
    amount = found.effort_s / 3600 if is_sound else found.clips.astype(float)
    values = _rates(found.counts, amount) if per_effort else np.where(found.recorded, found.counts, np.nan)
    names = [str(day) for day in found.dates]
    text = [
        [cell_text(f"{site}, {day}", found.counts[s, d], found.effort_s[s, d], found.clips[s, d], is_sound)
         for d, day in enumerate(names)]
        for s, site in enumerate(found.sites)
    ]  # fmt: skip
    figure = go.Figure()
    places = np.arange(len(found.sites))
    title = per_effort_title(is_sound) if per_effort else "detections"
    _heat(figure, names, places, values, found.recorded, text, title, is_sound)
    cells = np.argwhere(found.counts * clickable)
    _clickable(
        figure,
        [names[d] for _, d in cells],
        [int(s) for s, _ in cells],
        [[names[d], found.sites[s]] for s, d in cells],
        [text[s][d] for s, d in cells],
        n_columns=len(names),
    )
    total = amount.sum(axis=1)
    labels = [
        f"{short_name(site)} ({number_text(total[s])} {effort_unit(is_sound)})" for s, site in enumerate(found.sites)
    ]
    figure.update_yaxes(tickvals=places, ticktext=labels, autorange="reversed")
    figure.update_xaxes(type="category", nticks=12, range=[-0.5, len(names) - 0.5])
    return _laid_out(figure, 150 + _ROW * len(found.sites))


def class_sites_figure(
    found: ClassSites, *, is_sound: bool = True, per_effort: bool = False, clickable: bool = True
) -> go.Figure:
    """Return the heat map of classes (down, the most frequent first) and sites (right)."""
    order = np.argsort(-found.counts.sum(axis=1), kind="stable")
    amount = found.effort_s / 3600 if is_sound else found.clips.astype(float)
    counts = found.counts[order]
    recorded = np.broadcast_to((amount > 0) | (found.clips > 0), counts.shape)
    values = _rates(counts, np.broadcast_to(amount, counts.shape)) if per_effort else np.where(recorded, counts, np.nan)
    text = [
        [cell_text(f"{found.classes[c]}, {site}", found.counts[c, s], found.effort_s[s], found.clips[s], is_sound)
         for s, site in enumerate(found.sites)]
        for c in order
    ]  # fmt: skip
    labels = [
        f"{short_name(site)}<br>{number_text(amount[s])} {effort_unit(is_sound)}" for s, site in enumerate(found.sites)
    ]
    places, columns = np.arange(len(order)), np.arange(len(found.sites))
    figure = go.Figure()
    title = per_effort_title(is_sound) if per_effort else "detections"
    _heat(figure, columns, places, values, recorded, text, title, is_sound)
    cells = np.argwhere(counts * clickable)
    _clickable(
        figure,
        [int(s) for _, s in cells],
        [int(c) for c, _ in cells],
        [[found.classes[order[c]], found.sites[s]] for c, s in cells],
        [text[c][s] for c, s in cells],
        n_columns=len(columns),
    )
    figure.update_yaxes(tickvals=places, ticktext=[short_name(found.classes[c]) for c in order], autorange="reversed")
    figure.update_xaxes(tickvals=columns, ticktext=labels, range=[-0.5, len(columns) - 0.5])
    return _laid_out(figure, 150 + _ROW * len(order))


def accumulation_figure(found: Accumulation, *, is_sound: bool = True) -> go.Figure:
    """Return classes found against effort, in order of recording and as the mean over all orders of the days."""
    effort = found.effort_s / 3600 if is_sound else found.clips.astype(float)
    days = np.arange(1, len(effort) + 1)
    mean_effort = days * (effort[-1] / len(effort)) if len(effort) else effort
    figure = go.Figure()
    figure.add_trace(
        go.Scatter(
            x=effort, y=found.found, mode="lines+markers", line={"shape": "hv", "color": _COLOUR},
            marker={"size": 5}, name="in order of recording", customdata=[str(day) for day in found.dates],
            hovertemplate="%{customdata}: %{y} classes in %{x:.4g}<extra></extra>",
        )
    )  # fmt: skip
    figure.add_trace(
        go.Scatter(
            x=mean_effort, y=found.mean_found, mode="lines", line={"dash": "dash", "color": _SECOND},
            name="mean over all orders of the days", customdata=days,
            hovertemplate="%{customdata} days: %{y:.1f} classes<extra></extra>",
        )
    )  # fmt: skip
    figure.update_xaxes(title=effort_title(is_sound), rangemode="tozero")
    figure.update_yaxes(title="classes found", rangemode="tozero")
    return _laid_out(figure, 360)


def co_occurrence_figure(found: CoOccurrence, *, is_sound: bool = True) -> go.Figure:
    """Return which share of the clips with either of two classes has both, of the most frequent classes."""
    n_clips_with = np.diag(found.counts)
    order = [c for c in np.argsort(-n_clips_with, kind="stable") if n_clips_with[c]][:MOST_TOGETHER]
    both = found.counts[np.ix_(order, order)].astype(float)
    either = n_clips_with[order][:, None] + n_clips_with[order][None, :] - both
    share = both / either
    np.fill_diagonal(share, np.nan)
    noun = "clips" if is_sound else "pictures"
    names = [found.classes[c] for c in order]
    text = [
        [pair_text(names, i, j, both, either, noun, found.n_clips) for j in range(len(names))]
        for i in range(len(names))
    ]
    places = np.arange(len(names))
    figure = go.Figure()
    _heat(figure, places, places, share, np.ones_like(share, dtype=bool), text, f"share of {noun}", is_sound)
    labels = [short_name(name) for name in names]
    figure.update_yaxes(tickvals=places, ticktext=labels, autorange="reversed")
    figure.update_xaxes(tickvals=places, ticktext=labels, tickangle=-60)
    return _laid_out(figure, 240 + _ROW * len(names))


def histogram_figure(found: ProbabilityHistogram) -> go.Figure:
    """Return detections by probability; those below the threshold are grey."""
    middle = (found.edges[:-1] + found.edges[1:]) / 2
    colours = [_COLOUR if high > found.threshold else _NOT_RECORDED for high in found.edges[1:]]
    text = [
        f"probability {low:.2f} to {high:.2f}: {n:,} detections"
        for low, high, n in zip(found.edges[:-1], found.edges[1:], found.counts.tolist())
    ]
    width = float(found.edges[1] - found.edges[0])
    figure = go.Figure(
        go.Bar(x=middle, y=found.counts, width=width, marker={"color": colours}, hovertext=text, hoverinfo="text")
    )
    figure.add_vline(x=found.threshold, line={"dash": "dash", "width": 1.5, "color": _SECOND})
    figure.update_xaxes(title="probability", range=[0, 1])
    figure.update_yaxes(title="detections", rangemode="tozero")
    return _laid_out(figure, 300)


def per_clip_figure(found: PerClip, *, is_sound: bool = True) -> go.Figure:
    """Return how many clips or pictures have how many detections."""
    noun = "clips" if is_sound else "pictures"
    names = [str(number) for number in found.numbers]
    figure = go.Figure(
        go.Bar(x=names, y=found.clips, marker={"color": _COLOUR}, hovertemplate=f"%{{y}} {noun}<extra></extra>")
    )
    figure.update_xaxes(title=f"detections per {noun[:-1]}", type="category", nticks=12)
    figure.update_yaxes(title=noun, type="log" if found.clips.max(initial=0) > 1000 else "linear")
    return _laid_out(figure, 300)


def _heat(
    figure: go.Figure,
    x: Sequence[Any] | NDArray[Any],
    y: NDArray[Any],
    values: NDArray[np.float64],
    recorded: NDArray[np.bool_],
    text: list[list[str]],
    title: str,
    is_sound: bool,
) -> None:
    """Add values, and below them a grey layer for what was not recorded."""
    empty = np.where(recorded, np.nan, 0.0)
    grey = [[0, _NOT_RECORDED], [1, _NOT_RECORDED]]
    texts = np.array(text, dtype=object).reshape(values.shape)
    common = {"x": x, "y": y, "hoverinfo": "text"}
    if not recorded.all():
        nothing = texts.copy()
        nothing[recorded] = None
        figure.add_trace(go.Heatmap(z=empty, colorscale=grey, showscale=False, hovertext=nothing, **common))
        marker = {"symbol": "square", "size": 10, "color": _NOT_RECORDED}
        figure.add_trace(go.Scatter(x=[None], y=[None], mode="markers", marker=marker, name=nothing_text(is_sound)))
    highest = float(np.nanmax(values)) if np.isfinite(values).any() else 1.0
    bar = {"title": {"text": title, "side": "right"}, "thickness": 12}
    figure.update_xaxes(showgrid=False, zeroline=False)
    figure.update_yaxes(showgrid=False, zeroline=False)
    scale = {"zmin": 0, "zmax": highest or 1.0, "colorscale": _SCALE, "colorbar": bar}
    texts[~recorded] = None
    figure.add_trace(go.Heatmap(z=values, hovertext=texts, **scale, **common))


def _clickable(
    figure: go.Figure, x: list[Any], y: list[Any], customdata: list[list[Any]], text: list[str], n_columns: int
) -> None:
    """Add an invisible point to each cell with detections: Plotly reports clicks on points, not on heat maps.

    Inside of points that overlap, Plotly takes the last one instead of the nearest: they are as narrow as the cells.
    """
    if not x:
        return
    size = min(_POINT, max(_SMALLEST_POINT, _USUAL_WIDTH // n_columns))
    marker = {"opacity": 0, "size": size, "color": "#ffffff", "line": {"width": 3, "color": _SUNSET}}
    figure.add_trace(
        go.Scatter(
            x=np.array(x),
            y=np.array(y),
            mode="markers",
            marker=marker,
            customdata=np.array(customdata, dtype=object),
            hovertext=np.array(text, dtype=object),
            hoverinfo="text",
            showlegend=False,
            selected={"marker": {"opacity": 0.9, "size": _POINT}},
            unselected={"marker": {"opacity": 0}},
            name="cells",
        )
    )


def _rates(counts: NDArray[np.int64], amount: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(amount > 0, counts / amount, np.nan)


def _laid_out(figure: go.Figure, height: int) -> go.Figure:
    named = any(trace.showlegend is not False and trace.name for trace in figure.data if trace.type == "scatter")
    return figure.update_layout(
        height=height,
        margin={"l": 8, "r": 8, "t": 36 if named else 26, "b": 8},
        showlegend=named,
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        bargap=0.08,
        dragmode="zoom",
        hovermode="closest",
    )


def plotly_code() -> str:
    """Return the JavaScript of Plotly, to embed it in a file."""
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs()).replace("</script", "<\\/script")
