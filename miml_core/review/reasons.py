"""Which segment explains a tag."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def best_segment(
    probabilities: NDArray[np.float64], may: NDArray[np.bool_], named: NDArray[np.int64]
) -> int | None:
    """The place of the segment of a bag that speaks most for a class.

    Parameters
    ----------
    probabilities : (n,)
        Of the class, given the bag's tags.
    may : (n,)
        Which segments can be a reason at all.
    named
        Places the model named as key instances of the class, if it does; they go before the likeliest segment.

    Returns
    -------
    None when no segment is left or stands out: none has any probability, or several share a small one.
    """
    own = named[may[named]]
    if len(own):
        return int(own[np.argmax(probabilities[own])])
    left = np.where(may, probabilities, 0.0)
    best = left.max(initial=0.0)
    stands_out = best >= 0.5 or np.count_nonzero(left == best) == 1
    return int(np.argmax(left)) if best > 0 and stands_out else None
