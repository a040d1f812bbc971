"""Order segments for review: by certainty, or in a random order that stays the same."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def top_two(probabilities: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Return (n,) the most probable column of each row, its probability, and its lead over the second.

    Examples
    --------
    >>> top, probability, lead = top_two(np.array([[0.75, 0.25, 0.0]]))
    >>> int(top[0]), float(probability[0]), float(lead[0])
    (0, 0.75, 0.5)
    """
    if probabilities.shape[1] == 1:
        best = probabilities[:, 0]
        return np.zeros(len(best), dtype=np.int64), best, best
    top = np.argmax(probabilities, axis=1)
    two = np.partition(probabilities, -2, axis=1)[:, -2:]
    return top, two[:, 1], two[:, 1] - two[:, 0]


def shuffled(ids: NDArray[np.int64], seed: int = 0) -> NDArray[np.int64]:
    """Return (n,) sort keys that put ids into a random order.

    A key depends on the id and the seed only (the mixing function of splitmix64), so that a sample stays the same after
    another training and on another computer.

    Examples
    --------
    >>> np.argsort(shuffled(np.array([1, 2, 3, 4])))
    array([2, 3, 0, 1])
    """
    with np.errstate(over="ignore"):
        z = ids.astype(np.uint64) + np.uint64(seed) + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    return (z >> np.uint64(1)).astype(np.int64)
