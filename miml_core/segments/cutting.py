"""Split a mask along a drawn line.

No pixel is lost: two neighbouring pixels are separated if the line passes between their centres, and the connected
pieces that remain are the parts.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

CRUMB = 0.02
"""A smaller piece than this share of the mask is no part of its own; ragged edges produce such pieces."""


def cut(mask: NDArray[np.bool_], line: NDArray[np.float64]) -> NDArray[np.int64]:
    """Number the parts of `mask` on the two sides of `line`, 1, 2, ...; 0 outside, all 1 if nothing was cut.

    If the line, (k, 2) x and y, ends inside the mask and separates nothing, it is extended at both ends. Small pieces,
    and those that the line does not touch, are added to the nearest part.

    Examples
    --------
    >>> cut(np.ones((2, 4), dtype=bool), np.array([[2.0, 0.0], [2.0, 2.0]]))
    array([[1, 1, 2, 2],
           [1, 1, 2, 2]])
    """
    parts = _parts(mask, line)
    if parts.max() < 2:
        parts = _parts(mask, _extended(line, float(np.hypot(*mask.shape)) + 1))
    return parts


def _parts(mask: NDArray[np.bool_], line: NDArray[np.float64]) -> NDArray[np.int64]:
    from scipy.ndimage import distance_transform_edt

    below, right = _separated(line, mask.shape)
    pieces = _pieces(mask, below, right)
    sizes = np.bincount(pieces.ravel())
    is_part = np.zeros(len(sizes), dtype=bool)
    for cuts, other in ((below[:-1], pieces[1:]), (right[:, :-1], pieces[:, 1:])):
        here = pieces[: other.shape[0], : other.shape[1]]
        apart = cuts & (here != other) & (here > 0) & (other > 0)
        is_part[here[apart]] = is_part[other[apart]] = True
    is_part &= sizes >= CRUMB * np.count_nonzero(mask)
    if is_part.sum() < 2:
        return mask.astype(np.int64)
    number = np.where(is_part, np.cumsum(is_part), 0)
    parts = number[pieces]
    nearest = distance_transform_edt(parts == 0, return_distances=False, return_indices=True)
    return np.where(mask, parts[tuple(nearest)], 0)


def _separated(line: NDArray[np.float64], shape: tuple[int, ...]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which pixels the line separates from the one below, and from the one to the right."""
    below = np.zeros(shape, dtype=bool)
    right = np.zeros(shape, dtype=bool)
    for (x0, y0), (x1, y1) in pairwise(line):
        columns, y = _at_centres(x0, y0, x1, y1, shape[1])
        rows = np.ceil(y - 0.5).astype(np.int64) - 1
        ok = (rows >= 0) & (rows < shape[0])
        below[rows[ok], columns[ok]] ^= True
        rows, x = _at_centres(y0, x0, y1, x1, shape[0])
        columns = np.ceil(x - 0.5).astype(np.int64) - 1
        ok = (columns >= 0) & (columns < shape[1])
        right[rows[ok], columns[ok]] ^= True
    return below, right


def _at_centres(u0: float, v0: float, u1: float, v1: float, size: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the pixels whose centre line `u = pixel + 0.5` the line crosses, and the v of each crossing."""
    low, high = min(u0, u1), max(u0, u1)
    first, last = (int(np.clip(np.ceil(u - 0.5), 0, size)) for u in (low, high))
    pixels = np.arange(first, last, dtype=np.int64)
    if not len(pixels):
        return pixels, np.empty(0, dtype=np.float64)
    return pixels, np.asarray(v0 + (pixels + 0.5 - u0) * ((v1 - v0) / (u1 - u0)), dtype=np.float64)


def _pieces(mask: NDArray[np.bool_], below: NDArray[np.bool_], right: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Number the connected pieces; pixels that touch at a corner are connected, unless the line is beside it."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    index = np.full(mask.shape, -1, dtype=np.int64)
    index[mask] = np.arange(np.count_nonzero(mask))
    whole_corner = ~(below[:-1, :-1] | below[:-1, 1:] | right[:-1, :-1] | right[1:, :-1])
    links = [
        (index[:-1], index[1:], ~below[:-1]),
        (index[:, :-1], index[:, 1:], ~right[:, :-1]),
        (index[:-1, :-1], index[1:, 1:], whole_corner),
        (index[:-1, 1:], index[1:, :-1], whole_corner),
    ]
    ends = [(a[ok & (a >= 0) & (b >= 0)], b[ok & (a >= 0) & (b >= 0)]) for a, b, ok in links]
    a, b = (np.concatenate([pair[side] for pair in ends]) for side in (0, 1))
    n = int(np.count_nonzero(mask))
    _, piece = connected_components(coo_array((np.ones(len(a), dtype=np.int8), (a, b)), shape=(n, n)), directed=False)
    pieces = np.zeros(mask.shape, dtype=np.int64)
    pieces[mask] = piece + 1
    return pieces


def _extended(line: NDArray[np.float64], by: float) -> NDArray[np.float64]:
    def beyond(end: NDArray[np.float64], before: NDArray[np.float64]) -> NDArray[np.float64]:
        direction = end - before
        return np.asarray(end + direction * (by / max(float(np.hypot(*direction)), 1e-9)))

    return np.vstack([beyond(line[0], line[1]), line, beyond(line[-1], line[-2])])
