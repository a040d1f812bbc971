"""Which segments of another annotator's copy are segments of the project: the same region, or nearly the same."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Row

from miml_core.project.edits.label_shapes import box_areas, shared_areas
from miml_core.project.queries.segments import move_to_grid, region
from miml_core.segments.regions import overlap

if TYPE_CHECKING:
    from miml_core.media.grid import Grid

LEAST_IOU = 0.9
"""Segments that share more than this of their union are the same."""
_AT_ONCE = 256


def match_segments(
    ours: Sequence[Row[Any]], theirs: Sequence[Row[Any]], our_grids: Mapping[int, Grid], their_grids: Mapping[int, Grid]
) -> dict[int, int]:
    """Return {their segment id: our segment id} for rows of segments of one bag; each of ours is used at most once.

    Identical regions first, then pairs by the share of their union that they have in common, the largest first.
    """
    matched = _identical(ours, theirs, our_grids, their_grids)
    used = set(matched.values())
    left = [row for row in theirs if row.id not in matched]
    free = [row for row in ours if row.id not in used]
    pairs = []
    for one, two in _similar_boxes(left, free):
        iou = _iou(one, two, their_grids[one.grid_id], our_grids[two.grid_id])
        if iou > LEAST_IOU:
            pairs.append((-iou, one.id, two.id))
    for _, one_id, two_id in sorted(pairs):
        if one_id not in matched and two_id not in used:
            matched[one_id] = two_id
            used.add(two_id)
    return matched


def fits_grid(row: Row[Any], grid: Grid) -> bool:
    """Return whether the region of a segment is inside its grid; that of a crafted copy need not be."""
    top, left, bottom, right = region(row).box
    edges = (grid.left, grid.right, grid.top, grid.bottom, row.left, row.right, row.low, row.high)
    is_grid = grid.left < grid.right and grid.top != grid.bottom and all(map(math.isfinite, edges))
    return is_grid and 0 <= top < bottom <= grid.height and 0 <= left < right <= grid.width


def covered_by(new: Sequence[Row[Any]], ours: Sequence[Row[Any]]) -> list[int]:
    """Return the ids of our segments of whose boxes one of the new segments covers at least half."""
    if not new or not ours:
        return []
    own = boxes(ours)
    half = box_areas(own) / 2
    is_covered = np.zeros(len(ours), dtype=bool)
    for _, near, shared in _shared_by_parts(boxes(new), own):
        is_covered[near] |= (shared >= half[near]).any(axis=0)
    return [ours[int(place)].id for place in np.flatnonzero(is_covered)]


def boxes(rows: Sequence[Row[Any]]) -> NDArray[np.float64]:
    """Return (n, 4) left, right, low, high of segments."""
    edges = [(row.left, row.right, row.low, row.high) for row in rows]
    return np.array(edges, dtype=float).reshape(-1, 4)


def _identical(
    ours: Sequence[Row[Any]], theirs: Sequence[Row[Any]], our_grids: Mapping[int, Grid], their_grids: Mapping[int, Grid]
) -> dict[int, int]:
    places: dict[Any, list[int]] = defaultdict(list)
    for row in ours:
        places[our_grids[row.grid_id], row.region].append(row.id)
    matched = {}
    for row in theirs:
        same = places.get((their_grids[row.grid_id], row.region))
        if same:
            # The same shape drawn twice: of copies of one project, the one with the same id.
            matched[row.id] = same.pop(same.index(row.id) if row.id in same else 0)
    return matched


def _similar_boxes(one: Sequence[Row[Any]], two: Sequence[Row[Any]]) -> Iterator[tuple[Row[Any], Row[Any]]]:
    """Yield the pairs whose boxes share enough for their masks to match; masks are slow to compare."""
    if not one or not two:
        return
    a, b = boxes(one), boxes(two)
    areas, others = box_areas(a), box_areas(b)
    for part, near, shared in _shared_by_parts(a, b):
        for place, other in zip(*np.nonzero(shared > 0.5 * np.maximum(areas[part][:, None], others[near][None]))):
            yield one[part[place]], two[near[other]]


def _shared_by_parts(
    one: NDArray[np.float64], two: NDArray[np.float64]
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]]:
    """Yield (some of `one`, those of `two` near in time, shared areas): a recording may have 100 000 segments."""
    in_time = np.argsort(one[:, 0], kind="stable")
    for first in range(0, len(one), _AT_ONCE):
        part = in_time[first : first + _AT_ONCE]
        near = np.flatnonzero((two[:, 0] <= one[part, 1].max()) & (two[:, 1] >= one[part, 0].min()))
        yield part, near, shared_areas(one[part], two[near])


def _iou(one: Row[Any], two: Row[Any], own: Grid, wanted: Grid) -> float:
    first, second = move_to_grid(one, own, wanted), region(two)
    shared = overlap(first, second)
    return shared / max(1, first.area + second.area - shared)
