"""Where the recorders were and which clock they had, for the lines of sunrise and sunset."""

from __future__ import annotations

from contextlib import suppress
from functools import partial

import streamlit as st

from miml_core import BagtagError
from miml_core.insights import Detections
from miml_core.insights.sun import clock_offset, offset_text, recorded_place
from miml_core.media.recording_place import Place
from miml_core.project import Project
from pages.widgets.errors import attempt
from pages.widgets.insights.plots import Sun
from pages.widgets.insights.source import preferences, remember
from pages.widgets.place_input import place_input
from pages.widgets.text import plain

_OFFSETS = sorted({*range(-12 * 60, 14 * 60 + 1, 30), 345, 525, 765})
"""Minutes: whole and half hours, and the clocks of Nepal, Eucla and the Chatham Islands."""
_PLACE, _CLOCK = "insights.place", "insights.clock"


def choose_sun(project: Project, source: Detections) -> Sun | None:
    """Draw the fields; return place and clock if both are known."""
    files = "recordings" if source.is_sound else "pictures"
    place, stated = _place(project, source), clock_offset(source)
    clock = stated if stated is not None else _remembered_clock(project)
    with st.popover("Sunrise and sunset", icon=":material/wb_twilight:", key="insights-sun", type="tertiary"):
        store = project.set_place if source.archive is None else partial(_remember_place, project)
        place_input("Latitude, longitude", place, store, key=f"{_PLACE}.{source.archive is None}")
        if stated is not None:
            st.caption(f"The {files} state their clock: {offset_text(stated)}.")
        else:
            why = "differ in" if len(source.clocks) > 1 else "do not state"
            st.selectbox(
                "Clock of the recorders" if source.is_sound else "Clock of the cameras",
                [None, *_OFFSETS],
                index=0 if clock is None else 1 + _OFFSETS.index(clock),
                format_func=lambda offset: "not known" if offset is None else offset_text(offset),
                key=_CLOCK,
                help=f"The {files} {why} how far their clocks were ahead of UTC.",
                on_change=attempt,
                args=(_store_clock, project),
            )
        if place is None or clock is None:
            st.caption("The lines are drawn when place and clock are known.")
    return None if place is None or clock is None else Sun(place, clock)


def sun_text(sun: Sun | None) -> str:
    """Return a sentence about the lines."""
    if sun is None:
        return ""
    return f"Sunrise and sunset are those of {plain(str(sun.place))}, by a clock at {offset_text(sun.utc_offset)}."


def _place(project: Project, source: Detections) -> Place | None:
    """Return the place of a source: what was entered, else what the recordings state, else the project's."""
    entered = preferences(project).get("place")
    if source.archive is not None and isinstance(entered, str):
        with suppress(BagtagError):
            return Place.parse(entered)
    if source.archive is None and project.place is not None:
        return project.place
    return _recorded_place(source, project)


@st.cache_data(max_entries=16, show_spinner=False)
def _kept_place(_source: Detections, _project: Project, key: tuple[str, str, int]) -> Place | None:
    return recorded_place(_source, _project)


def _recorded_place(source: Detections, project: Project) -> Place | None:
    """Return what the recordings state; a header is read, so the answer is kept."""
    where = str(project.folder if source.archive is None else source.archive)
    return _kept_place(source, project, (where, str(project.place), source.n_files))


def _remember_place(project: Project, place: Place | None) -> None:
    remember(project, place="" if place is None else str(place))


def _remembered_clock(project: Project) -> int | None:
    stored = preferences(project).get("clock")
    return stored if isinstance(stored, int) and stored in _OFFSETS else None


def _store_clock(project: Project) -> None:
    remember(project, clock=st.session_state[_CLOCK])
