"""A segment's shape: a boolean mask in a box of the bag's pixel grid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Region:
    """A mask whose upper left corner lies at (`top`, `left`) of the bag's grid; rows run downwards."""

    top: int
    left: int
    mask: NDArray[np.bool_]

    @property
    def area(self) -> int:
        """Number of pixels."""
        return int(np.count_nonzero(self.mask))

    @property
    def box(self) -> tuple[int, int, int, int]:
        """(top, left, bottom, right), the last two just outside."""
        return self.top, self.left, self.top + self.mask.shape[0], self.left + self.mask.shape[1]
