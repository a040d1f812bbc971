"""Predictions of runs: everything a run said of a bag in one block, and a line a segment for the review queues.

The blocks are the truth and are read by run, so that choosing another run shows its predictions at once; the lines
(`predictions` table) follow from the current run's blocks, a few hundred bags at a time, so that nobody who tags
meanwhile has to wait.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Row, select, text

from miml_core.bags import BACKGROUND
from miml_core.errors import BagtagError
from miml_core.project import classes, counters, revisions, settings, tags
from miml_core.project.answers import Answers, ask
from miml_core.project.bagset import BagSetIndex, load
from miml_core.project.rows import Prediction, TagSuggestion
from miml_core.project.schema import bag_predictions as blocks
from miml_core.project.schema import bags as bags_table
from miml_core.project.schema import runs as runs_table
from miml_core.project.store import Store

_FIRST_TURN = 50
_TURN_SECONDS = 0.2
"""How long a bulk writer may keep others waiting."""
_STORED = "<f2"
"""Half precision: three digits are plenty on screen, and a run of 800 000 segments stays small."""

_PUT_BLOCK = text(
    """
    INSERT INTO bag_predictions
      (run_id, bag_id, revision, segment_ids, posterior, free_top, free_probability, tag_probabilities, informative,
       key_segments)
    VALUES (:run_id, :bag_id, :revision, :segment_ids, :posterior, :free_top, :free_probability, :tag_probabilities,
      :informative, :key_segments)
    ON CONFLICT (run_id, bag_id) DO UPDATE SET revision = :revision, segment_ids = :segment_ids,
      posterior = :posterior, free_top = :free_top, free_probability = :free_probability,
      tag_probabilities = :tag_probabilities, informative = :informative, key_segments = :key_segments
    """
)


@dataclass(frozen=True)
class Columns:
    """Which class each column of a run's probabilities is now, after merges and removals."""

    ids: NDArray[np.int64]
    """(K,) the classes that are left, background last."""
    place: NDArray[np.int64]
    """(columns,) -> place in `ids`."""

    def fold(self, probabilities: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
        """(n, columns) -> (n, K), merged columns added up, rows summing to 1."""
        folded = np.asarray(probabilities, dtype=float) @ np.eye(len(self.ids))[self.place]
        total = folded.sum(axis=1, keepdims=True)
        return folded / np.where(total > 0, total, 1.0)


def columns_of(connection: Connection, run: Row[Any]) -> Columns:
    alias = classes.aliases(connection)
    now = [alias.get(class_id, BACKGROUND) for class_id in json.loads(run.classes)]
    now += [BACKGROUND] if run.background else []
    ids = [*sorted({class_id for class_id in now if class_id != BACKGROUND}), BACKGROUND]
    return Columns(np.array(ids), np.array([ids.index(class_id) for class_id in now], dtype=np.int64))


# writing


def in_short_turns(n: int) -> Iterator[range]:
    """Ranges that cover 0 to `n`, each as long as takes the caller about `_TURN_SECONDS`."""
    start, size = 0, _FIRST_TURN
    while start < n:
        began = time.monotonic()
        yield range(start, min(start + size, n))
        start += size
        pace = _TURN_SECONDS / max(time.monotonic() - began, 1e-3)
        size = max(10, int(size * min(max(pace, 0.5), 1.5)))


def write(
    store: Store,
    run_id: int,
    index: BagSetIndex,
    answers: Answers,
    *,
    tick: Callable[[int, int], None] | None = None,
) -> int:
    """Store the blocks of a run, and the lines too if it is the current one."""
    with store.read() as connection:
        current = current_run(connection)
    for places in in_short_turns(len(index.bag_ids)):
        with store.write() as connection:
            _write_blocks(connection, run_id, index, places, answers)
            if current is not None and current.id == run_id:
                _write_lines(connection, current, [int(index.bag_ids[place]) for place in places])
        if tick is not None:
            tick(places.stop, len(index.bag_ids))
    return int(index.offsets[-1])


def summarise_all(store: Store, *, tick: Callable[[int, int], None] | None = None) -> None:
    """Bring the lines of all bags in step with the current run, some bags at a time."""
    with store.read() as connection:
        run = current_run(connection)
        everything = list(connection.execute(select(bags_table.c.id).order_by(bags_table.c.id)).scalars())
    for places in in_short_turns(len(everything)):
        with store.write() as connection:
            _write_lines(connection, run, everything[places.start : places.stop])
        if tick is not None:
            tick(places.stop, len(everything))
    with store.write() as connection:
        settings.put(connection, "summarised_run", None if run is None else run.id)
        revisions.advance(connection, changed_topics=["runs"])


def summarise(connection: Connection) -> None:
    """The same at once, inside the caller's transaction: after classes were merged or removed."""
    run = current_run(connection)
    everything = list(connection.execute(select(bags_table.c.id)).scalars())
    _write_lines(connection, run, everything)


def predict_bag(store: Store, bag_id: int) -> int:
    """Predict one bag anew with the current run, describing first what was drawn since."""
    from miml_core.project import features, runs

    with store.read() as connection:
        described = current_run(connection) is None or features.is_described(connection, bag_id)
    if not described:
        features.describe_bag(store, bag_id)
    with store.read() as connection:
        run = current_run(connection)
        if run is None or run.feature_key != settings.feature_key(connection):
            return 0
        try:
            bags, index = load(connection, [bag_id], class_ids=json.loads(run.classes))
        except BagtagError:
            return 0
    answers = ask(runs.load_model(store, run.id), bags)
    with store.write() as connection:
        changed = connection.execute(select(bags_table.c.revision).where(bags_table.c.id == bag_id)).scalar()
        if changed is None or changed > index.revision:
            return 0  # the bag changed while the model was thinking: whoever changed it predicts again
        _write_blocks(connection, run.id, index, range(len(index.bag_ids)), answers)
        _write_lines(connection, run, [bag_id])
        revision = revisions.advance(connection, changed_bags=[bag_id])
        connection.execute(
            text("UPDATE bag_predictions SET revision = :now WHERE run_id = :run AND bag_id = :bag"),
            {"now": revision, "run": run.id, "bag": bag_id},
        )
    return len(index.segment_ids)


# reading


def current_run(connection: Connection) -> Row[Any] | None:
    run_id = settings.get(connection, "current_run")
    if run_id is None:
        return None
    return connection.execute(select(runs_table).where(runs_table.c.id == run_id)).first()


def of_bag(connection: Connection, bag_id: int) -> dict[int, Prediction]:
    """Segment id -> what the current run says."""
    run = current_run(connection)
    block = None if run is None else block_of(connection, run.id, bag_id)
    if run is None or block is None:
        return {}
    columns = columns_of(connection, run)
    folded = columns.fold(posterior_of(block, len(columns.place)))
    tagged = tags.of_bag(connection, bag_id)
    bag = connection.execute(select(bags_table).where(bags_table.c.id == bag_id)).one()
    absent = -1 if bag.finished and not bag.rest_unknown else 0
    return {
        segment_id: Prediction(
            run_id=run.id,
            probabilities={int(c): float(p) for c, p in zip(columns.ids, row)},
            top=top,
            probability=probability,
            margin=margin,
            free_top=free_top,
            free_probability=free_probability,
            contradicts=free_top != BACKGROUND and tagged.get(free_top, absent) < 0,
        )
        for (segment_id, _, top, probability, margin, free_top, free_probability, *_), row in zip(
            _lines(columns, [block]), folded
        )
    }


def tag_suggestions(connection: Connection, bag_id: int, *, limit: int) -> list[TagSuggestion]:
    """The likeliest undecided tags of a bag."""
    from miml_core.review.suggestions import rank_tags

    run = current_run(connection)
    block = None if run is None else block_of(connection, run.id, bag_id)
    if run is None or block is None or block.tag_probabilities is None:
        return []
    alias = classes.aliases(connection)
    ids = [alias.get(class_id, BACKGROUND) for class_id in json.loads(run.classes)]
    decided = set(tags.of_bag(connection, bag_id)) | {BACKGROUND}
    ranked = rank_tags(np.frombuffer(block.tag_probabilities, dtype=_STORED).astype(float), ids, decided)
    return [TagSuggestion(class_id, probability) for class_id, probability in ranked[:limit]]


def bags_to_predict(connection: Connection, run_id: int) -> list[int]:
    """Described bags the run has not spoken about since they last changed."""
    found = connection.execute(
        text(
            """
            SELECT bags.id FROM bags JOIN features ON features.bag_id = bags.id
            LEFT JOIN bag_predictions ON bag_predictions.bag_id = bags.id AND run_id = :run
            WHERE n_segments > 0 AND (bag_predictions.revision IS NULL OR bag_predictions.revision < bags.revision)
            ORDER BY bags.id
            """
        ),
        {"run": run_id},
    )
    return list(found.scalars())


def block_of(connection: Connection, run_id: int, bag_id: int) -> Row[Any] | None:
    return connection.execute(select(blocks).where(blocks.c.run_id == run_id, blocks.c.bag_id == bag_id)).first()


def posterior_of(block: Row[Any], n_columns: int) -> NDArray[np.float64]:
    return np.frombuffer(block.posterior, dtype=_STORED).reshape(-1, n_columns).astype(float)


def _write_blocks(
    connection: Connection,
    run_id: int,
    index: BagSetIndex,
    places: Sequence[int],
    answers: Answers,
) -> None:
    rows = []
    posterior, free, tag_probabilities, informative, keys = answers
    alive = set(connection.execute(select(bags_table.c.id)).scalars()) if len(places) > 1 else None
    for place in places:
        part = slice(int(index.offsets[place]), int(index.offsets[place + 1]))
        if alive is not None and int(index.bag_ids[place]) not in alive:
            continue
        free_top = np.argmax(free[part], axis=1)
        best = np.take_along_axis(free[part], free_top[:, None], axis=1)[:, 0]
        rows.append(
            {
                "run_id": run_id,
                "bag_id": int(index.bag_ids[place]),
                "revision": index.revision,
                "segment_ids": index.segment_ids[part].astype("<i8").tobytes(),
                "posterior": posterior[part].astype(_STORED).tobytes(),
                "free_top": free_top.astype("<i2").tobytes(),
                "free_probability": best.astype(_STORED).tobytes(),
                "tag_probabilities": None
                if tag_probabilities is None
                else tag_probabilities[place].astype(_STORED).tobytes(),
                "informative": None if informative is None else informative[part].astype(_STORED).tobytes(),
                "key_segments": None if keys is None else keys[place].astype("<i4").tobytes(),
            }
        )
    if rows:
        connection.execute(_PUT_BLOCK, rows)


def _write_lines(connection: Connection, run: Row[Any] | None, bag_ids: Sequence[int]) -> None:
    """Lines are changed in place: their order in the random sample, and its index, stay what they were."""
    chosen = {"bags": json.dumps(list(bag_ids))}
    lines: list[tuple[Any, ...]] = []
    if run is not None:
        found = connection.execute(
            text(f"SELECT * FROM bag_predictions WHERE run_id = :run AND bag_id {_CHOSEN}"), {**chosen, "run": run.id}
        ).all()
        lines = _with_people(connection, chosen, _lines(columns_of(connection, run), found))
    stale = f"DELETE FROM predictions WHERE bag_id {_CHOSEN} AND segment_id NOT IN (SELECT value FROM json_each(:kept))"
    connection.execute(text(stale), {**chosen, "kept": json.dumps([line[0] for line in lines])})
    if lines:
        connection.exec_driver_sql(_PUT_LINE, lines)
    counters.refresh_bags(connection, bag_ids)


_CHOSEN = "IN (SELECT value FROM json_each(:bags))"
_PUT_LINE = """
    INSERT INTO predictions (segment_id, bag_id, top, probability, margin, free_top, free_probability, shuffle,
      informative, contradiction, reviewed) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (segment_id) DO UPDATE SET top = excluded.top, probability = excluded.probability,
      margin = excluded.margin, free_top = excluded.free_top, free_probability = excluded.free_probability,
      informative = excluded.informative, contradiction = excluded.contradiction
    """


def _with_people(connection: Connection, chosen: dict[str, str], lines: Sequence[Line]) -> list[tuple[Any, ...]]:
    """Lines of segments that exist, with what people say: is it reviewed, and does it contradict the bag's tags?"""
    present = text(
        f"""
        SELECT id, NOT alive OR verdicts.segment_id IS NOT NULL FROM segments
        LEFT JOIN verdicts ON verdicts.segment_id = segments.id WHERE bag_id {_CHOSEN}
        """
    )
    reviewed = {segment_id: bool(seen) for segment_id, seen in connection.execute(present, chosen)}
    tagged = text(f"SELECT bag_id, class_id, value FROM tags WHERE bag_id {_CHOSEN}")
    values = {(bag, class_id): value for bag, class_id, value in connection.execute(tagged, chosen)}
    closed = text(f"SELECT id FROM bags WHERE finished AND NOT rest_unknown AND id {_CHOSEN}")
    absent = dict.fromkeys(connection.execute(closed, chosen).scalars(), -1)
    rows = []
    for line in lines:
        segment_id, bag_id, free_top, free_probability = line[0], line[1], line[5], line[6]
        if segment_id in reviewed:
            against = free_top != BACKGROUND and values.get((bag_id, free_top), absent.get(bag_id, 0)) < 0
            rows.append((*line, free_probability if against else 0.0, reviewed[segment_id]))
    return rows


Line = tuple[int, int, int, float, float, int, float, int, float | None]
"""segment, bag, top class, its probability, margin, top class without tags, its probability, place in the shuffle,
how informative its label would be"""


def _lines(columns: Columns, found: Sequence[Row[Any]]) -> list[Line]:
    """One line a segment of some blocks, all blocks in one pass."""
    if not found:
        return []
    from miml_core.review.queue import shuffled, top_two

    ids = np.frombuffer(b"".join(block.segment_ids for block in found), dtype="<i8")
    sizes = [len(block.segment_ids) // 8 for block in found]
    posterior = np.frombuffer(b"".join(block.posterior for block in found), dtype=_STORED)
    folded = columns.fold(posterior.reshape(-1, len(columns.place)).astype(float))
    top, probability, margin = top_two(folded)
    free_top = np.frombuffer(b"".join(block.free_top for block in found), dtype="<i2")
    free_probability = np.frombuffer(b"".join(block.free_probability for block in found), dtype=_STORED)
    return list(
        zip(
            ids.tolist(),
            np.repeat([block.bag_id for block in found], sizes).tolist(),
            columns.ids[top].tolist(),
            probability.tolist(),
            margin.tolist(),
            columns.ids[columns.place[free_top]].tolist(),
            free_probability.astype(float).tolist(),
            shuffled(ids).tolist(),
            _informative(found, sizes),
        )
    )


def _informative(found: Sequence[Row[Any]], sizes: Sequence[int]) -> list[float | None]:
    told: list[float | None] = []
    for block, size in zip(found, sizes):
        stored = block.informative
        told += [None] * size if stored is None else np.frombuffer(stored, dtype=_STORED).astype(float).tolist()
    return told
