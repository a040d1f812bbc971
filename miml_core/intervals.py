"""Confidence intervals."""

from __future__ import annotations


def wilson_interval(right: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Return the Wilson score interval of a share, which also suits small samples and shares near 0 and 1.

    Parameters
    ----------
    right : int
        Number of successes.
    n : int
        Sample size; the interval of an empty sample is (0, 1).
    confidence : float
        Above 0 and below 1.

    Examples
    --------
    >>> low, high = wilson_interval(8, 10)
    >>> round(low, 3), round(high, 3)
    (0.49, 0.943)
    >>> low, high = wilson_interval(8, 10, confidence=0.9)
    >>> round(low, 3), round(high, 3)
    (0.541, 0.931)
    """
    if n == 0:
        return 0.0, 1.0
    from scipy.stats import binomtest  # imported here because it takes a second

    interval = binomtest(right, n).proportion_ci(confidence, method="wilson")
    return float(interval.low), float(interval.high)
