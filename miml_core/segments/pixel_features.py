"""Features of single pixels of a spectrogram, from which `learned.py` grows its trees.

Neal, Briggs, Raich and Fern (2011) classify each pixel of a spectrogram by the patch around it and its frequency. Box
statistics of several sizes contain most of the information in such a patch; with summed-area tables they cost the same
for every size, and are computed only for the pixels that are needed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from miml_core.media.spectrogram import Spectrogram
from miml_core.segments.acoustic import running_max

BOXES = np.array([(3, 3), (3, 9), (9, 3), (9, 9), (3, 25), (25, 3), (9, 65), (21, 21)])
SPREADS = np.array([(5, 5), (13, 13)])
STEP = 4
_SURROUNDINGS = 15
_LOUDEST = 40.0
_BACKGROUND, _LOUD = 0.4, 0.95


class PixelView:
    """Compute the features of a spectrogram's pixels.

    Attributes
    ----------
    raw : (height, width)
        Level above the background of the band.
    contrast : (height, width)
        The same, the mean of 3 x 3 pixels.
    """

    def __init__(self, spectrogram: Spectrogram) -> None:
        from scipy.ndimage import uniform_filter

        from miml_core.segments.acoustic_kernels import row_quantiles

        values, grid = spectrogram.values, spectrogram.grid
        background, loud = row_quantiles(values, _BACKGROUND), row_quantiles(values, _LOUD)
        self.raw: NDArray[np.float32] = np.clip(values - background[:, None], -_LOUDEST, _LOUDEST)
        self.contrast: NDArray[np.float32] = uniform_filter(self.raw, 3, mode="nearest")
        self._highest = running_max(running_max(self.contrast, _SURROUNDINGS, 0), _SURROUNDINGS, 1)
        self._sums, self._squares = _summed(self.raw), _summed(self.raw * self.raw)
        self._by_row = np.column_stack(
            [grid.y_at(np.arange(grid.height) + 0.5) / 1000, loud - background, background - np.median(background)]
        ).astype(np.float32)
        crowd = np.stack([self.contrast.mean(axis=0), (self.contrast > 6).mean(axis=0)])
        self._by_column = np.vstack([crowd, uniform_filter(crowd, (0, 9), mode="nearest")]).T.astype(np.float32)

    def at(self, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the (n, d) features of the pixels at these rows and columns."""
        from miml_core.segments.learned_kernels import patches

        local = patches(
            self.raw, self.contrast, self._highest, self._sums, self._squares, rows, columns, BOXES, SPREADS, STEP
        )
        return np.column_stack([local, self._by_row[rows], self._by_column[columns]])


def _summed(values: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the (height + 1, width + 1) sums of all values above and to the left (summed-area table)."""
    sums = np.zeros((values.shape[0] + 1, values.shape[1] + 1))
    np.cumsum(values, axis=0, dtype=np.float64, out=sums[1:, 1:])
    np.cumsum(sums[1:, 1:], axis=1, out=sums[1:, 1:])
    return sums
