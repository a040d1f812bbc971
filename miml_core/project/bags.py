"""Bags: single rows, notes, and taking bags out of a project."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Row, bindparam, delete, func, select

from miml_core.project import settings
from miml_core.project.changes import Changes
from miml_core.project.errors import Gone, NeedsConfirmation
from miml_core.project.schema import bag_predictions, bags, features, media, predictions, segments, tags, verdicts

_LARGEST_ID = 2**63
_ONE = select(bags).where(bags.c.id == bindparam("bag"))


def row(connection: Connection, bag_id: Any) -> Row[Any]:
    """One bag; raises `Gone` when there is none."""
    found = None
    if isinstance(bag_id, int) and 0 < bag_id < _LARGEST_ID:
        found = connection.execute(_ONE, {"bag": bag_id}).first()
    if found is None:
        raise Gone(f"There is no bag number {bag_id!r} (any more).")
    return found


def set_note(changes: Changes, act: dict[str, Any], annotator: str) -> tuple[str, int | None]:
    """{bag, note}"""
    bag = row(changes.connection, act["bag"])
    changes.update(bags, bag.id, note=str(act["note"]))
    return f"{bag.name}: note", bag.id


def remove(changes: Changes, act: dict[str, Any], annotator: str) -> tuple[str, int | None]:
    """{bags, confirm}: take bags out, with all that was said of them and the files that no other bag needs.

    Everything is deleted row by row through `changes`, so that undo brings it back. Of the predictions only those of
    the current run are kept for that; the files themselves are never touched.
    """
    connection = changes.connection
    chosen = [row(connection, bag_id) for bag_id in dict.fromkeys(act["bags"])]
    worked_on = sum(_has_work(connection, bag.id) for bag in chosen)
    if worked_on and not act.get("confirm"):
        raise NeedsConfirmation(
            f"{worked_on} of these {len(chosen)} bags have tags or labels, which would be removed with them. "
            "Confirm to go on."
        )
    for bag in chosen:
        _remove_one(changes, bag)
    return f"took {chosen[0].name if len(chosen) == 1 else f'{len(chosen)} bags'} out of the project", None


def _remove_one(changes: Changes, bag: Row[Any]) -> None:
    connection = changes.connection
    for segment_id in connection.execute(select(segments.c.id).where(segments.c.bag_id == bag.id)).scalars().all():
        changes.delete(verdicts, segment_id)
        connection.execute(delete(predictions).where(predictions.c.segment_id == segment_id))
        changes.delete(segments, segment_id)
    for class_id in connection.execute(select(tags.c.class_id).where(tags.c.bag_id == bag.id)).scalars().all():
        changes.delete(tags, bag.id, class_id)
    changes.delete(features, bag.id)
    current_run = settings.get(connection, "current_run")
    if current_run is not None:
        changes.delete(bag_predictions, current_run, bag.id)
    changes.delete(bags, bag.id)
    if connection.execute(select(bags.c.id).where(bags.c.media_id == bag.media_id)).first() is None:
        changes.delete(media, bag.media_id)


def _has_work(connection: Connection, bag_id: int) -> bool:
    said = select(func.count()).select_from(tags).where(tags.c.bag_id == bag_id)
    labelled = (
        select(func.count())
        .select_from(verdicts.join(segments, segments.c.id == verdicts.c.segment_id))
        .where(segments.c.bag_id == bag_id)
    )
    bag = row(connection, bag_id)
    return bool(bag.finished or connection.execute(said).scalar() or connection.execute(labelled).scalar())
