"""Texts of the figures: names, units, and what a cell shows below the mouse. Names are escaped: Plotly reads HTML."""

from __future__ import annotations

import html

import numpy as np
from numpy.typing import NDArray

from miml_core.plurals import plural

_LONGEST_NAME = 34


def cell_text(place: str, count: int, effort_s: float, clips: int, is_sound: bool) -> str:
    """Return the text of a cell: place, count, and the effort.

    Examples
    --------
    >>> cell_text("marsh", 1, 120.0, 12, is_sound=True), cell_text("<hill>", 0, 0.0, 0, is_sound=True)
    ('marsh: 1 detection, 2 min recorded', '&lt;hill&gt;: no recording')
    """
    if not (effort_s > 0 or clips > 0):
        return f"{html.escape(place)}: {nothing_text(is_sound)}"
    amount = f"{number_text(effort_s / 60)} min recorded" if is_sound else f"{clips:,} {plural(clips, 'picture')}"
    return f"{html.escape(place)}: {count:,} {plural(count, 'detection')}, {amount}"


def nothing_text(is_sound: bool) -> str:
    """Return the text of a cell without effort."""
    return "no recording" if is_sound else "no picture"


def pair_text(
    names: list[str],
    i: int,
    j: int,
    both: NDArray[np.float64],
    either: NDArray[np.float64],
    noun: str,
    n_clips: int,
) -> str:
    """Return the text of a cell of two classes."""
    if i == j:
        return html.escape(f"{names[i]}: {int(both[i, i]):,} of {n_clips:,} {noun}")
    counts = f"{int(both[i, j]):,} {noun} with both, {int(either[i, j]):,} with either, of {n_clips:,}"
    return html.escape(f"{names[i]} and {names[j]}: {counts}")


def per_effort_title(is_sound: bool) -> str:
    """Return the title of counts per effort."""
    return "detections per recorded hour" if is_sound else "detections per picture"


def effort_title(is_sound: bool) -> str:
    """Return the title of an axis of effort."""
    return "hours recorded" if is_sound else "pictures"


def effort_unit(is_sound: bool) -> str:
    """Return the unit of effort beside a number."""
    return "h" if is_sound else "pictures"


def number_text(value: float) -> str:
    """Return a number with three digits, or without decimals from 100 on."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def short_name(name: str) -> str:
    """Return the beginning of a name that is too long for an axis, escaped."""
    return html.escape(name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…")
