"""Compute the two mel spectrograms that are the input of BirdNET's network.

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
    window : (length,) float32
    mel : (96, length / 2 + 1) float32
    hop : int
        Samples from frame to frame.
    exponent : float
        Of the magnitude.
    """

    kernel: NDArray[np.float32]
    window: NDArray[np.float32]
    mel: NDArray[np.float32]
    hop: int
    exponent: float

    @classmethod
    def of(
        cls, window: NDArray[np.float32], mel: NDArray[np.float32], power: NDArray[np.float32], *, hop: int
    ) -> MelBand:
        """Make the kernel from the window (length,), mel weights (96, length / 2 + 1) and exponent () of the energy."""
        window, mel = window.copy(), mel[::-1].copy()
        half = len(window) // 2 + 1
        steps = np.arange(half)
        cosines = np.cos(2.0 * np.pi / len(window) * np.outer(steps, steps))
        kernel = (cosines * window[:half, None].astype(np.float64)) @ mel.T.astype(np.float64)
        return cls(kernel.astype(np.float32), window, mel, hop, exponent=2.0 * float(power))

    def image(self, samples: NDArray[np.float32], level: np.float32) -> NDArray[np.float32]:
        """Return the (96, columns) spectrogram of a window whose samples are raised by a constant level."""
        frames = np.lib.stride_tricks.sliding_window_view(samples, len(self.window))[:: self.hop]
        middle = len(self.window) // 2
        folded = frames[:, : middle + 1].copy()
        folded[:, 1:middle] += frames[:, :middle:-1]
        product = folded @ self.kernel
        product += self.mel @ np.fft.rfft((self.window * level).astype(np.float64)).real.astype(np.float32)
        return np.power(np.abs(product, out=product), np.float32(self.exponent), out=product).T


def normalize(samples: NDArray[np.float32]) -> tuple[NDArray[np.float32], np.float32]:
    """Scale a window as BirdNET does, to -1..1, but return the level of silence separately.

    BirdNET's window is the sum of the two. Where the window is silent, as in the padding of a short clip, rounding
    errors of that constant would look like sound: the spectrogram's exponent of .38 makes .01 of 1e-5.

    Returns
    -------
    scaled : (n,) float32
        Samples; 0 stays 0 if the window has it.
    level : float32

    Examples
    --------
    >>> scaled, level = normalize(np.array([0.0, 0.6, 0.3, -0.2], dtype=np.float32))
    >>> scaled.round(3), float(level.round(3))
    (array([ 0.  ,  1.5 ,  0.75, -0.5 ], dtype=float32), -0.5)
    """
    low, high = samples.min(), samples.max()
    silence = np.clip(np.float32(0.0), low, high)
    span = high - low + np.float32(1e-6)
    level = ((silence - low) / span - np.float32(0.5)) * np.float32(2.0)  # in the order of BirdNET, with its rounding
    scaled = samples - silence
    scaled *= np.float32(2.0) / span
    return scaled, level
