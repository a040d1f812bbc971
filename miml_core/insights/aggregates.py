"""Counts by site, day, class, clip and probability, with the effort beside them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miml_core.insights.activity import all_days
from miml_core.insights.detections import Choice, Detections
from miml_core.insights.rarefaction import mean_accumulation

N_BINS = 50
"""Of the histogram of probabilities."""
_MOST_PER_CLIP = 20
"""Clips with so many detections or more are counted together."""

_BY_SITE_DAY = """
    SELECT site, floor(hour / 24)::INTEGER AS day, count(*) AS n FROM detections
    WHERE {chosen} AND hour IS NOT NULL GROUP BY ALL
"""
_EFFORT_BY_SITE_DAY = """
    SELECT site, floor(hour / 24)::INTEGER AS day, sum(seconds) AS seconds, sum(clips)::BIGINT AS clips FROM effort
    WHERE {recorded} AND hour IS NOT NULL GROUP BY ALL
"""
_BY_CLASS_SITE = "SELECT label, site, count(*) AS n FROM detections WHERE {chosen} GROUP BY ALL"
_EFFORT_BY_SITE = """
    SELECT site, sum(seconds) AS seconds, sum(clips)::BIGINT AS clips FROM effort WHERE {recorded} GROUP BY ALL
"""
_BY_CLASS_DAY = """
    SELECT label, floor(hour / 24)::INTEGER AS day, count(*) AS n FROM detections
    WHERE {chosen} AND hour IS NOT NULL GROUP BY ALL
"""
_TOGETHER = """
    WITH of_clip AS (SELECT {words} FROM detections WHERE {chosen} GROUP BY clip)
    SELECT *, count(*) AS n FROM of_clip GROUP BY ALL
"""
_WORD = (
    "bit_or(CASE WHEN label BETWEEN {first} AND {last} THEN 1::UBIGINT << (label - {first}) ELSE 0 END) AS word{first}"
)
_WORD_BITS = 62
_MASKS_AT_ONCE = 50_000
_BY_PROBABILITY = """
    SELECT label, least(floor(CAST(probability AS DOUBLE) * $bins), $bins - 1)::INTEGER AS bin, count(*) AS n
    FROM detections WHERE {chosen} AND NOT checked GROUP BY ALL
"""
_CHECKED = "SELECT count(*) AS n FROM detections WHERE {chosen} AND checked"
_PER_CLIP = """
    WITH of_clip AS (SELECT count(*) AS number FROM detections WHERE {chosen} GROUP BY clip)
    SELECT least(number, $most)::INTEGER AS number, count(*) AS n FROM of_clip GROUP BY ALL
"""


@dataclass(frozen=True, eq=False)
class SiteDays:
    """Detections per site and day.

    Attributes
    ----------
    sites : tuple of S str
    dates : (D,) datetime64[D]
        From the first to the last day with a recording at any site, see `all_days`.
    counts : (S, D) int
    effort_s : (S, D) float
    clips : (S, D) int

    Examples
    --------
    >>> from miml_core.demo.example import example_detections
    >>> site_days(example_detections(), Choice()).recorded
    array([[ True, False],
           [ True,  True]])
    """

    sites: tuple[str, ...]
    dates: NDArray[np.datetime64]
    counts: NDArray[np.int64]
    effort_s: NDArray[np.float64]
    clips: NDArray[np.int64]

    @property
    def recorded(self) -> NDArray[np.bool_]:
        """(S, D): whether there was a recording."""
        return (self.effort_s > 0) | (self.clips > 0)


@dataclass(frozen=True, eq=False)
class ClassSites:
    """Detections per class and site, also of recordings without a time.

    Attributes
    ----------
    classes : tuple of C str
    sites : tuple of S str
    counts : (C, S) int
    effort_s : (S,) float
    clips : (S,) int

    Examples
    --------
    >>> from miml_core.demo.example import example_detections
    >>> found = class_sites(example_detections(), Choice())
    >>> found.counts / found.clips
    array([[1. , 0.5],
           [1. , 0. ]])
    """

    classes: tuple[str, ...]
    sites: tuple[str, ...]
    counts: NDArray[np.int64]
    effort_s: NDArray[np.float64]
    clips: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Accumulation:
    """Classes found against effort.

    Attributes
    ----------
    dates : (D,) datetime64[D]
        Days with a recording.
    effort_s : (D,) float
        Recorded until the end of each day, in seconds.
    clips : (D,) int
        The same in clips or pictures.
    found : (D,) int
        Classes found until the end of each day.
    mean_found : (D,) float
        Mean number of classes in 1 to D days, over all orders of the days.

    Examples
    --------
    >>> from miml_core.demo.example import example_detections
    >>> found = accumulation(example_detections(), Choice())
    >>> found.effort_s, found.found
    (array([2., 3.]), array([2, 2]))
    """

    dates: NDArray[np.datetime64]
    effort_s: NDArray[np.float64]
    clips: NDArray[np.int64]
    found: NDArray[np.int64]
    mean_found: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CoOccurrence:
    """Classes in the same clip or picture.

    Attributes
    ----------
    classes : tuple of C str
    counts : (C, C) int
        Clips that have both; on the diagonal, clips that have the class.
    n_clips : int
        All clips, with and without detections.

    Examples
    --------
    >>> from miml_core.demo.example import example_detections
    >>> found = co_occurrence(example_detections(), Choice())
    >>> found.counts.diagonal() / found.n_clips  # in which share of the clips there are wrens, and robins
    array([0.66666667, 0.33333333])
    """

    classes: tuple[str, ...]
    counts: NDArray[np.int64]
    n_clips: int


@dataclass(frozen=True, eq=False)
class ProbabilityHistogram:
    """Detections by probability, whatever the threshold.

    Attributes
    ----------
    edges : (N + 1,) float
    counts : (N,) int
    threshold : float
    n_checked : int
        Labels of people, which are not in the bins.

    Examples
    --------
    >>> from miml_core.demo.example import example_detections
    >>> found = probability_histogram(example_detections(), Choice(threshold=0.9))
    >>> int(found.counts[found.edges[:-1] >= found.threshold].sum())
    3
    """

    edges: NDArray[np.float64]
    counts: NDArray[np.int64]
    threshold: float
    n_checked: int


@dataclass(frozen=True, eq=False)
class PerClip:
    """How many clips or pictures have how many detections.

    Attributes
    ----------
    numbers : (N,) int
        0, 1, 2, ...; the last stands for that many and more.
    clips : (N,) int

    Examples
    --------
    >>> from miml_core.demo.example import example_detections
    >>> found = per_clip(example_detections(), Choice())
    >>> int(found.numbers @ found.clips)
    3
    """

    numbers: NDArray[np.int64]
    clips: NDArray[np.int64]


def site_days(source: Detections, choice: Choice) -> SiteDays:
    """Count detections per site and day.

    Examples
    --------
    >>> from miml_core.demo.example import example_detections
    >>> site_days(example_detections(), Choice("Wren")).counts
    array([[1, 0],
           [1, 0]])
    """
    found, effort = source.count(_BY_SITE_DAY, choice), source.count(_EFFORT_BY_SITE_DAY, choice)
    days, _ = all_days(np.r_[found["day"], effort["day"]])
    places = chosen_sites(source, choice)
    shape = (len(places), len(days))

    def placed(rows: dict[str, NDArray[Any]], column: str) -> NDArray[np.float64]:
        return _matrix(shape, _rows_of(places, rows["site"]), np.searchsorted(days, rows["day"]), rows[column])

    return SiteDays(
        sites=tuple(source.sites[place] for place in places),
        dates=days.astype("datetime64[D]"),
        counts=placed(found, "n").astype(np.int64),
        effort_s=placed(effort, "seconds"),
        clips=placed(effort, "clips").astype(np.int64),
    )


def class_sites(source: Detections, choice: Choice) -> ClassSites:
    """Count detections per class and site; the choice's class is ignored.

    Examples
    --------
    >>> from miml_core.demo.example import example_detections
    >>> class_sites(example_detections(), Choice(sites=("marsh",))).counts
    array([[1],
           [0]])
    """
    choice = replace(choice, class_name=None)
    found, effort = source.count(_BY_CLASS_SITE, choice), source.count(_EFFORT_BY_SITE, choice)
    places = chosen_sites(source, choice)
    shape = (len(source.classes), len(places))
    counts = _matrix(shape, found["label"], _rows_of(places, found["site"]), found["n"])
    where = _rows_of(places, effort["site"])
    return ClassSites(
        classes=source.classes,
        sites=tuple(source.sites[place] for place in places),
        counts=counts.astype(np.int64),
        effort_s=np.bincount(where, effort["seconds"], len(places)).astype(float),
        clips=np.bincount(where, effort["clips"], len(places)).astype(np.int64),
    )


def accumulation(source: Detections, choice: Choice) -> Accumulation:
    """Return how many classes were found in how much effort; the choice's class is ignored.

    The mean over all orders of the days is exact: the expected number of classes in n of N days (R. K. Colwell, C. X.
    Mao and J. Chang, *Ecology* 85, 2717-2727, 2004).

    Examples
    --------
    >>> from miml_core.demo.example import example_detections
    >>> accumulation(example_detections(), Choice()).mean_found  # all classes were found on one of the two days
    array([1., 2.])
    """
    choice = replace(choice, class_name=None)
    found, effort = source.count(_BY_CLASS_DAY, choice), source.count(_EFFORT_BY_SITE_DAY, choice)
    days, place = np.unique(effort["day"], return_inverse=True)
    seconds = np.bincount(place, effort["seconds"], len(days))
    clips = np.bincount(place, effort["clips"], len(days)).astype(np.int64)
    is_found = np.zeros((len(source.classes), len(days)), dtype=bool)
    known = np.isin(found["day"], days)
    is_found[found["label"][known], np.searchsorted(days, found["day"][known])] = True
    return Accumulation(
        dates=days.astype(np.int64).astype("datetime64[D]"),
        effort_s=np.cumsum(seconds),
        clips=np.cumsum(clips),
        found=np.logical_or.accumulate(is_found, axis=1).sum(axis=0),
        mean_found=mean_accumulation(is_found.sum(axis=1), len(days)),
    )


def co_occurrence(source: Detections, choice: Choice) -> CoOccurrence:
    """Count clips that have two classes; the choice's class is ignored.

    DuckDB joins the classes of a clip to words of bits, and counts equal ones: a third of the work of joining pairs.

    Examples
    --------
    >>> from miml_core.demo.example import example_detections
    >>> co_occurrence(example_detections(), Choice()).counts
    array([[2, 1],
           [1, 1]])
    """
    choice = replace(choice, class_name=None)
    n_classes = len(source.classes)
    starts = range(0, max(n_classes, 1), _WORD_BITS)
    words = ", ".join(_WORD.format(first=first, last=first + _WORD_BITS - 1) for first in starts)
    found = source.count(_TOGETHER.replace("{words}", words), choice)
    masks = np.column_stack([np.asarray(found[f"word{first}"], dtype="<u8") for first in starts])
    counts = np.zeros((n_classes, n_classes))
    for begin in range(0, len(masks), _MASKS_AT_ONCE):
        part = slice(begin, begin + _MASKS_AT_ONCE)
        bits = np.unpackbits(masks[part].view(np.uint8), axis=1, bitorder="little")
        has = bits.reshape(len(bits), -1, 64)[:, :, :_WORD_BITS].reshape(len(bits), -1)[:, :n_classes].astype(float)
        counts += (has * found["n"][part][:, None]).T @ has
    n_clips = int(source.count(_EFFORT_BY_SITE, choice)["clips"].sum())
    return CoOccurrence(source.classes, np.rint(counts).astype(np.int64), n_clips)


def probability_histogram(source: Detections, choice: Choice) -> ProbabilityHistogram:
    """Count detections by probability.

    Examples
    --------
    >>> from miml_core.demo.example import example_detections
    >>> probability_histogram(example_detections(), Choice("Wren")).counts[-3:]
    array([0, 0, 2])
    """
    everything = replace(choice, threshold=0.0)
    found = source.count(_BY_PROBABILITY, everything, bins=N_BINS)
    return ProbabilityHistogram(
        edges=np.linspace(0.0, 1.0, N_BINS + 1),
        counts=np.bincount(np.maximum(found["bin"], 0), found["n"], N_BINS).astype(np.int64),
        threshold=choice.threshold,
        n_checked=int(source.count(_CHECKED, everything)["n"][0]),
    )


def per_clip(source: Detections, choice: Choice) -> PerClip:
    """Count clips or pictures by their number of detections.

    Examples
    --------
    >>> from miml_core.demo.example import example_detections
    >>> per_clip(example_detections(), Choice("Wren")).clips  # one clip without a wren, two with one
    array([1, 2])
    """
    found = source.count(_PER_CLIP, choice, most=_MOST_PER_CLIP)
    n_clips = int(source.count(_EFFORT_BY_SITE, choice)["clips"].sum())
    longest = int(found["number"].max(initial=0))
    clips = np.bincount(found["number"], found["n"], longest + 1).astype(np.int64)
    clips[0] = max(0, n_clips - int(clips.sum()))
    return PerClip(np.arange(longest + 1), clips)


def chosen_sites(source: Detections, choice: Choice) -> list[int]:
    """Return the numbers of the chosen sites, by name.

    Examples
    --------
    >>> from miml_core.demo.example import example_detections
    >>> chosen_sites(example_detections(), Choice()), chosen_sites(example_detections(), Choice(sites=("marsh",)))
    ([0, 1], [1])
    """
    numbers = range(len(source.sites))
    chosen = [number for number in numbers if choice.sites is None or source.sites[number] in choice.sites]
    return sorted(chosen, key=lambda number: source.sites[number].casefold())


def _rows_of(places: list[int], numbers: NDArray[Any]) -> NDArray[np.int64]:
    """Return where the numbers are in `places`."""
    row = np.zeros(max(places, default=-1) + 1, dtype=np.int64)
    row[places] = np.arange(len(places))
    return row[np.asarray(numbers, dtype=np.int64)]


def _matrix(
    shape: tuple[int, int], rows: NDArray[Any], columns: NDArray[Any], values: NDArray[Any]
) -> NDArray[np.float64]:
    made = np.zeros(shape)
    made[np.asarray(rows, dtype=np.int64), np.asarray(columns, dtype=np.int64)] = values
    return made
