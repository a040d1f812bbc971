"""Segments of a long bag by time: those in a range, the next one after another, and counts of all.

A bag of three hours may have more segments than a browser can draw. The edges in `segments` are enough to find those
in a range; outlines are computed for these only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, and_, or_, select, text, true

from miml_core.bags import BACKGROUND
from miml_core.project.db.schema import bags, verdicts
from miml_core.project.db.schema import segments as table
from miml_core.project.queries import certainty, segments
from miml_core.project.records import SegmentRange, SegmentSummary

MOST_OUTLINES = 300
MOST_BOXES = 1500

_LABELS = text(
    """
    SELECT CASE WHEN verdicts.segment_id IS NOT NULL THEN coalesce(verdicts.class_id, :background)
                WHEN predictions.probability >= :sure THEN predictions.top END AS label, count(*) AS number,
           count(predictions.segment_id) AS predicted
    FROM segments
    LEFT JOIN verdicts ON verdicts.segment_id = segments.id
    LEFT JOIN predictions ON predictions.segment_id = segments.id
    WHERE segments.bag_id = :bag AND segments.alive GROUP BY label
    """
)

_DENSITY = text(
    """
    SELECT CAST((("left" + "right") / 2 - :first) / :width AS INTEGER) AS bin, count(*) AS number
    FROM segments WHERE bag_id = :bag AND alive GROUP BY bin
    """
)


def between(
    connection: Connection, bag_id: int, first: float, last: float, *, also: Sequence[int] = ()
) -> SegmentRange:
    """Return segments that touch a range of time (or of x), and those of `also` wherever they are.

    Up to `MOST_OUTLINES` come with outlines, up to `MOST_BOXES` without ("boxes"), of more there is only the number
    ("none").
    """
    touches = and_(table.c.bag_id == bag_id, table.c.alive, table.c.left <= last, table.c.right >= first)
    in_range = list(connection.execute(select(table.c.id).where(touches)).scalars())
    total = len(in_range)
    detail = "outlines" if total <= MOST_OUTLINES else "boxes" if total <= MOST_BOXES else "none"
    wanted = [*also] if detail == "none" else [*in_range, *also]
    chosen = and_(table.c.id.in_(wanted), table.c.bag_id == bag_id)
    found = segments.find_segments(
        connection, chosen, tolerance=segments.SCREEN_TOLERANCE if detail == "outlines" else None
    )
    return SegmentRange(first, last, total, detail, found)


def summary(connection: Connection, bag_id: int, first: float, last: float, bins: int) -> SegmentSummary:
    """Count all segments of a bag: checked, by label (given or sure), not sure, and by time in `bins` equal parts."""
    n, checked = connection.execute(select(bags.c.n_segments, bags.c.n_reviewed).where(bags.c.id == bag_id)).one()
    sure = certainty.sure_from(connection)
    rows = connection.execute(_LABELS, {"bag": bag_id, "background": BACKGROUND, "sure": sure}).all()
    labels = {int(row.label): int(row.number) for row in rows if row.label is not None}
    unsure = sum(int(row.predicted) for row in rows if row.label is None)
    density = [0] * bins
    width = max(last - first, 1e-9) / bins
    for row in connection.execute(_DENSITY, {"bag": bag_id, "first": first, "width": width}):
        density[min(max(int(row.bin), 0), bins - 1)] += int(row.number)
    return SegmentSummary(int(n), int(checked), labels, unsure, density)


def next_segment(
    connection: Connection,
    bag_id: int,
    *,
    after: int | None = None,
    at: float | None = None,
    step: int = 1,
    unchecked: bool = False,
    wrap: bool = True,
) -> int | None:
    """Return the id of the next (`step` 1) or previous (-1) segment in the order of time, then from high to low.

    Counted from a segment (`after`) or from a time (`at`), else from the end where the search begins; with `wrap` it
    continues at the other end of the bag.
    """
    from_row = None if after is None else _row(connection, bag_id, after)
    start: Any = true()
    if from_row is not None:
        start = _beyond(from_row, step)
    elif at is not None:
        start = table.c.left >= at if step > 0 else table.c.left <= at
    found = _first(connection, bag_id, start, step, unchecked)
    if found is None and wrap and start is not true():
        found = _first(connection, bag_id, true(), step, unchecked)
    return found


def edges(connection: Connection, bag_id: int, segment_id: int) -> tuple[float, float] | None:
    """Return (left, right) of a live segment of a bag; None if it has no such segment."""
    row = _row(connection, bag_id, segment_id)
    return None if row is None or not row.alive else (row.left, row.right)


def _row(connection: Connection, bag_id: int, segment_id: int) -> Row[Any] | None:
    columns: list[Any] = [table.c.id, table.c.left, table.c.right, table.c.high, table.c.alive]
    return connection.execute(select(*columns).where(table.c.id == segment_id, table.c.bag_id == bag_id)).first()


def _beyond(row: Row[Any], step: int) -> Any:
    left, high, number = table.c.left, table.c.high, table.c.id
    if step > 0:
        lower = or_(high < row.high, and_(high == row.high, number > row.id))
        return or_(left > row.left, and_(left == row.left, lower))
    higher = or_(high > row.high, and_(high == row.high, number < row.id))
    return or_(left < row.left, and_(left == row.left, higher))


def _first(connection: Connection, bag_id: int, start: Any, step: int, unchecked: bool) -> int | None:
    query = select(table.c.id).where(table.c.bag_id == bag_id, table.c.alive, start)
    if unchecked:
        query = query.where(~select(verdicts.c.segment_id).where(verdicts.c.segment_id == table.c.id).exists())
    order = (table.c.left, table.c.high.desc(), table.c.id)
    backwards = (table.c.left.desc(), table.c.high, table.c.id.desc())
    return connection.execute(query.order_by(*(order if step > 0 else backwards)).limit(1)).scalar()
