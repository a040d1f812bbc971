"""Find the segment that explains a tag."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def best_segment(probabilities: NDArray[np.float64], may: NDArray[np.bool_], named: NDArray[np.int64]) -> int | None:
    """Return the index of the segment that supports a class most.

    Parameters
    ----------
    probabilities : (n,) float
        Probabilities of the class, given the bag's tags.
    may : (n,) bool
        Which segments may explain the class at all.
    named : (k,) int
        Key instances of the class by the model, if it has any; they are preferred to the most probable segment.

    Returns
    -------
    int or None
        None if no segment is distinct: all have probability 0, or several share a small one.

    Examples
    --------
    >>> best_segment(np.array([0.1, 0.8, 0.3]), np.ones(3, dtype=bool), np.array([], dtype=np.int64))
    1
    """
    own = named[may[named]]
    if len(own):
        return int(own[np.argmax(probabilities[own])])
    left = np.where(may, probabilities, 0.0)
    best = left.max(initial=0.0)
    is_distinct = best >= 0.5 or np.count_nonzero(left == best) == 1
    return int(np.argmax(left)) if best > 0 and is_distinct else None
