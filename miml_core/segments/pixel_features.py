"""What a pixel of a spectrogram looks like from where it stands: the local patch statistics a pixel forest learns from.

Neal, Briggs, Raich and Fern (2011) classify each unit of a spectrogram by the patch around it and its frequency. Box
statistics of several sizes hold most of what is in such a patch and cost the same for every size.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from miml_core.media.spectrogram import Spectrogram

REACH = 40
"""Columns to either side that a pixel's features depend on."""

_BOXES = ((3, 3), (3, 9), (9, 3), (9, 9), (3, 25), (25, 3), (21, 21), (9, 65))
_SPREADS = ((5, 5), (13, 13))
_STEP = 4
_LOUDEST = 40.0


class PixelView:
    """The features of a spectrogram's pixels, in blocks of columns.

    Attributes
    ----------
    contrast : (height, width)
        Level above the band's own background, lightly smoothed.
    """

    def __init__(self, spectrogram: Spectrogram) -> None:
        from scipy.ndimage import uniform_filter

        values, grid = spectrogram.values, spectrogram.grid
        background, loud = np.quantile(values, [0.4, 0.95], axis=1)
        self._raw = np.clip(values - background[:, None].astype(np.float32), -_LOUDEST, _LOUDEST)
        self.contrast: NDArray[np.float32] = uniform_filter(self._raw, 3, mode="nearest")
        middle = np.median(background)
        self._by_row = np.column_stack(
            [grid.y_at(np.arange(grid.height) + 0.5) / 1000, loud - background, background - middle]
        ).astype(np.float32)
        crowd = np.stack([self.contrast.mean(axis=0), (self.contrast > 6).mean(axis=0)])
        self._by_column = np.vstack([crowd, uniform_filter(crowd, (0, 9), mode="nearest")]).T.astype(np.float32)

    def rows(self, wanted: NDArray[np.bool_], start: int = 0) -> NDArray[np.float32]:
        """(n, d) features of the wanted pixels, in reading order; `wanted` covers columns from `start` on."""
        first, last = max(0, start - REACH), min(self._raw.shape[1], start + wanted.shape[1] + REACH)
        inside = slice(start - first, start - first + wanted.shape[1])
        planes = [plane[:, inside][wanted] for plane in _planes(self._raw[:, first:last])]
        row, column = np.nonzero(wanted)
        return np.column_stack([*planes, self._by_row[row], self._by_column[start + column]])


def _planes(raw: NDArray[np.float32]) -> list[NDArray[np.float32]]:
    from scipy.ndimage import maximum_filter, uniform_filter

    means = [uniform_filter(raw, box, mode="nearest") for box in _BOXES]
    squares = raw * raw
    spreads = [
        uniform_filter(squares, box, mode="nearest") - uniform_filter(raw, box, mode="nearest") ** 2
        for box in _SPREADS
    ]
    near, wide = means[0], means[6]
    steps = [_moved(near, 0, _STEP) - near, _moved(near, 0, -_STEP) - near]
    steps += [_moved(near, _STEP, 0) - near, _moved(near, -_STEP, 0) - near]
    return [raw, *means, *spreads, near - wide, maximum_filter(near, (15, 15), mode="nearest") - near, *steps]


def _moved(plane: NDArray[np.float32], down: int, right: int) -> NDArray[np.float32]:
    """The plane as seen from pixels some way off; the border repeats."""
    rows = np.clip(np.arange(plane.shape[0]) + down, 0, plane.shape[0] - 1)
    columns = np.clip(np.arange(plane.shape[1]) + right, 0, plane.shape[1] - 1)
    return plane[rows][:, columns]
