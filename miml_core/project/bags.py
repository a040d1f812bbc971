"""Bags: single rows, notes, and taking bags out of a project."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Row, delete, func, select

from miml_core.project import history, revisions
from miml_core.project.changes import Changes
from miml_core.project.errors import Gone, NeedsConfirmation
from miml_core.project.schema import bags, media, segments, tags, verdicts

_LARGEST_ID = 2**63


def row(connection: Connection, bag_id: Any) -> Row[Any]:
    """One bag; raises `Gone` when there is none."""
    found = None
    if isinstance(bag_id, int) and 0 < bag_id < _LARGEST_ID:
        found = connection.execute(select(bags).where(bags.c.id == bag_id)).first()
    if found is None:
        raise Gone(f"There is no bag number {bag_id!r} (any more).")
    return found


def set_note(changes: Changes, act: dict[str, Any], annotator: str) -> tuple[str, int | None]:
    """{bag, note}"""
    bag = row(changes.connection, act["bag"])
    changes.update(bags, bag.id, note=str(act["note"]))
    return f"{bag.name}: note", bag.id


def remove(connection: Connection, bag_ids: list[int], *, confirm: bool, annotator: str) -> int:
    """Take bags out, with all that was said of them; files nobody needs any more are forgotten too."""
    chosen = [row(connection, bag_id) for bag_id in bag_ids]
    worked_on = sum(_has_work(connection, bag.id) for bag in chosen)
    if worked_on and not confirm:
        raise NeedsConfirmation(
            f"{worked_on} of these {len(chosen)} bags have tags or labels, which would be lost. Confirm to go on."
        )
    for bag in chosen:
        own_segments = select(segments.c.id).where(segments.c.bag_id == bag.id)
        connection.execute(delete(verdicts).where(verdicts.c.segment_id.in_(own_segments)))
        connection.execute(delete(bags).where(bags.c.id == bag.id))
    connection.execute(delete(media).where(media.c.id.not_in(select(bags.c.media_id))))
    revision = revisions.advance(connection, changed_topics=["media"])
    named = chosen[0].name if len(chosen) == 1 else f"{len(chosen)} bags"
    history.note(connection, annotator, "remove_bags", f"took {named} out of the project", revision=revision)
    return len(chosen)


def _has_work(connection: Connection, bag_id: int) -> bool:
    said = select(func.count()).select_from(tags).where(tags.c.bag_id == bag_id)
    labelled = (
        select(func.count())
        .select_from(verdicts.join(segments, segments.c.id == verdicts.c.segment_id))
        .where(segments.c.bag_id == bag_id)
    )
    bag = row(connection, bag_id)
    return bool(bag.finished or connection.execute(said).scalar() or connection.execute(labelled).scalar())
