"""Convert corrected segments to bags, for models that learn from bags and tags only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from miml_core.bags import UNKNOWN, BagSet


@dataclass(frozen=True)
class CorrectedBags:
    """Bags and tags that include the corrections.

    Attributes
    ----------
    rows : (M,) int
        Rows of the features.
    offsets : (B + 1,) int
    tags : (B, C) int8
    candidate : (M, C) bool
        Whether a segment may support a class if its bag has that tag.
    """

    rows: NDArray[np.int64]
    offsets: NDArray[np.int64]
    tags: NDArray[np.int8]
    candidate: NDArray[np.bool_]


def corrections_as_bags(bags: BagSet) -> CorrectedBags:
    """Convert corrections to bags.

    A corrected segment is added after all others as a bag of its own: the label is present and all other tags are
    absent, so that the loss requires this label to win on this segment. In its own bag it supports no other present
    tag, and a present tag that has corrected segments is supported by these only. A segment labelled background
    supports no present tag. A present tag without a segment takes no part in its bag. Absent tags must lose on every
    segment, corrected or not.
    """
    tags, labels, bag_of = bags.tags.copy(), bags.labels, bags.bag_of
    named = np.flatnonzero(labels >= 0)
    has_named = np.zeros(tags.shape, dtype=bool)
    has_named[bag_of[named], labels[named]] = True
    tags[has_named] = 1
    candidate = (labels == UNKNOWN)[:, None] & ~has_named[bag_of]
    candidate[named, labels[named]] = True
    supported = np.logical_or.reduceat(candidate, bags.offsets[:-1], axis=0)
    tags[(tags > 0) & ~supported] = 0
    single = np.full((len(named), bags.n_classes), -1, dtype=np.int8)
    single[np.arange(len(named)), labels[named]] = 1
    return CorrectedBags(
        rows=np.concatenate([np.arange(bags.n_segments), named]),
        offsets=np.concatenate([bags.offsets, bags.n_segments + 1 + np.arange(len(named))]),
        tags=np.concatenate([tags, single]),
        candidate=np.concatenate([candidate, candidate[named]]),
    )
