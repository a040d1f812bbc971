"""One line a segment of what the current run says of it, by which the review queues are sorted.

The lines (`predictions` table) follow from the current run's blocks. They are brought in step some bags at a time, so
that nobody who tags meanwhile has to wait. Of a large project the indexes of the queues are taken down before and
made again after: keeping them sorted line by line would take ten times as long.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Row, select, text

from miml_core.bags import BACKGROUND
from miml_core.project import counters, revisions, settings
from miml_core.project.run_blocks import STORED, Columns, columns_of, current_run
from miml_core.project.schema import bags as bags_table
from miml_core.project.schema import predictions as table
from miml_core.project.store import Store

_FIRST_TURN = 10
_TURN_SECONDS = 0.05
"""How long a bulk writer may keep others waiting."""
_MANY_BAGS = 1000
_INDEXES = [index for index in table.indexes if str(index.name).startswith("review_")]

_text = cache(text)
"""Statements are built once: every prediction of a bag runs these."""
_CHOSEN = "IN (SELECT value FROM json_each(:bags))"
_PUT_LINE = """
    INSERT INTO predictions (segment_id, bag_id, top, probability, margin, free_top, free_probability, shuffle,
      informative, contradiction, reviewed) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (segment_id) DO UPDATE SET top = excluded.top, probability = excluded.probability,
      margin = excluded.margin, free_top = excluded.free_top, free_probability = excluded.free_probability,
      informative = excluded.informative, contradiction = excluded.contradiction
    """


@dataclass(frozen=True, eq=False)
class Lines:
    """What a run says of the segments of some bags; every field has one row a segment."""

    probabilities: NDArray[np.float64]
    """(n, K) of the classes that are left, background last, tags known."""
    segment_ids: NDArray[np.int64]
    bag_ids: NDArray[np.int64]
    top: NDArray[np.int64]
    """The likeliest class, tags known."""
    probability: NDArray[np.float64]
    margin: NDArray[np.float64]
    """How far the likeliest is ahead of the second."""
    free_top: NDArray[np.int64]
    """The likeliest class, no tags known."""
    free_probability: NDArray[np.float64]
    informative: NDArray[np.float64]
    """What its label would teach the model; nan where the model does not tell."""


def lines_of(columns: Columns, blocks: Sequence[Row[Any]]) -> Lines:
    """The lines of some blocks (at least one), in one pass."""
    from miml_core.review.queue import top_two

    def joined(field: str, dtype: str) -> NDArray[Any]:
        return np.frombuffer(b"".join(getattr(block, field) for block in blocks), dtype=dtype)

    sizes = [len(block.segment_ids) // 8 for block in blocks]
    folded = columns.fold(joined("posterior", STORED).reshape(-1, len(columns.place)))
    top, probability, margin = top_two(folded)
    informative = [
        np.full(size, np.nan) if block.informative is None else np.frombuffer(block.informative, dtype=STORED)
        for block, size in zip(blocks, sizes)
    ]
    return Lines(
        probabilities=folded,
        segment_ids=joined("segment_ids", "<i8"),
        bag_ids=np.repeat([block.bag_id for block in blocks], sizes),
        top=columns.ids[top],
        probability=probability,
        margin=margin,
        free_top=columns.ids[columns.place[joined("free_top", "<i2")]],
        free_probability=joined("free_probability", STORED).astype(float),
        informative=np.concatenate(informative).astype(float),
    )


def in_short_turns(n: int) -> Iterator[range]:
    """Ranges that cover 0 to `n`, each as long as takes the caller about `_TURN_SECONDS`."""
    start, size = 0, _FIRST_TURN
    while start < n:
        began = time.monotonic()
        yield range(start, min(start + size, n))
        start += size
        pace = _TURN_SECONDS / max(time.monotonic() - began, 1e-3)
        size = max(10, int(size * min(max(pace, 0.5), 1.5)))


def summarise_all(store: Store, *, tick: Callable[[int, int], None] | None = None) -> None:
    """Bring the lines of all bags in step with the current run, some bags at a time."""
    with store.write() as connection:
        run = current_run(connection)
        everything = list(connection.execute(select(bags_table.c.id).order_by(bags_table.c.id)).scalars())
        settings.put(connection, "summarised_run", None)
        if len(everything) > _MANY_BAGS:
            _drop_indexes(connection)
    for places in in_short_turns(len(everything)):
        with store.write() as connection:
            write_lines(connection, run, everything[places.start : places.stop])
        if tick is not None:
            tick(places.stop, len(everything))
    for index in _INDEXES:
        with store.write() as connection:
            index.create(connection, checkfirst=True)
    with store.write() as connection:
        settings.put(connection, "summarised_run", None if run is None else run.id)
        revisions.advance(connection, changed_topics=["runs"])


def summarise(connection: Connection) -> None:
    """The same at once, inside the caller's transaction: after classes were merged or removed."""
    everything = list(connection.execute(select(bags_table.c.id).order_by(bags_table.c.id)).scalars())
    if len(everything) > _MANY_BAGS:
        _drop_indexes(connection)
    write_lines(connection, current_run(connection), everything)
    for index in _INDEXES:
        index.create(connection, checkfirst=True)


def is_whole(connection: Connection) -> bool:
    """Does every bag that the current run spoke of have its lines, and every queue its index?"""
    run = current_run(connection)
    names = set(connection.execute(text("SELECT name FROM sqlite_master WHERE type = 'index'")).scalars())
    bare = text(
        """
        SELECT 1 FROM bag_predictions JOIN bags ON bags.id = bag_predictions.bag_id
        WHERE run_id = :run AND n_segments > 0
          AND NOT EXISTS (SELECT 1 FROM predictions WHERE predictions.bag_id = bags.id)
        """
    )
    lacking = run is not None and connection.execute(bare, {"run": run.id}).first() is not None
    return not lacking and {str(index.name) for index in _INDEXES} <= names


def write_lines(connection: Connection, run: Row[Any] | None, bag_ids: Sequence[int]) -> None:
    """Lines are changed in place: their order in the random sample, and its index, stay what they were."""
    chosen = {"bags": json.dumps(list(bag_ids))}
    found: Sequence[Row[Any]] = []
    if run is not None:
        query = _text(f"SELECT * FROM bag_predictions WHERE run_id = :run AND bag_id {_CHOSEN}")
        found = connection.execute(query, {**chosen, "run": run.id}).all()
    rows = _with_people(connection, chosen, lines_of(columns_of(connection, run), found)) if run and found else []
    stale = f"DELETE FROM predictions WHERE bag_id {_CHOSEN} AND segment_id NOT IN (SELECT value FROM json_each(:kept))"
    connection.execute(_text(stale), {**chosen, "kept": json.dumps([row[0] for row in rows])})
    if rows:
        connection.exec_driver_sql(_PUT_LINE, rows)
    counters.refresh_bags(connection, bag_ids)


def _drop_indexes(connection: Connection) -> None:
    for index in _INDEXES:
        index.drop(connection, checkfirst=True)


def _with_people(connection: Connection, chosen: dict[str, str], lines: Lines) -> list[tuple[Any, ...]]:
    """Rows of the segments that exist, with what people say: is it reviewed, and does it contradict the bag's tags?"""
    from miml_core.review.queue import shuffled

    exists = np.isin(lines.segment_ids, _ids(connection, chosen, "SELECT id FROM segments WHERE bag_id"))
    reviewed = np.isin(
        lines.segment_ids,
        _ids(
            connection,
            chosen,
            "SELECT id FROM segments LEFT JOIN verdicts ON segment_id = id"
            " WHERE (NOT alive OR segment_id IS NOT NULL) AND bag_id",
        ),
    )
    contradiction = np.where(_against_tags(connection, chosen, lines), lines.free_probability, 0.0)
    fields = (
        *(lines.segment_ids, lines.bag_ids, lines.top, lines.probability, lines.margin),
        *(lines.free_top, lines.free_probability, shuffled(lines.segment_ids), lines.informative),
        *(contradiction, reviewed),
    )
    return list(zip(*(field[exists].tolist() for field in fields)))  # SQLite stores nan as null


def _against_tags(connection: Connection, chosen: dict[str, str], lines: Lines) -> NDArray[np.bool_]:
    """Where the model, not knowing the tags, sees a class that its bag is said not to have."""
    bag_ids = np.unique(lines.bag_ids)
    class_ids = np.unique(lines.free_top)
    closed = _ids(connection, chosen, "SELECT id FROM bags WHERE finished AND NOT rest_unknown AND id")
    value = np.zeros((len(bag_ids), len(class_ids)), dtype=np.int8)
    value[np.isin(bag_ids, closed)] = -1
    tagged = _text(f"SELECT bag_id, class_id, value FROM tags WHERE bag_id {_CHOSEN}")
    said = np.array([tuple(row) for row in connection.execute(tagged, chosen)], dtype=np.int64).reshape(-1, 3)
    said = said[np.isin(said[:, 0], bag_ids) & np.isin(said[:, 1], class_ids)]
    value[np.searchsorted(bag_ids, said[:, 0]), np.searchsorted(class_ids, said[:, 1])] = said[:, 2]
    own = value[np.searchsorted(bag_ids, lines.bag_ids), np.searchsorted(class_ids, lines.free_top)]
    return (own < 0) & (lines.free_top != BACKGROUND)


def _ids(connection: Connection, chosen: dict[str, str], query: str) -> NDArray[np.int64]:
    """The ids that a query finds among the chosen bags, as one piece of text: a row each would take far longer."""
    array = connection.execute(_text(f"SELECT json_group_array(id) FROM ({query} {_CHOSEN})"), chosen).scalar_one()
    return np.array(json.loads(array), dtype=np.int64)
