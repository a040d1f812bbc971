"""How segments are ordered for review: sureness, and a random order that stays the same."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def top_two(probabilities: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """(n,) the likeliest column of each row, its probability, and how far ahead of the second it is."""
    if probabilities.shape[1] == 1:
        best = probabilities[:, 0]
        return np.zeros(len(best), dtype=np.int64), best, best
    top = np.argmax(probabilities, axis=1)
    two = np.partition(probabilities, -2, axis=1)[:, -2:]
    return top, two[:, 1], two[:, 1] - two[:, 0]


def shuffled(ids: NDArray[np.int64], seed: int = 0) -> NDArray[np.int64]:
    """A number for each id by which sorting gives a random order.

    It depends on the id alone (the mixing function of splitmix64), so that the sample a person works through goes on
    where it was, after a new training and on another machine.
    """
    with np.errstate(over="ignore"):
        z = ids.astype(np.uint64) + np.uint64(seed) + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    return (z >> np.uint64(1)).astype(np.int64)
