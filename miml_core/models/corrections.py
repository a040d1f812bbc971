"""What corrected segments mean to models that learn from bags and tags alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from miml_core.bags import UNKNOWN, BagSet


@dataclass(frozen=True)
class BagsAlone:
    """Bags whose corrections have been turned into bags: `rows` of the features, offsets, tags, who may support."""

    rows: NDArray[np.int64]
    offsets: NDArray[np.int64]
    tags: NDArray[np.int8]
    candidate: NDArray[np.bool_]


def as_bags_alone(bags: BagSet) -> BagsAlone:
    """Turn corrections into bags.

    A corrected segment joins, after all others, as a bag of its own, whose only present tag is the label given and
    whose every other tag is absent: the loss then asks for that label to win on that very segment. In the bag it came
    from it supports no other present tag, and where a present tag has corrected segments only they support it. A
    segment said to be background supports no present tag. A present tag that is left without a segment takes no part
    in its bag. Absent tags must lose on every segment, corrected or not.

    `candidate[i, c]` says whether segment i may support class c where its bag has that tag.
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
    return BagsAlone(
        rows=np.concatenate([np.arange(bags.n_segments), named]),
        offsets=np.concatenate([bags.offsets, bags.n_segments + 1 + np.arange(len(named))]),
        tags=np.concatenate([tags, single]),
        candidate=np.concatenate([candidate, candidate[named]]),
    )
