"""Edits of segments' labels: corrections and accepted predictions."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from sqlalchemy import Connection, Row, select

from miml_core.bags import BACKGROUND
from miml_core.errors import BagtagError
from miml_core.plurals import counted
from miml_core.project.db.rows import bag_row, segment_rows
from miml_core.project.db.schema import BY_EYE, BY_THRESHOLD, verdicts
from miml_core.project.db.schema import segments as segments_table
from miml_core.project.edits.edit import Edit, Outcome
from miml_core.project.edits.fields import BagId, Flag, Label, Probability, SegmentIds
from miml_core.project.edits.row_changes import RowChanges
from miml_core.project.edits.tags import add_tag
from miml_core.project.queries import predictions
from miml_core.project.queries.labels import check_label, label_name, labels_of
from miml_core.project.queries.predictions import Guess
from miml_core.project.review_records import Prediction


@dataclass(frozen=True)
class SetLabel(Edit):
    """Label segments with a class or the background; None clears their labels.

    A class that the bag is not tagged with is added to its tags. `sampled`: the segments were shown as part of the
    random sample and count for the sample accuracy.
    """

    name: ClassVar[str] = "correct"
    segments: SegmentIds
    label: Label
    sampled: Flag = False

    def apply(self, changes: RowChanges, annotator: str) -> Outcome:
        chosen = segment_rows(changes.connection, self.segments)
        check_label(changes.connection, self.label)
        before = labels_of(changes.connection, [row.id for row in chosen])
        predicted = _predicted(changes.connection, chosen)
        for row in chosen:
            set_label(changes, row, self.label, annotator, sampled=self.sampled, guess=predicted.get(row.id))
        shown = {**{segment: guess.top for segment, guess in predicted.items()}, **before}
        return Outcome(_sentence(changes.connection, chosen, shown, self.label), _bag_of(chosen))


@dataclass(frozen=True)
class Accept(Edit):
    """Confirm the current run's predictions of segments."""

    name: ClassVar[str] = "accept"
    changes_predictions: ClassVar[bool] = False
    segments: SegmentIds
    sampled: Flag = False

    def apply(self, changes: RowChanges, annotator: str) -> Outcome:
        chosen = segment_rows(changes.connection, self.segments)
        predicted = _predicted(changes.connection, chosen)
        for row in chosen:
            if row.id not in predicted:
                raise BagtagError(f"Segment {row.number} has no prediction to accept; train a model first.")
            guess = predicted[row.id]
            set_label(changes, row, guess.top, annotator, accepted=True, sampled=self.sampled, guess=guess)
        if len(chosen) == 1:
            name = label_name(changes.connection, predicted[chosen[0].id].top)
            return Outcome(f"segment {chosen[0].number}: accepted {name}", _bag_of(chosen))
        return Outcome(f"accepted the predictions of {len(chosen)} segments", _bag_of(chosen))


@dataclass(frozen=True)
class AcceptBag(Edit):
    """Confirm the predictions of all segments of a bag that nobody has checked by eye, if they are this probable."""

    name: ClassVar[str] = "accept_bag"
    changes_predictions: ClassVar[bool] = False
    bag: BagId
    sure_from: Probability = 0.0

    def apply(self, changes: RowChanges, annotator: str) -> Outcome:
        bag = bag_row(changes.connection, self.bag)
        by_eye = (verdicts.c.segment_id == segments_table.c.id) & (verdicts.c.checked_by == BY_EYE)
        unlabelled = changes.connection.execute(
            select(segments_table)
            .outerjoin(verdicts, by_eye)
            .where(segments_table.c.bag_id == bag.id, segments_table.c.alive, verdicts.c.segment_id.is_(None))
        ).all()
        predicted = _predicted(changes.connection, unlabelled)
        if unlabelled and not predicted:
            raise BagtagError(f"{bag.name} has no predictions to accept; train a model first.")
        guesses = [(row, predicted[row.id]) for row in unlabelled if row.id in predicted]
        chosen = [(row, guess) for row, guess in guesses if guess.probability >= self.sure_from]
        for row, guess in chosen:
            set_label(changes, row, guess.top, annotator, accepted=True, guess=guess)
        return Outcome(f"{bag.name}: accepted the predictions of {counted(len(chosen), 'segment')}", bag.id)


def set_label(
    changes: RowChanges,
    segment: Row[Any],
    label: int | None,
    annotator: str,
    *,
    accepted: bool = False,
    sampled: bool = False,
    guess: Prediction | Guess | None = None,
) -> None:
    """Store the label that a person gave to a segment; a class that the bag is not tagged with becomes a tag of it."""
    if label is None:
        changes.delete(verdicts, segment.id)
        return
    changes.put(
        verdicts,
        segment.id,
        class_id=None if label == BACKGROUND else label,
        accepted=accepted,
        annotator=annotator,
        at=time.time(),
        checked_by=BY_EYE,
        **_as_predicted(changes.connection, segment.id, sampled, guess),
    )
    if label != BACKGROUND:
        add_tag(changes, segment.bag_id, label)


def _as_predicted(
    connection: Connection, segment_id: int, sampled: bool, guess: Prediction | Guess | None
) -> dict[str, Any]:
    """Return the current run's prediction before the segment was first checked; changing the label keeps it.

    What a threshold accepted was not checked, and no run learnt from it: the present prediction counts.
    """
    earlier = connection.execute(select(verdicts).where(verdicts.c.segment_id == segment_id)).first()
    if earlier is not None and earlier.checked_by != BY_THRESHOLD:
        return {
            "sampled": sampled or bool(earlier.sampled),
            "run_id": earlier.run_id,
            "predicted": earlier.predicted,
            "probability": earlier.probability,
        }
    if guess is None:
        return {"sampled": sampled, "run_id": None, "predicted": None, "probability": None}
    return {
        "sampled": sampled,
        "run_id": guess.run_id,
        "predicted": guess.top,
        "probability": guess.probability,
    }


def _predicted(connection: Connection, chosen: Sequence[Row[Any]]) -> dict[int, Prediction]:
    """Return {segment id: prediction of the current run}, as the screen shows it."""
    found: dict[int, Prediction] = {}
    for bag_id in {row.bag_id for row in chosen}:
        found |= predictions.of_bag(connection, bag_id)
    return found


def _sentence(connection: Connection, chosen: list[Row[Any]], shown: dict[int, int], label: int | None) -> str:
    now = label_name(connection, label)
    if len(chosen) > 1:
        return f"{len(chosen)} segments -> {now}"
    segment = chosen[0]
    earlier = label_name(connection, shown.get(segment.id))
    return f"segment {segment.number}: {earlier} -> {now}"


def _bag_of(chosen: list[Row[Any]]) -> int | None:
    found = {row.bag_id for row in chosen}
    return found.pop() if len(found) == 1 else None
