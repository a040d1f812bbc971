"""The exact posterior of every segment's label, given its bag's tags.

Pham, Raich and Fern (2015) compute p(y_i | tags) by dynamic programming over the subsets of the tag set (their
Propositions 1 to 3). Here the same chain is computed forward and backward, so that every term is positive and nothing
cancels. There are three extensions, all exact and with the same cost O(n |R| 2^|R|):

* optional classes: a class whose tag is not known, and the background class, may label a segment but need not;
* leak e: with probability e a required tag is true although no segment carries it;
* corrections: a segment whose label a person gave can only have that label.

With R the required tags, p_i(c) the model's probabilities, s_i their sum over the optional classes, and L a subset
of R (the tags of the first i segments):

    a_0(L) = e^|L| (1 - e)^|R - L|
    a_i(L) = s_i a_{i-1}(L) + sum_{c in L} p_i(c) [a_{i-1}(L) + a_{i-1}(L - c)]           (eq. 15 for s = e = 0)
    b_n(L) = 1 if L = R else 0
    b_{i-1}(L) = s_i b_i(L) + sum_{c in R} p_i(c) b_i(L + c)
    p(y_i = c in R, tags) = p_i(c) sum_L a_{i-1}(L) b_i(L + c)                            (eq. 19 for s = e = 0)
    p(y_i = o not in R, tags) = p_i(o) sum_L a_{i-1}(L) b_i(L)

The derivative of a bag's log-likelihood with respect to the logit of segment i and class c is posterior minus prior.
The recursions are in `posterior_kernels.py`.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
from numpy.typing import ArrayLike, NDArray

from miml_core.bag_arrays import number_array, whole_number_array
from miml_core.bags import BACKGROUND, UNKNOWN, BagSet
from miml_core.errors import BagtagError, short_repr
from miml_core.impossible_bags import refuse_zero_likelihood
from miml_core.plurals import counted, plural
from miml_core.threads import run_in_threads

MAX_EXACT = 20
"""Largest number of required tags of a bag for which the posterior is exact by default."""

KEPT_TAGS = 12
"""Number of tags that stay required in a bag with more than `MAX_EXACT`."""

DEFAULT_LEAK = 0.01
"""Leak of the app and of the benchmarks: listeners tag calls that the segmenter misses. Models have 0 by default."""

SMALL_LEAK = 1e-3
"""Leak if none was given, but no bag may be impossible: held-out bags, and models that learn a ranking."""

HELD_OUT_NOISE = 0.02
"""Share of a uniform prior for held-out segments, which may resemble no training segment. Such a bag is then unlikely,
but not impossible, so that a few of them do not decide a comparison."""

_ROUNDING = 1e-6
"""How far a probability may be below 0 or above 1."""

_TRAINING_STEPS, _TRAINING_TAGS = 5e7, 8
_THREADING_STEPS = 20_000  # with fewer steps of the recursion, starting threads costs more than they save


@dataclass(frozen=True)
class Posterior:
    """Result of `bag_posterior`.

    Attributes
    ----------
    probabilities : (N, K) float
        p(label | tags, labels) of each segment.
    log_likelihood : (B,) float
        log p(tags, labels) of each bag.

    Examples
    --------
    Two segments of two equally likely classes, both of which are tagged: each segment is one or the other.

    >>> posterior = bag_posterior(np.log(np.full((2, 2), 0.5)), [0, 2], [[1, 1]])
    >>> posterior.probabilities
    array([[0.5, 0.5],
           [0.5, 0.5]])
    >>> np.exp(posterior.log_likelihood).round(12)
    array([0.5])
    """

    probabilities: NDArray[np.float64]
    log_likelihood: NDArray[np.float64]


def bag_posterior(
    log_prior: ArrayLike,
    offsets: ArrayLike,
    tags: ArrayLike,
    labels: ArrayLike | None = None,
    *,
    leak: float = 0.0,
    max_exact: int = MAX_EXACT,
) -> Posterior:
    """Return the posterior of every segment's label given its bag's tags, and the log-likelihood of every bag.

    Parameters
    ----------
    log_prior : (N, K) float
        log p_i(c) without knowledge of the tags; K = C, or C + 1 with the background class last.
    offsets : (B + 1,) int
        Bag b is rows ``offsets[b]:offsets[b + 1]``.
    tags : (B, C) int8
        +1 required, -1 forbidden, 0 optional. The background is always optional.
    labels : (N,) int, optional
        Corrections: a class index, `UNKNOWN` or `BACKGROUND`. Without a background column, a segment labelled
        `BACKGROUND` carries no tag and has a row of zeros.
    leak : float
        Probability that a required tag is true without a segment of it.
    max_exact : int
        A bag with more required tags is computed approximately, with a warning: the `KEPT_TAGS` tags with the least
        prior probability stay required, the others become optional. The log-likelihood is then an upper bound, close
        if the optional tags have likely segments.

    Returns
    -------
    Posterior

    Examples
    --------
    A bag of two segments has a wren and a robin. The second segment is probably the robin, so the first is the wren:

    >>> prior = [[0.5, 0.5], [0.2, 0.8]]
    >>> result = bag_posterior(np.log(prior), offsets=[0, 2], tags=[[1, 1]])
    >>> result.probabilities.round(2)
    array([[0.8, 0.2],
           [0.2, 0.8]])
    >>> np.exp(result.log_likelihood).round(2)
    array([0.5])
    """
    log_prior = number_array(log_prior, "Log probabilities")
    offsets = whole_number_array(offsets, np.int64, "Offsets")
    tags = whole_number_array(tags, np.int8, "Tags", "+1, -1 or 0")
    labels = np.full(len(log_prior), UNKNOWN) if labels is None else labels
    labels = whole_number_array(labels, np.int64, "Labels")
    leak = _checked_leak(leak)
    _check_arrays(log_prior, offsets, tags, labels)
    tags = _relax_large_bags(log_prior, offsets, tags, max_exact)
    probabilities = np.zeros_like(log_prior)
    log_likelihood = np.zeros(len(tags))
    cost = posterior_cost(offsets, tags)
    order = np.argsort(-cost, kind="stable")

    from miml_core.posterior_kernels import pass_over_bags

    def work(share: int, shares: int) -> None:
        pass_over_bags(log_prior, offsets, tags, labels, leak, order[share::shares], probabilities, log_likelihood)

    if len(tags) > 1 and cost.sum() > _THREADING_STEPS:
        run_in_threads(work)
    else:
        work(0, 1)
    refuse_zero_likelihood(offsets, tags, labels, leak, log_likelihood)
    return Posterior(probabilities, log_likelihood)


def _checked_leak(leak: float) -> float:
    if not (isinstance(leak, Real) and 0 <= leak < 1):
        raise BagtagError(f"The leak must be a number of at least 0 and below 1, not {short_repr(leak)}.")
    return float(leak)


def _are_offsets(offsets: NDArray[np.int64], n_segments: int) -> bool:
    """Return whether offsets divide the segments into bags, which may be empty."""
    if offsets.ndim != 1 or not len(offsets):
        return False
    return bool(offsets[0] == 0 and offsets[-1] == n_segments and (np.diff(offsets) >= 0).all())


def _check_arrays(
    log_prior: NDArray[np.float64], offsets: NDArray[np.int64], tags: NDArray[np.int8], labels: NDArray[np.int64]
) -> None:
    """Check shapes and values, because the kernel checks no index, and probabilities may be of a damaged model file."""
    n_bags, n_classes = tags.shape if tags.ndim == 2 else (0, 0)
    n_segments = len(log_prior)
    whole = offsets.shape == (n_bags + 1,) and _are_offsets(offsets, n_segments)
    fitting = whole and log_prior.shape in [(n_segments, n_classes), (n_segments, n_classes + 1)]
    if tags.ndim != 2 or not fitting or labels.shape != log_prior.shape[:1]:
        raise BagtagError(
            f"Probabilities of shape {log_prior.shape} do not fit {counted(n_bags, 'bag')} with "
            f"{counted(n_classes, 'class', 'classes')}; train again."
        )
    if ((tags > 1) | (tags < -1)).any() or ((labels >= n_classes) | (labels < BACKGROUND)).any():
        raise BagtagError(f"Tags must be +1, -1 or 0, and labels one of {n_classes} classes, UNKNOWN or BACKGROUND.")
    good = log_prior < np.inf
    if not good.all():
        raise BagtagError(f"The probabilities of bag {_first_bag(~good, offsets)} are not numbers.")


def _first_bag(wrong: NDArray[np.bool_], offsets: NDArray[np.int64]) -> int:
    """Return the bag of the first segment of which something is wrong."""
    return int(np.searchsorted(offsets, np.argmax(wrong.any(axis=1)), side="right") - 1)


def tag_probabilities(prior: ArrayLike, offsets: ArrayLike, n_classes: int, leak: float = 0.0) -> NDArray[np.float64]:
    """Return (B, C) the probability 1 - (1 - e) prod_i (1 - p_i(c)) that a bag has each tag.

    Parameters
    ----------
    prior : (N, K) float
        p_i(c); columns after the first `n_classes` are not used.
    offsets : (B + 1,) int
        Bag b is rows ``offsets[b]:offsets[b + 1]``.
    n_classes : int
    leak : float
        Probability that a bag has a tag without a segment of it.

    Examples
    --------
    >>> tag_probabilities([[0.5, 0.5], [0.2, 0.8]], offsets=[0, 2], n_classes=2)
    array([[0.6, 0.9]])
    """
    prior = number_array(prior, "Probabilities")
    offsets = whole_number_array(offsets, np.int64, "Offsets")
    leak = _checked_leak(leak)
    if not isinstance(n_classes, Integral) or n_classes < 1:
        raise BagtagError(f"The number of classes must be a whole number of at least 1, not {short_repr(n_classes)}.")
    if prior.ndim != 2 or prior.shape[1] < n_classes or not _are_offsets(offsets, len(prior)):
        raise BagtagError(
            f"Probabilities of shape {prior.shape} do not fit {counted(n_classes, 'class', 'classes')} and bags that "
            f"begin and end at {short_repr(offsets.tolist())}."
        )
    prior = prior[:, :n_classes]
    wrong = ~((prior >= -_ROUNDING) & (prior <= 1 + _ROUNDING))
    if wrong.any():
        raise BagtagError(f"The probabilities of bag {_first_bag(wrong, offsets)} are not all between 0 and 1.")
    filled = np.diff(offsets) > 0  # reduceat would give an empty bag the next one's first segment
    log_absent = np.zeros((len(filled), n_classes))
    log_absent[filled] = np.add.reduceat(np.log1p(-np.clip(prior, 0.0, 1 - 1e-16)), offsets[:-1][filled], axis=0)
    return 0.0 - np.expm1(log_absent + np.log1p(-leak))  # without the zero, an impossible tag would have -0


def warm() -> None:
    """Compile the kernels, so that the first call does not wait for it."""
    bag_posterior(np.log([[0.5, 0.5]]), [0, 1], [[1, -1]])


def posterior_cost(offsets: NDArray[np.int64], tags: NDArray[np.int8]) -> NDArray[np.float64]:
    """Return (B,) the cost of the posterior of each bag up to a factor, n |R| 2^|R|.

    Examples
    --------
    >>> posterior_cost(np.array([0, 10, 20]), np.array([[1, 1, 0], [1, 1, 1]], dtype=np.int8))
    array([120., 320.])
    """
    return _cost(np.diff(offsets), (tags > 0).sum(axis=1))


def _cost(n_segments: NDArray[np.int64], n_required: NDArray[np.int64]) -> NDArray[np.float64]:
    return n_segments * (1 + n_required) * 2.0**n_required


def training_posterior(log_prior: ArrayLike, bags: BagSet, *, leak: float) -> Posterior:
    """Return the posterior for use in training, which computes it hundreds of times: exact where that is affordable.

    One bag with 20 tags costs as much as a hundred thousand bags with three. Bags are exact up to 8 tags, and up to
    `MAX_EXACT` as long as all bags together take about half a second.

    Examples
    --------
    >>> bags = BagSet([[0.0], [1.0]], [0, 2], [[1, 1]], ["wren", "robin"])
    >>> training_posterior(np.log([[0.9, 0.1], [0.8, 0.2]]), bags, leak=0.0).probabilities.round(2)
    array([[0.69, 0.31],
           [0.31, 0.69]])
    """
    n_required = (bags.tags > 0).sum(axis=1)
    most = MAX_EXACT
    while most > _TRAINING_TAGS and _cost(np.diff(bags.offsets), np.minimum(n_required, most)).sum() > _TRAINING_STEPS:
        most -= 1
    return bag_posterior(log_prior, bags.offsets, bags.tags, bags.labels, leak=leak, max_exact=most)


def _relax_large_bags(
    log_prior: NDArray[np.float64], offsets: NDArray[np.int64], tags: NDArray[np.int8], max_exact: int
) -> NDArray[np.int8]:
    large = np.flatnonzero((tags > 0).sum(axis=1) > max_exact)
    if not len(large):
        return tags
    have, their = plural(len(large), "has", "have"), plural(len(large), "its", "their")
    warnings.warn(
        f"{counted(len(large), 'bag')} {have} more than {max_exact} tags (the first is bag {large[0]}); {their} "
        f"posterior is approximate: only the {min(KEPT_TAGS, max_exact)} least likely tags stay required.",
        stacklevel=3,
    )
    tags = tags.copy()
    for bag in large:
        required = np.flatnonzero(tags[bag] > 0)
        explained = np.exp(log_prior[offsets[bag] : offsets[bag + 1], required]).sum(axis=0)
        tags[bag, required[np.argsort(explained, kind="stable")[min(KEPT_TAGS, max_exact) :]]] = 0
    return tags
