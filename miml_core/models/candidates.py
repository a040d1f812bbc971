"""Candidate labels: every segment may be any of its bag's tags, one as likely as another.

What partial-label learning makes of tagged bags. It forgets that every tag needs a segment, but it is a fair start.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from miml_core.bags import BACKGROUND, BagSet


def candidate_shares(bags: BagSet, background: float = 0.0) -> NDArray[np.float64]:
    """(N, C), or (N, C + 1) with `background` above 0: equal shares for the tags a segment may have.

    `background` is how many parts the background gets to each tag's one. A label that a person gave is the only
    candidate; a segment without any candidate has a row of zeros.
    """
    shares = (bags.tags >= 0)[bags.bag_of].astype(np.float64)
    if background > 0:
        shares = np.column_stack([shares, np.full(bags.n_segments, background)])
    named, noise = np.flatnonzero(bags.labels >= 0), np.flatnonzero(bags.labels == BACKGROUND)
    shares[named] = 0.0
    shares[named, bags.labels[named]] = 1.0
    shares[noise] = 0.0
    if background > 0:
        shares[noise, -1] = 1.0
    total = shares.sum(axis=1, keepdims=True)
    return shares / np.where(total > 0, total, 1.0)
