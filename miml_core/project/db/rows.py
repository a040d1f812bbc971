"""Single rows by id; each lookup raises `Gone` if the bag, segment, class or run does not exist."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, bindparam, select

from miml_core.project.db.schema import bags, classes, runs, segments
from miml_core.project.errors import Gone

LARGEST_ID = 2**53
"""Ids are smaller: browsers, JSON and the database hold them exactly."""
_BAG = select(bags).where(bags.c.id == bindparam("bag"))


LIVE_CLASS = classes.c.merged_into.is_(None) & ~classes.c.removed
"""Classes that were neither merged nor removed."""
_CLASS = select(classes).where(classes.c.id == bindparam("class"), LIVE_CLASS)


def bag_row(connection: Connection, bag_id: Any) -> Row[Any]:
    """Return one bag; raises `Gone` when there is none."""
    found = None
    if isinstance(bag_id, int) and 0 < bag_id < LARGEST_ID:
        found = connection.execute(_BAG, {"bag": bag_id}).first()
    if found is None:
        raise Gone(f"Bag {bag_id!r} is not in the project; it may have been removed. Choose another one.")
    return found


def class_row(connection: Connection, class_id: Any) -> Row[Any]:
    """Return one class that is in use; raises `Gone` otherwise."""
    found = None
    if isinstance(class_id, int) and 0 < class_id < LARGEST_ID:
        found = connection.execute(_CLASS, {"class": class_id}).first()
    if found is None:
        raise Gone(f"Class {class_id!r} is not in the project; it may have been merged or removed. Choose another one.")
    return found


def segment_rows(connection: Connection, segment_ids: Sequence[int]) -> list[Row[Any]]:
    """Return live segments in the order asked for; raises `Gone` for one that is not there."""
    found = {
        row.id: row
        for row in connection.execute(select(segments).where(segments.c.id.in_(list(segment_ids)), segments.c.alive))
    }
    for segment_id in segment_ids:
        if segment_id not in found:
            raise Gone(f"This segment (id {segment_id}) no longer exists: deleted or replaced. Open its bag again.")
    return [found[segment_id] for segment_id in dict.fromkeys(segment_ids)]


def run_row(connection: Connection, run_id: int) -> Row[Any]:
    """Return one run; raises `Gone` when there is none."""
    found = connection.execute(select(runs).where(runs.c.id == run_id)).first()
    if found is None:
        raise Gone(f"Run {run_id} is not in the project; choose another one.")
    return found
