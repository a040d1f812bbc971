"""What a merge reads of each of the two projects: tags, segments with their labels, and those that were removed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Row, select

from miml_core.bags import BACKGROUND
from miml_core.project.db.schema import BY_EYE, conflicts, segments, tags, verdicts
from miml_core.project.edits.label_shapes import DETECTED
from miml_core.project.queries.segments import grid as stored_grid

if TYPE_CHECKING:
    from miml_core.media.grid import Grid

_LATEST = 1e11
"""Seconds since 1970; the year 5138."""
_DECIMALS = 6
"""Of the start and end of bags, in seconds, that are compared."""


def stored_time(at: float) -> float:
    """Return a time of the copy, which may have been crafted; 0 for one that is none."""
    return at if 0 <= at < _LATEST else 0.0


def place_of_bag(media_id: int | None, bag: Row[Any]) -> tuple[int | None, float, float]:
    """Return what the same bag has in both projects: its medium here, start and end."""
    return media_id, round(bag.start, _DECIMALS), round(bag.end, _DECIMALS)


def tags_by_bag(connection: Connection) -> dict[int, dict[int, int]]:
    """Return {bag: {class: 1 or -1}}."""
    found: dict[int, dict[int, int]] = defaultdict(dict)
    for row in connection.execute(select(tags)):
        found[row.bag_id][row.class_id] = row.value
    return found


def known_conflicts(connection: Connection) -> set[tuple[Any, ...]]:
    """Return (bag, segment, class, their answer, its time) of the conflicts that earlier merges listed."""
    return {
        (row.bag_id, row.segment_id, row.class_id, row.theirs, row.theirs_at)
        for row in connection.execute(select(conflicts))
    }


def live_segments(connection: Connection, bag_id: int) -> list[Row[Any]]:
    """Return the segments of a bag with their labels."""
    columns = [verdicts.c[name] for name in ("class_id", "accepted", "annotator", "at", "checked_by")]
    query = (
        select(segments, *columns)
        .outerjoin(verdicts, verdicts.c.segment_id == segments.c.id)
        .where(segments.c.bag_id == bag_id, segments.c.alive)
        .order_by(segments.c.number)
    )
    return list(connection.execute(query).all())


def removed_shapes(connection: Connection, bag_id: int) -> dict[tuple[bytes, Grid], list[int]]:
    """Return {(region, grid): ids} of segments that somebody deleted, merged or split."""
    rows = connection.execute(select(segments).where(segments.c.bag_id == bag_id, ~segments.c.alive)).all()
    grids = grids_of(connection, rows)
    found: dict[tuple[bytes, Grid], list[int]] = defaultdict(list)
    for row in rows:
        found[row.region, grids[row.grid_id]].append(row.id)
    return found


def is_of_a_person(row: Row[Any]) -> bool:
    """Return whether a person drew or labelled a segment; others are detected in both projects."""
    return row.origin not in DETECTED or (row.at is not None and row.checked_by == BY_EYE)


def grids_of(connection: Connection, rows: Sequence[Row[Any]]) -> dict[int, Grid]:
    """Return {grid id: grid} of segments."""
    return {grid_id: stored_grid(connection, grid_id) for grid_id in {row.grid_id for row in rows}}


def label_of(row: Row[Any]) -> int | None:
    """Return the label of a segment; None if it has none."""
    if row.at is None:
        return None
    return BACKGROUND if row.class_id is None else int(row.class_id)
