"""The plots of the Insights page: a figure, the files it is saved as, and the cell that was clicked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, Literal

import numpy as np
import streamlit as st

from miml_core.insights import Choice, Detections, activity, aggregates, tables
from miml_core.insights.activity import rhythm_of
from miml_core.insights.sun import sun_times
from miml_core.media.recording_place import Place
from pages.widgets.guidance import empty_state
from pages.widgets.text import count, thousands

Plot = Literal["activity", "sites", "classes", "accumulation", "co_occurrence", "probability", "per_clip"]

TITLES: dict[Plot, str] = {
    "activity": "Activity",
    "sites": "Sites and days",
    "classes": "Classes and sites",
    "accumulation": "Accumulation",
    "co_occurrence": "Co-occurrence",
    "probability": "Probability",
    "per_clip": "Clip counts",
}
ListCell = Callable[[Choice], None]

_PICTURE = "insights.picture"
_TIMED: tuple[Plot, ...] = ("activity", "sites", "accumulation")
_WITH_RATES: tuple[Plot, ...] = ("activity", "sites", "classes")


@dataclass(frozen=True)
class Sun:
    """Where the recorders were, and the minutes that their clocks were ahead of UTC."""

    place: Place
    utc_offset: int


def choose_plot(source: Detections) -> Plot:
    """Draw the choice of the plot."""
    titles = {**TITLES, "per_clip": f"{'Clip' if source.is_sound else 'Picture'} counts"}
    chosen: Plot = st.segmented_control(
        "Plot",
        list(TITLES),
        default="activity",
        required=True,
        format_func=lambda one: titles[one],
        key="insights.plot",
        label_visibility="collapsed",
    )
    return chosen


def choose_rates(plot: Plot, source: Detections) -> None:
    """Draw the choice between counts and counts per effort, for plots that have it."""
    key = "insights.per_effort"
    st.session_state[key] = _per_effort()  # Streamlit forgets a widget that is not drawn
    if plot in _WITH_RATES:
        st.toggle(
            "Per recorded hour" if source.is_sound else "Per picture",
            key=key,
            help=f"Colours show detections per {'recorded hour' if source.is_sound else 'picture'} instead of counts.",
        )


def choose_picture_format() -> None:
    """Draw the choice of the format in which the camera button above a plot saves it."""
    st.segmented_control(
        "Save plots as",
        ["png", "svg"],
        default="png",
        required=True,
        format_func=str.upper,
        key=_PICTURE,
        label_visibility="collapsed",
        help="Format in which the camera button above a plot saves it",
    )


def draw_plot(plot: Plot, source: Detections, choice: Choice, sun: Sun | None, list_cell: ListCell) -> None:
    """Draw a plot with the buttons that save it, and below it the list of the cell that was clicked."""
    if plot in _TIMED and not source.clocks:
        empty_state(
            f"No {'recording' if source.is_sound else 'picture'} has a time",
            "Times are read from GUANO, from the notes of AudioMoth and Song Meter, and from names such as "
            "20240501_043000.wav; of pictures from EXIF. Classes, sites and probabilities can be shown without times.",
            icon="schedule",
        )
        return
    if plot == "activity":
        _activity(source, choice, sun, list_cell)
        return
    draw: dict[Plot, Callable[[Detections, Choice], Choice | None]] = {
        "sites": _site_days,
        "classes": _class_sites,
        "accumulation": _accumulation,
        "co_occurrence": _co_occurrence,
        "probability": _probability,
        "per_clip": _per_clip,
    }
    cell = draw[plot](source, choice)
    if cell is not None:
        list_cell(cell)


def _activity(source: Detections, choice: Choice, sun: Sun | None, list_cell: ListCell) -> None:
    from miml_core.insights.figures import activity_figure, rhythm_figure

    found = activity(source, choice=choice)
    if not len(found.dates):
        _nothing_recorded(source)
        return
    lines = None if sun is None else sun_times(sun.place, found.dates.astype(object).tolist(), sun.utc_offset)
    figure = activity_figure(found, is_sound=source.is_sound, per_effort=_per_effort(), sun=lines)
    summary = _summary(source, int(found.counts.sum()), found.effort_s.sum(), int(found.clips.sum()))
    point = _show("activity", figure, tables.activity_table(found), source, choice, summary)
    if point is not None:
        day = date.fromisoformat(point[0])
        list_cell(replace(choice, first_day=day, last_day=day, hour_of_day=int(point[1])))
    rhythm = rhythm_of(found, source.is_sound)
    figure = rhythm_figure(rhythm, is_sound=source.is_sound)
    of_hour = _show(
        "rhythm", figure, tables.rhythm_table(rhythm), source, choice, "**Daily rhythm**, over all chosen days"
    )
    if of_hour is not None and point is None:
        list_cell(replace(choice, hour_of_day=int(of_hour[0])))


def _site_days(source: Detections, choice: Choice) -> Choice | None:
    from miml_core.insights.figures import site_days_figure

    found = aggregates.site_days(source, choice)
    if not len(found.dates):
        _nothing_recorded(source)
        return None
    figure = site_days_figure(found, is_sound=source.is_sound, per_effort=_per_effort())
    summary = _summary(source, int(found.counts.sum()), found.effort_s.sum(), int(found.clips.sum()))
    point = _show("sites", figure, tables.site_days_table(found), source, choice, summary)
    if point is None:
        return None
    day = date.fromisoformat(point[0])
    return replace(choice, first_day=day, last_day=day, sites=(str(point[1]),))


def _class_sites(source: Detections, choice: Choice) -> Choice | None:
    from miml_core.insights.figures import class_sites_figure

    found = aggregates.class_sites(source, choice)
    figure = class_sites_figure(found, is_sound=source.is_sound, per_effort=_per_effort())
    summary = _summary(source, int(found.counts.sum()), found.effort_s.sum(), int(found.clips.sum()))
    point = _show("classes", figure, tables.class_sites_table(found), source, choice, summary)
    return None if point is None else replace(choice, class_name=str(point[0]), sites=(str(point[1]),))


def _accumulation(source: Detections, choice: Choice) -> Choice | None:
    from miml_core.insights.figures import accumulation_figure

    found = aggregates.accumulation(source, choice)
    if not len(found.dates):
        _nothing_recorded(source)
        return None
    days = count(len(found.dates), "day")
    files = "recording" if source.is_sound else "picture"
    summary = f"{count(int(found.found[-1]), 'class', 'classes')} in {days} with a {files}."
    figure = accumulation_figure(found, is_sound=source.is_sound)
    _show("accumulation", figure, tables.accumulation_table(found), source, choice, summary)
    return None


def _co_occurrence(source: Detections, choice: Choice) -> Choice | None:
    from miml_core.insights.figures import MOST_TOGETHER, co_occurrence_figure

    found = aggregates.co_occurrence(source, choice)
    n_classes = int((np.diag(found.counts) > 0).sum())
    noun = "clip" if source.is_sound else "picture"
    if n_classes < 2:
        st.info(f"Fewer than two classes are above the threshold; there are no pairs in a {noun}.")
        return None
    shown = ""
    if n_classes > MOST_TOGETHER:
        shown = f" The {MOST_TOGETHER} most frequent classes are drawn; the CSV has all."
    summary = (
        f"Of the {noun}s with either of two classes, the share with both; {thousands(found.n_clips)} {noun}s.{shown}"
    )
    figure = co_occurrence_figure(found, is_sound=source.is_sound)
    _show("co_occurrence", figure, tables.co_occurrence_table(found), source, choice, summary)
    return None


def _probability(source: Detections, choice: Choice) -> Choice | None:
    from miml_core.insights.figures import histogram_figure

    found = aggregates.probability_histogram(source, choice)
    effort = aggregates.class_sites(source, choice)
    by_people = count(found.n_checked, "label checked by people is", "labels checked by people are")
    checked = f" {by_people} not included." if found.n_checked else ""
    total = int(found.counts.sum())
    summary = _summary(source, total, effort.effort_s.sum(), int(effort.clips.sum()))
    table = tables.histogram_table(found, effort.effort_s.sum() / 3600, int(effort.clips.sum()))
    _show("probability", histogram_figure(found), table, source, choice, summary + checked)
    return None


def _per_clip(source: Detections, choice: Choice) -> Choice | None:
    from miml_core.insights.figures import per_clip_figure

    found = aggregates.per_clip(source, choice)
    noun = "clip" if source.is_sound else "picture"
    summary = f"{count(int(found.clips[1:].sum()), noun)} of {thousands(int(found.clips.sum()))} with a detection."
    _show(
        "per_clip",
        per_clip_figure(found, is_sound=source.is_sound),
        tables.per_clip_table(found),
        source,
        choice,
        summary,
    )
    return None


def _show(
    name: str, figure: Any, table: tables.Table, source: Detections, choice: Choice, summary: str
) -> list[Any] | None:
    """Draw a figure and its files; return what the clicked point carries."""
    picture = st.session_state.get(_PICTURE, "png")
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.caption(summary, width="stretch")
        st.download_button(
            "CSV",
            data=lambda: tables.to_csv(table),
            file_name=f"{file_name(source, choice, name)}.csv",
            mime="text/csv",
            key=f"insights.csv.{name}",
            icon=":material/table:",
            type="tertiary",
            on_click="ignore",
            help="The numbers of this plot, with the effort",
        )
    picture_options = {"format": picture, "filename": file_name(source, choice, name), "scale": 2}
    event: Any = st.plotly_chart(
        figure,
        key=f"insights.chart.{name}.{hash((choice, source.name))}",
        config={
            "displaylogo": False,
            "toImageButtonOptions": picture_options,
            "modeBarButtonsToRemove": ["lasso2d", "select2d", "autoScale2d"],
        },
        on_select="rerun",
        selection_mode="points",
        alt=f"{name} of {choice.class_name or 'all classes'}. {summary}",
    )
    for point in event["selection"]["points"]:
        given = point.get("customdata")
        if given is not None:
            return list(given.values()) if isinstance(given, dict) else list(np.ravel(given).tolist())
    return None


def file_name(source: Detections, choice: Choice, what: str) -> str:
    """Return a name for a file, of letters and digits only."""
    parts = [source.name, what, choice.class_name or "all"]
    return "-".join("".join(c if c.isalnum() else "_" for c in part)[:40] for part in parts)


def _per_effort() -> bool:
    return bool(st.session_state.get("insights.per_effort"))


def _summary(source: Detections, n: int, effort_s: float, clips: int) -> str:
    effort = f"{effort_s / 3600:,.1f} hours recorded" if source.is_sound else count(clips, "picture")
    return f"{count(n, 'detection')}, {effort}."


def _nothing_recorded(source: Detections) -> None:
    nothing = "Nothing was recorded" if source.is_sound else "There is no picture"
    st.info(f"{nothing} at these sites and days; choose others.", icon=":material/info:")
