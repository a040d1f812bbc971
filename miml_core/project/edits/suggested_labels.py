"""Imported suggestions: predictions of a run that has no model, so that they are reviewed like those of any other."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from miml_core.project.db import settings
from miml_core.project.db.schema import bag_predictions, meta, runs
from miml_core.project.edits.label_plan import label_id
from miml_core.project.edits.label_shapes import NewSegment
from miml_core.project.edits.row_changes import CURRENT_RUN, RowChanges
from miml_core.project.queries.prediction_blocks import IMPORTED, STORED

_NEVER_STALE = 2**62
"""The revision of blocks that no change of a bag makes out of date, because nothing could predict them again."""


def add_suggestions(
    changes: RowChanges, ids: Sequence[int], new: Sequence[NewSegment], class_ids: dict[str, int], annotator: str
) -> None:
    """Add a run with the scores of new segments, and make it the current one."""
    columns = sorted({class_ids[each.piece.class_name] for each in new if each.piece.class_name})
    if not columns:
        return
    place = {class_id: column for column, class_id in enumerate(columns)}
    by_bag: dict[int, list[tuple[int, int, float]]] = defaultdict(list)
    for segment_id, each in zip(ids, new):
        label = label_id(each.piece, class_ids)
        if label is not None:
            score = 1.0 if each.piece.row.probability is None else each.piece.row.probability
            by_bag[each.piece.bag_id].append((segment_id, place.get(label, len(columns)), min(max(score, 0.0), 1.0)))
    run_id = _add_run(changes, columns, sum(map(len, by_bag.values())), len(by_bag), annotator)
    blocks = [_block(run_id, bag_id, rows, len(columns)) for bag_id, rows in sorted(by_bag.items())]
    changes.insert_many(bag_predictions, blocks)
    if settings.get(changes.connection, CURRENT_RUN) is None:
        settings.put(changes.connection, CURRENT_RUN, None)
    changes.update(meta, CURRENT_RUN, value=json.dumps(run_id))


def _add_run(changes: RowChanges, columns: list[int], n_segments: int, n_bags: int, annotator: str) -> int:
    return changes.insert(
        runs,
        {
            "model": IMPORTED,
            "params": "{}",
            "seed": 0,
            "state": "done",
            "started_at": time.time(),
            "seconds": 0.0,
            "scores": "{}",
            "curves": "{}",
            "classes": json.dumps(columns),
            "background": True,
            "feature_key": IMPORTED,
            "n_bags": n_bags,
            "n_segments": n_segments,
            "n_corrections": 0,
            "annotator": annotator,
            "message": "imported suggestions",
            "job_id": None,
        },
    )


def _block(run_id: int, bag_id: int, rows: list[tuple[int, int, float]], n_classes: int) -> dict[str, Any]:
    """Return the predictions of a bag; the other classes and the background share what a score leaves.

    A suggestion is always shown as its class: a score too low for that is raised to just above the share of the others.
    """
    segment_ids, tops, scores = (np.array(part) for part in zip(*rows))
    equal = 1.0 / (n_classes + 1)
    shown = np.where(scores >= 1.06 * equal, scores, equal * (1.01 + 0.05 * scores / (1.06 * equal)))
    posterior = np.repeat((1.0 - shown)[:, None] / n_classes, n_classes + 1, axis=1)
    posterior[np.arange(len(rows)), tops] = shown
    tag_scores = np.zeros(n_classes)
    np.maximum.at(tag_scores, tops[tops < n_classes], scores[tops < n_classes])
    return {
        "run_id": run_id,
        "bag_id": bag_id,
        "revision": _NEVER_STALE,
        "segment_ids": segment_ids.astype("<i8").tobytes(),
        "posterior": posterior.astype(STORED).tobytes(),
        "free_top": tops.astype("<i2").tobytes(),
        "free_probability": shown.astype(STORED).tobytes(),
        "tag_probabilities": tag_scores.astype(STORED).tobytes(),
        "informative": None,
        "key_segments": None,
    }
