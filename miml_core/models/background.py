"""How much a model may leave to the background.

The likelihood of tags likes the background too well. One segment is enough to explain a tag, and a segment called
background contradicts no tag; so where segments that sound alike come several to a bag, a model in doubt explains each
tag by its one best segment and calls the others background (on HJA filtered, where every segment is of some class, half
of them). Which *class* a segment has is learnt well all the same. So the background has to be earned: `annotate`
lowers its odds, by one factor for all segments, until the segments of tagged bags keep no more of it than the tags
themselves show, without anybody's labels.

What they show. Segments of bags without class c are none of c, and tell how high such segments score for c. Those of
bags with c are a mixture: some are c, the others score like the former. So the share that is c is at least

    pi_c = max over t of (F1(t) - F0(t)) / (1 - F0(t)),

with F1 and F0 the shares that score at least t in bags with and without c (mixture proportion estimation: Blanchard,
Lee and Scott 2010; Storey 2002 is the same at one t). The score is log p(c) / p(background), which does not depend on
what other classes the bag has. What no tag claims in this way may be background, or may be segments the model cannot
tell apart: the less it knows of the tags of held-out bags, the less that says. So the background's share is what is
left, times what the model knows (McFadden's R^2 of the tags of held-out bags).
What people have labelled tells the share better than either.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from miml_core.bags import BACKGROUND, UNKNOWN, BagSet
from miml_core.posterior import tag_probabilities, training_posterior

Array = NDArray[np.float64]

_ESTIMATE_COUNTS_AS = 30
"""Labels that the estimated share weighs as much as."""

_HIGHEST_NULL = 0.2
"""F0 up to which thresholds are looked at: at low ones it decides what else there is in a bag, and chance."""

_LARGEST_SHIFT = 40.0


def background_share(log_prior: Array, bags: BagSet, *, leak: float) -> float:
    """Share of the segments of tagged bags that may be left to the background, from tags alone.

    `log_prior` (N, C + 1) is best that of fits which have not seen the segments' own bags.
    """
    return (1.0 - claimed_share(log_prior, bags)) * knowledge_of_tags(log_prior, bags, leak=leak)


def claimed_share(log_prior: Array, bags: BagSet) -> float:
    """Share of the segments of tagged bags that are shown to carry one of their bag's tags: the sum of its pi_c.

    A class that every bag has, or may have, cannot be contrasted with bags without it, and claims all.
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
    """pi_c of the scores of segments in bags with and without a class."""
    thresholds = np.sort(with_class)
    above = 1.0 - np.arange(len(thresholds)) / len(thresholds)
    null = 1.0 - np.searchsorted(np.sort(without_class), thresholds, side="left") / len(without_class)
    looked_at = null <= _HIGHEST_NULL
    above, null = above[looked_at], null[looked_at]
    return float(np.max((above - null) / (1.0 - null), initial=0.0))


def knowledge_of_tags(log_prior: Array, bags: BagSet, *, leak: float) -> float:
    """How much of what there is to know about the tags the probabilities know: McFadden's R^2, 0 to 1."""
    known, present = bags.tags != 0, bags.tags > 0
    if not known.any():
        return 0.0
    frequency = (present.sum(axis=0) + 0.5) / (known.sum(axis=0) + 1.0)
    guess = tag_probabilities(np.exp(log_prior), bags.offsets, bags.n_classes, max(leak, 1e-3))
    nothing_known = _log_likelihood(np.broadcast_to(frequency, present.shape)[known], present[known])
    return float(np.clip(1.0 - _log_likelihood(guess[known], present[known]) / nothing_known, 0.0, 1.0))


def _log_likelihood(probability: Array, present: NDArray[np.bool_]) -> float:
    probability = np.clip(probability, 1e-3, 1.0 - 1e-3)
    return float(np.where(present, np.log(probability), np.log1p(-probability)).sum())


def background_shift(log_prior: Array, bags: BagSet, *, leak: float, most: float) -> float:
    """What to take from log p(background) so that tagged bags keep at most the share `most` of their segments in it.

    Labels that people gave move `most` towards the share they show.
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


def earned_shift(log_prior: Array, bags: BagSet, *, leak: float) -> float:
    """The shift to the share that the tags show, for models that have no held-out fits to ask."""
    return background_shift(log_prior, bags, leak=leak, most=background_share(log_prior, bags, leak=leak))


def lower_background(log_prior: Array, shift: float) -> Array:
    """log p with the background's odds divided by e^shift."""
    lowered = log_prior.copy()
    lowered[:, -1] -= shift
    return lowered


def _share_by_labels(bags: BagSet, most: float) -> float:
    """The share of background among the segments people labelled, with the estimate as if it were some labels more."""
    labelled = int((bags.labels != UNKNOWN).sum())
    background = int((bags.labels == BACKGROUND).sum())
    return (background + most * _ESTIMATE_COUNTS_AS) / (labelled + _ESTIMATE_COUNTS_AS)
