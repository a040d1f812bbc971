"""Drawing and editing segments by hand.

A person's outline arrives in real units and is laid on the grid of the bag; a drawn, merged or cut segment is a new
row, the old ones stay in the database as not alive, so that undo brings them back whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import Row, func, select

from miml_core.errors import BagtagError
from miml_core.project import bags, corrections, segments
from miml_core.project.changes import Changes
from miml_core.project.schema import segments as table
from miml_core.project.schema import verdicts

if TYPE_CHECKING:
    from miml_core.media.grid import Grid
    from miml_core.segments.regions import Region


def draw(changes: Changes, act: dict[str, Any], annotator: str) -> tuple[str, int | None]:
    """{bag, rings, label}"""
    bag = bags.row(changes.connection, act["bag"])
    label = act.get("label")
    corrections.check_label(changes.connection, label)
    grid_id, grid = segments.grid_of_bag(changes.connection, bag)
    row = _make(changes, bag.id, grid_id, grid, _region(act["rings"], grid), "drawn")
    if label is None:
        return f"segment {row.number}: drawn", bag.id
    corrections.say(changes, row, label, annotator)
    return f"segment {row.number}: drawn as {corrections.label_name(changes.connection, label)}", bag.id


def redraw(changes: Changes, act: dict[str, Any], annotator: str) -> tuple[str, int | None]:
    """{segment, rings}"""
    row = segments.rows(changes.connection, [int(act["segment"])])[0]
    grid = segments.grid(changes.connection, row.grid_id)
    region = _region(act["rings"], grid)
    origin = "drawn" if row.origin == "drawn" else "edited"
    changes.update(table, row.id, region=region.to_bytes(), origin=origin, **segments.box(region, grid))
    return f"segment {row.number}: redrawn", row.bag_id


def merge(changes: Changes, act: dict[str, Any], annotator: str) -> tuple[str, int | None]:
    """{segments}"""
    from miml_core.segments import regions

    chosen = segments.rows(changes.connection, [int(segment) for segment in act["segments"]])
    if len(chosen) < 2 or len({row.bag_id for row in chosen}) > 1:
        raise BagtagError("Choose at least two segments of the same bag to merge.")
    grid = segments.grid(changes.connection, chosen[0].grid_id)
    union = regions.merge([segments.on_grid(changes.connection, row, grid) for row in chosen])
    labels = corrections.labels_of(changes.connection, [row.id for row in chosen])
    made = _make(changes, chosen[0].bag_id, chosen[0].grid_id, grid, union, "edited")
    if len(set(labels.values())) == 1:
        _hand_on(changes, chosen[[row.id in labels for row in chosen].index(True)], made)
    for row in chosen:
        _retire(changes, row)
    numbers = ", ".join(str(row.number) for row in chosen)
    return f"segments {numbers}: merged into segment {made.number}", made.bag_id


def split(changes: Changes, act: dict[str, Any], annotator: str) -> tuple[str, int | None]:
    """{segment, line}"""
    from miml_core.segments import regions

    row = segments.rows(changes.connection, [int(act["segment"])])[0]
    grid = segments.grid(changes.connection, row.grid_id)
    parts = regions.split(segments.region(row), _on_grid(act["line"], grid))
    if len(parts) < 2:
        raise BagtagError(f"The line does not cut segment {row.number} in two; draw it from one side to the other.")
    made = [_make(changes, row.bag_id, row.grid_id, grid, part, "edited") for part in parts]
    for part in made:
        _hand_on(changes, row, part)
    _retire(changes, row)
    numbers = " and ".join(str(part.number) for part in made)
    return f"segment {row.number}: split into {numbers}", row.bag_id


def delete(changes: Changes, act: dict[str, Any], annotator: str) -> tuple[str, int | None]:
    """{segment or segments}"""
    ids = act["segments"] if "segments" in act else [act["segment"]]
    chosen = segments.rows(changes.connection, [int(segment) for segment in ids])
    for row in chosen:
        _retire(changes, row)
    bag_ids = {row.bag_id for row in chosen}
    bag = bag_ids.pop() if len(bag_ids) == 1 else None
    if len(chosen) == 1:
        return f"segment {chosen[0].number}: deleted", bag
    return f"{len(chosen)} segments deleted", bag


def _make(changes: Changes, bag_id: int, grid_id: int, grid: Grid, region: Region, origin: str) -> Row[Any]:
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
            **segments.box(region, grid),
        },
    )
    return segments.rows(changes.connection, [made])[0]


def _retire(changes: Changes, row: Row[Any]) -> None:
    changes.delete(verdicts, row.id)
    changes.update(table, row.id, alive=False)


def _hand_on(changes: Changes, old: Row[Any], new: Row[Any]) -> None:
    """The label of a segment goes to what became of it."""
    said = changes.connection.execute(select(verdicts).where(verdicts.c.segment_id == old.id)).mappings().first()
    if said is not None:
        changes.insert(verdicts, {**said, "segment_id": new.id, "sampled": False})


def _region(rings: Sequence[Any], grid: Grid) -> Region:
    from miml_core.segments import regions

    laid = [_on_grid(ring, grid) for ring in rings]
    return regions.from_polygon(laid, grid.height, grid.width)


def _on_grid(points: Any, grid: Grid) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Real x, y -> edge coordinates of the grid."""
    laid = np.asarray(points, dtype=float)
    if laid.ndim != 2 or laid.shape[1] != 2 or not np.isfinite(laid).all():
        raise BagtagError("An outline needs points, each with two numbers.")
    return np.column_stack([grid.column_at(laid[:, 0]), grid.row_at(laid[:, 1])])
