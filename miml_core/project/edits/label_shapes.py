"""The segments that imported labels become: masks on the grids of their bags, and what they overlap."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Row, select, text

from miml_core.errors import BagtagError
from miml_core.exchange.problems import LineProblem
from miml_core.project.db.rows import bag_row
from miml_core.project.db.schema import classes, segments, verdicts
from miml_core.project.edits.grids import grid_from_file
from miml_core.project.edits.label_plan import LabelPlan, Overlaps, Piece
from miml_core.project.edits.shapes import region_of
from miml_core.project.queries.segments import box
from miml_core.project.queries.segments import grid as stored_grid
from miml_core.segments.regions import rectangle_bytes

if TYPE_CHECKING:
    from miml_core.media.grid import Grid

_HALF = 0.5
_SAME = 1e-6
_AT_ONCE = 200
DETECTED = ("automatic", "learned")
_IN_BAGS = text("bag_id IN (SELECT value FROM json_each(:bags))")


@dataclass(frozen=True, eq=False)
class NewSegment:
    """A segment to add."""

    piece: Piece
    grid: Grid
    region: bytes
    edges: dict[str, float]
    """left, right, low, high in real units: exactly those of a box, so that it can be written again as it came."""


@dataclass
class SegmentPlan:
    """The segments to add and to replace."""

    new: list[NewSegment] = field(default_factory=list)
    replaced: list[int] = field(default_factory=list)
    """Ids of detected segments that nobody labelled and that a label covers at least half."""
    n_there: int = 0
    """Labels that the project already has: the same place and class."""
    n_skipped: int = 0
    """Labels left out because they overlap a segment."""
    n_overlapping: int = 0
    """Labels that overlap a segment of the project by half or more."""
    left_out: list[LineProblem] = field(default_factory=list)


def plan_segments(connection: Connection, plan: LabelPlan) -> SegmentPlan:
    """Return the segments of a plan; labels without a place are only tags and have none."""
    made = SegmentPlan()
    by_bag: dict[int, list[NewSegment]] = defaultdict(list)
    grids: dict[int, Grid | BagtagError] = {}
    for piece in plan.pieces:
        if not piece.has_place:
            continue
        if piece.bag_id not in grids:
            grids[piece.bag_id] = _grid(connection, piece.bag_id)
        on = grids[piece.bag_id]
        try:
            if isinstance(on, BagtagError):
                raise on
            by_bag[piece.bag_id].append(_new_segment(piece, on))
        except BagtagError as error:
            made.left_out.append(LineProblem(piece.where, str(error).rstrip(".")))
    existing = _existing(connection, list(by_bag))
    for bag_id, new in by_bag.items():
        _resolve(made, new, existing.get(bag_id, []), plan.options.overlaps)
    return made


def _grid(connection: Connection, bag_id: int) -> Grid | BagtagError:
    bag = bag_row(connection, bag_id)
    try:
        return stored_grid(connection, bag.grid_id) if bag.grid_id is not None else grid_from_file(connection, bag)
    except BagtagError as error:
        return error


def _new_segment(piece: Piece, on: Grid) -> NewSegment:
    row = piece.row
    if row.outline:
        region = region_of(row.outline, on)
        return NewSegment(piece, on, region.to_bytes(), box(region, on))
    if piece.span is None:
        assert row.box is not None
        left, low, right, high = row.box
    else:
        left, right = piece.span
        low = row.low_hz if row.low_hz is not None else min(on.top, on.bottom)
        high = row.high_hz if row.high_hz is not None else max(on.top, on.bottom)
    lowest, highest = min(on.top, on.bottom), max(on.top, on.bottom)
    if high < lowest or low > highest or right < on.left or left > on.right:
        outside = "frequencies are outside the analysed band" if piece.span else "box is outside the picture"
        raise BagtagError(f"The {outside}.")
    edges = {"left": float(left), "right": float(right), "low": float(low), "high": float(high)}
    return NewSegment(piece, on, _rectangle(left, right, low, high, on), edges)


def _rectangle(left: float, right: float, low: float, high: float, on: Grid) -> bytes:
    """Return the region of the pixels whose centres are in a box, at least one row and one column."""
    columns = on.column_at((left, right)).tolist()
    rows = sorted(on.row_at((low, high)).tolist())
    first, last = _pixels(columns[0], columns[1], on.width)
    top, bottom = _pixels(rows[0], rows[1], on.height)
    return rectangle_bytes(top, first, bottom - top, last - first)


def _pixels(start: float, stop: float, size: int) -> tuple[int, int]:
    first, last = (min(max(math.floor(edge + 0.5), 0), size) for edge in (start, stop))
    if first >= last:  # thinner than a pixel
        first = min(max(math.floor(start), 0), size - 1)
        last = first + 1
    return first, last


def _existing(connection: Connection, bag_ids: Sequence[int]) -> dict[int, list[Row[Any]]]:
    """Return the live segments of some bags, with the name of their label if a person gave one."""
    columns = (segments.c.id, segments.c.bag_id, segments.c.left, segments.c.right, segments.c.low, segments.c.high)
    query = (
        select(*columns, segments.c.origin, verdicts.c.at, classes.c.name.label("class_name"))
        .select_from(segments.outerjoin(verdicts).outerjoin(classes, classes.c.id == verdicts.c.class_id))
        .where(segments.c.alive, _IN_BAGS)
    )
    found: dict[int, list[Any]] = defaultdict(list)
    for row in connection.execute(query, {"bags": json.dumps(list(bag_ids))}):
        found[row.bag_id].append(row)
    return found


def _resolve(made: SegmentPlan, new: list[NewSegment], existing: list[Row[Any]], overlaps: Overlaps) -> None:
    """Add the new segments of one bag to the plan, by what they overlap there."""
    if not existing:
        made.new += new
        return
    there = np.array([(row.left, row.right, row.low, row.high) for row in existing], dtype=float)
    areas = box_areas(there)
    is_free = np.array([row.origin in DETECTED and row.at is None for row in existing])
    labels = [None if row.at is None else row.class_name or "" for row in existing]
    replaced = np.zeros(len(existing), dtype=bool)
    taken: list[int] = []
    in_time = sorted(range(len(new)), key=lambda number: new[number].edges["left"])
    for first in range(0, len(new), _AT_ONCE):
        part = in_time[first : first + _AT_ONCE]
        edges = np.array([list(new[number].edges.values()) for number in part])
        # Only what lies near in time: a recording of a day may have 100 000 labels and as many segments.
        begin, end = edges[:, 0].min(), edges[:, 1].max()
        slack = _SAME * max(abs(begin), abs(end), 1.0)
        near = np.flatnonzero((there[:, 0] <= end + slack) & (there[:, 1] >= begin - slack))
        shared = shared_areas(edges, there[near])
        covered = shared >= _HALF * areas[near]
        over = np.any(shared >= _HALF * np.minimum(areas[near], box_areas(edges)[:, None]), axis=1).tolist()
        same = (np.abs(there[near] - edges[:, None]) <= _SAME * np.maximum(np.abs(edges[:, None]), 1.0)).all(axis=2)
        for place, number in enumerate(part):
            piece = new[number].piece
            if piece.class_name in [labels[k] for k in near[same[place]]]:
                made.n_there += 1
                continue
            made.n_overlapping += bool(over[place])
            if overlaps == "skip" and over[place]:
                made.n_skipped += 1
                continue
            # A label without frequencies covers all that is heard meanwhile, which is no reason to remove it.
            if overlaps == "replace" and _has_both_sides(piece):
                replaced[near[covered[place]]] |= is_free[near[covered[place]]]
            taken.append(number)
    made.new += [new[number] for number in sorted(taken)]
    made.replaced += [existing[k].id for k in np.flatnonzero(replaced)]


def _has_both_sides(piece: Piece) -> bool:
    return piece.span is None or piece.row.low_hz is not None or bool(piece.row.outline)


def box_areas(boxes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (n,) the areas of boxes (left, right, low, high)."""
    return np.maximum(boxes[:, 1] - boxes[:, 0], 1e-12) * np.maximum(boxes[:, 3] - boxes[:, 2], 1e-12)


def shared_areas(boxes: NDArray[np.float64], others: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the area that each box (rows) shares with each of the others (columns)."""
    first, second = boxes[:, None], others[None]
    width = np.minimum(first[..., 1], second[..., 1]) - np.maximum(first[..., 0], second[..., 0])
    height = np.minimum(first[..., 3], second[..., 3]) - np.maximum(first[..., 2], second[..., 2])
    return np.clip(width, 0, None) * np.clip(height, 0, None)
