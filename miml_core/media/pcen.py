"""Per-channel energy normalisation: each band against its own recent level."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


class Pcen:
    """Per-channel energy normalisation (Wang et al. 2017) by librosa, of power that comes in pieces.

    Each band is divided by its smoothed energy to the power 0.98. The compression is 10 log10(1 + x / 2) instead of a
    root, so that levels stay in decibels and one threshold suits every normalisation.

    Parameters
    ----------
    medians : (bands, 1) float
        Median power of each band, with which the smoothing starts.
    hop : float
        Seconds per column.

    Examples
    --------
    >>> power = np.full((2, 5), 1e-4, dtype=np.float32)
    >>> power[0, 3] = 1e-2  # a call in the first band
    >>> levels = Pcen(np.median(power, axis=1, keepdims=True), hop=0.01).levels(power)
    >>> (levels * 2).round().astype(int).tolist()  # in half decibels
    [[3, 3, 3, 23, 1], [3, 3, 3, 3, 3]]
    """

    SECONDS = 0.4
    """Time constant of the smoothing."""

    def __init__(self, medians: NDArray[np.floating[Any]], hop: float) -> None:
        self._keep = float(np.exp(-hop / self.SECONDS))
        self._state = self._keep * medians

    def levels(self, power: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the (bands, columns) levels of the next columns."""
        levels, self._state = _pcen(power, power, b=1 - self._keep, zi=self._state, return_zf=True)
        return _to_decibels(levels)

    @staticmethod
    def levels_against(power: NDArray[np.float32], smoothed: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
        """Return the levels of columns whose smoothed power, (bands, columns), is known."""
        return _to_decibels(_pcen(power, smoothed, b=1.0))


def _pcen(power: NDArray[np.float32], reference: NDArray[np.floating[Any]], **options: Any) -> Any:
    import librosa  # imported here because it takes two seconds of processor time

    return librosa.pcen(power * np.float32(0.5), ref=reference, gain=0.98, power=0, eps=1e-12, axis=1, **options)


def _to_decibels(levels: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
    return np.ascontiguousarray(levels * (10 / np.log(10)), dtype=np.float32)
