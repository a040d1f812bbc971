"""Sunrise and sunset by the clock of the recorders, and what that clock is."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import date, timedelta, timezone
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from miml_core.errors import BagtagError
from miml_core.insights.detections import Detections
from miml_core.media.image import image_info
from miml_core.media.recording_place import Place, recording_place

if TYPE_CHECKING:
    from miml_core.project import Project


_FILES_READ = 20
"""Files of a project that are read to find one with a place."""
_DAY_MINUTES = 24 * 60


def sun_times(place: Place, dates: Sequence[date], utc_offset: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return sunrise and sunset on dates, in hours of a clock.

    Parameters
    ----------
    place : Place
    dates : sequence of D date
    utc_offset : int
        Minutes that the clock is ahead of UTC.

    Returns
    -------
    sunrise, sunset : (D,) float
        0 to 24; NaN on days on which the sun stays above or below the horizon.

    Examples
    --------
    >>> rise, set_ = sun_times(Place(43.6, 3.9), [date(2024, 5, 1)], 120)
    >>> rise.round(1).tolist(), set_.round(1).tolist()
    ([6.6], [20.8])
    """
    from astral import Observer
    from astral.sun import sunrise, sunset

    observer = Observer(place.latitude, place.longitude)
    clock = timezone(timedelta(minutes=utc_offset))
    found = np.full((2, len(dates)), np.nan)
    for row, event in enumerate((sunrise, sunset)):
        for column, day in enumerate(dates):
            try:
                moment = event(observer, date=day, tzinfo=clock)
            except ValueError:  # polar day or night
                continue
            found[row, column] = moment.hour + moment.minute / 60 + moment.second / 3600
    return found[0], found[1]


def recorded_place(source: Detections, project: Project | None = None) -> Place | None:
    """Return where the recorders were: what the first recording states that can be read here, else the project's place.

    Of an archive only recordings below folders that were chosen on this computer are read.
    """
    from miml_core.insights.listing import find_recording, first_files

    own = None if project is None else project.place
    if source.archive is None:
        if project is not None:
            for bag_id in project.bags.ids()[:_FILES_READ]:
                location = project.media.location(bag_id)
                if location.from_file:
                    return location.place
        return own
    for file in first_files(source):
        with suppress(BagtagError, OSError):
            path = find_recording(source.archive, file)
            found = recording_place(path) if source.is_sound else image_info(path).place
            if found is not None:
                return found
    return own


def clock_offset(source: Detections) -> int | None:
    """Return the minutes that all recorders' clocks are ahead of UTC; None if that is unknown, differs, or is wrong."""
    stated = list(source.clocks)
    offset = stated[0] if len(stated) == 1 else None
    return offset if offset is not None and abs(offset) < _DAY_MINUTES else None


def clock_text(source: Detections) -> str:
    """Return a sentence about the clock that dates and hours are of.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> clock_text(SimpleNamespace(clocks={120: 60.0}, is_sound=True))
    "Dates and hours are those of the recorders' clocks: UTC+2."
    """
    owners, files = ("recorders", "recording") if source.is_sound else ("cameras", "picture")
    if not source.clocks:
        return f"No {files} has a time."
    begin = f"Dates and hours are those of the {owners}' clocks"
    if len(source.clocks) == 1:
        (offset,) = source.clocks
        if offset is None:
            return f"{begin}; the {files}s do not state whether that is UTC or local time."
        return f"{begin}: {offset_text(offset)}."
    total = sum(source.clocks.values())
    parts = [
        f"{'not stated' if offset is None else offset_text(offset)} ({100 * amount / total:.0f} %)"
        for offset, amount in sorted(source.clocks.items(), key=lambda one: -one[1])
    ]
    return (
        f"{begin}, which differ: {', '.join(parts)}. Hours of different clocks are counted together; choose sites "
        "to see them apart."
    )


def offset_text(offset: int) -> str:
    """Return the name of a clock.

    Examples
    --------
    >>> offset_text(0), offset_text(120), offset_text(-210)
    ('UTC', 'UTC+2', 'UTC-3:30')
    """
    if not offset:
        return "UTC"
    hours, minutes = divmod(abs(offset), 60)
    return f"UTC{'-' if offset < 0 else '+'}{hours}" + (f":{minutes:02d}" if minutes else "")
