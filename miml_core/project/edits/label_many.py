"""Edits of many segments at once: a screen of the wall, and everything that is predicted surely enough."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import Any, ClassVar

from sqlalchemy import Connection, Row, select, text

from miml_core.bags import BACKGROUND
from miml_core.errors import BagtagError
from miml_core.plurals import counted
from miml_core.project.db import settings
from miml_core.project.db.schema import BY_THRESHOLD, segments, verdicts
from miml_core.project.edits.edit import Edit, Outcome
from miml_core.project.edits.fields import LabelPairs, OptionalLabel, OptionalNumber, Probability
from miml_core.project.edits.labels import set_label
from miml_core.project.edits.row_changes import RowChanges
from miml_core.project.queries import predictions
from miml_core.project.queries.labels import check_label, label_name
from miml_core.project.queries.predictions_above import segments_above

_BAGS = text("SELECT DISTINCT bag_id FROM segments WHERE id IN (SELECT value FROM json_each(:ids)) ORDER BY bag_id")


@dataclass(frozen=True)
class LabelMany(Edit):
    """Accept the labels of some segments as they were shown, and label others, in one edit.

    The label that the person saw is stored, even if the model predicts another one by now. A segment that no longer
    exists is left out: one that somebody deleted must not cost the person the whole screen.
    """

    name: ClassVar[str] = "label_many"
    accept: LabelPairs
    """(segment, the label that was shown for it)."""
    correct: LabelPairs
    """(segment, its right label)."""

    def apply(self, changes: RowChanges, annotator: str) -> Outcome:
        connection = changes.connection
        labels = dict([*self.accept, *self.correct])
        if not labels:
            raise BagtagError("No segment was given; select at least one segment to accept or to label.")
        for label in set(labels.values()):
            check_label(connection, label)
        corrected = dict(self.correct)
        predicted = predictions.of_segments(connection, list(labels))
        found = _living(connection, list(labels))
        for row in found:
            accepted = row.id not in corrected
            set_label(changes, row, labels[row.id], annotator, accepted=accepted, guess=predicted.get(row.id))
        if not found:
            raise BagtagError("None of these segments exists now; open the wall again.")
        n_corrected = sum(row.id in corrected for row in found)
        return Outcome(_sentence(connection, len(found) - n_corrected, n_corrected, labels), None)

    @classmethod
    def bags_to_predict(cls, changes: RowChanges) -> list[int]:
        """Return the bags of the segments that were labelled otherwise than shown."""
        ids = [key[0] for table, key, *rows in changes.rows if table == verdicts.name and _is_correction(*rows)]
        return list(changes.connection.execute(_BAGS, {"ids": json.dumps(ids)}).scalars())


@dataclass(frozen=True)
class AcceptAbove(Edit):
    """Accept all predictions of at least this probability, of all classes or of one, that nobody has labelled.

    They are marked as accepted by threshold: they count nowhere as checked, train no model, and tag no bag. Checking
    such a segment by eye makes its label an ordinary one.
    """

    name: ClassVar[str] = "accept_above"
    from_screen: ClassVar[bool] = False
    changes_predictions: ClassVar[bool] = False
    threshold: Probability
    class_id: OptionalLabel = None
    run_id: OptionalNumber = None
    """The run whose predictions the person saw: those of another one are refused."""

    def apply(self, changes: RowChanges, annotator: str) -> Outcome:
        connection = changes.connection
        check_label(connection, self.class_id)
        run_id = settings.get(connection, "current_run")
        if run_id is None:
            raise BagtagError("There are no predictions to accept; train a model first.")
        if self.run_id not in (None, run_id):
            raise BagtagError(
                f"The predictions have changed: they are those of run {run_id} now, not of run {self.run_id}. "
                "Nothing was accepted; look at the new numbers."
            )
        if settings.get(connection, "summarised_run") != run_id:
            raise BagtagError("The predictions of the current run are still being stored; try again in a minute.")
        shared = {
            "accepted": True,
            "sampled": False,
            "run_id": run_id,
            "annotator": annotator,
            "at": time.time(),
            "checked_by": BY_THRESHOLD,
        }
        rows = [
            {
                "segment_id": segment_id,
                "class_id": None if top == BACKGROUND else top,
                "predicted": top,
                "probability": probability,
                **shared,
            }
            for segment_id, top, probability in segments_above(connection, self.threshold, self.class_id)
        ]
        changes.insert_many(verdicts, rows)
        of = "" if self.class_id is None else f" of {label_name(connection, self.class_id)}"
        many = counted(len(rows), "prediction")
        return Outcome(f"accepted {many}{of} by threshold: probability {self.threshold:.3g} or more", None)


def _is_correction(*rows: dict[str, Any] | None) -> bool:
    """Return whether a label, before or after a change, is not an accepted prediction."""
    return any(row is not None and row.get("accepted") is False for row in rows)


def _living(connection: Connection, segment_ids: list[int]) -> list[Row[Any]]:
    return list(connection.execute(select(segments).where(segments.c.id.in_(segment_ids), segments.c.alive)).all())


def _sentence(connection: Connection, n_accepted: int, n_corrected: int, labels: dict[int, int]) -> str:
    names = {label_name(connection, label) for label in set(labels.values())}
    done = []
    if n_accepted:
        of = f" as {names.pop()}" if len(names) == 1 else ""
        done.append(f"accepted {n_accepted} {'segment' if n_accepted == 1 else 'segments'}{of}")
    if n_corrected:
        done.append(f"labelled {n_corrected}")
    return f"wall: {', '.join(done)}"
