"""The pixel grid of a bag: the seconds and hertz, or the place in the picture, of each pixel."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True)
class Grid:
    """A raster of `height` x `width` pixels over real units; row 0 is the top, as in a picture.

    For sound, x is seconds from the start of the recording and y hertz, the highest frequency on top; for a picture, x
    and y are pixels of the original. `left`, `right`, `top` and `bottom` are outer edges, so that pixel (row, column)
    covers the cell between the edge coordinates `column` and `column + 1`.

    Examples
    --------
    >>> grid = Grid(width=100, height=64, left=0.0, right=10.0, top=8000.0, bottom=0.0)
    >>> float(grid.x_at(50)), float(grid.y_at(16))
    (5.0, 6000.0)
    >>> float(grid.column_at(5.0)), float(grid.row_at(6000.0))
    (50.0, 16.0)
    """

    width: int
    height: int
    left: float
    right: float
    top: float
    bottom: float
    scale: Literal["linear", "mel"] = "linear"

    def x_at(self, column: ArrayLike) -> NDArray[np.float64]:
        """Return the real x of an edge coordinate (0 is the left edge, `width` the right one)."""
        return self.left + np.asarray(column, dtype=float) * ((self.right - self.left) / self.width)

    def column_at(self, x: ArrayLike) -> NDArray[np.float64]:
        """Return the edge coordinate of a real x; the inverse of `x_at`."""
        return (np.asarray(x, dtype=float) - self.left) * (self.width / (self.right - self.left))

    def y_at(self, row: ArrayLike) -> NDArray[np.float64]:
        """Return the real y of an edge coordinate (0 is the top edge, `height` the bottom one)."""
        top, bottom = _warp(self.top, self.scale), _warp(self.bottom, self.scale)
        return _unwarp(top + np.asarray(row, dtype=float) * ((bottom - top) / self.height), self.scale)

    def row_at(self, y: ArrayLike) -> NDArray[np.float64]:
        """Return the edge coordinate of a real y; the inverse of `y_at`."""
        top, bottom = _warp(self.top, self.scale), _warp(self.bottom, self.scale)
        return (_warp(y, self.scale) - top) * (self.height / (bottom - top))

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Grid:
        return cls(**values)


def _warp(y: ArrayLike, scale: str) -> NDArray[np.float64]:
    y = np.asarray(y, dtype=float)
    return y if scale == "linear" else 2595.0 * np.log10(1.0 + y / 700.0)


def _unwarp(y: ArrayLike, scale: str) -> NDArray[np.float64]:
    y = np.asarray(y, dtype=float)
    return y if scale == "linear" else 700.0 * (10.0 ** (y / 2595.0) - 1.0)
