"""Limit the share of segments that a model assigns to the background.

The likelihood of tags over-assigns segments to the background. One segment is enough to explain a tag, and a segment
that is background contradicts no tag. If bags have several similar segments, a model that is not certain therefore
explains each tag by its one best segment and assigns the others to the background: on HJA filtered, where every segment
has a class, half of them. The *class* of a segment is learnt well nevertheless. So `annotate` lowers the odds of the
background, by one factor for all segments, until the segments of tagged bags have no more background than the tags
support. This needs no labels.

Estimate of that share. Segments of bags without class c are not c, and show how high such segments score for c.
Segments of bags with c are a mixture: some are c, the others score like the former. The share that is c is therefore at
least

    pi_c = max over t of (F1(t) - F0(t)) / (1 - F0(t)),

with F1 and F0 the shares that score at least t in bags with and without c (mixture proportion estimation: Blanchard,
Lee and Scott 2010; Storey 2002 is the same at one t). The score is log p(c) / p(background), which does not depend on
the other classes of the bag. The rest may be background, or segments that the model cannot distinguish: the less the
model predicts the tags of held-out bags, the weaker this evidence is. So the background's share is the rest times
McFadden's R^2 of the tags of held-out bags. Labels that people gave move the share towards that among the labels.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from miml_core.bags import BACKGROUND, UNKNOWN, BagSet
from miml_core.posterior import tag_probabilities, training_posterior

Array = NDArray[np.float64]

_ESTIMATE_COUNTS_AS = 30
"""Number of labels that have the same weight as the estimated share."""

_HIGHEST_NULL = 0.2
"""Thresholds with a larger F0 are not used: there, other classes of the bag and chance decide."""

_LARGEST_SHIFT = 40.0


def background_share(log_prior: Array, bags: BagSet, *, leak: float) -> float:
    """Return the share of the segments of tagged bags that may be background, estimated from tags only.

    Parameters
    ----------
    log_prior : (N, C + 1) float
        Preferably of fits to other bags than the segment's own.
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
    guess = tag_probabilities(np.exp(log_prior), bags.offsets, bags.n_classes, max(leak, 1e-3))
    baseline = _log_likelihood(np.broadcast_to(frequency, present.shape)[known], present[known])
    return float(np.clip(1.0 - _log_likelihood(guess[known], present[known]) / baseline, 0.0, 1.0))


def _log_likelihood(probability: Array, present: NDArray[np.bool_]) -> float:
    probability = np.clip(probability, 1e-3, 1.0 - 1e-3)
    return float(np.where(present, np.log(probability), np.log1p(-probability)).sum())


def background_shift(log_prior: Array, bags: BagSet, *, leak: float, most: float) -> float:
    """Return what to subtract from log p(background) so that at most the share `most` of segments stays background.

    Only segments of tagged bags are counted. Labels that people gave move `most` towards the share among the labels.
    """
    tagged = np.asarray((bags.tags > 0).any(axis=1))
    if not tagged.any():
        return 0.0
    limit = _share_by_labels(bags, most)
    kept = bags[tagged].replace(labels=np.full(int(np.diff(bags.offsets)[tagged].sum()), UNKNOWN))
    rows = log_prior[tagged[bags.bag_of]]

    def share(shift: float) -> float:
        lowered = lower_background(rows, shift)
        return float(training_posterior(lowered, kept, leak=leak).probabilities[:, -1].mean())

    if share(0.0) <= limit:
        return 0.0
    low, high = 0.0, _LARGEST_SHIFT
    for _ in range(14):
        middle = (low + high) / 2
        low, high = (middle, high) if share(middle) > limit else (low, middle)
    return high


def supported_shift(log_prior: Array, bags: BagSet, *, leak: float) -> float:
    """Return the shift to the share that the tags support, for models without fits to held-out bags."""
    return background_shift(log_prior, bags, leak=leak, most=background_share(log_prior, bags, leak=leak))


def lower_background(log_prior: Array, shift: float) -> Array:
    """Return log p with the odds of the background divided by e^shift."""
    lowered = log_prior.copy()
    lowered[:, -1] -= shift
    return lowered


def _share_by_labels(bags: BagSet, most: float) -> float:
    """Return the share of background among the labels, with the estimate counted as `_ESTIMATE_COUNTS_AS` labels."""
    labelled = int((bags.labels != UNKNOWN).sum())
    background = int((bags.labels == BACKGROUND).sum())
    return (background + most * _ESTIMATE_COUNTS_AS) / (labelled + _ESTIMATE_COUNTS_AS)
