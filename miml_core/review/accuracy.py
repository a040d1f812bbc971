"""Accuracy from a sample, with its interval."""

from __future__ import annotations

from math import sqrt

_Z_95 = 1.959963984540054


def wilson_interval(right: int, n: int, z: float = _Z_95) -> tuple[float, float]:
    """Wilson's score interval of a share: sensible also for small samples and for shares near 0 and 1.

    With nothing sampled anything is possible: (0, 1).
    """
    if n == 0:
        return 0.0, 1.0
    share = right / n
    centre = share + z * z / (2 * n)
    half = z * sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    return max(0.0, (centre - half) / scale), min(1.0, (centre + half) / scale)
