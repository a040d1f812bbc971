"""Convert pictures to CIE Lab, in which distances correspond to perceived differences."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Plane = NDArray[np.float32]


def to_lab(pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Return (3, height, width) lightness, 0 to 100, and the colour axes a, b of 8-bit sRGB pixels (white point D65).

    Examples
    --------
    >>> to_lab(np.full((1, 1, 3), 255, dtype=np.uint8)).round().ravel() + 0.0  # white
    array([100.,   0.,   0.], dtype=float32)
    """
    from miml_core.media.lab_kernels import convert

    value = np.arange(256) / 255.0
    light = np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4).astype(np.float32)
    t = np.linspace(0, 1, 4097)
    root = np.where(t > 0.008856, np.cbrt(t), 7.787 * t + 16 / 116)
    table = np.append(root, root[-1]).astype(np.float32)
    return np.asarray(convert(np.ascontiguousarray(pixels), light, table))


def blur(plane: Plane, sigma: float) -> Plane:
    """Return the plane convolved with a Gaussian of `sigma` pixels; the outermost pixels are repeated outside."""
    from miml_core.media.lab_kernels import blur_plane

    reach = max(1, round(3 * sigma))
    weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) / sigma) ** 2)
    weights = (weights / weights.sum()).astype(np.float32)
    return np.asarray(blur_plane(np.ascontiguousarray(plane, dtype=np.float32), weights))


def gradient(plane: Plane) -> tuple[Plane, Plane]:
    """Return the central differences downwards and to the right; 0 along a side of one pixel."""
    padded = np.pad(plane, 1, mode="edge")
    half = np.float32(0.5)
    return half * (padded[2:, 1:-1] - padded[:-2, 1:-1]), half * (padded[1:-1, 2:] - padded[1:-1, :-2])
