"""Regions, the shapes of segments: boolean masks in a box of the bag's pixel grid, and operations on them.

Points are x, y in edge coordinates of the grid (see `outlines`); `Grid` converts them to seconds and hertz, or to
pixels of the original picture.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from miml_core.errors import BagtagError
from miml_core.media.grid import Grid
from miml_core.segments.cutting import cut
from miml_core.segments.outlines import Ring, fill, simplify, trace

_HEADER = struct.Struct("<BBiiII")  # version, bytes per run, top, left, height, width
_VERSION = 1
_MOST_PIXELS = 2**32
"""Of a stored region: a crafted one of a few bytes could state any number."""


@dataclass(frozen=True, eq=False)
class Region:
    """A mask whose upper left corner is at (`top`, `left`) of the bag's grid; rows run downwards.

    Examples
    --------
    >>> region = Region(2, 3, np.array([[True, True], [True, False]]))
    >>> region.area, region.box
    (3, (2, 3, 4, 5))
    >>> Region.from_bytes(region.to_bytes()).equals(region)
    True
    >>> [ring.tolist() for ring in region.outline()]
    [[[3.0, 2.0], [5.0, 2.0], [5.0, 3.0], [4.0, 3.0], [4.0, 4.0], [3.0, 4.0]]]
    """

    top: int
    left: int
    mask: NDArray[np.bool_]

    @property
    def area(self) -> int:
        """Number of pixels."""
        return int(np.count_nonzero(self.mask))

    @property
    def box(self) -> tuple[int, int, int, int]:
        """(top, left, bottom, right); the last two are just outside."""
        return self.top, self.left, self.top + self.mask.shape[0], self.left + self.mask.shape[1]

    def outline(self, tolerance: float = 0.0) -> list[Ring]:
        """Return rings of x, y points around the mask and its holes, the largest first.

        With `tolerance` 0 every corner is included and `from_polygon` returns the same region; otherwise points closer
        than `tolerance` pixels to the simplified line are left out (1 turns staircases into slopes).
        """
        corner = np.array([self.left, self.top], dtype=float)
        rings = [simplify(ring, tolerance) + corner for ring in trace(self.mask)]
        return sorted(rings, key=lambda ring: -float(np.prod(np.ptp(ring, axis=0))))

    def equals(self, other: Region) -> bool:
        """Return whether both regions have the same pixels."""
        return self.area == other.area == overlap(self, other)

    def within(self, box: tuple[int, int, int, int]) -> NDArray[np.bool_]:
        """Return the part of the mask in another (top, left, bottom, right) box."""
        top, left, bottom, right = box
        seen = np.zeros((bottom - top, right - left), dtype=bool)
        shared = _shared(self.box, box)
        if shared is not None:
            seen[_slices(shared, top, left)] = self.mask[_slices(shared, self.top, self.left)]
        return seen

    def to_bytes(self) -> bytes:
        """Return a small header and run lengths along the rows, alternately outside and inside, outside first."""
        flat = self.mask.ravel()
        changes = np.flatnonzero(flat[1:] != flat[:-1]) + 1
        starts = [0, 0] if flat[:1].any() else [0]
        runs = np.diff(np.concatenate([starts, changes, [flat.size]]))
        size = next(size for size in (1, 2, 4) if runs.max(initial=0) < 256**size)
        header = _HEADER.pack(_VERSION, size, self.top, self.left, *self.mask.shape)
        return header + runs.astype(f"<u{size}").tobytes()

    @classmethod
    def from_bytes(cls, stored: bytes) -> Region:
        """Return the region that `to_bytes` stored."""
        if len(stored) < _HEADER.size or stored[0] != _VERSION:
            raise BagtagError(
                "A stored segment cannot be read: it is damaged, or of another version of Bagtag. Run `bagtag check "
                "PROJECT`, which names the bag."
            )
        _, size, top, left, height, width = _HEADER.unpack_from(stored)
        runs = np.frombuffer(stored, dtype=f"<u{size}", offset=_HEADER.size).astype(np.int64)
        if runs.sum() != height * width or height * width >= _MOST_PIXELS:
            raise BagtagError(
                "A stored segment cannot be read: it is damaged. Run `bagtag check PROJECT`, which names the bag."
            )
        return cls(top, left, np.repeat(np.arange(len(runs)) % 2 == 1, runs).reshape(height, width))


def rectangle_bytes(top: int, left: int, height: int, width: int) -> bytes:
    """Return what `Region.to_bytes` returns for a full rectangle, without its mask.

    >>> rectangle_bytes(2, 3, 4, 5) == Region(2, 3, np.ones((4, 5), dtype=bool)).to_bytes()
    True
    """
    area = height * width
    size = next(size for size in (1, 2, 4) if area < 256**size)
    return _HEADER.pack(_VERSION, size, top, left, height, width) + bytes(size) + area.to_bytes(size, "little")


def from_mask(mask: NDArray[np.bool_], top: int = 0, left: int = 0) -> Region | None:
    """Return the region of a mask that starts at (`top`, `left`), cropped to its pixels; None if it has none.

    Examples
    --------
    >>> mask = np.zeros((4, 6), dtype=bool)
    >>> mask[1:3, 2:5] = True
    >>> from_mask(mask, top=10).box
    (11, 2, 13, 5)
    """
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if not len(rows):
        return None
    first, last, start, stop = int(rows[0]), int(rows[-1]) + 1, int(columns[0]), int(columns[-1]) + 1
    return Region(top + first, left + start, np.ascontiguousarray(mask[first:last, start:stop]))


def from_labels(labels: NDArray[np.integer]) -> list[Region]:
    """Return one region per number above 0 that occurs in a label map, in order.

    Examples
    --------
    >>> [region.box for region in from_labels(np.array([[0, 1, 1], [2, 0, 0]]))]
    [(0, 1, 1, 3), (1, 0, 2, 1)]
    """
    from scipy.ndimage import find_objects

    boxes = enumerate(find_objects(labels), start=1)
    return [Region(box[0].start, box[1].start, labels[box] == number) for number, box in boxes if box is not None]


def to_labels(regions: Sequence[Region], height: int, width: int) -> NDArray[np.int32]:
    """Return a label map with i + 1 on the pixels of region i (a later region covers an earlier one), else 0.

    Examples
    --------
    >>> labels = to_labels([Region(0, 1, np.ones((2, 2), dtype=bool))], 2, 4)
    >>> labels
    array([[0, 1, 1, 0],
           [0, 1, 1, 0]], dtype=int32)
    >>> [region.box for region in from_labels(labels)]
    [(0, 1, 2, 3)]
    """
    labels = np.zeros((height, width), dtype=np.int32)
    for number, region in enumerate(regions, start=1):
        shared = _shared(region.box, (0, 0, height, width))
        if shared is not None:
            labels[_slices(shared, 0, 0)][region.mask[_slices(shared, region.top, region.left)]] = number
    return labels


def from_polygon(rings: Sequence[ArrayLike], height: int, width: int) -> Region:
    """Return the pixels of a `height` x `width` grid whose centres are inside the rings (even-odd rule).

    Examples
    --------
    >>> from_polygon([[(1, 1), (4, 1), (4, 3), (1, 3)]], height=10, width=10).box
    (1, 1, 3, 4)
    """
    points = np.concatenate([np.asarray(ring, dtype=float).reshape(-1, 2) for ring in rings] or [np.empty((0, 2))])
    if not len(points) or not np.isfinite(points).all():
        raise BagtagError("An outline needs points, each with two numbers.")
    left, top = (int(v) for v in np.clip(np.floor(points.min(axis=0)), 0, [width, height]))
    right, bottom = (int(v) for v in np.clip(np.ceil(points.max(axis=0)), 0, [width, height]))
    corner = np.array([left, top], dtype=float)
    shifted = [np.asarray(ring, dtype=float).reshape(-1, 2) - corner for ring in rings]
    region = from_mask(fill(shifted, max(bottom - top, 0), max(right - left, 0)), top, left)
    if region is None:
        raise BagtagError("The outline is too small or outside the picture: no pixel is inside it. Draw it again.")
    return region


def merge(regions: Sequence[Region]) -> Region:
    """Return the union of some regions, which need not touch.

    Examples
    --------
    >>> square = np.ones((2, 2), dtype=bool)
    >>> both = merge([Region(0, 0, square), Region(0, 3, square)])
    >>> both.box, both.area
    ((0, 0, 2, 5), 8)
    """
    if not regions:
        raise BagtagError("Choose at least one segment to merge.")
    boxes = np.array([region.box for region in regions])
    box = (*boxes[:, :2].min(axis=0).tolist(), *boxes[:, 2:].max(axis=0).tolist())
    mask = np.zeros((box[2] - box[0], box[3] - box[1]), dtype=bool)
    for region in regions:
        mask[_slices(region.box, box[0], box[1])] |= region.mask
    return Region(box[0], box[1], mask)


def split(region: Region, line: ArrayLike) -> list[Region]:
    """Return the parts of a region on both sides of a line of x, y points; one part if the line misses it.

    Every pixel belongs to exactly one part. A line that ends inside the region is extended at both ends.

    Examples
    --------
    >>> region = Region(0, 0, np.ones((2, 4), dtype=bool))
    >>> [part.box for part in split(region, [(1, 0), (1, 2)])]
    [(0, 0, 2, 1), (0, 1, 2, 4)]
    """
    points = np.asarray(line, dtype=float).reshape(-1, 2)
    if len(points) < 2 or not np.isfinite(points).all():
        raise BagtagError("A cut needs a line of at least two points.")
    parts = cut(region.mask, points - [region.left, region.top])
    return [Region(region.top + part.top, region.left + part.left, part.mask) for part in from_labels(parts)]


def overlap(a: Region, b: Region) -> int:
    """Return the number of pixels that two regions share.

    Examples
    --------
    >>> square = np.ones((2, 2), dtype=bool)
    >>> overlap(Region(0, 0, square), Region(1, 1, square))
    1
    """
    shared = _shared(a.box, b.box)
    if shared is None:
        return 0
    return int(np.count_nonzero(a.mask[_slices(shared, a.top, a.left)] & b.mask[_slices(shared, b.top, b.left)]))


def resample(region: Region, grid_from: Grid, grid_to: Grid) -> Region | None:
    """Return the region on another grid: the pixels of which it covers more than half.

    A region thinner than the new pixels has those it covers most; None if it is outside the new grid.

    Examples
    --------
    >>> coarse, fine = Grid(10, 10, 0.0, 1.0, 8000.0, 0.0), Grid(20, 20, 0.0, 1.0, 8000.0, 0.0)
    >>> resample(Region(2, 3, np.ones((1, 2), dtype=bool)), coarse, fine).box
    (4, 6, 6, 10)
    """
    top, left, bottom, right = region.box
    row_edges = grid_to.row_at(grid_from.y_at(np.arange(top, bottom + 1)))
    column_edges = grid_to.column_at(grid_from.x_at(np.arange(left, right + 1)))
    first_row, row_shares = _shares(row_edges, grid_to.height)
    first_column, column_shares = _shares(column_edges, grid_to.width)
    covered = row_shares @ region.mask.astype(float) @ column_shares.T
    most = covered.max(initial=0.0)
    if most <= 1e-9:
        return None
    return from_mask(covered > min(0.5, most * (1 - 1e-9)), first_row, first_column)


def _shares(edges: NDArray[np.float64], size: int) -> tuple[int, NDArray[np.float64]]:
    """Return the first new pixel, and for each new pixel from there on the share that each old pixel covers."""
    first = int(np.clip(np.floor(edges[0]), 0, size))
    last = int(np.clip(np.ceil(edges[-1]), first, size))
    pixels = np.arange(first, last)[:, None]
    return first, np.clip(np.minimum(edges[1:], pixels + 1) - np.maximum(edges[:-1], pixels), 0, None)


def _shared(a: tuple[int, int, int, int], b: tuple[int, int, int, int]) -> tuple[int, int, int, int] | None:
    top, left, bottom, right = max(a[0], b[0]), max(a[1], b[1]), min(a[2], b[2]), min(a[3], b[3])
    return (top, left, bottom, right) if top < bottom and left < right else None


def _slices(box: tuple[int, int, int, int], top: int, left: int) -> tuple[slice, slice]:
    return slice(box[0] - top, box[2] - top), slice(box[1] - left, box[3] - left)
