"""Confidence interval of an accuracy that was estimated from a sample."""

from __future__ import annotations


def wilson_interval(right: int, n: int) -> tuple[float, float]:
    """Return the 95 % Wilson score interval of a share, which also suits small samples and shares near 0 and 1.

    Parameters
    ----------
    right : int
        Number of successes.
    n : int
        Sample size; the interval of an empty sample is (0, 1).

    Examples
    --------
    >>> low, high = wilson_interval(8, 10)
    >>> round(low, 3), round(high, 3)
    (0.49, 0.943)
    """
    if n == 0:
        return 0.0, 1.0
    from scipy.stats import binomtest  # imported here because it takes a second

    interval = binomtest(right, n).proportion_ci(method="wilson")
    return float(interval.low), float(interval.high)
