"""Calibrate predicted probabilities: of the segments that get .8, eight of ten should be right.

Models are too sure, most of all given the tags: on NIPS4Bplus, labels with a probability of .97 were right in 76 %.
`temper` divides the logits by a temperature (Guo, Pleiss, Sun and Weinberger, "On Calibration of Modern Neural
Networks", 2017, section 4.2): the order of the classes, and so every predicted label, stays the same.

**Choosing it from tags alone.** Nobody has labelled a segment, but its class must be one of the tags of its bag. The
temperature of new bags is the one under which the tags of bags contain the classes of their segments with the greatest
likelihood, by probabilities of a fit to *other* bags where the model has such fits (its own choice of a penalty makes
them or `cross_fit.py` does). Bags with few tags count more, by the square of their number, because their tags say more
about each segment. One number from many segments varies little, but it is shrunk towards a usual value; more so with
few bags, and with a background class, which removes the segments that would show errors.

**Confusions among the tags of one bag** do not show in this likelihood, and no temperature describes them: with
BirdNET's embeddings, which describe three seconds each, labels of new clips with a probability of .98 were right in
92 % of clips with one species and in 69 % of the others. They show where a tag has no segment (`confused_share`). So a
part of the probability is divided equally among the possible classes (`soften`), which keeps their order, too: two and
a half times the share that is confused for certain, and, if there is a background, the error of its share
(`background.py`).

**Given the tags**, probabilities need a higher temperature. The model has learnt from these bags: it is about as much
surer of them than of new bags as it is too sure of new bags, so that the temperature applies twice. And a tag tests
about one of its segments, the best one; nothing tests the others. So a factor increases with the number of segments per
tag, as a power of it. With a background class, where the tags say little about the temperature, it applies once.

The usual temperatures, this exponent and that factor were chosen using the true labels, on HJA, Letter-Frost,
MSRC v2 and NIPS4Bplus.

**Labels** that people gave replace this guess by evidence, if there are 30 or more (`refine_temperature`). With a
background class, they are compared with probabilities whose background has the share that the tags support, as in the
final model. On HJA, Letter-Frost and MSRC v2 with 50 and 150 labels, with and without a background, the mean error of
calibration given the tags fell from .042 to .033, the largest one from .096 to .068.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_softmax

from miml_core.bags import BACKGROUND, UNKNOWN, BagSet
from miml_core.models.background import (
    NO_BACKGROUND,
    BackgroundEvidence,
    background_shift,
    lower_background,
    new_bags_shift,
)
from miml_core.models.calibration import fit_tag_probabilities
from miml_core.posterior import SMALL_LEAK, training_posterior

Array = NDArray[np.float64]

_USUAL, _USUAL_WITH_BACKGROUND = 1.35, 1.2
"""Temperatures of new bags towards which the estimate is shrunk, and how much of the estimate is kept:"""
_KEPT, _KEPT_WITH_BACKGROUND = 2 / 3, 1 / 3
_MOST_SHRINKAGE = 0.2
"""Without a background, most that log temperature is changed by this: some models are much surer than is usual."""
_FEW_BAGS = 20
"""With so many tagged bags, half of that is kept."""

_UNTESTED = 0.35
"""Given the tags, the temperature is multiplied by the number of segments per tag to this power."""

_UNSEEN = 2.5
"""Number of confused segments per one that certainly is: tags of which the model finds only some segments show none."""
_MOST_CONFUSED = 0.3

_LOWEST, _HIGHEST = 0.25, 8.0

FEWEST_LABELS = 30
"""With fewer labels of people than this, temperatures are chosen from tags alone."""

_PRIOR_SPREAD, _PRIOR_SPREAD_NEW = 0.4, 0.2
"""Standard deviation of log temperature around the choice from tags alone, when labels refine it: given the tags, and
of new bags, where tags say more."""


@dataclass(frozen=True)
class Temperatures:
    """What to divide logits by, and how much of the probability to divide equally among the possible classes.

    Attributes
    ----------
    new : float
        Temperature where no tags are known (`predict_proba`).
    given_tags : float
        Temperature where the bag's tags are known (`annotate`).
    confused : float
        Share of the probability that is divided equally.
    """

    new: float = 1.0
    given_tags: float = 1.0
    confused: float = 0.0


NOT_TEMPERED = Temperatures()


def temper(probabilities: Array, temperature: float) -> Array:
    """Return probabilities proportional to p^(1 / temperature); rows of zeros and the order of classes stay.

    Examples
    --------
    >>> temper(np.array([[0.9, 0.1], [0.0, 0.0]]), 2.0)
    array([[0.75, 0.25],
           [0.  , 0.  ]])
    """
    if temperature == 1.0:
        return probabilities
    top = probabilities.max(axis=1, keepdims=True)
    powers = np.power(probabilities / np.where(top > 0, top, 1.0), 1.0 / temperature)
    total = powers.sum(axis=1, keepdims=True)
    return np.asarray(powers / np.where(total > 0, total, 1.0))


def soften(probabilities: Array, temperature: float, confused: float) -> Array:
    """Return tempered probabilities, with the share `confused` divided equally among the classes that are possible.

    Examples
    --------
    >>> soften(np.array([[0.9, 0.1, 0.0], [1.0, 0.0, 0.0]]), 2.0, 0.2)
    array([[0.7, 0.3, 0. ],
           [1. , 0. , 0. ]])
    """
    tempered = temper(probabilities, temperature)
    if confused == 0.0:
        return tempered
    possible = probabilities > 0
    return np.asarray(
        (1 - confused) * tempered + confused * possible / np.maximum(possible.sum(axis=1, keepdims=True), 1)
    )


def confused_share(log_prior: Array, bags: BagSet) -> float:
    """Return the share of segments that certainly have another tag of their bag than the model finds most likely.

    A tag of which a model finds no segment has some nevertheless: about as many as the other tags of the bag, if these
    have several. The model assigns them to the other tags. What it admits of this is subtracted, the probability of
    the tag among the tags of the bag.

    Parameters
    ----------
    log_prior : (N, C) or (N, C + 1) float
        Of fits to other bags than the segment's own.
    bags : BagSet

    Examples
    --------
    For the model, all four segments of the only bag are a wren, but its tags are wren and robin:

    >>> bags = BagSet(np.zeros((4, 1)), [0, 4], [[1, 1]], ["wren", "robin"])
    >>> confused_share(np.log([[0.99, 0.01]] * 4), bags).__round__(2)
    0.23
    """
    present = bags.tags > 0
    n_tags, sizes = present.sum(axis=1), np.diff(bags.offsets)
    tagged = n_tags > 0
    if not (tagged & (sizes > 0)).any():
        return 0.0
    possible = (bags.tags >= 0)[bags.bag_of] & tagged[bags.bag_of, None]
    among = np.exp(log_softmax(np.where(possible, log_prior[:, : bags.n_classes], -1e9), axis=1))
    found = _sums(among, bags)
    missing = np.exp(_sums(np.log1p(-np.minimum(among, 1 - 1e-9)), bags))
    expected = np.maximum(sizes / np.maximum(n_tags, 1) - 1, 0)[:, None]
    lost = np.where(present & (n_tags > 1)[:, None], missing * expected - found, 0.0)
    return float(np.maximum(lost, 0.0).sum() / sizes[tagged].sum())


def _sums(values: Array, bags: BagSet) -> Array:
    """Return the (B, C) sums of (N, C) values over the segments of each bag."""
    totals = np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(values, axis=0)])
    return np.asarray(totals[bags.offsets[1:]] - totals[bags.offsets[:-1]])


def choose_temperatures(
    log_prior: Array,
    bags: BagSet,
    *,
    background: BackgroundEvidence = NO_BACKGROUND,
    shrink: bool = True,
    at_least: float = _LOWEST,
) -> Temperatures:
    """Choose temperatures from the tags of bags.

    Parameters
    ----------
    log_prior : (N, C) or (N, C + 1) float
        log p of each segment's class without knowledge of the tags, preferably under fits to other bags.
    bags : BagSet
        Tags of the same segments.
    background : BackgroundEvidence
        Share of background among the segments of tagged bags, and the error of this share.
    shrink : bool
        Whether the estimate is shrunk towards the usual temperature of ORed logistic regression; with few bags it is in
        any case.
    at_least : float
        Lowest estimate. Training bags cannot show that a model is not sure enough, because it has learnt their tags.

    Returns
    -------
    Temperatures
        1 if no bag has a tag that is present and one that is absent.
    """
    n_tags = (bags.tags > 0).sum(axis=1)
    useful = (n_tags > 0) & (bags.tags < 0).any(axis=1)
    if not useful.any():
        return NOT_TEMPERED
    n_classes = bags.n_classes
    rows = useful[bags.bag_of]
    allowed = (bags.tags >= 0)[bags.bag_of[rows]]
    classes = log_softmax(log_prior[rows, :n_classes], axis=1)
    weights = 1.0 / n_tags[bags.bag_of[rows]] ** 2
    with_background = log_prior.shape[1] > n_classes
    if with_background:
        weights = weights * _share_of_classes(log_prior[rows], allowed, background.share)

    confused = min(_UNSEEN * confused_share(log_prior, bags), _MOST_CONFUSED)
    by_chance = confused * allowed.mean(axis=1)

    def loss(temperature: float) -> float:
        p = np.exp(log_softmax(classes / temperature, axis=1))
        inside = (1 - confused) * (p * allowed).sum(axis=1) + by_chance
        return -float((weights * np.log(np.maximum(inside, 1e-9))).sum())

    estimate = max(_best_temperature(loss), at_least)
    new = _shrunk_to_usual(estimate, n_bags=int(useful.sum()), with_background=with_background, shrink=shrink)
    per_tag = (1 - background.share) * rows.sum() / n_tags[useful].sum()
    learnt = 1.0 if with_background else max(new, 1.0)
    given_tags = min(learnt * new * max(per_tag, 1.0) ** _UNTESTED, _HIGHEST)
    return Temperatures(new, float(given_tags), min(confused + background.error, _MOST_CONFUSED))


def _shrunk_to_usual(estimate: float, *, n_bags: int, with_background: bool, shrink: bool) -> float:
    """Return the temperature, shrunk towards the usual one; with many bags and no background only a little."""
    usual = float(np.log(_USUAL_WITH_BACKGROUND if with_background else _USUAL))
    distance = usual - float(np.log(estimate))
    shrinkage = (1 - _KEPT_WITH_BACKGROUND) * distance
    if not with_background:
        shrinkage = float(np.clip((1 - _KEPT) * distance, -_MOST_SHRINKAGE, _MOST_SHRINKAGE)) if shrink else 0.0
    kept = n_bags / (n_bags + _FEW_BAGS)
    return float(np.exp(usual - kept * (distance - shrinkage)))


def _share_of_classes(log_prior: Array, allowed: NDArray[np.bool_], background_share: float) -> Array:
    """Return (n,) the probability that a segment has one of the allowed classes, with the background at its share."""
    inside = np.where(allowed, log_prior[:, :-1], -np.inf)
    odds = np.logaddexp.reduce(inside, axis=1) - log_prior[:, -1]
    low, high = -40.0, 40.0
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (middle, high) if expit(-odds - middle).mean() > background_share else (low, middle)
    return np.asarray(expit(odds + high))


def refine_temperature(
    temperature: float,
    probabilities: Array,
    labels: NDArray[np.int64],
    *,
    confused: float = 0.0,
    spread: float = _PRIOR_SPREAD,
) -> float:
    """Return the temperature under which labels of people are most likely, shrunk towards an earlier choice.

    Parameters
    ----------
    temperature : float
        The choice from tags alone; log temperature has a normal prior around it, of standard deviation `spread`.
    probabilities : (n, K) float
        Probabilities of labelled segments at temperature 1, of fits that have not learnt from these labels.
    labels : (n,) int
        Column of each label.
    confused : float
        Share of the probability that is divided equally.
    spread : float

    Returns
    -------
    float
        With fewer than 30 labels, the temperature as it is.
    """
    if len(labels) < FEWEST_LABELS:
        return temperature

    def loss(tried: float) -> float:
        tempered = soften(probabilities, tried, confused)[np.arange(len(labels)), labels]
        apart = (np.log(tried) - np.log(temperature)) / spread
        return 0.5 * float(apart**2) - float(np.log(np.maximum(tempered, 1e-6)).sum())

    return _best_temperature(loss)


def _best_temperature(loss: Callable[[float], float]) -> float:
    from scipy.optimize import minimize_scalar

    bounds = (np.log(_LOWEST), np.log(_HIGHEST))
    found = minimize_scalar(lambda x: loss(float(np.exp(x))), bounds=bounds, method="bounded", options={"xatol": 0.01})
    return float(np.exp(found.x))


@dataclass(frozen=True)
class Calibration:
    """The calibration of the probabilities of a fitted model.

    Attributes
    ----------
    temperatures : Temperatures
    tag_curve : tuple of two float
        Slope and offset of `calibrate_tags`.
    """

    temperatures: Temperatures = NOT_TEMPERED
    tag_curve: tuple[float, float] = (1.0, 0.0)


NOT_CALIBRATED = Calibration()


def calibrate(
    log_prior: Array,
    bags: BagSet,
    *,
    leak: float = 0.0,
    background: BackgroundEvidence = NO_BACKGROUND,
    shrink: bool = True,
    held_out: bool = True,
) -> Calibration:
    """Choose temperatures and the curve of tag probabilities from tags, and from labels if there are enough.

    Parameters
    ----------
    log_prior : (N, C) or (N, C + 1) float
        log p of each segment's class without knowledge of the tags.
    bags : BagSet
        Tags and labels of the same segments.
    leak : float
    background, shrink
        As for `choose_temperatures`.
    held_out : bool
        Whether `log_prior` is of fits that have not learnt from the segment's own bag. If not, labels are not used:
        they would only show how well they were learnt.
    """
    at_least = _LOWEST if held_out else 1.0
    found = choose_temperatures(log_prior, bags, background=background, shrink=shrink, at_least=at_least)
    if held_out and int((bags.labels != UNKNOWN).sum()) >= FEWEST_LABELS:
        found = _refine(found, log_prior, bags, leak=max(leak, SMALL_LEAK), background=background)
    return Calibration(found, fit_tag_probabilities(log_prior, bags, leak=leak, held_out=held_out))


def _refine(
    found: Temperatures, log_prior: Array, bags: BagSet, *, leak: float, background: BackgroundEvidence
) -> Temperatures:
    """Return temperatures that labels have refined; no segment's own label decides its probabilities."""
    new = given = log_prior
    if log_prior.shape[1] > bags.n_classes:
        most, limit = background.share, background.limit
        new = lower_background(log_prior, new_bags_shift(log_prior, bags, most=most, limit=limit))
        given = lower_background(log_prior, background_shift(log_prior, bags, leak=leak, most=most, limit=limit))
    else:  # bags without any of the classes have no posterior
        possible = np.asarray((bags.tags >= 0).any(axis=1))
        if not possible.any():
            return found
        new = given = log_prior[possible[bags.bag_of]]
        bags = bags[possible]
    columns = np.where(bags.labels == BACKGROUND, bags.n_classes, bags.labels)
    labelled = (columns >= 0) & (columns < log_prior.shape[1])
    unlabelled = bags.replace(labels=np.full(bags.n_segments, UNKNOWN))
    posterior = training_posterior(given, unlabelled, leak=leak).probabilities[labelled]
    prior = np.exp(log_softmax(new[labelled], axis=1))
    refine = partial(refine_temperature, labels=columns[labelled], confused=found.confused)
    return Temperatures(
        refine(found.new, prior, spread=_PRIOR_SPREAD_NEW), refine(found.given_tags, posterior), found.confused
    )
