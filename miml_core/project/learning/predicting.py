"""Write the predictions of runs: one block per bag.

The blocks are read by run, so that choosing another run shows its predictions at once; the index of the review queues
(`review_index.py`) is computed from those of the current run.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
from sqlalchemy import Connection, select, text

from miml_core.errors import BagtagError
from miml_core.progress import Progress
from miml_core.project.db import revisions, settings
from miml_core.project.db.schema import bags as bags_table
from miml_core.project.db.store import Store
from miml_core.project.instances import feature_blocks
from miml_core.project.learning import training_runs
from miml_core.project.learning.model_outputs import ModelOutputs, predict
from miml_core.project.learning.review_index import timed_batches, write_rows
from miml_core.project.queries import features
from miml_core.project.queries.bagset import BagSetIndex, load
from miml_core.project.queries.prediction_blocks import STORED, current_run
from miml_core.project.queries.predictions import bags_to_predict

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
    WHERE bag_predictions.revision <= :revision
    """
)
"""A block of a newer revision stays: the bag was predicted again after an edit while a job computed."""
_MARK_BLOCK = text("UPDATE bag_predictions SET revision = :now WHERE run_id = :run AND bag_id = :bag")


def write(
    store: Store,
    run_id: int,
    index: BagSetIndex,
    outputs: ModelOutputs,
    *,
    progress: Progress | None = None,
) -> int:
    """Store the blocks of a run, and the rows of the review index if it is the current one."""
    with store.read() as connection:
        current = current_run(connection)
    for places in timed_batches(len(index.bag_ids)):
        with store.write() as connection:
            _write_blocks(connection, run_id, index, places, outputs)
            if current is not None and current.id == run_id:
                write_rows(connection, current, [int(index.bag_ids[place]) for place in places])
        if progress is not None:
            progress(places.stop, len(index.bag_ids), {})
    return int(index.offsets[-1])


def stale_bags(store: Store, *, edited_after: int | None = None) -> list[int]:
    """Return the bags that the current run has not predicted since they last changed; none if it cannot predict.

    With `edited_after`, a revision, only those that an edit has changed since.
    """
    with store.read() as connection:
        run = current_run(connection)
        if run is None or run.feature_key != settings.feature_key(connection):
            return []
        if not training_runs.has_model(store, run.id):
            return []
        return bags_to_predict(connection, run.id, edited_after=edited_after)


def predict_bag(store: Store, bag_id: int) -> int | None:
    """Predict one bag again with the current run, after describing its new segments.

    Returns
    -------
    int or None
        How many segments were predicted. None if the bag or the current run changed meanwhile: nothing was stored, and
        the bag is still to be predicted.
    """
    with store.read() as connection:
        described = current_run(connection) is None or features.is_described(connection, bag_id)
    if not described:
        feature_blocks.describe_bag(store, bag_id)
    with store.read() as connection:
        run = current_run(connection)
        if run is None or run.feature_key != settings.feature_key(connection):
            return 0
        try:
            bags, index = load(connection, [bag_id], class_ids=json.loads(run.classes))
        except BagtagError:
            return 0
    outputs = predict(training_runs.load_model(store, run.id), bags)
    with store.write() as connection:
        changed = connection.execute(select(bags_table.c.revision).where(bags_table.c.id == bag_id)).scalar()
        if changed is None:
            return 0
        if changed > index.revision or settings.get(connection, "current_run") != run.id:
            return None
        _write_blocks(connection, run.id, index, range(len(index.bag_ids)), outputs)
        write_rows(connection, run, [bag_id])
        revision = revisions.advance(connection, changed_bags=[bag_id])
        connection.execute(_MARK_BLOCK, {"now": revision, "run": run.id, "bag": bag_id})
    return len(index.segment_ids)


def _write_blocks(
    connection: Connection,
    run_id: int,
    index: BagSetIndex,
    places: Sequence[int],
    outputs: ModelOutputs,
) -> None:
    rows = []
    posterior, free, tag_probabilities, informative, keys = outputs
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
