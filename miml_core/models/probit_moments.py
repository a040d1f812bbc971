"""Means of normal variables given what a bag's tag implies for their signs (Wang and Pinar 2019, eqs. 20-23).

A segment i has m_i ~ N(mu_i, 1) and carries the class if m_i > 0. In a negative bag every m_i < 0; in a positive bag
not all of them are. Everything is computed from logarithms of the normal distribution function: a positive bag of
hundreds of near-certain negatives has a probability far below the smallest float, and the least unlikely segment must
still be found.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

FREE, NEGATIVE, POSITIVE, IN_POSITIVE_BAG = 0, 1, 2, 3
"""What is known of a segment's sign: nothing; below zero; above zero; not all such segments of a bag are negative."""

_HALF_LOG_TAU = 0.5 * np.log(2 * np.pi)
_SMALL = -18.0  # log: below this, 1 - prod(1 - p) is sum(p) to the last digit


def log_positive_bag(mu: NDArray[np.float64], open_rows: NDArray[np.bool_], offsets: NDArray[np.int64]) -> NDArray:
    """Return (B, C) log Z of eq. 23: the log probability that a bag has a positive among its open rows."""
    log_negative = np.where(open_rows, log_ndtr(-mu), 0.0)
    log_positive = np.where(open_rows, log_ndtr(mu), -np.inf)
    log_none = np.add.reduceat(log_negative, offsets[:-1], axis=0)
    top = np.maximum.reduceat(log_positive, offsets[:-1], axis=0)
    safe_top = np.where(np.isfinite(top), top, 0.0)
    spread = np.exp(log_positive - np.repeat(safe_top, np.diff(offsets), axis=0))
    log_sum = safe_top + np.log(np.maximum(np.add.reduceat(spread, offsets[:-1], axis=0), np.finfo(float).tiny))
    with np.errstate(divide="ignore"):
        log_some = np.log(-np.expm1(log_none))
    result = np.where(log_sum < _SMALL, log_sum, log_some)
    return np.where(np.isfinite(top), result, -np.inf)


def expected_m(
    mu: NDArray[np.float64], known: NDArray[np.int8], offsets: NDArray[np.int64]
) -> tuple[NDArray[np.float64], float]:
    """Return (N, C) E[m] under Q(M) of eq. 16, and the sum over bags of log Z, the data term of the ELBO."""
    log_below, log_above, log_density = log_ndtr(-mu), log_ndtr(mu), -0.5 * mu**2 - _HALF_LOG_TAU
    below = mu - np.exp(log_density - log_below)  # S(mu), eq. 22
    above = mu + np.exp(log_density - log_above)
    open_rows = known == IN_POSITIVE_BAG
    log_z = log_positive_bag(mu, open_rows, offsets)
    log_z_rows = np.repeat(np.where(np.isfinite(log_z), log_z, 0.0), np.diff(offsets), axis=0)
    # mu - S P = S Z + (mu - S) with P = 1 - Z, so that nothing cancels when Z is tiny
    lifted = below + np.exp(log_density - log_below - log_z_rows)
    mean = np.select([known == NEGATIVE, known == POSITIVE, open_rows], [below, above, lifted], mu)
    log_evidence = (
        log_below[known == NEGATIVE].sum() + log_above[known == POSITIVE].sum() + log_z[np.isfinite(log_z)].sum()
    )
    return mean, float(log_evidence)
