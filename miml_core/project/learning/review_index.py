"""The index of the review queues: one row per segment with the current run's prediction.

The rows (`predictions` table) are computed from the current run's blocks. They are updated some bags at a time, so that
people who tag meanwhile need not wait. In a large project the indexes of the queues are dropped before and created
again after: updating them row by row would take ten times as long.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Row, select, text

from miml_core.bags import BACKGROUND
from miml_core.progress import Progress
from miml_core.project.db import counters, revisions, settings
from miml_core.project.db.schema import bags as bags_table
from miml_core.project.db.schema import predictions as table
from miml_core.project.db.store import Store
from miml_core.project.events import BagsChanged
from miml_core.project.queries.prediction_blocks import columns_of, current_run
from miml_core.project.queries.predictions import PredictionTable, table_of
from miml_core.review.queue import shuffled

_FIRST_BATCH = 10
_BATCH_SECONDS = 0.05
"""How long a bulk write may block others."""
_MANY_BAGS = 1000
_INDEXES = [index for index in table.indexes if str(index.name).startswith("review_")]

_text = cache(text)
"""Build a statement once: every prediction of a bag runs these."""
_CHOSEN = "IN (SELECT value FROM json_each(:bags))"
_PUT_ROW = """
    INSERT INTO predictions (segment_id, bag_id, top, probability, margin, free_top, free_probability, shuffle,
      informative, contradiction, reviewed) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (segment_id) DO UPDATE SET top = excluded.top, probability = excluded.probability,
      margin = excluded.margin, free_top = excluded.free_top, free_probability = excluded.free_probability,
      informative = excluded.informative, contradiction = excluded.contradiction
    """


def timed_batches(n: int) -> Iterator[range]:
    """Yield ranges that cover 0 to `n`, each of a size that takes the caller about `_BATCH_SECONDS`."""
    start, size = 0, _FIRST_BATCH
    while start < n:
        began = time.monotonic()
        yield range(start, min(start + size, n))
        start += size
        pace = _BATCH_SECONDS / max(time.monotonic() - began, 1e-3)
        size = max(10, int(size * min(max(pace, 0.5), 1.5)))


def summarise_all(store: Store, *, progress: Progress | None = None) -> None:
    """Update the rows of all bags to the current run, some bags at a time."""
    with store.write() as connection:
        run = current_run(connection)
        everything = list(connection.execute(select(bags_table.c.id).order_by(bags_table.c.id)).scalars())
        settings.put(connection, "summarised_run", None)
        if len(everything) > _MANY_BAGS:
            _drop_indexes(connection)
    for places in timed_batches(len(everything)):
        with store.write() as connection:
            write_rows(connection, run, everything[places.start : places.stop])
        if progress is not None:
            progress(places.stop, len(everything), {})
    for index in _INDEXES:
        with store.write() as connection:
            index.create(connection, checkfirst=True)
    with store.write() as connection:
        settings.put(connection, "summarised_run", None if run is None else run.id)
        revisions.advance(connection, changed_topics=["runs"])


def summarise(connection: Connection) -> None:
    """Update the rows of all bags inside the caller's transaction: after classes were merged or removed."""
    everything = list(connection.execute(select(bags_table.c.id).order_by(bags_table.c.id)).scalars())
    if len(everything) > _MANY_BAGS:
        _drop_indexes(connection)
    write_rows(connection, current_run(connection), everything)
    for index in _INDEXES:
        index.create(connection, checkfirst=True)


def update(event: BagsChanged) -> None:
    """Update the rows of changed bags, or of all bags after classes were merged or another run was chosen."""
    if event.classes_joined or event.run_chosen:
        summarise(event.connection)
        if event.run_chosen:
            settings.put(event.connection, "summarised_run", settings.get(event.connection, "current_run"))
    elif "bag_predictions" in event.tables:
        write_rows(event.connection, current_run(event.connection), event.bag_ids)


def is_complete(connection: Connection) -> bool:
    """Return whether every predicted bag has its rows, all of classes that exist, and every queue its index."""
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
    named = text("SELECT DISTINCT top FROM predictions WHERE top > 0 EXCEPT SELECT id FROM classes")
    lacking = lacking or connection.execute(named).first() is not None
    return not lacking and {str(index.name) for index in _INDEXES} <= names


def write_rows(connection: Connection, run: Row[Any] | None, bag_ids: Sequence[int]) -> None:
    """Write the rows of some bags; they are updated in place, so that the order of the random sample stays."""
    chosen = {"bags": json.dumps(list(bag_ids))}
    found: Sequence[Row[Any]] = []
    if run is not None:
        query = _text(f"SELECT * FROM bag_predictions WHERE run_id = :run AND bag_id {_CHOSEN}")
        found = connection.execute(query, {**chosen, "run": run.id}).all()
    rows: list[tuple[Any, ...]] = []
    if run and found:
        rows = _add_review_state(connection, chosen, table_of(columns_of(connection, run), found))
    stale = f"DELETE FROM predictions WHERE bag_id {_CHOSEN} AND segment_id NOT IN (SELECT value FROM json_each(:kept))"
    connection.execute(_text(stale), {**chosen, "kept": json.dumps([row[0] for row in rows])})
    if rows:
        connection.exec_driver_sql(_PUT_ROW, rows)
    counters.refresh_bags(connection, bag_ids)


def _drop_indexes(connection: Connection) -> None:
    for index in _INDEXES:
        index.drop(connection, checkfirst=True)


def _add_review_state(
    connection: Connection, chosen: dict[str, str], predicted: PredictionTable
) -> list[tuple[Any, ...]]:
    """Return rows of the existing segments, with whether they are reviewed and contradict the bag's tags."""
    exists = np.isin(predicted.segment_ids, _ids(connection, chosen, "SELECT id FROM segments WHERE bag_id"))
    reviewed = np.isin(
        predicted.segment_ids,
        _ids(
            connection,
            chosen,
            "SELECT id FROM segments LEFT JOIN verdicts ON segment_id = id AND checked_by = 'eye'"
            " WHERE (NOT alive OR segment_id IS NOT NULL) AND bag_id",
        ),
    )
    contradiction = np.where(_against_tags(connection, chosen, predicted), predicted.free_probability, 0.0)
    fields = (
        *(predicted.segment_ids, predicted.bag_ids, predicted.top, predicted.probability, predicted.margin),
        *(predicted.free_top, predicted.free_probability, shuffled(predicted.segment_ids), predicted.informative),
        *(contradiction, reviewed),
    )
    return list(zip(*(field[exists].tolist() for field in fields)))  # SQLite stores nan as null


def _against_tags(connection: Connection, chosen: dict[str, str], predicted: PredictionTable) -> NDArray[np.bool_]:
    """Return where the model, not knowing the tags, predicts a class that the bag is tagged as not having."""
    bag_ids = np.unique(predicted.bag_ids)
    class_ids = np.unique(predicted.free_top)
    closed = _ids(connection, chosen, "SELECT id FROM bags WHERE finished AND NOT rest_unknown AND id")
    value = np.zeros((len(bag_ids), len(class_ids)), dtype=np.int8)
    value[np.isin(bag_ids, closed)] = -1
    tagged = _text(f"SELECT bag_id, class_id, value FROM tags WHERE bag_id {_CHOSEN}")
    bag_tags = np.array([tuple(row) for row in connection.execute(tagged, chosen)], dtype=np.int64).reshape(-1, 3)
    bag_tags = bag_tags[np.isin(bag_tags[:, 0], bag_ids) & np.isin(bag_tags[:, 1], class_ids)]
    value[np.searchsorted(bag_ids, bag_tags[:, 0]), np.searchsorted(class_ids, bag_tags[:, 1])] = bag_tags[:, 2]
    own = value[np.searchsorted(bag_ids, predicted.bag_ids), np.searchsorted(class_ids, predicted.free_top)]
    return (own < 0) & (predicted.free_top != BACKGROUND)


def _ids(connection: Connection, chosen: dict[str, str], query: str) -> NDArray[np.int64]:
    """Return the ids that a query finds in the chosen bags; read as one JSON text, which is far faster than rows."""
    array = connection.execute(_text(f"SELECT json_group_array(id) FROM ({query} {_CHOSEN})"), chosen).scalar_one()
    return np.array(json.loads(array), dtype=np.int64)
