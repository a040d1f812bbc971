"""Compiled loops of `lab.py`."""

import numpy as np
from numba import njit

_VECTORISE = {"reassoc", "contract"}


@njit(cache=True, nogil=True)
def _root(table, t):
    """Return f(t) of CIE Lab for t in 0 to 1, from a table with straight lines in between."""
    place = t * (len(table) - 2)
    cell = int(place)
    share = np.float32(place - cell)
    return table[cell] + share * (table[cell + 1] - table[cell])


@njit(cache=True, nogil=True)
def convert(pixels, light, table):
    """Convert (height, width, 3) sRGB pixels to (3, height, width) float32 Lab.

    `light` has the linear value of each of the 256 levels, `table` f(t) of CIE Lab, see `_root`.
    `skimage.color.rgb2lab` takes 4 times as long (`python -m benchmarks kernels`).
    """
    height, width, _ = pixels.shape
    planes = np.empty((3, height, width), np.float32)
    for i in range(height):
        for j in range(width):
            r, g, b = light[pixels[i, j, 0]], light[pixels[i, j, 1]], light[pixels[i, j, 2]]
            x = _root(table, 0.433953 * r + 0.376219 * g + 0.189828 * b)
            y = _root(table, 0.212671 * r + 0.715160 * g + 0.072169 * b)
            z = _root(table, 0.017758 * r + 0.109477 * g + 0.872766 * b)
            planes[0, i, j] = 116.0 * y - 16.0
            planes[1, i, j] = 500.0 * (x - y)
            planes[2, i, j] = 200.0 * (y - z)
    return planes


@njit(cache=True, nogil=True, fastmath=_VECTORISE)
def blur_plane(plane, weights):
    """Blur a plane by two one-dimensional passes; beyond the border the outermost pixels go on.

    `scipy.ndimage.gaussian_filter` takes 4 times as long (`python -m benchmarks kernels`).
    """
    height, width = plane.shape
    reach = len(weights) // 2
    across = np.zeros((height, width), np.float32)
    padded = np.empty(width + 2 * reach, np.float32)
    for i in range(height):
        padded[:reach] = plane[i, 0]
        padded[reach : reach + width] = plane[i]
        padded[reach + width :] = plane[i, width - 1]
        row = across[i]
        for k in range(2 * reach + 1):
            weight = weights[k]
            for j in range(width):
                row[j] += weight * padded[j + k]
    blurred = np.zeros((height, width), np.float32)
    for i in range(height):
        row = blurred[i]
        for k in range(2 * reach + 1):
            weight = weights[k]
            source = across[min(max(i + k - reach, 0), height - 1)]
            for j in range(width):
                row[j] += weight * source[j]
    return blurred
