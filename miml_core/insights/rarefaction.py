"""The mean number of classes found in a number of days: rarefaction by days."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def mean_accumulation(days_found: NDArray[np.integer[Any]], n_days: int) -> NDArray[np.float64]:
    """Return the mean number of classes in 1 to `n_days` days drawn at random.

    Parameters
    ----------
    days_found : (C,) int
        On how many of the days each class was found.
    n_days : int

    Examples
    --------
    >>> mean_accumulation(np.array([1, 2]), 2).tolist()
    [1.5, 2.0]
    """
    from scipy.special import gammaln

    n, k = np.arange(1, n_days + 1)[None, :], np.asarray(days_found)[:, None]
    free = n_days - k - n
    with np.errstate(invalid="ignore"):  # log of C(N - k, n) / C(N, n)
        missed = (
            gammaln(n_days - k + 1) - gammaln(np.maximum(free, 0) + 1) - gammaln(n_days + 1) + gammaln(n_days - n + 1)
        )
    return np.round((1 - np.where(free >= 0, np.exp(missed), 0.0)).sum(axis=0), 9)
