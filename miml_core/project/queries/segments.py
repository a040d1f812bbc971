"""Segments of a bag as rows and as shapes in real units."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import Connection, Row, select

from miml_core.bags import BACKGROUND
from miml_core.media.grid import Grid
from miml_core.project.db.schema import grids, verdicts
from miml_core.project.db.schema import segments as table
from miml_core.project.errors import Gone
from miml_core.project.queries import predictions
from miml_core.project.records import Ring, Segment
from miml_core.project.review_records import Prediction
from miml_core.segments.regions import Region, resample

if TYPE_CHECKING:
    from miml_core.media.grid import Grid
    from miml_core.segments.regions import Region

SCREEN_TOLERANCE = 0.75
"""Pixels by which an outline on screen may differ from the mask: makes stepped edges smooth."""


def of_bag(
    connection: Connection, bag_id: int, *, predictions: bool = True, tolerance: float | None = SCREEN_TOLERANCE
) -> list[Segment]:
    """Return all live segments of a bag, by number; `tolerance` 0 gives exact outlines, None no outlines."""
    return _segments(connection, table.c.bag_id == bag_id, predicted=predictions, tolerance=tolerance)


def find_segments(connection: Connection, which: Any, *, tolerance: float | None = SCREEN_TOLERANCE) -> list[Segment]:
    """Return live segments that match a condition on their table, by number, with their predictions."""
    return _segments(connection, which, predicted=True, tolerance=tolerance)


def get_segment(connection: Connection, segment_id: int) -> Segment:
    """Return one segment; raises `Gone` if there is none."""
    found = _segments(connection, table.c.id == segment_id, predicted=True, tolerance=SCREEN_TOLERANCE)
    if not found:
        raise Gone(f"This segment (id {segment_id}) no longer exists; open its bag again.")
    return found[0]


def regions(connection: Connection, bag_id: int) -> list[tuple[int, Region, Grid]]:
    """Return (id, mask, grid) of each live segment."""
    found = connection.execute(select(table).where(table.c.bag_id == bag_id, table.c.alive).order_by(table.c.number))
    return [(row.id, region(row), grid(connection, row.grid_id)) for row in found.all()]


def region(row: Row[Any]) -> Region:
    """Return the mask of a segment."""
    return Region.from_bytes(row.region)


def on_grid(connection: Connection, row: Row[Any], wanted: Grid) -> Region:
    """Return the mask of a segment on another grid; outside it, its own mask, because no mask may be empty."""
    return move_to_grid(row, grid(connection, row.grid_id), wanted)


def move_to_grid(row: Row[Any], own: Grid, wanted: Grid) -> Region:
    """Return the region of a segment, whose own grid is known, on the wanted grid."""
    shape = region(row)
    return shape if own == wanted else resample(shape, own, wanted) or shape


def box(shape: Region, on: Grid) -> dict[str, float]:
    """Return the edges of a mask in real units, as columns of the table."""
    top, left, bottom, right = shape.box
    y = sorted(float(edge) for edge in on.y_at([top, bottom]))
    x = [float(edge) for edge in on.x_at([left, right])]
    return {"left": x[0], "right": x[1], "low": y[0], "high": y[1]}


def grid(connection: Connection, grid_id: int) -> Grid:
    """Return a stored grid."""
    return _parse_grid(_grid_text(connection, grid_id))


def _grid_text(connection: Connection, grid_id: int) -> str:
    return str(connection.execute(select(grids.c.grid).where(grids.c.id == grid_id)).scalar_one())


@lru_cache(maxsize=256)
def _parse_grid(text: str) -> Grid:
    return Grid.from_dict(json.loads(text))


def _segments(connection: Connection, which: Any, *, predicted: bool, tolerance: float | None) -> list[Segment]:
    label_columns = [verdicts.c[name] for name in ("class_id", "accepted", "annotator", "at", "checked_by")]
    found = connection.execute(
        select(table, *label_columns)
        .outerjoin(verdicts, verdicts.c.segment_id == table.c.id)
        .where(which, table.c.alive)
        .order_by(table.c.number)
    ).all()
    laid_on = {grid_id: _grid_text(connection, grid_id) for grid_id in {row.grid_id for row in found}}
    guesses: dict[int, Prediction] = {}
    for bag_id in {row.bag_id for row in found} if predicted else ():
        guesses |= predictions.of_bag(connection, bag_id, only=[row.id for row in found if row.bag_id == bag_id])
    return [
        _segment(
            row,
            [] if tolerance is None else list(_outline(row.region, laid_on[row.grid_id], tolerance)),
            guesses.get(row.id),
        )
        for row in found
    ]


def _segment(row: Row[Any], outline: list[Ring], guess: Prediction | None) -> Segment:
    label = None
    if row.at is not None:
        label = BACKGROUND if row.class_id is None else row.class_id
    return Segment(
        id=row.id,
        bag_id=row.bag_id,
        number=row.number,
        outline=outline,
        left=row.left,
        right=row.right,
        low=row.low,
        high=row.high,
        origin=row.origin,
        label=label,
        accepted=bool(row.accepted),
        annotator=row.annotator,
        prediction=guess,
        revision=row.revision,
        checked_by=row.checked_by,
        other_tags=row.other_tags or "",
    )


@lru_cache(maxsize=20_000)
def _outline(stored: bytes, grid_text: str, tolerance: float) -> tuple[Ring, ...]:
    """Return rings in real units; cached, because a screen asks for the same bag after every edit."""
    on = _parse_grid(grid_text)
    rings = []
    for ring in Region.from_bytes(stored).outline(tolerance):
        points = np.column_stack([on.x_at(ring[:, 0]), on.y_at(ring[:, 1])])
        rings.append([(float(x), float(y)) for x, y in points])
    return tuple(rings)
