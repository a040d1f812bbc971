"""Draw a stratified random sample of detections, and estimate from its answers.

The strata are class and bins of probability. Inside a stratum the detections are ordered by site and day, and every
k-th is taken from a random start (systematic sampling), so that each has the same known probability to be drawn, and
sites and days are drawn in proportion. Estimates are those of stratified random sampling (W. G. Cochran, *Sampling
Techniques*, 3rd edition, 1977, chapter 5): the mean `p = sum W_h p_h` of the strata's shares, weighted by their sizes.

The ends of an interval are combined from those of the strata, `l_h` and `u_h`, by the method of variance estimates
recovery (G. Y. Zou and A. Donner, *Statistics in Medicine* 27, 2008, pages 1693-1702; for strata X. Yan and X. G. Su,
*Statistics in Biopharmaceutical Research* 2, 2010, pages 329-335):

    low = p - k sqrt(sum W_h^2 (p_h - l_h)^2),    high = p + k sqrt(sum W_h^2 (u_h - p_h)^2)

`l_h` and `u_h` are Jeffreys intervals (L. D. Brown, T. T. Cai and A. DasGupta, *Statistical Science* 16, 2001, pages
101-133) with `n_h / (1 - f_h)` answers, where `f_h` is the share of the stratum that is answered. `k` is slightly above
1 where few answers decide: `1 + c / df`, with the degrees of freedom of Satterthwaite (Cochran, section 5.4). Since
detections are counted, the ends are rounded outwards to whole ones. `python -m benchmarks coverage` measures how often
the intervals have the truth.
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
_PRIOR = 0.5
"""Answers of either kind that Jeffreys' prior is worth."""
_WIDENED = 0.5
"""`c` in `k`. An interval by Student's t would have (z^2 + 1) / 4 = 1.2, but Jeffreys intervals are wider than those of
the normal distribution already: chosen by `python -m benchmarks coverage`."""
_ROUNDING = 1e-9


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

    Examples
    --------
    >>> likely = Stratum("wren", 0.9, size=900, drawn=4)
    >>> likely.size / likely.drawn  # what each detection in the sample stands for
    225.0
    """

    class_name: str
    low: float
    size: int
    drawn: int


@dataclass(frozen=True)
class Estimate:
    """An estimate with the ends of its interval; NaN if there are no answers.

    Examples
    --------
    >>> Estimate(0.9, 0.75, 1.0).times(200)  # the number of right detections among 200
    Estimate(value=180.0, low=150.0, high=200.0)
    """

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

    Examples
    --------
    >>> probability = np.array([0.97, 0.5, 0.96, 0.45, 0.98, 0.97, 0.96, 0.55])
    >>> strata, chosen, stratum_of = draw_sample(["wren"], np.zeros(8, int), probability, np.arange(8), per_class=6)
    >>> [(one.low, one.size, one.drawn) for one in strata]
    [(0.4, 3, 3), (0.95, 5, 3)]
    >>> sorted(chosen[stratum_of == 0].tolist())
    [1, 3, 7]
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

    The interval is described at the top of this module.

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
    (0.895, 0.8, 0.942)
    """
    n, x = np.asarray(answered, dtype=float), np.asarray(hits, dtype=float)
    size = np.where(n > 0, np.asarray(sizes, dtype=float), 0.0)
    size, n, x = np.broadcast_arrays(size, n, x)
    total = size.sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        weight = size / total[..., None]
        share = np.where(n > 0, x / n, 0.0)
        value = (weight * share).sum(axis=-1)
        low, high = _jeffreys(n, x, size, confidence)
        below = _margin(weight * (share - low), n)
        above = _margin(weight * (high - share), n)
        first = np.floor((value - below) * total + _ROUNDING) / total
        last = np.ceil((value + above) * total - _ROUNDING) / total
    return value, np.clip(first, 0.0, value), np.clip(last, value, 1.0)


def _jeffreys(
    n: NDArray[np.float64], x: NDArray[np.float64], size: NDArray[np.float64], confidence: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the ends of the interval of each stratum; both are the share where all or none of it is answered."""
    from scipy.special import betaincinv

    share = np.divide(x, n, out=np.zeros_like(x), where=n > 0)
    is_open = (n > 0) & (n < size)
    as_many = np.where(is_open, n / np.where(is_open, 1 - n / np.maximum(size, 1), 1.0), 1.0)
    a, b = share * as_many + _PRIOR, (1 - share) * as_many + _PRIOR
    low = np.where(x == 0, 0.0, betaincinv(a, b, (1 - confidence) / 2))
    high = np.where(x == n, 1.0, betaincinv(a, b, (1 + confidence) / 2))
    return np.where(is_open, np.minimum(low, share), share), np.where(is_open, np.maximum(high, share), share)


def _margin(parts: NDArray[np.float64], n: NDArray[np.float64]) -> NDArray[np.float64]:
    """Combine the margins of strata, times their weights, to that of their mean."""
    squares = parts**2
    total = squares.sum(axis=-1)
    spread = (squares**2 / np.maximum(n, 1)).sum(axis=-1)
    freedom = np.divide(total**2, spread, out=np.ones_like(total), where=spread > 0)
    margin: NDArray[np.float64] = (1 + _WIDENED / np.maximum(freedom, 1)) * np.sqrt(total)
    return margin


@dataclass(frozen=True)
class ClassEstimates:
    """Estimates for one class from a sample.

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

    Examples
    --------
    >>> strata = [Stratum("wren", 0.4, 100, 2), Stratum("wren", 0.95, 900, 20)]
    >>> (wren,) = estimate_classes(strata, [0] * 2 + [1] * 20, ["wren", ""] + ["wren"] * 20)
    >>> round(wren.correct.value), wren.threshold_for(0.85)
    (950, 0.95)
    """

    class_name: str
    detections: int
    drawn: int
    answered: int
    thresholds: list[tuple[float, int, Estimate]]
    correct: Estimate
    of_class: Estimate

    def threshold_for(self, precision: float) -> float | None:
        """Return the lowest threshold whose precision is, by the lower end of its interval, as wanted."""
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
