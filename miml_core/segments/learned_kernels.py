"""The walk of pixels down the trees of a learned segmenter, compiled."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def mean_leaf(X, roots, feature, threshold, left, right, value):  # type: ignore[no-untyped-def]
    """(n,) mean over the trees of the leaf value that each row of X falls into; a leaf's `feature` is below 0."""
    n = X.shape[0]
    out = np.empty(n, dtype=np.float32)
    for row in range(n):
        total = 0.0
        for root in roots:
            node = root
            while feature[node] >= 0:
                node = left[node] if X[row, feature[node]] <= threshold[node] else right[node]
            total += value[node]
        out[row] = total / len(roots)
    return out
