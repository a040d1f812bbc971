"""Predictions of the current run: for segments, suggested tags, and which bags are to be predicted."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Row, select, text

from miml_core.bags import BACKGROUND
from miml_core.project.db.schema import bags as bags_table
from miml_core.project.queries.bags import tags_of_bag
from miml_core.project.queries.classes import aliases
from miml_core.project.queries.prediction_blocks import STORED, Columns, block_of, columns_of, current_run
from miml_core.project.review_records import Prediction, TagSuggestion
from miml_core.review.queue import top_two
from miml_core.review.suggestions import rank_tags

_BLOCKS_OF_SEGMENTS = text(
    """
    SELECT * FROM bag_predictions WHERE run_id = :run AND bag_id IN (
      SELECT DISTINCT bag_id FROM segments WHERE id IN (SELECT value FROM json_each(:segments)))
    """
)
_TO_PREDICT = """
    SELECT bags.id FROM bags JOIN features ON features.bag_id = bags.id
    JOIN runs ON runs.id = :run AND runs.feature_key = features.feature_key
    LEFT JOIN bag_predictions ON bag_predictions.bag_id = bags.id AND run_id = runs.id
    WHERE bags.n_segments > 0 AND (bag_predictions.revision IS NULL OR bag_predictions.revision < bags.revision)
"""
_EDITED = """
    AND bags.revision > :after AND EXISTS (SELECT 1 FROM history WHERE history.revision = bags.revision)
"""


@dataclass(frozen=True, eq=False)
class PredictionTable:
    """Predictions of a run for the segments of some bags; every field has one row per segment."""

    probabilities: NDArray[np.float64]
    """(n, K) probabilities of the present classes, background last, tags known."""
    segment_ids: NDArray[np.int64]
    bag_ids: NDArray[np.int64]
    top: NDArray[np.int64]
    """The likeliest class, tags known."""
    probability: NDArray[np.float64]
    margin: NDArray[np.float64]
    """Probability of the likeliest minus that of the second."""
    free_top: NDArray[np.int64]
    """The likeliest class, no tags known."""
    free_probability: NDArray[np.float64]
    informative: NDArray[np.float64]
    """Informativeness of its label; nan if the model does not compute it."""


class Guess(NamedTuple):
    """What a run predicts for a segment."""

    run_id: int
    top: int
    probability: float


def of_segments(connection: Connection, segment_ids: Sequence[int]) -> dict[int, Guess]:
    """Return {segment id: prediction of the current run} of segments of any bags, in two queries."""
    run = current_run(connection)
    if run is None:
        return {}
    blocks = connection.execute(_BLOCKS_OF_SEGMENTS, {"run": run.id, "segments": json.dumps(list(segment_ids))}).all()
    if not blocks:
        return {}
    table = table_of(columns_of(connection, run), blocks)
    rows = np.flatnonzero(np.isin(table.segment_ids, list(segment_ids)))
    fields = (table.segment_ids[rows].tolist(), table.top[rows].tolist(), table.probability[rows].tolist())
    return {segment_id: Guess(run.id, top, probability) for segment_id, top, probability in zip(*fields)}


def table_of(columns: Columns, blocks: Sequence[Row[Any]]) -> PredictionTable:
    """Return the predictions of some blocks (at least one), in one pass."""

    def joined(field: str, dtype: str) -> NDArray[Any]:
        return np.frombuffer(b"".join(getattr(block, field) for block in blocks), dtype=dtype)

    sizes = [len(block.segment_ids) // 8 for block in blocks]
    folded = columns.fold(joined("posterior", STORED).reshape(-1, len(columns.place)))
    top, probability, margin = top_two(folded)
    informative = [
        np.full(size, np.nan) if block.informative is None else np.frombuffer(block.informative, dtype=STORED)
        for block, size in zip(blocks, sizes)
    ]
    return PredictionTable(
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


def of_bag(connection: Connection, bag_id: int, *, only: Sequence[int] | None = None) -> dict[int, Prediction]:
    """Return {segment id: prediction of the current run} of all segments of a bag, or of `only` some."""
    run = current_run(connection)
    block = None if run is None else block_of(connection, run.id, bag_id)
    if run is None or block is None:
        return {}
    columns = columns_of(connection, run)
    tagged = tags_of_bag(connection, bag_id)
    bag = connection.execute(select(bags_table).where(bags_table.c.id == bag_id)).one()
    absent = -1 if bag.finished and not bag.rest_unknown else 0
    table = table_of(columns, [block])
    rows = np.arange(len(table.segment_ids)) if only is None else np.flatnonzero(np.isin(table.segment_ids, only))
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
            table.segment_ids[rows].tolist(),
            table.probabilities[rows].tolist(),
            table.top[rows].tolist(),
            table.probability[rows].tolist(),
            table.margin[rows].tolist(),
            table.free_top[rows].tolist(),
            table.free_probability[rows].tolist(),
        )
    }


def tag_suggestions(connection: Connection, bag_id: int, *, limit: int) -> list[TagSuggestion]:
    """Return the likeliest undecided tags of a bag."""
    found = tag_probabilities(connection, bag_id)
    if found is None:
        return []
    _, probabilities = found
    decided = tags_of_bag(connection, bag_id)
    ranked = rank_tags(np.array(list(probabilities.values())), list(probabilities), decided)
    return [TagSuggestion(class_id, probability) for class_id, probability in ranked[:limit]]


def tag_probabilities(connection: Connection, bag_id: int) -> tuple[int, dict[int, float]] | None:
    """Return the current run and {class id: probability that the bag has it}; None if it has not predicted the bag."""
    run = current_run(connection)
    block = None if run is None else block_of(connection, run.id, bag_id)
    if run is None or block is None or block.tag_probabilities is None:
        return None
    alias = aliases(connection)
    ids = [alias.get(class_id, BACKGROUND) for class_id in json.loads(run.classes)]
    stored = np.frombuffer(block.tag_probabilities, dtype=STORED).astype(float)
    return run.id, dict(rank_tags(stored, ids, {BACKGROUND}))


def bags_to_predict(connection: Connection, run_id: int, *, edited_after: int | None = None) -> list[int]:
    """Return the bags with features of the run's kind that it has not predicted since they last changed.

    With `edited_after`, a revision, only those that an edit has changed since, and nothing else after the edit.
    """
    query = _TO_PREDICT if edited_after is None else _TO_PREDICT + _EDITED
    return sorted(connection.execute(text(query), {"run": run_id, "after": edited_after}).scalars())
