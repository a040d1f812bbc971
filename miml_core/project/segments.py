"""Segments of a bag as rows and as shapes in real units."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import Connection, Row, insert, select, update

from miml_core.bags import BACKGROUND
from miml_core.project import media, predictions, settings
from miml_core.project.errors import Gone
from miml_core.project.review_rows import Prediction
from miml_core.project.rows import Ring, Segment
from miml_core.project.schema import bags as bags_table
from miml_core.project.schema import grids, verdicts
from miml_core.project.schema import segments as table
from miml_core.project.store import folder_of

if TYPE_CHECKING:
    from miml_core.media.grid import Grid
    from miml_core.segments.regions import Region

SCREEN_TOLERANCE = 0.75
"""Pixels by which an outline on screen may differ from the mask: turns staircases into slopes."""


def rows(connection: Connection, segment_ids: Sequence[int]) -> list[Row[Any]]:
    """Live segments in the order asked for; raises `Gone` for one that is not there."""
    found = {
        row.id: row
        for row in connection.execute(select(table).where(table.c.id.in_(list(segment_ids)), table.c.alive))
    }
    for segment_id in segment_ids:
        if segment_id not in found:
            raise Gone(f"Segment number {segment_id} does not exist any more; somebody deleted or replaced it.")
    return [found[segment_id] for segment_id in dict.fromkeys(segment_ids)]


def of_bag(
    connection: Connection, bag_id: int, *, predictions: bool = True, tolerance: float | None = SCREEN_TOLERANCE
) -> list[Segment]:
    """All live segments of a bag, by number; with a `tolerance` of 0 outlines are exact, with None there are none."""
    return _segments(connection, table.c.bag_id == bag_id, predicted=predictions, tolerance=tolerance)


def matching(connection: Connection, which: Any, *, tolerance: float | None = SCREEN_TOLERANCE) -> list[Segment]:
    """Live segments that fulfil a condition on their table, by number, with their predictions."""
    return _segments(connection, which, predicted=True, tolerance=tolerance)


def one(connection: Connection, segment_id: int) -> Segment:
    found = _segments(connection, table.c.id == segment_id, predicted=True, tolerance=SCREEN_TOLERANCE)
    if not found:
        raise Gone(f"Segment number {segment_id} does not exist any more.")
    return found[0]


def regions(connection: Connection, bag_id: int) -> list[tuple[int, Region, Grid]]:
    """(id, mask, grid) of each live segment."""
    found = connection.execute(select(table).where(table.c.bag_id == bag_id, table.c.alive).order_by(table.c.number))
    return [(row.id, region(row), grid(connection, row.grid_id)) for row in found.all()]


def region(row: Row[Any]) -> Region:
    from miml_core.segments.regions import Region

    return Region.from_bytes(row.region)


def on_grid(connection: Connection, row: Row[Any], wanted: Grid) -> Region:
    """A segment's shape on another grid; empty shapes do not exist, so one outside it keeps its own pixels."""
    return move_to_grid(row, grid(connection, row.grid_id), wanted)


def move_to_grid(row: Row[Any], own: Grid, wanted: Grid) -> Region:
    """The same when the segment's own grid is known already."""
    from miml_core.segments.regions import resample

    shape = region(row)
    return shape if own == wanted else resample(shape, own, wanted) or shape


def box(shape: Region, on: Grid) -> dict[str, float]:
    """The edges of a shape in real units, as columns of the table."""
    top, left, bottom, right = shape.box
    y = sorted(float(edge) for edge in on.y_at([top, bottom]))
    x = [float(edge) for edge in on.x_at([left, right])]
    return {"left": x[0], "right": x[1], "low": y[0], "high": y[1]}


def grid(connection: Connection, grid_id: int) -> Grid:
    return _parse_grid(_grid_text(connection, grid_id))


def store_grid(connection: Connection, new: Grid) -> int:
    """The id of a grid, stored once however many segments lie on it."""
    text = json.dumps(new.to_dict(), sort_keys=True)
    there = connection.execute(select(grids.c.id).where(grids.c.grid == text)).scalar()
    if there is not None:
        return int(there)
    done = connection.execute(insert(grids).values(grid=text))
    assert done.inserted_primary_key is not None
    return int(done.inserted_primary_key[0])


def grid_of_bag(connection: Connection, bag: Row[Any]) -> tuple[int, Grid]:
    """The grid that drawn segments of a bag lie on; made from the file when the bag has none yet."""
    if bag.grid_id is not None:
        return bag.grid_id, grid(connection, bag.grid_id)
    made = _grid_from_file(connection, bag)
    grid_id = store_grid(connection, made)
    connection.execute(update(bags_table).where(bags_table.c.id == bag.id).values(grid_id=grid_id))
    return grid_id, made


def _grid_from_file(connection: Connection, bag: Row[Any]) -> Grid:
    path = media.path_of_bag(connection, folder_of(connection), bag.id)
    used = settings.instance_settings(connection)
    if settings.kind(connection) == "picture":
        from miml_core.media.image import open_image

        return open_image(path, max_side=used.picture_segments.working_side).grid
    from miml_core.media.sound_blocks import SoundWindow

    return SoundWindow.of(path, bag.start, bag.end, used.spectrogram, used.channel).grid


def _grid_text(connection: Connection, grid_id: int) -> str:
    return str(connection.execute(select(grids.c.grid).where(grids.c.id == grid_id)).scalar_one())


@lru_cache(maxsize=256)
def _parse_grid(text: str) -> Grid:
    from miml_core.media.grid import Grid

    return Grid.from_dict(json.loads(text))


def _segments(connection: Connection, which: Any, *, predicted: bool, tolerance: float | None) -> list[Segment]:
    said = [verdicts.c.class_id, verdicts.c.accepted, verdicts.c.annotator, verdicts.c.at]
    found = connection.execute(
        select(table, *said)
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
    )


@lru_cache(maxsize=20_000)
def _outline(stored: bytes, grid_text: str, tolerance: float) -> tuple[Ring, ...]:
    """Rings in real units; kept, since a screen asks for the same bag after every edit."""
    from miml_core.segments.regions import Region

    on = _parse_grid(grid_text)
    rings = []
    for ring in Region.from_bytes(stored).outline(tolerance):
        points = np.column_stack([on.x_at(ring[:, 0]), on.y_at(ring[:, 1])])
        rings.append([(float(x), float(y)) for x, y in points])
    return tuple(rings)
