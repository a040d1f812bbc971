"""Compare predicted probabilities with how often the predictions are right (a reliability diagram).

Of the predictions that a calibrated model gives a probability of .8, eight of ten are right.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from miml_core.intervals import wilson_interval


@dataclass(frozen=True)
class ReliabilityBin:
    """Predictions whose probability lies between `low` and `high`.

    Attributes
    ----------
    low, high : float
        Bounds of the bin; `high` belongs to the next bin, except in the last one.
    count : int
        Number of predictions.
    mean_probability : float
        Mean of their probabilities.
    share_right : float
        Share of them that are right.
    interval : tuple of two float
        Wilson's 95 % interval of `share_right`.

    Examples
    --------
    >>> (found,) = reliability([0.72, 0.74, 0.76, 0.78], [True, True, True, False])
    >>> found.count, round(found.mean_probability, 3), found.share_right
    (4, 0.75, 0.75)
    >>> low, high = found.interval
    >>> low < found.mean_probability < high  # four predictions do not contradict the model
    True
    """

    low: float
    high: float
    count: int
    mean_probability: float
    share_right: float
    interval: tuple[float, float]


def reliability(probabilities_of_top: ArrayLike, right: ArrayLike, bins: int = 10) -> list[ReliabilityBin]:
    """Return the bins of a reliability diagram, of equal width; empty bins are left out.

    Parameters
    ----------
    probabilities_of_top : (n,) float
        Probability of the predicted class of each segment.
    right : (n,) bool
        Whether that class is the true one.
    bins : int
        Number of bins between 0 and 1.

    Returns
    -------
    list of ReliabilityBin
        From low to high probabilities.

    Examples
    --------
    >>> for found in reliability([0.72, 0.78, 0.95, 0.97], [True, False, True, True]):
    ...     print(f"{found.low:.1f} to {found.high:.1f}: {found.count}, {found.share_right:.2f}")
    0.7 to 0.8: 2, 0.50
    0.9 to 1.0: 2, 1.00
    """
    probability = np.asarray(probabilities_of_top, dtype=np.float64)
    is_right = np.asarray(right, dtype=bool)
    which = np.clip((probability * bins).astype(np.int64), 0, bins - 1)
    found = []
    for bin_ in np.unique(which).tolist():
        inside = which == bin_
        n, n_right = int(inside.sum()), int(is_right[inside].sum())
        mean = float(probability[inside].mean())
        found.append(ReliabilityBin(bin_ / bins, (bin_ + 1) / bins, n, mean, n_right / n, wilson_interval(n_right, n)))
    return found


def expected_calibration_error(probabilities_of_top: ArrayLike, right: ArrayLike, bins: int = 10) -> float:
    """Return the mean of |share right - mean probability| over the bins, weighted by their counts (Guo et al. 2017).

    NaN if there are no predictions.

    Examples
    --------
    >>> round(expected_calibration_error([0.75, 0.75], [True, False]), 6)
    0.25
    """
    found = reliability(probabilities_of_top, right, bins)
    total = sum(one.count for one in found)
    if not total:
        return float("nan")
    return sum(one.count * abs(one.share_right - one.mean_probability) for one in found) / total
