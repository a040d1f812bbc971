"""Convert masks to polygons and back.

A ring is a (k, 2) array of x, y in edge coordinates of the pixel grid: pixel (row, column) is the square from
(column, row) to (column + 1, row + 1). Outer rings run clockwise on the screen, holes the other way, and filling
by the even-odd rule needs neither. Pixels that touch only at a corner belong to different rings, so that no ring
crosses itself.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Ring = NDArray[np.float64]


def trace(mask: NDArray[np.bool_]) -> list[Ring]:
    """Return rings of corners around all pixels of `mask`; `fill` returns the same mask.

    On every grid line the corners, in order, are the ends of the straight pieces of the boundary. Pairs along rows are
    the horizontal pieces, pairs along columns the vertical ones, and following them alternately gives a ring.

    Examples
    --------
    >>> (ring,) = trace(np.ones((1, 2), dtype=bool))
    >>> ring.tolist()
    [[0.0, 0.0], [2.0, 0.0], [2.0, 1.0], [0.0, 1.0]]
    >>> fill([ring], 1, 3)
    array([[ True,  True, False]])
    """
    rows, columns, twin_first = _corners(mask)
    if not len(rows):
        return []
    along_rows = np.lexsort((columns, rows))
    along_columns = np.lexsort((twin_first, rows, columns))
    across, down = _partners(along_rows), _partners(along_columns)
    return [
        _directed(np.column_stack([columns[walk], rows[walk]]), mask) for walk in _walks(across.tolist(), down.tolist())
    ]


def simplify(ring: Ring, tolerance: float) -> Ring:
    """Return the ring with fewer points; dropped ones are at most `tolerance` away (Douglas and Peucker).

    A ring that would collapse is returned unchanged. Plain loops are faster than arrays, because rings are short:
    `skimage.measure.approximate_polygon` takes 7 times as long (`python -m benchmarks kernels`).
    """
    if tolerance <= 0 or len(ring) <= 4:
        return ring
    points = [*ring.tolist(), ring[0].tolist()]
    far = int(np.argmax(((ring - ring[0]) ** 2).sum(axis=1)))
    keep = {0, far}
    pieces = [(0, far), (far, len(ring))]
    while pieces:
        start, stop = pieces.pop()
        furthest, distance2 = _furthest(points, start, stop)
        if distance2 > tolerance**2:
            keep.add(furthest)
            pieces += [(start, furthest), (furthest, stop)]
    simple = ring[sorted(keep)]
    return simple if len(simple) >= 3 and abs(signed_area(simple)) >= 0.5 else ring


def fill(rings: Sequence[ArrayLike], height: int, width: int) -> NDArray[np.bool_]:
    """Return a (height, width) mask of the pixels whose centres are inside the rings by the even-odd rule.

    `skimage.draw.polygon2mask` takes 48 times as long (`python -m benchmarks kernels`).
    """
    inside = np.zeros((height, width + 1), dtype=np.int64)
    for ring in rings:
        points = np.asarray(ring, dtype=float).reshape(-1, 2)
        rows, columns = _crossings(points, np.roll(points, -1, axis=0), height)
        np.add.at(inside, (rows, np.clip(columns, 0, width)), 1)
    return np.asarray(np.cumsum(inside[:, :-1], axis=1) % 2, dtype=bool)


def signed_area(ring: Ring) -> float:
    """Return the area inside a ring, positive if it runs clockwise on the screen."""
    x, y = ring[:, 0], ring[:, 1]
    return float(np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y)) / 2


def _corners(mask: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return rows and columns of the boundary's corners; a point where two pixels touch diagonally occurs twice.

    The first of such twins ends a piece from the left, the second starts one to the right. The third array sorts
    them along their column: the direction of the first twin depends on which of the two diagonals is set.
    """
    padded = np.pad(mask, 1).astype(np.int8)
    upper_left, upper_right = padded[:-1, :-1], padded[:-1, 1:]
    lower_left, lower_right = padded[1:, :-1], padded[1:, 1:]
    total = upper_left + upper_right + lower_left + lower_right
    touching = (total == 2) & (upper_left == lower_right)
    count = np.where(touching, 2, total % 2)
    rows, columns = np.nonzero(count)
    times = count[rows, columns]
    first_goes_up = np.repeat(upper_left[rows, columns] == 1, times)
    rows, columns = np.repeat(rows, times), np.repeat(columns, times)
    is_second = np.zeros(len(rows), dtype=bool)
    is_second[1:] = (rows[1:] == rows[:-1]) & (columns[1:] == columns[:-1])
    return rows, columns, (is_second == first_goes_up).astype(np.int64)


def _partners(order: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the other end of each corner's piece, where consecutive pairs of `order` are pieces."""
    partner = np.empty(len(order), dtype=np.int64)
    partner[order[0::2]] = order[1::2]
    partner[order[1::2]] = order[0::2]
    return partner


def _walks(across: list[int], down: list[int]) -> list[list[int]]:
    seen = [False] * len(across)
    walks = []
    for start in range(len(across)):
        if seen[start]:
            continue
        walk = []
        corner = start
        while not seen[corner]:
            other = across[corner]
            seen[corner] = seen[other] = True
            walk += [corner, other]
            corner = down[other]
        walks.append(walk)
    return walks


def _directed(corners: NDArray[np.int64], mask: NDArray[np.bool_]) -> Ring:
    """Return a ring from the upper left corner: clockwise if the pixel there is inside, the other way around a hole."""
    ring = corners.astype(float)
    first = int(np.lexsort((corners[:, 0], corners[:, 1]))[0])
    ring = np.roll(ring, -first, axis=0)
    column, row = corners[first]
    if (signed_area(ring) > 0) != bool(mask[row, column]):
        ring = np.roll(ring[::-1], 1, axis=0)
    return ring


def _furthest(points: list[list[float]], start: int, stop: int) -> tuple[int, float]:
    """Return the point between two others that is furthest from the line between them, and its squared distance."""
    (x0, y0), (x1, y1) = points[start], points[stop]
    along_x, along_y = x1 - x0, y1 - y0
    length2 = along_x * along_x + along_y * along_y or 1.0
    furthest, most = start, 0.0
    for number in range(start + 1, stop):
        x, y = points[number]
        x, y = x - x0, y - y0
        share = min(max((x * along_x + y * along_y) / length2, 0.0), 1.0)
        off_x, off_y = x - share * along_x, y - share * along_y
        distance2 = off_x * off_x + off_y * off_y
        if distance2 > most:
            furthest, most = number, distance2
    return furthest, most


def _crossings(start: Ring, stop: Ring, height: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return (row, column) of the first pixel centre to the right of each crossing of an edge and a row of centres."""
    top, bottom = np.minimum(start[:, 1], stop[:, 1]), np.maximum(start[:, 1], stop[:, 1])
    first = np.clip(np.ceil(top - 0.5), 0, height).astype(np.int64)
    last = np.clip(np.ceil(bottom - 0.5), 0, height).astype(np.int64)
    times = last - first
    edge = np.repeat(np.arange(len(start)), times)
    rows = np.arange(times.sum()) - np.repeat(np.cumsum(times) - times, times) + first[edge]
    share = (rows + 0.5 - start[edge, 1]) / (stop[edge, 1] - start[edge, 1])
    x = start[edge, 0] + share * (stop[edge, 0] - start[edge, 0])
    return rows, np.ceil(np.clip(x, -1, 2**31) - 0.5).astype(np.int64)
