"""Predictions of runs: everything a run said of a bag in one block.

The blocks are the truth and are read by run, so that choosing another run shows its predictions at once; what the
review queues are sorted by (`review_lines.py`) follows from those of the current run.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import numpy as np
from sqlalchemy import Connection, select, text

from miml_core.bags import BACKGROUND
from miml_core.errors import BagtagError
from miml_core.project import classes, revisions, settings, tags
from miml_core.project.answers import Answers, ask
from miml_core.project.bagset import BagSetIndex, load
from miml_core.project.review_lines import in_short_turns, lines_of, write_lines
from miml_core.project.review_rows import Prediction, TagSuggestion
from miml_core.project.run_blocks import STORED, block_of, columns_of, current_run
from miml_core.project.schema import bags as bags_table
from miml_core.project.store import Store

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
_MARK_BLOCK = text("UPDATE bag_predictions SET revision = :now WHERE run_id = :run AND bag_id = :bag")

# writing


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
                write_lines(connection, current, [int(index.bag_ids[place]) for place in places])
        if tick is not None:
            tick(places.stop, len(index.bag_ids))
    return int(index.offsets[-1])


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
        write_lines(connection, run, [bag_id])
        revision = revisions.advance(connection, changed_bags=[bag_id])
        connection.execute(_MARK_BLOCK, {"now": revision, "run": run.id, "bag": bag_id})
    return len(index.segment_ids)


# reading


def of_bag(connection: Connection, bag_id: int, *, only: Sequence[int] | None = None) -> dict[int, Prediction]:
    """Segment id -> what the current run says; of all segments, or `only` of some."""
    run = current_run(connection)
    block = None if run is None else block_of(connection, run.id, bag_id)
    if run is None or block is None:
        return {}
    columns = columns_of(connection, run)
    tagged = tags.of_bag(connection, bag_id)
    bag = connection.execute(select(bags_table).where(bags_table.c.id == bag_id)).one()
    absent = -1 if bag.finished and not bag.rest_unknown else 0
    lines = lines_of(columns, [block])
    rows = np.arange(len(lines.segment_ids)) if only is None else np.flatnonzero(np.isin(lines.segment_ids, only))
    return {
        segment_id: Prediction(
            run_id=run.id,
            probabilities=dict(zip(columns.ids.tolist(), probabilities)),
            top=top,
            probability=probability,
            margin=margin,
            free_top=free_top,
            free_probability=free_probability,
            contradicts=free_top != BACKGROUND and tagged.get(free_top, absent) < 0,
        )
        for segment_id, probabilities, top, probability, margin, free_top, free_probability in zip(
            lines.segment_ids[rows].tolist(),
            lines.probabilities[rows].tolist(),
            lines.top[rows].tolist(),
            lines.probability[rows].tolist(),
            lines.margin[rows].tolist(),
            lines.free_top[rows].tolist(),
            lines.free_probability[rows].tolist(),
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
    ranked = rank_tags(np.frombuffer(block.tag_probabilities, dtype=STORED).astype(float), ids, decided)
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
                "posterior": posterior[part].astype(STORED).tobytes(),
                "free_top": free_top.astype("<i2").tobytes(),
                "free_probability": best.astype(STORED).tobytes(),
                "tag_probabilities": None
                if tag_probabilities is None
                else tag_probabilities[place].astype(STORED).tobytes(),
                "informative": None if informative is None else informative[part].astype(STORED).tobytes(),
                "key_segments": None if keys is None else keys[place].astype("<i4").tobytes(),
            }
        )
    if rows:
        connection.execute(_PUT_BLOCK, rows)
