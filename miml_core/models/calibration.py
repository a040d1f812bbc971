"""Convert scores to probabilities: for models that learn a ranking instead of a likelihood, and for tags."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, log_softmax, logit

from miml_core.bags import BagSet
from miml_core.posterior import SMALL_LEAK, bag_posterior, tag_probabilities

Array = NDArray[np.float64]

_MOST_TAGS = 12
_MOST_BAGS = 2000


def posterior_within_tags(log_prior: Array, bags: BagSet) -> Array:
    """Return the exact (N, C) posterior of `posterior.py`; a bag whose tags are all absent has rows of zeros."""
    rows = np.zeros_like(log_prior)
    possible = _has_possible_class(bags)
    if possible.any():
        inside, part = possible[bags.bag_of], bags[possible]
        posterior = bag_posterior(log_prior[inside], part.offsets, part.tags, part.labels, leak=SMALL_LEAK)
        rows[inside] = posterior.probabilities
    return rows


def fit_temperature(score: Callable[[Array], Array], bags: BagSet, *, seed: int = 0) -> float:
    """Return the t for which softmax(score(X) / t) makes the bags' tags and labels most likely.

    At most 2 000 bags with an absent tag are used. Bags with many tags are left out, because they cost most and
    change the result little. The training bags are good enough: a single number does not overfit.
    """
    n_required = (bags.tags > 0).sum(axis=1)
    informative = _has_possible_class(bags) & (bags.tags < 0).any(axis=1) & (n_required <= _MOST_TAGS)
    usable = np.flatnonzero(informative)
    if not len(usable):
        return 1.0
    chosen = np.zeros(bags.n_bags, dtype=bool)
    chosen[np.random.default_rng(seed).permutation(usable)[:_MOST_BAGS]] = True
    bags = bags[chosen]
    scores = score(bags.X)
    spread = float(scores.std())
    if not spread > 0:
        return 1.0

    from scipy.optimize import minimize_scalar

    def loss(log_temperature: float) -> float:
        log_prior = log_softmax(scores / np.exp(log_temperature), axis=1)
        return -float(
            bag_posterior(log_prior, bags.offsets, bags.tags, bags.labels, leak=SMALL_LEAK).log_likelihood.sum()
        )

    middle = np.log(spread)
    found = minimize_scalar(loss, bounds=(middle - 6.0, middle + 6.0), method="bounded", options={"xatol": 0.02})
    return float(np.exp(found.x))


def fit_tag_curve(scores: Array, tags: NDArray[np.int8], *, through_zero: bool = False) -> tuple[float, float]:
    """Return the slope (above 0) and offset of the logistic curve that maps bag scores to tag probabilities.

    Platt's targets, a little less extreme than 0 and 1, keep the slope finite where the scores separate the tags.
    `through_zero` fixes the offset at 0, for scores whose sign is the predicted tag.
    """
    from scipy.optimize import minimize

    known = tags != 0
    x, present = scores[known], tags[known] > 0
    spread = float(x.std()) if len(x) else 0.0
    if not spread > 0:
        return 1.0, 0.0
    n_present, n_absent = int(present.sum()), int((~present).sum())
    target = np.where(present, (n_present + 1) / (n_present + 2), 1 / (n_absent + 2))
    x = x / spread

    def loss(place: Array) -> tuple[float, Array]:
        slope, offset = np.exp(place[0]), 0.0 if through_zero else place[1]
        logit = slope * x + offset
        error = expit(logit) - target
        value = float((np.logaddexp(0.0, logit) - target * logit).mean())
        return value, np.array([slope * (error * x).mean(), 0.0 if through_zero else error.mean()])

    found = minimize(loss, np.zeros(2), jac=True, method="L-BFGS-B", bounds=[(-5.0, 5.0), (-50.0, 50.0)]).x
    return float(np.exp(found[0]) / spread), 0.0 if through_zero else float(found[1])


def tag_curve(scores: Array, curve: Sequence[float] | Array) -> Array:
    """Return probabilities by the curve of `fit_tag_curve`; they have the same order as the scores."""
    logit = np.clip(curve[0] * scores + curve[1], -500.0, 500.0)
    return 1.0 / (1.0 + np.exp(-logit))


def fit_tag_probabilities(log_prior: Array, bags: BagSet, *, leak: float, held_out: bool) -> tuple[float, float]:
    """Return the slope and offset by which `calibrate_tags` calibrates tag probabilities.

    Parameters
    ----------
    log_prior : (N, C) or (N, C + 1) float
    bags : BagSet
    leak : float
    held_out : bool
        Whether `log_prior` is of fits to other bags than the segment's own. If not, the slope is at most 1 and there is
        no offset: training bags only show that a model is too sure even of what it has learnt.
    """
    found = tag_probabilities(np.exp(log_prior), bags.offsets, bags.n_classes, leak)
    slope, offset = fit_tag_curve(logit(np.clip(found, 1e-6, 1.0 - 1e-6)), bags.tags, through_zero=not held_out)
    return (slope, offset) if held_out else (min(slope, 1.0), 0.0)


def calibrate_tags(probabilities: ArrayLike, curve: Sequence[float] | Array) -> Array:
    """Return tag probabilities whose logits are slope * logit + offset (Platt scaling); their order stays.

    Examples
    --------
    >>> calibrate_tags([[0.9, 0.5]], (0.5, 0.0))
    array([[0.75, 0.5 ]])
    """
    probabilities = np.asarray(probabilities, dtype=np.float64)
    if tuple(curve) == (1.0, 0.0):
        return probabilities
    return tag_curve(logit(np.clip(probabilities, 1e-300, 1.0 - 1e-16)), curve)


def _has_possible_class(bags: BagSet) -> NDArray[np.bool_]:
    """Return (B,) whether the tags of a bag leave any class for its segments."""
    return np.any(bags.tags >= 0, axis=1)
