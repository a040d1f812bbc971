"""Which detections are counted: class, threshold, sites and days."""

from __future__ import annotations

from datetime import date

import numpy as np
import streamlit as st

from miml_core.insights import Choice, Detections
from miml_core.project import Project

_ALL = ""
_CLASS, _THRESHOLD, _SITES, _DAYS = "insights.class", "insights.threshold", "insights.sites", "insights.days"


def choose_detections(project: Project, source: Detections) -> Choice:
    """Draw the filters; return what they choose."""
    for key, offered in ((_CLASS, {_ALL, *source.classes}), (_SITES, set(source.sites))):
        chosen = st.session_state.get(key)
        if chosen is not None and not set([chosen] if isinstance(chosen, str) else chosen) <= offered:
            del st.session_state[key]
    several_sites = len(source.sites) > 1
    first, last = _recorded_days(source)
    with st.grid(4 if several_sites else 3, min_column_width=200):
        name = st.selectbox(
            "Class",
            [_ALL, *sorted(source.classes, key=str.casefold)],
            format_func=lambda one: one or "All classes",
            key=_CLASS,
        )
        threshold = st.slider(
            "Minimum probability",
            0.0,
            1.0,
            project.review.sure_from(),
            step=0.01,
            key=_THRESHOLD,
            help="Detections below it are not counted; what a person labelled counts in any case.",
        )
        sites: list[str] = []
        if several_sites:
            sites = st.multiselect("Sites", sorted(source.sites, key=str.casefold), key=_SITES, placeholder="All sites")
        days = _choose_days(first, last)
    return Choice(name or None, threshold, tuple(sites) or None, *days)


def _recorded_days(source: Detections) -> tuple[date | None, date | None]:
    hours = source.effort_table["hour"].drop_null()
    if not len(hours):
        return None, None
    days = np.array([min(hours.to_numpy()), max(hours.to_numpy())]) // 24
    first, last = days.astype("datetime64[D]").astype(object)
    return first, last


def _choose_days(first: date | None, last: date | None) -> tuple[date | None, date | None]:
    if first is None or last is None:
        return None, None
    chosen = st.session_state.get(_DAYS)
    if chosen and not all(first <= day <= last for day in chosen):
        del st.session_state[_DAYS]
    given = st.date_input("Days", value=[], min_value=first, max_value=last, key=_DAYS, help="Empty for all days.")
    if not isinstance(given, tuple) or not given:
        return None, None
    return given[0], given[-1]
