"""A segment's shape: a boolean mask in a box of the bag's pixel grid, and what can be done with such shapes.

Points are x, y in edge coordinates of the grid (see `outlines`); `Grid` turns them into seconds and hertz or into
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

_HEADER = struct.Struct("<BBiiII")  # version, bytes a run, top, left, height, width
_VERSION = 1


@dataclass(frozen=True, eq=False)
class Region:
    """A mask whose upper left corner lies at (`top`, `left`) of the bag's grid; rows run downwards."""

    top: int
    left: int
    mask: NDArray[np.bool_]

    @property
    def area(self) -> int:
        """Number of pixels."""
        return int(np.count_nonzero(self.mask))

    @property
    def box(self) -> tuple[int, int, int, int]:
        """(top, left, bottom, right), the last two just outside."""
        return self.top, self.left, self.top + self.mask.shape[0], self.left + self.mask.shape[1]

    def outline(self, tolerance: float = 0.0) -> list[Ring]:
        """Rings of x, y points around the mask, holes included, the widest first.

        With `tolerance` 0 every corner is there and `from_polygon` gives the same region back; above that, points
        closer than `tolerance` pixels to the simpler line are left out (1 turns staircases into slopes).
        """
        corner = np.array([self.left, self.top], dtype=float)
        rings = [simplify(ring, tolerance) + corner for ring in trace(self.mask)]
        return sorted(rings, key=lambda ring: -float(np.prod(np.ptp(ring, axis=0))))

    def equals(self, other: Region) -> bool:
        """Whether both hold the same pixels."""
        return self.area == other.area == overlap(self, other)

    def within(self, box: tuple[int, int, int, int]) -> NDArray[np.bool_]:
        """The mask as seen in another (top, left, bottom, right) box."""
        top, left, bottom, right = box
        seen = np.zeros((bottom - top, right - left), dtype=bool)
        shared = _shared(self.box, box)
        if shared is not None:
            seen[_slices(shared, top, left)] = self.mask[_slices(shared, self.top, self.left)]
        return seen

    def to_bytes(self) -> bytes:
        """A small header, then run lengths along the rows, outside and inside by turns, outside first."""
        flat = self.mask.ravel()
        changes = np.flatnonzero(flat[1:] != flat[:-1]) + 1
        starts = [0, 0] if flat[:1].any() else [0]
        runs = np.diff(np.concatenate([starts, changes, [flat.size]]))
        size = next(size for size in (1, 2, 4) if runs.max(initial=0) < 256**size)
        header = _HEADER.pack(_VERSION, size, self.top, self.left, *self.mask.shape)
        return header + runs.astype(f"<u{size}").tobytes()

    @classmethod
    def from_bytes(cls, stored: bytes) -> Region:
        """The region that `to_bytes` stored."""
        if len(stored) < _HEADER.size or stored[0] != _VERSION:
            raise BagtagError("A stored segment cannot be read: it was made by another version, or is damaged.")
        _, size, top, left, height, width = _HEADER.unpack_from(stored)
        runs = np.frombuffer(stored, dtype=f"<u{size}", offset=_HEADER.size).astype(np.int64)
        if runs.sum() != height * width:
            raise BagtagError("A stored segment cannot be read: it is damaged.")
        return cls(top, left, np.repeat(np.arange(len(runs)) % 2 == 1, runs).reshape(height, width))


def from_mask(mask: NDArray[np.bool_], top: int = 0, left: int = 0) -> Region | None:
    """The region of a mask that starts at (`top`, `left`), cropped to its smallest box; None when it is empty."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if not len(rows):
        return None
    first, last, start, stop = int(rows[0]), int(rows[-1]) + 1, int(columns[0]), int(columns[-1]) + 1
    return Region(top + first, left + start, np.ascontiguousarray(mask[first:last, start:stop]))


def from_labels(labels: NDArray[np.integer]) -> list[Region]:
    """One region for each number from 1 up that occurs in a label map, in order; 0 is no region."""
    from scipy.ndimage import find_objects

    boxes = enumerate(find_objects(labels), start=1)
    return [Region(box[0].start, box[1].start, labels[box] == number) for number, box in boxes if box is not None]


def to_labels(regions: Sequence[Region], height: int, width: int) -> NDArray[np.int32]:
    """Label map with number i + 1 on the pixels of region i (a later region covers an earlier one), 0 elsewhere."""
    labels = np.zeros((height, width), dtype=np.int32)
    for number, region in enumerate(regions, start=1):
        shared = _shared(region.box, (0, 0, height, width))
        if shared is not None:
            labels[_slices(shared, 0, 0)][region.mask[_slices(shared, region.top, region.left)]] = number
    return labels


def from_polygon(rings: Sequence[ArrayLike], height: int, width: int) -> Region:
    """The pixels of a `height` x `width` grid whose centres lie inside the rings (even-odd rule)."""
    points = np.concatenate([np.asarray(ring, dtype=float).reshape(-1, 2) for ring in rings] or [np.empty((0, 2))])
    if not len(points) or not np.isfinite(points).all():
        raise BagtagError("An outline needs points, each with two numbers.")
    left, top = (int(v) for v in np.clip(np.floor(points.min(axis=0)), 0, [width, height]))
    right, bottom = (int(v) for v in np.clip(np.ceil(points.max(axis=0)), 0, [width, height]))
    corner = np.array([left, top], dtype=float)
    shifted = [np.asarray(ring, dtype=float).reshape(-1, 2) - corner for ring in rings]
    region = from_mask(fill(shifted, max(bottom - top, 0), max(right - left, 0)), top, left)
    if region is None:
        raise BagtagError("The outline is too small, or lies outside the picture: no pixel is inside it.")
    return region


def merge(regions: Sequence[Region]) -> Region:
    """The union of some regions; they need not touch."""
    if not regions:
        raise BagtagError("Choose at least one segment to merge.")
    boxes = np.array([region.box for region in regions])
    box = (*boxes[:, :2].min(axis=0).tolist(), *boxes[:, 2:].max(axis=0).tolist())
    mask = np.zeros((box[2] - box[0], box[3] - box[1]), dtype=bool)
    for region in regions:
        mask[_slices(region.box, box[0], box[1])] |= region.mask
    return Region(box[0], box[1], mask)


def split(region: Region, line: ArrayLike) -> list[Region]:
    """The parts of a region on the sides of a drawn line of x, y points; one part when the line misses it.

    Every pixel goes to exactly one part. A line that ends inside the region is made longer at both ends.
    """
    points = np.asarray(line, dtype=float).reshape(-1, 2)
    if len(points) < 2 or not np.isfinite(points).all():
        raise BagtagError("A cut needs a line of at least two points.")
    parts = cut(region.mask, points - [region.left, region.top])
    return [Region(region.top + part.top, region.left + part.left, part.mask) for part in from_labels(parts)]


def overlap(a: Region, b: Region) -> int:
    """Number of pixels two regions share."""
    shared = _shared(a.box, b.box)
    if shared is None:
        return 0
    return int(np.count_nonzero(a.mask[_slices(shared, a.top, a.left)] & b.mask[_slices(shared, b.top, b.left)]))


def iou(a: Region, b: Region) -> float:
    """Shared pixels over pixels of either, between 0 and 1."""
    shared = overlap(a, b)
    return shared / max(a.area + b.area - shared, 1)


def resample(region: Region, grid_from: Grid, grid_to: Grid) -> Region | None:
    """The same place of the bag on another grid: the pixels that the region covers by more than half.

    A region thinner than the new pixels keeps those it covers most; None when it lies outside the new grid.
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
    """First new pixel met, and for each new pixel from there on which share of it each old pixel covers."""
    first = int(np.clip(np.floor(edges[0]), 0, size))
    last = int(np.clip(np.ceil(edges[-1]), first, size))
    pixels = np.arange(first, last)[:, None]
    return first, np.clip(np.minimum(edges[1:], pixels + 1) - np.maximum(edges[:-1], pixels), 0, None)


def _shared(a: tuple[int, int, int, int], b: tuple[int, int, int, int]) -> tuple[int, int, int, int] | None:
    top, left, bottom, right = max(a[0], b[0]), max(a[1], b[1]), min(a[2], b[2]), min(a[3], b[3])
    return (top, left, bottom, right) if top < bottom and left < right else None


def _slices(box: tuple[int, int, int, int], top: int, left: int) -> tuple[slice, slice]:
    return slice(box[0] - top, box[2] - top), slice(box[1] - left, box[3] - left)
