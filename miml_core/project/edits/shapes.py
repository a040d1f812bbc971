"""Edits of segments' shapes by hand.

An outline is given in real units and converted to the grid of the bag. A drawn, merged or split segment is a new row;
the old rows stay in the database as not alive, so that undo restores them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sqlalchemy import Row, func, select

from miml_core.errors import BagtagError
from miml_core.exchange.other_tags import unite_tags
from miml_core.project.db.rows import bag_row, segment_rows
from miml_core.project.db.schema import segments as table
from miml_core.project.db.schema import verdicts
from miml_core.project.edits.edit import Edit, Outcome
from miml_core.project.edits.fields import BagId, Label, Line, Rings, SegmentId, SegmentIds
from miml_core.project.edits.grids import grid_of_bag
from miml_core.project.edits.labels import set_label
from miml_core.project.edits.row_changes import RowChanges
from miml_core.project.queries import segments
from miml_core.project.queries.labels import check_label, label_name, labels_of
from miml_core.segments import regions

if TYPE_CHECKING:
    from miml_core.media.grid import Grid
    from miml_core.segments.regions import Region


@dataclass(frozen=True)
class DrawSegment(Edit):
    """Add a segment from an outline, with a label if one is given."""

    name: ClassVar[str] = "draw"
    bag: BagId
    rings: Rings
    label: Label = None

    def apply(self, changes: RowChanges, annotator: str) -> Outcome:
        bag = bag_row(changes.connection, self.bag)
        check_label(changes.connection, self.label)
        grid_id, grid = grid_of_bag(changes.connection, bag)
        row = _make(changes, bag.id, grid_id, grid, region_of(self.rings, grid), "drawn")
        if self.label is None:
            return Outcome(f"segment {row.number}: drawn", bag.id)
        set_label(changes, row, self.label, annotator)
        return Outcome(f"segment {row.number}: drawn as {label_name(changes.connection, self.label)}", bag.id)


@dataclass(frozen=True)
class RedrawSegment(Edit):
    """Give a segment another outline; it keeps its id and its label."""

    name: ClassVar[str] = "redraw"
    segment: SegmentId
    rings: Rings

    def apply(self, changes: RowChanges, annotator: str) -> Outcome:
        row = segment_rows(changes.connection, [self.segment])[0]
        grid = segments.grid(changes.connection, row.grid_id)
        region = region_of(self.rings, grid)
        origin = "drawn" if row.origin == "drawn" else "edited"
        changes.update(table, row.id, region=region.to_bytes(), origin=origin, **segments.box(region, grid))
        return Outcome(f"segment {row.number}: redrawn", row.bag_id)


@dataclass(frozen=True)
class MergeSegments(Edit):
    """Make one segment of several of a bag; it gets a label on which the labelled ones agree, and all other tags."""

    name: ClassVar[str] = "merge"
    segments: SegmentIds

    def apply(self, changes: RowChanges, annotator: str) -> Outcome:
        chosen = segment_rows(changes.connection, self.segments)
        if len(chosen) < 2 or len({row.bag_id for row in chosen}) > 1:
            raise BagtagError("Choose at least two segments of the same bag to merge.")
        grid = segments.grid(changes.connection, chosen[0].grid_id)
        union = regions.merge([segments.on_grid(changes.connection, row, grid) for row in chosen])
        labelled = labels_of(changes.connection, [row.id for row in chosen])
        others = unite_tags(row.other_tags or "" for row in chosen)
        made = _make(changes, chosen[0].bag_id, chosen[0].grid_id, grid, union, "edited", others)
        if len(set(labelled.values())) == 1:
            _copy_label(changes, next(row for row in chosen if row.id in labelled), made)
        for row in chosen:
            _delete_segment(changes, row)
        numbers = ", ".join(str(row.number) for row in chosen)
        return Outcome(f"segments {numbers}: merged into segment {made.number}", made.bag_id)


@dataclass(frozen=True)
class SplitSegment(Edit):
    """Cut a segment along a line; the parts keep its label and its other tags."""

    name: ClassVar[str] = "split"
    segment: SegmentId
    line: Line

    def apply(self, changes: RowChanges, annotator: str) -> Outcome:
        row = segment_rows(changes.connection, [self.segment])[0]
        grid = segments.grid(changes.connection, row.grid_id)
        parts = regions.split(segments.region(row), _on_grid(self.line, grid))
        if len(parts) < 2:
            raise BagtagError(f"The line does not cut segment {row.number} in two; draw it from one side to the other.")
        others = row.other_tags or ""
        made = [_make(changes, row.bag_id, row.grid_id, grid, part, "edited", others) for part in parts]
        for part in made:
            _copy_label(changes, row, part)
        _delete_segment(changes, row)
        numbers = " and ".join(str(part.number) for part in made)
        return Outcome(f"segment {row.number}: split into {numbers}", row.bag_id)


@dataclass(frozen=True)
class DeleteSegments(Edit):
    """Delete segments; undo restores them with their labels."""

    name: ClassVar[str] = "delete"
    segments: SegmentIds

    def apply(self, changes: RowChanges, annotator: str) -> Outcome:
        chosen = segment_rows(changes.connection, self.segments)
        for row in chosen:
            _delete_segment(changes, row)
        bag_ids = {row.bag_id for row in chosen}
        bag = bag_ids.pop() if len(bag_ids) == 1 else None
        if len(chosen) == 1:
            return Outcome(f"segment {chosen[0].number}: deleted", bag)
        return Outcome(f"{len(chosen)} segments deleted", bag)


def _make(
    changes: RowChanges, bag_id: int, grid_id: int, grid: Grid, region: Region, origin: str, other_tags: str = ""
) -> Row[Any]:
    number = changes.connection.execute(select(func.max(table.c.number)).where(table.c.bag_id == bag_id)).scalar()
    made = changes.insert(
        table,
        {
            "bag_id": bag_id,
            "number": (number or 0) + 1,
            "grid_id": grid_id,
            "region": region.to_bytes(),
            "origin": origin,
            "alive": True,
            "revision": 0,
            "other_tags": other_tags or None,
            **segments.box(region, grid),
        },
    )
    return segment_rows(changes.connection, [made])[0]


def _delete_segment(changes: RowChanges, row: Row[Any]) -> None:
    changes.delete(verdicts, row.id)
    changes.update(table, row.id, alive=False)


def _copy_label(changes: RowChanges, old: Row[Any], new: Row[Any]) -> None:
    """Give the label of a segment to one made from it."""
    verdict = changes.connection.execute(select(verdicts).where(verdicts.c.segment_id == old.id)).mappings().first()
    if verdict is not None:
        changes.insert(verdicts, {**verdict, "segment_id": new.id, "sampled": False})


def region_of(rings: Sequence[Any], grid: Grid) -> Region:
    """Return the mask of an outline in real units."""
    laid = [_on_grid(ring, grid) for ring in rings]
    return regions.from_polygon(laid, grid.height, grid.width)


def _on_grid(points: Any, grid: Grid) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return points in real units as edge coordinates of the grid."""
    laid = np.asarray(points, dtype=float)
    if laid.ndim != 2 or laid.shape[1] != 2 or not np.isfinite(laid).all():
        raise BagtagError("An outline needs points of two numbers each; draw it again.")
    return np.column_stack([grid.column_at(laid[:, 0]), grid.row_at(laid[:, 1])])
