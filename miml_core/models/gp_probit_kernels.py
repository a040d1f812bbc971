"""Compiled loops of the collapsed Gibbs sampler of `gp_probit.py`."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def _above(rng, limit):
    """Draw a standard normal variable above `limit`: plain rejection in the middle, Robert's (1995) in the tail."""
    if limit < 0.5:
        while True:
            x = rng.standard_normal()
            if x > limit:
                return x
    rate = 0.5 * (limit + np.sqrt(limit * limit + 4.0))
    while True:
        x = limit + rng.standard_exponential() / rate
        if rng.random() <= np.exp(-0.5 * (x - rate) ** 2):
            return x


@njit(cache=True, nogil=True)
def sample_m(rng, mean, known, offsets, m):
    """Do one sweep of eqs. 26-28 over every bag, in place; `known` as in `probit_moments`."""
    for bag in range(len(offsets) - 1):
        n_positive = 0
        for i in range(offsets[bag], offsets[bag + 1]):
            if known[i] == 3 and m[i] > 0.0:
                n_positive += 1
        for i in range(offsets[bag], offsets[bag + 1]):
            if known[i] == 3 and m[i] > 0.0:
                n_positive -= 1
            limit = -mean[i]
            if known[i] == 1:
                z = -_above(rng, -limit)
            elif known[i] == 2 or (known[i] == 3 and n_positive == 0):
                z = _above(rng, limit)
            else:
                z = rng.standard_normal()
            m[i] = mean[i] + z
            if known[i] == 3 and m[i] > 0.0:
                n_positive += 1
