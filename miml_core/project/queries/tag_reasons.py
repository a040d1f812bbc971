"""Why a bag is tagged: the segment that explains each of its tags best."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Row, select

from miml_core.bags import BACKGROUND
from miml_core.project.db.schema import BY_EYE, segments, verdicts
from miml_core.project.queries import bags, prediction_blocks
from miml_core.project.queries.prediction_blocks import Columns
from miml_core.project.review_records import TagReason
from miml_core.review.reasons import best_segment


def of_bag(connection: Connection, bag_id: int) -> list[TagReason]:
    """Return one reason for each present tag that the current run has a column for, by class id.

    A segment that was deleted, or labelled with another class, is no reason.
    """
    run = prediction_blocks.current_run(connection)
    block = None if run is None else prediction_blocks.block_of(connection, run.id, bag_id)
    if run is None or block is None:
        return []
    columns = prediction_blocks.columns_of(connection, run)
    probabilities = columns.fold(prediction_blocks.posterior_of(block, len(columns.place)))
    ids = np.frombuffer(block.segment_ids, dtype="<i8").tolist()
    labels = _labels(connection, bag_id)
    keys = _keys(block, columns)
    reasons = []
    for class_id in sorted(class_id for class_id, value in bags.tags_of_bag(connection, bag_id).items() if value > 0):
        if class_id not in columns.ids:
            continue
        own = probabilities[:, columns.ids.tolist().index(class_id)]
        may = np.array([one in labels and labels[one] in (None, class_id) for one in ids])
        stored = keys[keys[:, 0] == class_id]
        place = best_segment(own, may, stored[:, 1])
        if place is not None:
            shown = stored[stored[:, 1] == place][:1, 2:].tolist()
            concept, n_concepts = shown[0] if shown else (0, 1)
            reasons.append(TagReason(class_id, ids[place], float(own[place]), concept + 1, n_concepts))
    return reasons


def _labels(connection: Connection, bag_id: int) -> dict[int, int | None]:
    """Return {live segment of a bag: its label by a person, or None}."""
    query = select(segments.c.id, verdicts.c.segment_id, verdicts.c.class_id).where(
        segments.c.bag_id == bag_id, segments.c.alive
    )
    by_eye = (verdicts.c.segment_id == segments.c.id) & (verdicts.c.checked_by == BY_EYE)
    found = connection.execute(query.outerjoin(verdicts, by_eye))
    return {
        segment_id: None if checked is None else BACKGROUND if class_id is None else class_id
        for segment_id, checked, class_id in found
    }


def _keys(block: Row[Any], columns: Columns) -> NDArray[np.int64]:
    """Return the model's key instances, as in `ModelOutputs.keys`, with the present class of their columns."""
    keys = np.frombuffer(block.key_segments or b"", dtype="<i4").reshape(-1, 4).astype(np.int64)
    keys[:, 0] = columns.ids[columns.place[keys[:, 0]]]
    return keys
