"""The review queues, and the accuracy of the predictions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Select, exists, func, select, text, tuple_

from miml_core.bags import BACKGROUND
from miml_core.errors import BagtagError
from miml_core.intervals import wilson_interval
from miml_core.project.db import settings
from miml_core.project.db.schema import BY_EYE, BY_THRESHOLD, verdicts
from miml_core.project.db.schema import bag_predictions as blocks
from miml_core.project.db.schema import predictions as table
from miml_core.project.queries import prediction_blocks
from miml_core.project.queries.conflicts import conflicting_segments, count_open
from miml_core.project.review_records import ReviewItem, SampleAccuracy

ARCHIVE_SAMPLE = "archive_sample"
"""Name of the preference with the detections that were drawn from an archive; its `segments` are a review order."""

_OPEN = text("NOT reviewed")
_DRAWN = text(
    "segment_id IN (SELECT value FROM json_each("
    f"(SELECT value FROM meta WHERE key = 'preference.{ARCHIVE_SAMPLE}'), '$.segments'))"
)
_INFORMATIVE = text("informative IS NOT NULL")
_CONTRADICTING = table.c.contradiction > 0
BY_THRESHOLD_ONLY = text(f"checked_by = '{BY_THRESHOLD}'")
"""As text, not as a parameter, so that SQLite uses the index of these rows."""
_DESCENDING = ("informative", "contradicts", "newest")


def next_segments(
    connection: Connection, order: str, *, class_id: int | None = None, limit: int = 50, exclude: Sequence[int] = ()
) -> list[ReviewItem]:
    """Return unreviewed segments in a review order."""
    query = _ordered(order, class_id).limit(limit + len(exclude))
    skip = set(exclude)
    found = [ReviewItem(row[0], row[1], float(row[2])) for row in connection.execute(query) if row[0] not in skip]
    return found[:limit]


def next_page(
    connection: Connection,
    order: str,
    *,
    class_id: int | None = None,
    after: tuple[float, int] | None = None,
    limit: int = 100,
) -> list[ReviewItem]:
    """Return unreviewed segments in the order of `next_segments`, those that follow `after` (score, segment id).

    Scores are exactly as stored (those of "random" are integers), so that they can be passed back as `after`. A segment
    whose score changes between two pages may be in both or in neither.
    """
    query = _ordered(order, class_id)
    segment_id, _, score = query.selected_columns
    falling = order in _DESCENDING
    query = query.order_by(segment_id.desc() if falling else segment_id)
    if after is not None:
        place = tuple_(score, segment_id)
        query = query.where(place < after if falling else place > after)
    return [ReviewItem(row[0], row[1], row[2]) for row in connection.execute(query.limit(limit))]


def sizes(connection: Connection) -> dict[str, int]:
    """Return the number of segments in each review order.

    "informative" is among them only if the current run's model computes that, "archive" only if a sample was drawn,
    "conflicts" only if there are any.
    """
    unseen = _count(connection)
    waiting = unseen - _count_accepted(connection)
    telling = {}
    if _has_informative(connection):
        telling = {"informative": _count(connection, _INFORMATIVE) - _count_accepted(connection, _INFORMATIVE)}
    drawn = {}
    if settings.get(connection, f"preference.{ARCHIVE_SAMPLE}") is not None:
        drawn = {"archive": _count(connection, _DRAWN)}
    differing = {"conflicts": n} if (n := count_open(connection)[1]) else {}
    return {
        **drawn,
        **differing,
        "least_sure": waiting,
        **telling,
        "contradicts": _count(connection, _CONTRADICTING) - _count_accepted(connection, _CONTRADICTING),
        "newest": waiting,
        "random": unseen,
    }


def _has_informative(connection: Connection) -> bool:
    """Return whether the current run has informativeness; its blocks are of one model, so any of them shows it."""
    run_id = settings.get(connection, "current_run")
    one = select(blocks.c.informative.is_not(None)).where(blocks.c.run_id == run_id).limit(1)
    return bool(connection.execute(one).scalar())


def _count(connection: Connection, *which: Any) -> int:
    """Count the segments that nobody has seen."""
    return int(connection.execute(select(func.count()).select_from(table).where(_OPEN, *which)).scalar() or 0)


def _count_accepted(connection: Connection, *which: Any) -> int:
    """Count those of them that were accepted by a threshold."""
    joined = verdicts.join(table, table.c.segment_id == verdicts.c.segment_id)
    query = select(func.count()).select_from(joined).where(BY_THRESHOLD_ONLY, _OPEN, *which)
    return int(connection.execute(query).scalar() or 0)


def sample_accuracy(connection: Connection, run_id: int | None) -> SampleAccuracy:
    """Return the accuracy of one run (0: of all runs) in the random sample."""
    chosen = run_id if run_id is not None else settings.get(connection, "current_run")
    query = _right_and_all().where(verdicts.c.sampled)
    return _accuracy(connection, query if chosen == 0 else query.where(verdicts.c.run_id == chosen))


def checked_accuracy(connection: Connection) -> SampleAccuracy:
    """Return the accuracy among all segments checked since the current run was made."""
    run = prediction_blocks.current_run(connection)
    return _accuracy(connection, _right_and_all().where(verdicts.c.run_id == (-1 if run is None else run.id)))


def _right_and_all() -> Select[Any]:
    own_label = func.coalesce(verdicts.c.class_id, BACKGROUND)
    by_eye = [verdicts.c.predicted.is_not(None), verdicts.c.checked_by == BY_EYE]
    return select(func.count(), func.total(verdicts.c.predicted == own_label)).where(*by_eye)


def _accuracy(connection: Connection, query: Select[Any]) -> SampleAccuracy:
    n, right = connection.execute(query).one()
    low, high = wilson_interval(int(right), int(n))
    return SampleAccuracy(int(n), int(right), right / n if n else None, low, high)


def _ordered(order: str, class_id: int | None) -> Select[Any]:
    if order == "least_sure":
        return _items(table.c.margin).order_by(table.c.margin)
    if order == "informative":
        return _items(table.c.informative).where(_INFORMATIVE).order_by(table.c.informative.desc())
    if order == "contradicts":
        return _items(table.c.contradiction).where(_CONTRADICTING).order_by(table.c.contradiction.desc())
    if order == "newest":
        return _items(table.c.segment_id).order_by(table.c.segment_id.desc())
    if order == "random":  # with those accepted by a threshold: without these the sample would be biased
        return _items(table.c.shuffle, accepted=True).order_by(table.c.shuffle)
    if order == "archive":
        return _items(table.c.shuffle, accepted=True).where(_DRAWN).order_by(table.c.shuffle)
    if order == "conflicts":
        return conflicting_segments()
    if order == "class":
        if class_id is None:
            raise BagtagError("Choose the class to review.")
        return _items(table.c.probability).where(table.c.top == class_id).order_by(table.c.probability)
    raise BagtagError(f"There is no review order called {order!r}; choose another one.")


def _items(score: Any, *, accepted: bool = False) -> Select[Any]:
    """Return the query of unseen segments, with or without those that a threshold accepted."""
    query = select(table.c.segment_id, table.c.bag_id, score).where(_OPEN)
    return query if accepted else query.where(~exists().where(verdicts.c.segment_id == table.c.segment_id))
