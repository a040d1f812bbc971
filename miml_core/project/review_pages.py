"""The review queue in pages: each page continues where the one before ended."""

from __future__ import annotations

from sqlalchemy import Connection, tuple_

from miml_core.project import queue
from miml_core.project.review_rows import ReviewItem

_DESCENDING = ("informative", "contradicts", "newest")


def review_page(
    connection: Connection,
    order: str,
    *,
    class_id: int | None = None,
    after: tuple[float, int] | None = None,
    limit: int = 100,
) -> list[ReviewItem]:
    """Return unreviewed segments in the order of `queue.next_segments`, those that follow `after` (score, segment id).

    Scores are exactly as stored (those of "random" are integers), so that they can be passed back as `after`. A segment
    whose score changes between two pages may be in both or in neither.
    """
    query = queue._ordered(order, class_id)
    segment_id, _, score = query.selected_columns
    falling = order in _DESCENDING
    query = query.order_by(segment_id.desc() if falling else segment_id)
    if after is not None:
        place = tuple_(score, segment_id)
        query = query.where(place < after if falling else place > after)
    return [ReviewItem(row[0], row[1], row[2]) for row in connection.execute(query.limit(limit))]
