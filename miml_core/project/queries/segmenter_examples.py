"""Examples for training a segmenter: segments that people kept, and segments that they deleted.

Kept are segments that were drawn, reshaped or labelled with a class. Deleted are segments that were deleted or labelled
as background; not those that were merged or split, because the new segments replace them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, case, exists, func, or_, select

from miml_core.project.db.schema import BY_EYE, verdicts
from miml_core.project.db.schema import segments as table

FEWEST_KEPT = 10
FEWEST_DELETED = 5
_BY_HAND = ("drawn", "edited")


@dataclass(frozen=True)
class SegmenterExamples:
    """Counts of kept and deleted segments."""

    n_kept: int
    n_deleted: int

    @property
    def enough(self) -> bool:
        """Whether a segmenter can be trained."""
        return self.n_kept >= FEWEST_KEPT and self.n_deleted >= FEWEST_DELETED

    @property
    def sentence(self) -> str:
        """A sentence with the numbers needed and found."""
        return (
            f"At least {FEWEST_KEPT} segments that you drew or labelled with a class and {FEWEST_DELETED} that you "
            f"deleted or labelled as background are needed; there are {self.n_kept} and {self.n_deleted}."
        )


def count(connection: Connection) -> SegmenterExamples:
    """Count the kept and deleted segments of the project."""
    judged = _judged().subquery()
    kept, deleted = connection.execute(
        select(func.coalesce(func.sum(judged.c.kept), 0), func.coalesce(func.sum(judged.c.deleted), 0))
    ).one()
    return SegmenterExamples(int(kept), int(deleted))


def by_bag(connection: Connection) -> dict[int, tuple[list[Row[Any]], list[Row[Any]], bool]]:
    """Return {bag id: (kept rows, deleted rows, whether all its segments are kept or deleted)}."""
    rows: dict[int, list[Row[Any]]] = {}
    for row in connection.execute(_judged().order_by(table.c.bag_id, table.c.id)):
        rows.setdefault(row.bag_id, []).append(row)
    examples = {}
    for bag_id, found in rows.items():
        kept, deleted = [row for row in found if row.kept], [row for row in found if row.deleted]
        if kept or deleted:
            open_rows = [row for row in found if row.alive and not row.kept and not row.deleted]
            examples[bag_id] = (kept, deleted, bool(kept) and not open_rows)
    return examples


def _judged() -> Any:
    """Return the query of all segments ever made, with whether people kept or deleted them."""
    labelled = verdicts.c.segment_id.is_not(None)
    kept = and_(table.c.alive, or_(table.c.origin.in_(_BY_HAND), verdicts.c.class_id.is_not(None)))
    background = and_(table.c.alive, labelled, verdicts.c.class_id.is_(None))
    was_deleted = and_(~table.c.alive, table.c.origin.not_in(_BY_HAND), ~_was_replaced())
    return select(
        table,
        case((and_(kept, ~background), 1), else_=0).label("kept"),
        case((or_(background, was_deleted), 1), else_=0).label("deleted"),
    ).outerjoin(verdicts, and_(verdicts.c.segment_id == table.c.id, verdicts.c.checked_by == BY_EYE))


def _was_replaced() -> ColumnElement[bool]:
    """Return the condition that a segment made by a person overlaps this one."""
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
