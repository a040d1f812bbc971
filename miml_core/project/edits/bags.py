"""Edits of whole bags: their notes, and removing them from the project."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from sqlalchemy import Connection, Row, delete, func, select

from miml_core.project.db.rows import bag_row
from miml_core.project.db.schema import (
    bag_predictions,
    bags,
    conflicts,
    features,
    media,
    predictions,
    segments,
    tags,
    verdicts,
)
from miml_core.project.edits.edit import Edit, Outcome
from miml_core.project.edits.fields import BagId, BagIds, Flag, Note
from miml_core.project.edits.row_changes import RowChanges
from miml_core.project.errors import NeedsConfirmation


@dataclass(frozen=True)
class SetNote(Edit):
    """Write the note of a bag."""

    name: ClassVar[str] = "note"
    from_screen: ClassVar[bool] = False
    changes_predictions: ClassVar[bool] = False
    bag: BagId
    note: Note

    def apply(self, changes: RowChanges, annotator: str) -> Outcome:
        bag = bag_row(changes.connection, self.bag)
        changes.update(bags, bag.id, note=self.note)
        return Outcome(f"{bag.name}: note", bag.id)


@dataclass(frozen=True)
class RemoveBags(Edit):
    """Remove bags from the project, with their tags and labels and the rows of media that no other bag uses.

    Everything is deleted row by row, so that undo restores it, with the predictions of all runs: imported ones cannot
    be computed again. Another run may be current by then, so restored bags are predicted again. The files themselves
    are never touched.
    """

    name: ClassVar[str] = "remove_bags"
    from_screen: ClassVar[bool] = False
    bags: BagIds
    confirm: Flag = False

    def apply(self, changes: RowChanges, annotator: str) -> Outcome:
        connection = changes.connection
        chosen = [bag_row(connection, bag_id) for bag_id in dict.fromkeys(self.bags)]
        worked_on = sum(_has_work(connection, bag.id) for bag in chosen)
        if worked_on and not self.confirm:
            who = f"{chosen[0].name} has" if len(chosen) == 1 else f"{worked_on} of these {len(chosen)} bags have"
            raise NeedsConfirmation(f"{who} tags or labels, which are removed too. Confirm to continue.")
        for bag in chosen:
            _remove_one(changes, bag)
        removed = chosen[0].name if len(chosen) == 1 else f"{len(chosen)} bags"
        return Outcome(f"removed {removed} from the project", None)

    @classmethod
    def bags_to_predict(cls, changes: RowChanges) -> list[int]:
        return [key[0] for table, key, _, after in changes.rows if table == bags.name and after is not None]


def _remove_one(changes: RowChanges, bag: Row[Any]) -> None:
    connection = changes.connection
    for conflict_id in connection.execute(select(conflicts.c.id).where(conflicts.c.bag_id == bag.id)).scalars().all():
        changes.delete(conflicts, conflict_id)
    for segment_id in connection.execute(select(segments.c.id).where(segments.c.bag_id == bag.id)).scalars().all():
        changes.delete(verdicts, segment_id)
        connection.execute(delete(predictions).where(predictions.c.segment_id == segment_id))
        changes.delete(segments, segment_id)
    for class_id in connection.execute(select(tags.c.class_id).where(tags.c.bag_id == bag.id)).scalars().all():
        changes.delete(tags, bag.id, class_id)
    changes.delete(features, bag.id)
    predicted = select(bag_predictions.c.run_id).where(bag_predictions.c.bag_id == bag.id)
    for run_id in connection.execute(predicted).scalars().all():
        changes.delete(bag_predictions, run_id, bag.id)
    changes.delete(bags, bag.id)
    if connection.execute(select(bags.c.id).where(bags.c.media_id == bag.media_id)).first() is None:
        changes.delete(media, bag.media_id)


def _has_work(connection: Connection, bag_id: int) -> bool:
    n_tags = select(func.count()).select_from(tags).where(tags.c.bag_id == bag_id)
    labelled = (
        select(func.count())
        .select_from(verdicts.join(segments, segments.c.id == verdicts.c.segment_id))
        .where(segments.c.bag_id == bag_id)
    )
    bag = bag_row(connection, bag_id)
    return bool(bag.finished or connection.execute(n_tags).scalar() or connection.execute(labelled).scalar())
