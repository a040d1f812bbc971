"""What annotators whose copies were merged answered differently, as long as nobody decided.

A conflict of labels is open while the segment has the label that it had at the merge (labelling it again, even with the
same label, decides) and the other label is a class that still exists. A conflict of tags is open while the bag's answer
is ours; tagging the class, or finishing the bag, marks it as resolved.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, and_, case, func, or_, select

from miml_core.bags import BACKGROUND
from miml_core.project.db.rows import LIVE_CLASS
from miml_core.project.db.schema import bags, classes, conflicts, merges, segments, tags, verdicts
from miml_core.project.review_records import Conflict, Merge

_OF_LABEL = conflicts.c.segment_id.is_not(None)
_LIVE_LABEL = or_(
    conflicts.c.theirs == BACKGROUND, conflicts.c.theirs.in_(select(classes.c.id).where(LIVE_CLASS).correlate(None))
)
_ANSWER = func.coalesce(tags.c.value, case((bags.c.finished & ~bags.c.rest_unknown, -1), else_=0))
_IS_OPEN = and_(
    ~conflicts.c.resolved,
    or_(
        and_(_OF_LABEL, segments.c.alive, _LIVE_LABEL, func.coalesce(verdicts.c.at, 0.0) == conflicts.c.ours_at),
        and_(~_OF_LABEL, LIVE_CLASS, conflicts.c.ours == _ANSWER),
    ),
)
_JOINED = (
    conflicts.join(bags, bags.c.id == conflicts.c.bag_id)
    .outerjoin(segments, segments.c.id == conflicts.c.segment_id)
    .outerjoin(verdicts, verdicts.c.segment_id == conflicts.c.segment_id)
    .outerjoin(classes, classes.c.id == conflicts.c.class_id)
    .outerjoin(tags, and_(tags.c.bag_id == conflicts.c.bag_id, tags.c.class_id == conflicts.c.class_id))
)


def open_conflicts(
    connection: Connection, *, bag_id: int | None = None, ids: Sequence[int] | None = None, limit: int | None = None
) -> list[Conflict]:
    """Return the conflicts that nobody has decided, of the project or of one bag; only some, if `ids` are given."""
    columns = (conflicts, bags.c.name.label("bag"), segments.c.number)
    query = select(*columns).select_from(_JOINED).where(_IS_OPEN).order_by(conflicts.c.bag_id, conflicts.c.id)
    if bag_id is not None:
        query = query.where(conflicts.c.bag_id == bag_id)
    if ids is not None:
        query = query.where(conflicts.c.id.in_(ids))
    return [_conflict(row) for row in connection.execute(query.limit(limit))]


def count_open(connection: Connection) -> tuple[int, int]:
    """Return the number of bags with open conflicts of tags, and of segments with open conflicts of labels."""
    of_bags, of_segments = func.count(conflicts.c.bag_id.distinct()), func.count(conflicts.c.segment_id.distinct())
    query = select(of_bags, of_segments).select_from(_JOINED).where(_IS_OPEN)
    n_bags = connection.execute(query.where(~_OF_LABEL)).one()[0]
    return int(n_bags), int(connection.execute(query).one()[1])


def conflicting_segments() -> Select[Any]:
    """Return the query of segments with an open conflict: segment, bag, and the bag again to sort by."""
    columns = (conflicts.c.segment_id, conflicts.c.bag_id, conflicts.c.bag_id.label("place"))
    return select(*columns).select_from(_JOINED).where(_IS_OPEN, _OF_LABEL).distinct().order_by(conflicts.c.bag_id)


def has_conflict(*, of_tags: bool = False) -> ColumnElement[bool]:
    """Return the condition that a bag has an open conflict (of tags)."""
    found = select(conflicts.c.bag_id).select_from(_JOINED).where(_IS_OPEN, *([~_OF_LABEL] if of_tags else []))
    return bags.c.id.in_(found.correlate(None))


def all_merges(connection: Connection) -> list[Merge]:
    """Return the merges of the project, the latest first."""
    rows = connection.execute(select(merges).order_by(merges.c.id.desc()))
    return [
        Merge(
            id=row.id,
            at=row.at,
            annotator=row.annotator,
            source=row.source,
            people=[str(name) for name in json.loads(row.people)],
            counts=json.loads(row.counts),
            agreement=json.loads(row.agreement),
        )
        for row in rows
    ]


def _conflict(row: Row[Any]) -> Conflict:
    return Conflict(
        id=row.id,
        bag_id=row.bag_id,
        bag=row.bag,
        segment_id=row.segment_id,
        number=row.number,
        class_id=row.class_id,
        ours=row.ours,
        ours_by=row.ours_by,
        theirs=row.theirs,
        theirs_by=row.theirs_by,
        theirs_at=row.theirs_at,
    )
