"""Probability of a bag's tag under the Gaussian process, its segments being dependent (Wang and Pinar 2019, 3.4).

P(no segment carries the class) is the normal integral of (m_1, ..., m_n) over the negative orthant. Small bags go to
SciPy's multivariate normal distribution function. For a large bag that function is slow and loses digits, but the
dependence comes from the R inducing values alone: given v the segments are independent, so the same integral is the
mean over v of prod_i Phi(-a_i' v / sqrt(1 + k_i)), computed at a fixed set of quasi-random normal points.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtri

Array = NDArray[np.float64]
SMALL_BAG = 3
_POINTS = 512


def bag_probabilities(
    means: Array, covariance: Array, whitened: Array, residual: Array, offsets: NDArray[np.int64], draws: Array | None
) -> Array:
    """Return (B, C) P(tag); `draws` (S, R, C), if given, are samples of v to average over instead of Q(v)."""
    result = np.empty((len(offsets) - 1, means.shape[1]))
    if draws is None:
        noise = np.linalg.cholesky(covariance) @ _normal_points(len(means))
    for c in range(means.shape[1]):
        points = means[:, [c]] + noise if draws is None else draws[:, :, c].T
        log_negative = log_ndtr(-(whitened.T @ points) / np.sqrt(1.0 + residual)[:, None])
        result[:, c] = 1.0 - np.exp(np.add.reduceat(log_negative, offsets[:-1], axis=0)).mean(axis=1)
    if draws is None:
        for bag in np.flatnonzero(np.diff(offsets) <= SMALL_BAG):
            rows = slice(offsets[bag], offsets[bag + 1])
            result[bag] = orthant_probability(means, covariance, whitened[:, rows], residual[rows])
    return result


def orthant_probability(means: Array, covariance: Array, whitened: Array, residual: Array) -> Array:
    """Return (C,) P(tag) of one bag by SciPy's normal integral."""
    from scipy.stats import multivariate_normal

    spread = whitened.T @ covariance @ whitened + np.diag(1.0 + residual)
    centre = whitened.T @ means

    def none_positive(mean: Array) -> float:
        # SciPy integrates over random points for three variables and more: the same ones each time
        rng = np.random.default_rng(0)
        return multivariate_normal.cdf(np.zeros(len(residual)), mean, spread, rng=rng)

    return np.array([1.0 - none_positive(mean) for mean in centre.T])


def _normal_points(n_dimensions: int) -> Array:
    """Return (R, `_POINTS`) standard normal points of a scrambled Sobol sequence, the same each time."""
    from scipy.stats import qmc

    uniform = qmc.Sobol(n_dimensions, seed=0).random(_POINTS)
    return ndtri(np.clip(uniform, 1e-12, 1 - 1e-12)).T
