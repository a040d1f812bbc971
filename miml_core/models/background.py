"""Limit the share of segments that a model assigns to the background, with and without knowledge of the tags.

The likelihood of tags over-assigns segments to the background. One segment is enough to explain a tag, and a segment
that is background contradicts no tag. If bags have several similar segments, a model that is not certain therefore
explains each tag by its one best segment and assigns the others to the background: on HJA filtered, where every segment
has a class, half of them. The *class* of a segment is learnt well nevertheless. So the odds of the background are
lowered, by one factor for all segments, until there is no more background than the tags support. This needs no labels.

Estimate of that share. A segment of a bag with tags Y has a score for Y, log p(Y) / p(background). Its score for as
many classes that its bag does not have shows how high it scores for tags that are not its own. Some segments have one
of their bag's tags, the others score for it as for foreign tags. The share that has one is therefore at least

    pi = max over t of (F1(t) - F0(t)) / (1 - F0(t)),

with F1 and F0 the shares that score at least t for own and for foreign tags (mixture proportion estimation: Blanchard,
Lee and Scott 2010; Storey 2002 is the same at one t). The rest, 1 - pi, may be background, or segments that the model
cannot distinguish. How many it distinguishes follows from how well the tags of held-out bags are predicted, McFadden's
R^2: in sets of known truth (HJA, MSRC v2, NIPS4Bplus, Letter-Frost) it was min(1.43 R^2, .66) of the segments that have
a class, within .05, for R^2 up to .73. The background is what this leaves of the rest (`background_evidence`).

If the tags support no background, only segments that people labelled so are background at first; a share that follows
from the number of these labels is then added (`ored_lr_background.py`).

Models without fits to held-out bags (`supported_shift`) use pi_c of each class, by the scores of bags with and without
it, and the rest times R^2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from miml_core.bags import BACKGROUND, UNKNOWN, BagSet
from miml_core.posterior import SMALL_LEAK, tag_probabilities, training_posterior

Array = NDArray[np.float64]

_ESTIMATE_COUNTS_AS = 100
"""Number of labels that have the same weight as the estimated share. With 70, ten corrections find more of a hidden
background (HJA with hidden species: .25 instead of .17, .61 of .52), but sets with little of it lose a point."""

_KNOWN_R2, _KNOWN_DISTINGUISHED = (0.0, 0.46, 0.72, 1.0), (0.0, 0.66, 0.66, 1.0)
"""Share of the segments with a class that a model distinguishes from others, by R^2: linear in between."""

_LEAST_UNCLAIMED, _LEAST_EXPLAINED = 0.5, 0.15
"""There is evidence of a background if more segments are unclaimed, or if the estimated share is twice its error, but
not if the tags are hardly predicted."""

_SHARE_ERROR, LARGEST_ERROR = 0.36, 0.1
"""Error of the estimated share per 1 - R^2, and the largest: of a smaller background, most calls were wrong."""

_HIGHEST_NULL = 0.2
"""Thresholds with a larger F0 are not used: there, other classes of the bag and chance decide."""

LARGEST_SHIFT = 40.0
"""Subtracted from log p(background), it leaves nothing of it."""


@dataclass(frozen=True)
class BackgroundEvidence:
    """Evidence in the tags for the background of tagged bags.

    Attributes
    ----------
    share : float
        Share of the segments that the tags support to be background.
    limit : float
        Largest share that does not contradict the tags: no segment is claimed by a tag.
    found : bool
        Whether there is evidence of a background. If not, classes are learnt better without one.
    error : float
        Error of the share.
    """

    share: float = 0.0
    limit: float = 1.0
    found: bool = True
    error: float = LARGEST_ERROR


NO_BACKGROUND = BackgroundEvidence(error=0.0)


def background_evidence(log_prior: Array, bags: BagSet, *, leak: float, seed: int = 0) -> BackgroundEvidence:
    """Return the evidence in the tags for a background. The constants were chosen on sets of known truth.

    Parameters
    ----------
    log_prior : (N, C + 1) float
        Of fits to other bags than the segment's own.
    bags : BagSet
    leak : float
    seed : int
        Determines the foreign tags.
    """
    unclaimed, explained = unclaimed_share(log_prior, bags, seed=seed), explained_tags(log_prior, bags, leak=leak)
    distinguished = float(np.interp(explained, _KNOWN_R2, _KNOWN_DISTINGUISHED))
    share = 1.0 - (1.0 - unclaimed) / max(distinguished, 1e-9)
    error = min(_SHARE_ERROR * (1.0 - explained), LARGEST_ERROR)
    if explained < _LEAST_EXPLAINED:
        return BackgroundEvidence(0.0, found=False, error=error)
    if unclaimed <= _LEAST_UNCLAIMED and share <= 2 * error:
        return BackgroundEvidence(0.0, unclaimed, found=False, error=error)
    return BackgroundEvidence(max(0.0, (share - error) / (1.0 - error)), unclaimed, error=error)


def unclaimed_share(log_prior: Array, bags: BagSet, *, seed: int = 0, repeats: int = 5) -> float:
    """Return the share 1 - pi of the segments of tagged bags that score for their tags no higher than for foreign ones.

    Foreign tags are as many classes that the bag is known not to have, frequent ones more often. If there are none, the
    share is 0: there is nothing to compare with.
    """
    present = bags.tags > 0
    odds, rows = log_prior[:, :-1] - log_prior[:, -1:], np.asarray(present.any(axis=1))[bags.bag_of]

    def scores(tags: NDArray[np.bool_]) -> Array:
        return np.logaddexp.reduce(np.where(tags[bags.bag_of[rows]], odds[rows], -np.inf), axis=1)

    rng, foreign = np.random.default_rng(seed), []
    for _ in range(repeats):
        drawn = np.log(present.sum(axis=0) + 1e-9) + rng.gumbel(size=present.shape)
        drawn[bags.tags >= 0] = -np.inf
        rank = np.argsort(np.argsort(-drawn, axis=1), axis=1)
        foreign.append(scores((rank < present.sum(axis=1, keepdims=True)) & np.isfinite(drawn)))
    others = np.concatenate(foreign)
    others = others[np.isfinite(others)]
    return 1.0 - _claimed(scores(present), others) if len(others) else 0.0


def background_share(log_prior: Array, bags: BagSet, *, leak: float) -> float:
    """Return the share of the segments of tagged bags that may be background, for models without held-out bags.

    Parameters
    ----------
    log_prior : (N, C + 1) float
    bags : BagSet
    leak : float
    """
    return (1.0 - claimed_share(log_prior, bags)) * explained_tags(log_prior, bags, leak=leak)


def claimed_share(log_prior: Array, bags: BagSet) -> float:
    """Return the share of the segments of tagged bags that have one of their bag's tags: the sum of its pi_c.

    If no bag is known to be without a class, there is nothing to compare with, and pi_c is 1.
    """
    present, absent = (bags.tags > 0)[bags.bag_of], (bags.tags < 0)[bags.bag_of]
    claims = np.zeros(bags.n_segments)
    for c in range(bags.n_classes):
        score = log_prior[:, c] - log_prior[:, -1]
        with_c, without_c = score[present[:, c]], score[absent[:, c]]
        if len(with_c):
            claims[present[:, c]] += _claimed(with_c, without_c) if len(without_c) else 1.0
    tagged = present.any(axis=1)
    return float(np.minimum(claims[tagged], 1.0).mean()) if tagged.any() else 1.0


def _claimed(with_class: Array, without_class: Array) -> float:
    """Return pi_c from the scores of segments in bags with and without a class."""
    thresholds = np.sort(with_class)
    above = 1.0 - np.arange(len(thresholds)) / len(thresholds)
    null = 1.0 - np.searchsorted(np.sort(without_class), thresholds, side="left") / len(without_class)
    used = null <= _HIGHEST_NULL
    above, null = above[used], null[used]
    return float(np.max((above - null) / (1.0 - null), initial=0.0))


def explained_tags(log_prior: Array, bags: BagSet, *, leak: float) -> float:
    """Return McFadden's R^2 of the tags under the probabilities, limited to 0 to 1."""
    known, present = bags.tags != 0, bags.tags > 0
    if not known.any():
        return 0.0
    frequency = (present.sum(axis=0) + 0.5) / (known.sum(axis=0) + 1.0)
    guess = tag_probabilities(np.exp(log_prior), bags.offsets, bags.n_classes, max(leak, SMALL_LEAK))
    baseline = _log_likelihood(np.broadcast_to(frequency, present.shape)[known], present[known])
    return float(np.clip(1.0 - _log_likelihood(guess[known], present[known]) / baseline, 0.0, 1.0))


def _log_likelihood(probability: Array, present: NDArray[np.bool_]) -> float:
    probability = np.clip(probability, 1e-3, 1.0 - 1e-3)
    return float(np.where(present, np.log(probability), np.log1p(-probability)).sum())


def background_shift(log_prior: Array, bags: BagSet, *, leak: float, most: float, limit: float = 1.0) -> float:
    """Return what to subtract from log p(background) so that at most the share `most` of segments stays background.

    Only segments of tagged bags are counted. Labels that people gave move `most` towards the share among the labels,
    but not above `limit`.
    """
    tagged = np.asarray((bags.tags > 0).any(axis=1))
    if not tagged.any():
        return 0.0
    allowed = _share_by_labels(bags, most, limit)
    kept = bags[tagged].replace(labels=np.full(int(np.diff(bags.offsets)[tagged].sum()), UNKNOWN))
    rows = log_prior[tagged[bags.bag_of]]

    def share(shift: float) -> float:
        lowered = lower_background(rows, shift)
        return float(training_posterior(lowered, kept, leak=leak).probabilities[:, -1].mean())

    return _least_shift(share, allowed)


def _least_shift(share: Callable[[float], float], allowed: float) -> float:
    """Return the least shift, 0 or more, at which the share of the background is no larger than allowed."""
    if share(0.0) <= allowed:
        return 0.0
    low, high = 0.0, LARGEST_SHIFT
    for _ in range(14):
        middle = (low + high) / 2
        low, high = (middle, high) if share(middle) > allowed else (low, middle)
    return high


def new_bags_shift(log_prior: Array, bags: BagSet, *, most: float, limit: float = 1.0) -> float:
    """Return what to subtract from log p(background) so that new bags, whose tags are not known, have as much of it.

    The expected share is that of bags whose tags are known: `most` of the segments of tagged bags, moved by labels as
    in `background_shift`, and all segments of bags without any of the classes.

    Parameters
    ----------
    log_prior : (N, C + 1) float
    bags : BagSet
    most, limit : float
        As for `background_shift`.
    """
    tagged = np.asarray((bags.tags > 0).any(axis=1))[bags.bag_of]
    none = np.asarray((bags.tags < 0).all(axis=1))[bags.bag_of]
    counted = tagged | none
    if not tagged.any():
        return 0.0
    expected = float(np.where(none[counted], 1.0, _share_by_labels(bags, most, limit)).mean())
    odds = np.logaddexp.reduce(log_prior[counted, :-1], axis=1) - log_prior[counted, -1]
    return _least_shift(lambda shift: float(expit(-shift - odds).mean()), expected)


def supported_shift(log_prior: Array, bags: BagSet, *, leak: float) -> float:
    """Return the shift to the share that the tags support, for models without fits to held-out bags."""
    return background_shift(log_prior, bags, leak=leak, most=background_share(log_prior, bags, leak=leak))


def lower_background(log_prior: Array, shift: float) -> Array:
    """Return log p with the odds of the background divided by e^shift."""
    lowered = log_prior.copy()
    lowered[:, -1] -= shift
    return lowered


def _share_by_labels(bags: BagSet, most: float, limit: float) -> float:
    """Return the share of background among the labels, with the estimate counted as `_ESTIMATE_COUNTS_AS` labels.

    People correct what is wrong, so that labels are no random sample: they raise the share up to `limit` at most.
    """
    labelled = int((bags.labels != UNKNOWN).sum())
    background = int((bags.labels == BACKGROUND).sum())
    return min(max(limit, most), (background + most * _ESTIMATE_COUNTS_AS) / (labelled + _ESTIMATE_COUNTS_AS))
