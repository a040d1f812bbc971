"""Compute the two mel spectrograms that BirdNET's network looks at.

The network's file contains this step, but two thirds of its time are spent in it, because TFLite transforms every
frame in double precision. BirdNET uses the real part of the Fourier transform only, and that is a product of the frame
with a matrix: so is the sum over mel bands after it, and both are one product. Frame and cosine are symmetric, which
halves it. The results agree to rounding (`tests/features/birdnet/test_network.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

N_BANDS, N_COLUMNS = 96, 511
"""Size of each spectrogram: mel bands, the highest in row 0, and columns of about 5.8 ms."""


@dataclass(frozen=True, eq=False)
class MelBand:
    """One of the two spectrograms: all up to 3 kHz, or from 500 Hz to 15 kHz.

    Attributes
    ----------
    kernel : (length / 2 + 1, 96) float32
        Product of window, cosines and mel weights, for frames that are folded in the middle.
    length, hop : int
        Samples per frame and from frame to frame.
    exponent : float
        Of the magnitude.
    """

    kernel: NDArray[np.float32]
    length: int
    hop: int
    exponent: float

    @classmethod
    def of(
        cls, window: NDArray[np.float32], mel: NDArray[np.float32], power: NDArray[np.float32], *, hop: int
    ) -> MelBand:
        """Make the kernel from the window (length,), mel weights (96, length / 2 + 1) and exponent () of the energy."""
        half = len(window) // 2 + 1
        steps = np.arange(half)
        cosines = np.cos(2.0 * np.pi / len(window) * np.outer(steps, steps))
        kernel = (cosines * window[:half, None].astype(np.float64)) @ mel[::-1].T.astype(np.float64)
        return cls(kernel.astype(np.float32), len(window), hop, 2.0 * float(power))

    def image(self, samples: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the (96, columns) spectrogram of a window."""
        frames = np.lib.stride_tricks.sliding_window_view(samples, self.length)[:: self.hop]
        middle = self.length // 2
        folded = frames[:, : middle + 1].copy()
        folded[:, 1:middle] += frames[:, :middle:-1]
        product = folded @ self.kernel
        return np.power(np.abs(product, out=product), np.float32(self.exponent), out=product).T


def normalized(samples: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return a window scaled to -1..1, as BirdNET does.

    Examples
    --------
    >>> normalized(np.array([0.0, 0.5, 0.125], dtype=np.float32)).round(3)
    array([-1. ,  1. , -0.5], dtype=float32)
    """
    scaled = samples - samples.min()
    scaled /= scaled.max() + np.float32(1e-6)
    scaled -= np.float32(0.5)
    scaled *= np.float32(2.0)
    return scaled
