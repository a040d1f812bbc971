"""What people's edits teach about finding segments: what they kept, and what they threw away.

Kept is what they drew or reshaped, and what they gave a class. Thrown away is what they deleted and what they called
background; a segment that was merged or cut lives on in what was made of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, case, exists, func, or_, select

from miml_core.project.schema import segments as table
from miml_core.project.schema import verdicts

FEWEST_KEPT = 10
FEWEST_DELETED = 5
_BY_HAND = ("drawn", "edited")


@dataclass(frozen=True)
class SegmenterLessons:
    """How much there is to learn from."""

    n_kept: int
    n_deleted: int

    @property
    def enough(self) -> bool:
        return self.n_kept >= FEWEST_KEPT and self.n_deleted >= FEWEST_DELETED

    @property
    def sentence(self) -> str:
        """What there is, beside what it takes."""
        return (
            f"It takes at least {FEWEST_KEPT} segments that you drew or gave a class and {FEWEST_DELETED} that you "
            f"deleted or called background; there are {self.n_kept} and {self.n_deleted}."
        )


def count(connection: Connection) -> SegmenterLessons:
    judged = _judged().subquery()
    kept, deleted = connection.execute(
        select(func.coalesce(func.sum(judged.c.kept), 0), func.coalesce(func.sum(judged.c.deleted), 0))
    ).one()
    return SegmenterLessons(int(kept), int(deleted))


def by_bag(connection: Connection) -> dict[int, tuple[list[Row[Any]], list[Row[Any]], bool]]:
    """For each bag with a judged segment: (kept rows, deleted rows, whether every segment in it was judged)."""
    rows: dict[int, list[Row[Any]]] = {}
    for row in connection.execute(_judged().order_by(table.c.bag_id, table.c.id)):
        rows.setdefault(row.bag_id, []).append(row)
    lessons = {}
    for bag_id, found in rows.items():
        kept, deleted = [row for row in found if row.kept], [row for row in found if row.deleted]
        if kept or deleted:
            open_rows = [row for row in found if row.alive and not row.kept and not row.deleted]
            lessons[bag_id] = (kept, deleted, bool(kept) and not open_rows)
    return lessons


def _judged() -> Any:
    """All segments there ever were, with whether people kept or threw them away."""
    said = verdicts.c.segment_id.is_not(None)
    kept = and_(table.c.alive, or_(table.c.origin.in_(_BY_HAND), verdicts.c.class_id.is_not(None)))
    background = and_(table.c.alive, said, verdicts.c.class_id.is_(None))
    gone = and_(~table.c.alive, table.c.origin.not_in(_BY_HAND), ~_lives_on())
    return select(
        table,
        case((and_(kept, ~background), 1), else_=0).label("kept"),
        case((or_(background, gone), 1), else_=0).label("deleted"),
    ).outerjoin(verdicts, verdicts.c.segment_id == table.c.id)


def _lives_on() -> ColumnElement[bool]:
    """Does a segment made by hand lie where this one was?"""
    heir = table.alias("heir")
    return exists().where(
        heir.c.bag_id == table.c.bag_id,
        heir.c.alive,
        heir.c.origin.in_(_BY_HAND),
        heir.c.left < table.c.right,
        heir.c.right > table.c.left,
        heir.c.low < table.c.high,
        heir.c.high > table.c.low,
    )
