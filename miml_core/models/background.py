"""How much a model may leave to the background.

The likelihood of tags likes the background too well: a segment called background contradicts no tag, so a model that
is in doubt calls nearly everything so and explains each tag by its one best segment. Which *class* a segment has is
learnt well all the same (HJA unfiltered: 82 % of the labelled segments right among the classes, but only 33 % when the
background may win). So the odds of the background are lowered, by one factor for all segments, until it keeps no more
than a given share of the segments of tagged bags: at one half, 70 % of the labelled segments come out right and 80 % of
the unlabelled ones stay background. What people have labelled tells the true share better than any default.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from miml_core.bags import BACKGROUND, UNKNOWN, BagSet
from miml_core.posterior import training_posterior

Array = NDArray[np.float64]

_DEFAULT_COUNTS_AS = 30
"""Labels that the default share weighs as much as."""

_LARGEST_SHIFT = 40.0


def background_shift(log_prior: Array, bags: BagSet, *, leak: float, most: float) -> float:
    """What to take from log p(background) so that tagged bags keep at most the share `most` of their segments in it."""
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


def lower_background(log_prior: Array, shift: float) -> Array:
    """log p with the background's odds divided by e^shift."""
    lowered = log_prior.copy()
    lowered[:, -1] -= shift
    return lowered


def _share_by_labels(bags: BagSet, most: float) -> float:
    """The share of background among the segments people labelled, with the default as if it were some labels more."""
    labelled = int((bags.labels != UNKNOWN).sum())
    background = int((bags.labels == BACKGROUND).sum())
    return (background + most * _DEFAULT_COUNTS_AS) / (labelled + _DEFAULT_COUNTS_AS)
