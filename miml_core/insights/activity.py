"""Detections by date and hour of day, with the effort beside them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miml_core.insights.detections import Choice, Detections

HOURS = 24
_LONGEST_SPAN = 1100
"""Days that are all listed; a longer span, perhaps of a recorder with a wrong clock, has only days with recordings."""

_BY_HOUR = "SELECT hour, count(*) AS n FROM detections WHERE {chosen} AND hour IS NOT NULL GROUP BY hour"
_EFFORT_BY_HOUR = """
    SELECT hour, sum(seconds) AS seconds, sum(clips)::BIGINT AS clips FROM effort
    WHERE {recorded} AND hour IS NOT NULL GROUP BY hour
"""


@dataclass(frozen=True, eq=False)
class Activity:
    """Detections by date and hour of day.

    Attributes
    ----------
    dates : (D,) datetime64[D]
        From the first to the last day with a recording; `is_complete` is whether all days between are listed.
    hours : (24,) int
    counts : (D, 24) int
    effort_s : (D, 24) float
        Seconds that were recorded and analysed; 0 is no recording, so that its count says nothing.
    clips : (D, 24) int
        Clips that began, or pictures that were taken.
    is_complete : bool

    Examples
    --------
    >>> from miml_core.demo.example import example_detections
    >>> found = activity(example_detections(), "Wren")
    >>> np.argwhere(found.recorded & (found.counts == 0)).tolist()  # no wren in a recording: second day, 6 h
    [[1, 6]]
    """

    dates: NDArray[np.datetime64]
    hours: NDArray[np.int64]
    counts: NDArray[np.int64]
    effort_s: NDArray[np.float64]
    clips: NDArray[np.int64]
    is_complete: bool = True

    @property
    def recorded(self) -> NDArray[np.bool_]:
        """(D, 24): whether there was a recording."""
        return (self.effort_s > 0) | (self.clips > 0)


@dataclass(frozen=True, eq=False)
class DailyRhythm:
    """Detections by hour of day, over all dates.

    Attributes
    ----------
    hours : (24,) int
    counts : (24,) int
    effort_s : (24,) float
    clips : (24,) int
    rate : (24,) float
        Detections per recorded hour, of pictures per picture; NaN for hours without a recording.

    Examples
    --------
    >>> from miml_core.demo.example import example_detections
    >>> found = daily_rhythm(example_detections(), "Wren")
    >>> found.hours[~np.isnan(found.rate)].tolist()
    [5, 6]
    """

    hours: NDArray[np.int64]
    counts: NDArray[np.int64]
    effort_s: NDArray[np.float64]
    clips: NDArray[np.int64]
    rate: NDArray[np.float64]


def activity(
    source: Detections, class_name: str | None = None, threshold: float = 0.5, choice: Choice | None = None
) -> Activity:
    """Count the detections of a class by date and hour of day.

    Parameters
    ----------
    source : Detections
    class_name : str, optional
        None for all classes together.
    threshold : float
    choice : Choice, optional
        Instead of class and threshold, and with sites and days.

    Returns
    -------
    Activity

    Examples
    --------
    >>> from miml_core.demo.example import example_detections
    >>> found = activity(example_detections(), "Wren", threshold=0.9)
    >>> for date, counts in zip(found.dates, found.counts):
    ...     print(date, counts[4:8])
    2024-05-01 [0 1 1 0]
    2024-05-02 [0 0 0 0]
    """
    choice = choice or Choice(class_name, threshold)
    found = source.count(_BY_HOUR, choice)
    effort = source.count(_EFFORT_BY_HOUR, choice)
    days, is_complete = all_days(effort["hour"] // HOURS)
    grid = (len(days), HOURS)
    return Activity(
        dates=np.asarray(days, dtype=np.int64).astype("datetime64[D]"),
        hours=np.arange(HOURS),
        counts=_placed(grid, days, found["hour"], found["n"]).astype(np.int64),
        effort_s=_placed(grid, days, effort["hour"], effort["seconds"]),
        clips=_placed(grid, days, effort["hour"], effort["clips"]).astype(np.int64),
        is_complete=is_complete,
    )


def daily_rhythm(
    source: Detections, class_name: str | None = None, threshold: float = 0.5, choice: Choice | None = None
) -> DailyRhythm:
    """Return the detections of a class per recorded hour, by hour of day; parameters as in `activity`.

    Examples
    --------
    >>> from miml_core.demo.example import example_detections
    >>> found = daily_rhythm(example_detections(), "Wren")
    >>> found.counts[4:8], found.effort_s[4:8], found.rate[4:8]
    (array([0, 1, 1, 0]), array([0., 1., 2., 0.]), array([  nan, 3600., 1800.,   nan]))
    """
    return rhythm_of(activity(source, class_name, threshold, choice), source.is_sound)


def rhythm_of(found: Activity, is_sound: bool) -> DailyRhythm:
    """Return the daily rhythm of an activity.

    Examples
    --------
    >>> from miml_core.demo.example import example_detections
    >>> rhythm_of(activity(example_detections(), "Robin"), is_sound=True).rate[5:7]
    array([3600.,    0.])
    """
    counts, effort, clips = found.counts.sum(axis=0), found.effort_s.sum(axis=0), found.clips.sum(axis=0)
    amount = effort / 3600 if is_sound else clips.astype(float)
    with np.errstate(invalid="ignore", divide="ignore"):
        rate = np.where(amount > 0, counts / amount, np.nan)
    return DailyRhythm(found.hours, counts, effort, clips, rate)


def all_days(days: NDArray[Any]) -> tuple[NDArray[np.int64], bool]:
    """Return the days from the first to the last, and whether they are all listed.

    Examples
    --------
    >>> all_days(np.array([7, 4, 7]))[0].tolist(), all_days(np.array([-9000, 4]))
    ([4, 5, 6, 7], (array([-9000,     4]), False))
    """
    found = np.unique(np.asarray(days, dtype=np.int64))
    if not len(found):
        return found, True
    is_complete = int(found[-1] - found[0]) < _LONGEST_SPAN
    return np.arange(found[0], found[-1] + 1) if is_complete else found, is_complete


def _placed(
    grid: tuple[int, int], days: NDArray[Any], hours: NDArray[Any], values: NDArray[Any]
) -> NDArray[np.float64]:
    """Return values of hours since 1970 as (days, 24)."""
    placed = np.zeros(grid)
    rows = np.searchsorted(days, hours // HOURS)
    known = (rows < len(days)) & (days[np.minimum(rows, len(days) - 1)] == hours // HOURS) if len(days) else []
    placed[rows[known], (hours % HOURS)[known]] = values[known]
    return placed
