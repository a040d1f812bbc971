"""Candidate labels: every tag of a bag is an equally likely label of each of its segments.

This is how partial-label learning uses tagged bags. It ignores that every tag needs a segment, but is a good start.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from miml_core.bags import BACKGROUND, BagSet
from miml_core.errors import BagtagError


def candidate_shares(bags: BagSet, background: float = 0.0) -> NDArray[np.float64]:
    """Return equal shares of the tags that each segment may have.

    Parameters
    ----------
    bags : BagSet
    background : float
        Share of the background relative to that of one tag.

    Returns
    -------
    (N, C) float, or (N, C + 1) if `background` is above 0
        A label that a person gave is the only candidate; a segment without a candidate has a row of zeros.
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


def refuse_all_absent(bags: BagSet) -> None:
    """Raise a `BagtagError` if no segment has a candidate because all tags are absent.

    Examples
    --------
    >>> refuse_all_absent(BagSet([[0.0]], [0, 1], [[-1]], ["wren"]))
    Traceback (most recent call last):
        ...
    miml_core.errors.BagtagError: No bag has a tag: all tags are absent, so no class can be learnt; tag some bags first.
    """
    if (bags.tags < 0).all():
        raise BagtagError("No bag has a tag: all tags are absent, so no class can be learnt; tag some bags first.")
