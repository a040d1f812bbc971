"""Effort: how much was recorded in which hour."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

MS_PER_HOUR = 3_600_000


def cells_text(is_sound: bool) -> str:
    """Return what the colours of a heat map mean."""
    if is_sound:
        return "Grey: not recorded. Dark: recorded, but nothing was detected."
    return "Grey: no pictures. Dark: pictures, but nothing was detected in them."


def split_by_hour(
    starts_ms: NDArray[np.int64], seconds: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Divide recordings at the ends of hours.

    Parameters
    ----------
    starts_ms : (n,) int
        Milliseconds since 1970.
    seconds : (n,) float
        Lengths; 0 for a picture, which is in the hour of its time.

    Returns
    -------
    rows, hours : (m,) int
        Which recording, and the hour since 1970.
    parts : (m,) float
        Seconds of it in that hour.

    Examples
    --------
    >>> rows, hours, parts = split_by_hour(np.array([23 * 3_600_000 + 3_540_000]), np.array([90.0]))
    >>> hours.tolist(), parts.tolist()
    ([23, 24], [60.0, 30.0])
    """
    length_ms = np.maximum(np.rint(1000 * seconds).astype(np.int64), 0)
    first = starts_ms // MS_PER_HOUR
    last = (starts_ms + np.maximum(length_ms, 1) - 1) // MS_PER_HOUR
    pieces = last - first + 1
    rows = np.repeat(np.arange(len(starts_ms)), pieces)
    hours = first[rows] + np.arange(len(rows)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    begin = np.maximum(starts_ms[rows], hours * MS_PER_HOUR)
    end = np.minimum((starts_ms + length_ms)[rows], (hours + 1) * MS_PER_HOUR)
    return rows, hours, (end - begin) / 1000


class EffortSum:
    """Add up seconds and clips by site and hour, batch by batch."""

    def __init__(self) -> None:
        self._seconds: dict[tuple[int, int | None], float] = {}
        self._clips: dict[tuple[int, int | None], int] = {}

    def add(
        self,
        sites: NDArray[np.integer[Any]],
        starts_ms: NDArray[np.int64],
        known: NDArray[np.bool_],
        seconds: NDArray[np.float64],
    ) -> None:
        """Add clips of which `known` have a time."""
        rows, hours, parts = split_by_hour(starts_ms[known], seconds[known])
        is_first = np.r_[True, rows[1:] != rows[:-1]] if len(rows) else np.zeros(0, dtype=bool)
        self._add(sites[known][rows], hours, parts, is_first)
        without = ~known
        self._add(sites[without], None, seconds[without], np.ones(int(without.sum()), dtype=bool))

    def _add(
        self,
        sites: NDArray[np.integer[Any]],
        hours: NDArray[np.int64] | None,
        seconds: NDArray[np.float64],
        counts: NDArray[np.bool_],
    ) -> None:
        if not len(sites):
            return
        keys = np.column_stack([sites, np.zeros(len(sites), np.int64) if hours is None else hours])
        groups, place = np.unique(keys, axis=0, return_inverse=True)
        sums = np.bincount(place.ravel(), seconds, len(groups))
        clips = np.bincount(place.ravel(), counts, len(groups))
        for (site, hour), total, number in zip(groups.tolist(), sums.tolist(), clips.tolist()):
            key = (site, None if hours is None else hour)
            self._seconds[key] = self._seconds.get(key, 0.0) + total
            self._clips[key] = self._clips.get(key, 0) + int(number)

    def table(self) -> Any:
        """Return the sums as a table, see `effort_schema`."""
        import pyarrow as pa

        from miml_core.insights.detections import effort_schema

        keys = list(self._seconds)
        columns = [
            [site for site, _ in keys],
            [hour for _, hour in keys],
            [self._seconds[key] for key in keys],
            [self._clips[key] for key in keys],
        ]
        return pa.table(columns, schema=effort_schema())
