"""The numbers behind each plot as tables, and as CSV files that are safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from miml_core.exchange.cells import neutralise
from miml_core.insights.activity import Activity, DailyRhythm
from miml_core.insights.aggregates import (
    Accumulation,
    ClassSites,
    CoOccurrence,
    PerClip,
    ProbabilityHistogram,
    SiteDays,
)


@dataclass(frozen=True)
class Table:
    """Column names and rows."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]


def to_csv(table: Table) -> bytes:
    """Return a table as CSV (UTF-8 with a mark, which spreadsheets need).

    Examples
    --------
    >>> to_csv(Table(("class", "detections"), [("=1+1", 3)])).decode("utf-8-sig").splitlines()
    ['class,detections', "'=1+1,3"]
    """
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(table.columns)
    for row in table.rows:
        writer.writerow([neutralise(cell) if isinstance(cell, str) else _number(cell) for cell in row])
    return text.getvalue().encode("utf-8-sig")


def _number(value: Any) -> Any:
    if isinstance(value, float | np.floating):
        return "" if np.isnan(value) else f"{value:.6g}"
    return value


def activity_table(found: Activity) -> Table:
    """Return one row per date and hour with a recording."""
    rows = [
        (str(found.dates[d]), int(h), int(found.counts[d, h]), found.effort_s[d, h] / 3600, int(found.clips[d, h]))
        for d, h in zip(*np.nonzero(found.recorded))
    ]
    return Table(("date", "hour", "detections", "recorded_hours", "clips"), rows)


def rhythm_table(found: DailyRhythm) -> Table:
    """Return one row per hour of day."""
    columns = ("hour", "detections", "recorded_hours", "clips", "detections_per_effort")
    rows = zip(found.hours.tolist(), found.counts.tolist(), found.effort_s / 3600, found.clips.tolist(), found.rate)
    return Table(columns, list(rows))


def site_days_table(found: SiteDays) -> Table:
    """Return one row per site and day with a recording."""
    rows = [
        (
            found.sites[s],
            str(found.dates[d]),
            int(found.counts[s, d]),
            found.effort_s[s, d] / 3600,
            int(found.clips[s, d]),
        )
        for s, d in zip(*np.nonzero(found.recorded))
    ]
    return Table(("site", "date", "detections", "recorded_hours", "clips"), rows)


def class_sites_table(found: ClassSites) -> Table:
    """Return one row per class and site, also without detections."""
    rows = [
        (name, site, int(found.counts[c, s]), found.effort_s[s] / 3600, int(found.clips[s]))
        for c, name in enumerate(found.classes)
        for s, site in enumerate(found.sites)
    ]
    return Table(("class", "site", "detections", "recorded_hours", "clips"), rows)


def accumulation_table(found: Accumulation) -> Table:
    """Return one row per day with a recording."""
    columns = ("date", "days", "recorded_hours_so_far", "clips_so_far", "classes_so_far", "mean_classes_of_random_days")
    rows: Iterable[tuple[Any, ...]] = zip(
        [str(day) for day in found.dates],
        range(1, len(found.dates) + 1),
        found.effort_s / 3600,
        found.clips.tolist(),
        found.found.tolist(),
        found.mean_found,
    )
    return Table(columns, list(rows))


def co_occurrence_table(found: CoOccurrence) -> Table:
    """Return one row per pair of classes that occur."""
    n_clips_with = np.diag(found.counts)
    rows = []
    for a, b in zip(*np.nonzero(np.triu(found.counts, 1))):
        both = int(found.counts[a, b])
        either = int(n_clips_with[a] + n_clips_with[b]) - both
        rows.append(
            (
                found.classes[a],
                found.classes[b],
                both,
                int(n_clips_with[a]),
                int(n_clips_with[b]),
                both / either,
                found.n_clips,
            )
        )
    columns = (
        "class",
        "other_class",
        "clips_with_both",
        "clips_with_class",
        "clips_with_other",
        "jaccard",
        "all_clips",
    )
    return Table(columns, rows)


def histogram_table(found: ProbabilityHistogram, effort_hours: float, clips: int) -> Table:
    """Return one row per bin; effort is that of all of them."""
    columns = ("probability_from", "probability_to", "detections", "counted", "recorded_hours", "clips")
    rows = [
        (low, high, n, bool(low >= found.threshold - 1e-9), effort_hours, clips)
        for low, high, n in zip(found.edges[:-1], found.edges[1:], found.counts.tolist())
    ]
    return Table(columns, rows)


def per_clip_table(found: PerClip) -> Table:
    """Return one row per number of detections."""
    return Table(("detections", "clips"), list(zip(found.numbers.tolist(), found.clips.tolist())))


def joined_names(names: Sequence[str], most: int = 5) -> str:
    """Return names as text, the first ones only if there are many.

    Examples
    --------
    >>> joined_names(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
