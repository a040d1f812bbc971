"""Draw a stratified random sample of detections, and estimate from its answers.

The strata are class and bins of probability. Inside a stratum the detections are ordered by site and day, and every
k-th is taken from a random start (systematic sampling), so that each has the same known probability to be drawn, and
sites and days are drawn in proportion. Estimates are those of stratified random sampling (W. G. Cochran, *Sampling
Techniques*, 3rd edition, 1977, chapter 5): the mean of the strata's shares, weighted by their sizes, with variance
`sum W_h^2 (1 - f_h) p_h (1 - p_h) / n_h`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from miml_core.errors import BagtagError

EDGES = (0.0, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.99)
"""Lower ends of the bins of probability, which are also the thresholds that precision is estimated for."""

_FEWEST = 3
"""Of a stratum, as far as it has them."""
_SMALLEST_SPREAD = 0.1
_ADDED = 0.5
"""Answers of either kind added to each stratum for its variance, which would be 0 if all its answers are the same."""


@dataclass(frozen=True)
class Stratum:
    """Detections of one class with about the same probability.

    Attributes
    ----------
    class_name : str
    low : float
        Lower end of the bin of probability; the upper one is the next of `EDGES`, or 1.
    size : int
        Number of detections in the archive.
    drawn : int
        Number of detections in the sample.
    """

    class_name: str
    low: float
    size: int
    drawn: int


@dataclass(frozen=True)
class Estimate:
    """An estimate with the ends of its interval; NaN if there are no answers."""

    value: float
    low: float
    high: float

    def times(self, factor: float) -> Estimate:
        """Return the estimate of a multiple."""
        return Estimate(factor * self.value, factor * self.low, factor * self.high)


def allocate(sizes: ArrayLike, probabilities: ArrayLike, n: int) -> NDArray[np.int64]:
    """Divide a sample of `n` among strata.

    Each gets at least three. The rest is divided in proportion to size times expected standard deviation (Neyman's
    allocation, Cochran section 5.5); the mean probability by the model stands for the share that is right.

    Examples
    --------
    >>> allocate([5, 1000, 10000], [0.3, 0.7, 0.99], 50)
    array([ 3, 15, 32])
    >>> allocate([2, 10], [0.5, 0.5], 50)
    array([ 2, 10])
    """
    size = np.asarray(sizes, dtype=np.int64)
    p = np.asarray(probabilities, dtype=float)
    weight = size * np.maximum(np.sqrt(p * (1 - p)), _SMALLEST_SPREAD)
    drawn = np.minimum(size, _FEWEST)
    while (left := n - int(drawn.sum())) > 0 and (drawn < size).any():
        share = np.where(drawn < size, weight, 0.0)
        more = np.minimum(np.floor(left * share / share.sum()).astype(np.int64), size - drawn)
        if not more.any():  # the last ones go to the largest shares
            more[np.argsort(-share, kind="stable")[:left]] = 1
            more = np.minimum(more, size - drawn)
        drawn = drawn + more
    return drawn


def draw_systematic(size: int, drawn: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return the places of `drawn` of `size` items, evenly spread from a random start; each is as likely.

    Examples
    --------
    >>> draw_systematic(100, 4, np.random.default_rng(0))
    array([15, 40, 65, 90])
    """
    step = size / max(drawn, 1)
    places = np.floor((rng.uniform() + np.arange(drawn)) * step).astype(np.int64)
    return np.minimum(places, size - 1)


def draw_sample(
    classes: Sequence[Any],
    class_of: NDArray[np.integer],
    probability: NDArray[np.floating],
    place_of: NDArray[np.integer],
    per_class: int,
    seed: int = 0,
) -> tuple[list[Stratum], NDArray[np.int64], NDArray[np.int64]]:
    """Draw a sample of detections.

    Parameters
    ----------
    classes : sequence of C str
    class_of : (N,) int
        Class of each detection; -1 is not sampled.
    probability : (N,) float
    place_of : (N,) int
        Number of its site and day, in an order in which neighbours are alike.
    per_class : int
        Size of the sample of each class.
    seed : int

    Returns
    -------
    strata : list of Stratum
    chosen : (n,) int
        The detections in the sample.
    stratum_of : (n,) int
        Their strata.
    """
    rng = np.random.default_rng(seed)
    bins = np.searchsorted(EDGES, probability, side="right") - 1
    strata: list[Stratum] = []
    chosen, stratum_of = [], []
    for number, name in enumerate(classes):
        members = [np.flatnonzero((class_of == number) & (bins == k)) for k in range(len(EDGES))]
        filled = [k for k, rows in enumerate(members) if len(rows)]
        means = [float(np.mean(probability[members[k]])) for k in filled]
        for k, drawn in zip(filled, allocate([len(members[k]) for k in filled], means, per_class)):
            rows = rng.permutation(members[k])
            rows = rows[np.argsort(place_of[rows], kind="stable")]
            taken = rows[draw_systematic(len(rows), int(drawn), rng)]
            stratum_of.append(np.full(len(taken), len(strata)))
            chosen.append(taken)
            strata.append(Stratum(str(name), EDGES[k], len(rows), int(drawn)))
    if not strata:
        raise BagtagError("There is nothing to sample: the archive has no detections of a class.")
    return strata, np.concatenate(chosen), np.concatenate(stratum_of)


def estimate_share(
    sizes: ArrayLike, answered: ArrayLike, hits: ArrayLike, confidence: float = 0.95
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Estimate which share of a population has a property, from a stratified sample.

    The interval is Wilson's with the number of answers of a simple random sample of the same variance, which stays
    inside 0 to 1 and holds for shares near its ends. For the variance half an answer of either kind is added to each
    stratum. In simulations of 50 to 200 answers in 8 strata the intervals of counts have the truth in 93 to 99 % of
    cases at 95 %, above 97 % only where nearly all answers are the same; those of a few answers in at least 90 %.

    Parameters
    ----------
    sizes : (..., H) int
        Number of items in each stratum; strata without answers are left out.
    answered, hits : (..., H) int
        Answers in each stratum, and how many of them have the property.
    confidence : float

    Returns
    -------
    value, low, high : (...) float
        NaN if nothing is answered.

    Examples
    --------
    >>> value, low, high = estimate_share([1000, 9000], [10, 40], [4, 38])
    >>> round(float(value), 3), round(float(low), 3), round(float(high), 3)
    (0.895, 0.804, 0.947)
    """
    from scipy.special import ndtri

    n, x = np.asarray(answered, dtype=float), np.asarray(hits, dtype=float)
    size = np.where(n > 0, np.asarray(sizes, dtype=float), 0.0)
    size, n, x = np.broadcast_arrays(size, n, x)
    z2 = float(ndtri((1 + confidence) / 2)) ** 2
    with np.errstate(invalid="ignore", divide="ignore"):
        weight = size / size.sum(axis=-1, keepdims=True)
        value = np.where(n > 0, weight * x / n, 0.0).sum(axis=-1) + 0.0 * weight.sum(axis=-1)
        smooth = (x + _ADDED) / (n + 2 * _ADDED)
        variance = weight**2 * (1 - n / np.maximum(size, 1)) * smooth * (1 - smooth) / n
        variance = np.where(n > 0, variance, 0.0).sum(axis=-1)
        mean = (weight * smooth).sum(axis=-1)
        effective = mean * (1 - mean) / variance  # infinite if everything is answered
        middle = (value + z2 / 2 / effective) / (1 + z2 / effective)
        half = np.sqrt(z2) / (1 + z2 / effective) * np.sqrt(value * (1 - value) / effective + z2 / 4 / effective**2)
    return value, np.minimum(middle - half, value), np.maximum(middle + half, value)


@dataclass(frozen=True)
class ClassEstimates:
    """What a sample says of one class.

    Attributes
    ----------
    class_name : str
    detections : int
        Detections of the class in the archive.
    drawn, answered : int
        Detections in the sample, and those that were answered.
    thresholds : list of (threshold, detections, Estimate)
        Detections of at least that probability, and the share of them that is right.
    correct : Estimate
        Number of detections of the class that are right.
    of_class : Estimate
        Number of all sampled detections, of whatever class, that are really of the class.
    """

    class_name: str
    detections: int
    drawn: int
    answered: int
    thresholds: list[tuple[float, int, Estimate]]
    correct: Estimate
    of_class: Estimate

    def threshold_for(self, precision: float) -> float | None:
        """Return the lowest threshold from which on the precision is, by the lower end of its interval, as wanted."""
        good = [t for t, _, found in self.thresholds if found.low >= precision]
        return min(good) if good else None


def estimate_classes(
    strata: Sequence[Stratum], stratum_of: ArrayLike, answers: Sequence[str | None], confidence: float = 0.95
) -> list[ClassEstimates]:
    """Estimate precision and counts of each class.

    Detections without an answer count as if they had not been drawn: review them in a random order.

    Parameters
    ----------
    strata : sequence of H Stratum
    stratum_of : (n,) int
        Stratum of each detection in the sample.
    answers : sequence of n str or None
        What it really is: the name of a class, "" for none of them, None if nobody answered.
    confidence : float

    Examples
    --------
    >>> strata = [Stratum("wren", 0.4, 100, 4), Stratum("wren", 0.8, 900, 4)]
    >>> answers = ["wren", "robin", "wren", None, "wren", "wren", "wren", "wren"]
    >>> (wren,) = estimate_classes(strata, [0, 0, 0, 0, 1, 1, 1, 1], answers)
    >>> wren.answered, round(wren.correct.value), wren.thresholds[1][:2]
    (7, 967, (0.8, 900))
    """
    names = np.array([one.class_name for one in strata])
    lows = np.array([one.low for one in strata])
    sizes = np.array([one.size for one in strata])
    places = np.asarray(stratum_of, dtype=np.int64)
    given = np.array([answer is not None for answer in answers], dtype=bool)
    answered = np.bincount(places[given], minlength=len(strata))
    found = []
    for name in dict.fromkeys(names.tolist()):
        is_name = np.array([answer == name for answer in answers], dtype=bool)
        hits = np.bincount(places[is_name], minlength=len(strata))
        own = names == name

        def estimate(rows: NDArray[np.bool_], hits: NDArray[np.int64] = hits) -> Estimate:
            share = estimate_share(sizes[rows], answered[rows], hits[rows], confidence)
            return Estimate(*(float(part) for part in share))

        thresholds = [
            (float(low), int(sizes[own & (lows >= low)].sum()), estimate(own & (lows >= low)))
            for low in np.unique(lows[own])
        ]
        found.append(
            ClassEstimates(
                class_name=name,
                detections=int(sizes[own].sum()),
                drawn=sum(one.drawn for one in strata if one.class_name == name),
                answered=int(answered[own].sum()),
                thresholds=thresholds,
                correct=estimate(own).times(float(sizes[own].sum())),
                of_class=estimate(np.ones(len(strata), dtype=bool)).times(float(sizes.sum())),
            )
        )
    return found
