"""What to review next, and how good the predictions honestly are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Select, func, select, text

from miml_core.bags import BACKGROUND
from miml_core.errors import BagtagError
from miml_core.project import run_blocks, settings
from miml_core.project.review_rows import ReviewItem, SampleAccuracy
from miml_core.project.schema import bag_predictions as blocks
from miml_core.project.schema import predictions as table
from miml_core.project.schema import verdicts
from miml_core.review.accuracy import wilson_interval

_OPEN = text("NOT reviewed")
_TELLING = text("informative IS NOT NULL")


def next_segments(
    connection: Connection, order: str, *, class_id: int | None = None, limit: int = 50, exclude: Sequence[int] = ()
) -> list[ReviewItem]:
    """Unreviewed segments, the most worth looking at first."""
    query = _ordered(order, class_id).limit(limit + len(exclude))
    skip = set(exclude)
    found = [ReviewItem(row[0], row[1], float(row[2])) for row in connection.execute(query) if row[0] not in skip]
    return found[:limit]


def sizes(connection: Connection) -> dict[str, int]:
    """How many segments wait, and how many of them contradict their tags.

    "informative" is among them only if the current run's model tells what a label would teach it.
    """
    waiting = int(connection.execute(select(func.count()).select_from(table).where(_OPEN)).scalar() or 0)
    contradicting = connection.execute(
        select(func.count()).select_from(table).where(_OPEN, table.c.contradiction > 0)
    ).scalar()
    telling = {"informative": _n_informative(connection)} if _run_is_telling(connection) else {}
    return {
        "least_sure": waiting,
        **telling,
        "contradicts": int(contradicting or 0),
        "newest": waiting,
        "random": waiting,
    }


def _run_is_telling(connection: Connection) -> bool:
    """All blocks of a run are of the same model, so any of them tells."""
    run_id = settings.get(connection, "current_run")
    one = select(blocks.c.informative.is_not(None)).where(blocks.c.run_id == run_id).limit(1)
    return bool(connection.execute(one).scalar())


def _n_informative(connection: Connection) -> int:
    return int(connection.execute(select(func.count()).select_from(table).where(_OPEN, _TELLING)).scalar() or 0)


def sample_accuracy(connection: Connection, run_id: int | None) -> SampleAccuracy:
    """Right predictions among the randomly offered segments of one run (0: of all runs)."""
    chosen = run_id if run_id is not None else settings.get(connection, "current_run")
    query = _right_and_all().where(verdicts.c.sampled)
    return _accuracy(connection, query if chosen == 0 else query.where(verdicts.c.run_id == chosen))


def checked_accuracy(connection: Connection) -> SampleAccuracy:
    """Right predictions among everything checked since the current run was made."""
    run = run_blocks.current_run(connection)
    return _accuracy(connection, _right_and_all().where(verdicts.c.run_id == (-1 if run is None else run.id)))


def _right_and_all() -> Select[Any]:
    said = func.coalesce(verdicts.c.class_id, BACKGROUND)
    return select(func.count(), func.total(verdicts.c.predicted == said)).where(verdicts.c.predicted.is_not(None))


def _accuracy(connection: Connection, query: Select[Any]) -> SampleAccuracy:
    n, right = connection.execute(query).one()
    low, high = wilson_interval(int(right), int(n))
    return SampleAccuracy(int(n), int(right), right / n if n else None, low, high)


def _ordered(order: str, class_id: int | None) -> Select[Any]:
    if order == "least_sure":
        return _items(table.c.margin).order_by(table.c.margin)
    if order == "informative":
        return _items(table.c.informative).where(_TELLING).order_by(table.c.informative.desc())
    if order == "contradicts":
        return _items(table.c.contradiction).where(table.c.contradiction > 0).order_by(table.c.contradiction.desc())
    if order == "newest":
        return _items(table.c.segment_id).order_by(table.c.segment_id.desc())
    if order == "random":
        return _items(table.c.shuffle).order_by(table.c.shuffle)
    if order == "class":
        if class_id is None:
            raise BagtagError("Choose the class to review.")
        return _items(table.c.probability).where(table.c.top == class_id).order_by(table.c.probability)
    raise BagtagError(f"There is no review order called {order!r}.")


def _items(score: Any) -> Select[Any]:
    return select(table.c.segment_id, table.c.bag_id, score).where(_OPEN)
