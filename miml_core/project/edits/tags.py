"""Edits of a bag's tags: present, absent, not known, and "tagging is finished"."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from typing import Any, ClassVar

from sqlalchemy import Row, bindparam, select

from miml_core.project.db.rows import bag_row, class_row
from miml_core.project.db.schema import BY_EYE, BY_THRESHOLD, conflicts, segments, verdicts
from miml_core.project.db.schema import bags as bags_table
from miml_core.project.db.schema import tags as tags_table
from miml_core.project.edits.edit import Edit, Outcome
from miml_core.project.edits.fields import BagId, ClassId, Flag, Rest, TagPairs, TagValue
from miml_core.project.edits.row_changes import RowChanges
from miml_core.project.errors import NeedsConfirmation
from miml_core.project.queries.bags import tags_of_bag

_TAG_CONFLICTS = select(conflicts.c.id, conflicts.c.class_id).where(
    conflicts.c.bag_id == bindparam("bag"), conflicts.c.segment_id.is_(None), ~conflicts.c.resolved
)
_WORDS = {1: "tagged {}", -1: "tagged as without {}", 0: "no longer tagged {}"}


@dataclass(frozen=True)
class Tag(Edit):
    """Set one tag of a bag: present (1), absent (-1) or not known (0).

    If the tag is removed, segments with its label lose it, which needs `confirm`.
    """

    name: ClassVar[str] = "tag"
    bag: BagId
    class_id: ClassId
    value: TagValue = 1
    confirm: Flag = False

    def apply(self, changes: RowChanges, annotator: str) -> Outcome:
        bag = bag_row(changes.connection, self.bag)
        name = class_row(changes.connection, self.class_id).name
        set_tags(changes, bag, {self.class_id: self.value}, confirm=self.confirm)
        return Outcome(f"{bag.name}: {_WORDS[self.value].format(name)}", bag.id)


@dataclass(frozen=True)
class SetTags(Edit):
    """Replace all tags of a bag, and with `finish` end its tagging too."""

    name: ClassVar[str] = "set_tags"
    from_screen: ClassVar[bool] = False
    bag: BagId
    tags: TagPairs
    confirm: Flag = False
    finish: Flag = False

    def apply(self, changes: RowChanges, annotator: str) -> Outcome:
        bag = bag_row(changes.connection, self.bag)
        wanted = dict(self.tags)
        names = [class_row(changes.connection, class_id).name for class_id, value in wanted.items() if value > 0]
        cleared = dict.fromkeys(set(tags_of_bag(changes.connection, bag.id)) - set(wanted), 0)
        set_tags(changes, bag, {**cleared, **wanted}, confirm=self.confirm)
        if self.finish:
            _finish(changes, bag)
        finished = ", finished" if self.finish else ""
        return Outcome(f"{bag.name}: tagged {', '.join(names) or 'nothing'}{finished}", bag.id)


@dataclass(frozen=True)
class Finish(Edit):
    """End the tagging of a bag: what is not tagged is absent, or with `rest="unknown"` stays not known."""

    name: ClassVar[str] = "finish"
    bag: BagId
    rest: Rest = "absent"

    def apply(self, changes: RowChanges, annotator: str) -> Outcome:
        bag = bag_row(changes.connection, self.bag)
        _finish(changes, bag, rest_unknown=self.rest == "unknown")
        unsure = ", not sure about the rest" if self.rest == "unknown" else ""
        return Outcome(f"{bag.name}: finished{unsure}", bag.id)


@dataclass(frozen=True)
class Unfinish(Edit):
    """Open the tagging of a bag again."""

    name: ClassVar[str] = "unfinish"
    bag: BagId

    def apply(self, changes: RowChanges, annotator: str) -> Outcome:
        bag = bag_row(changes.connection, self.bag)
        changes.update(bags_table, bag.id, finished=False, rest_unknown=False)
        return Outcome(f"{bag.name}: not finished", bag.id)


@dataclass(frozen=True)
class NothingHere(Edit):
    """Finish a bag with no tag at all."""

    name: ClassVar[str] = "nothing_here"
    bag: BagId
    confirm: Flag = False

    def apply(self, changes: RowChanges, annotator: str) -> Outcome:
        bag = bag_row(changes.connection, self.bag)
        cleared = dict.fromkeys(tags_of_bag(changes.connection, bag.id), 0)
        set_tags(changes, bag, cleared, confirm=self.confirm)
        _finish(changes, bag)
        return Outcome(f"{bag.name}: nothing here", bag.id)


def add_tag(changes: RowChanges, bag_id: int, class_id: int) -> bool:
    """Tag a bag with a class; return False when it already is."""
    return changes.put(tags_table, bag_id, class_id, value=1)


def _finish(changes: RowChanges, bag: Row[Any], *, rest_unknown: bool = False) -> None:
    """End the tagging of a bag; labels that a threshold gave and that are absent now are cleared."""
    changes.update(bags_table, bag.id, finished=True, rest_unknown=rest_unknown)
    _decide_conflicts(changes, bag)
    if not rest_unknown:
        present = {class_id for class_id, value in tags_of_bag(changes.connection, bag.id).items() if value > 0}
        for segment_id, class_id in _labelled(changes, bag, verdicts.c.checked_by == BY_THRESHOLD):
            if class_id not in present:
                changes.delete(verdicts, segment_id)


def set_tags(changes: RowChanges, bag: Row[Any], wanted: dict[int, int], *, confirm: bool) -> None:
    """Set tags of a bag ({class id: 1, -1 or 0}), and clear the labels of segments whose tags are removed."""
    _clear_labels(changes, bag, [class_id for class_id, value in wanted.items() if value <= 0], confirm=confirm)
    _decide_conflicts(changes, bag, wanted)
    for class_id, value in wanted.items():
        if value == 0:
            changes.delete(tags_table, bag.id, class_id)
        else:
            changes.put(tags_table, bag.id, class_id, value=value)


def _decide_conflicts(changes: RowChanges, bag: Row[Any], class_ids: Container[int] | None = None) -> None:
    """Resolve the conflicts of tags (of some classes) of a bag, because a person has decided."""
    for row in changes.connection.execute(_TAG_CONFLICTS, {"bag": bag.id}).all():
        if class_ids is None or row.class_id in class_ids:
            changes.update(conflicts, row.id, resolved=True)


def _clear_labels(changes: RowChanges, bag: Row[Any], class_ids: list[int], *, confirm: bool) -> None:
    """Clear the labels of segments whose tag is removed; raise `NeedsConfirmation` without `confirm`.

    Labels that nobody has seen, because a threshold gave them, are cleared without asking.
    """
    if not class_ids:
        return
    carrying = _labelled(changes, bag, verdicts.c.class_id.in_(class_ids))
    seen = _labelled(changes, bag, verdicts.c.class_id.in_(class_ids), verdicts.c.checked_by == BY_EYE)
    if seen and not confirm:
        named = ", ".join(sorted({class_row(changes.connection, class_id).name for _, class_id in seen}))
        many = f"{len(seen)} segments of {bag.name} are" if len(seen) > 1 else f"A segment of {bag.name} is"
        raise NeedsConfirmation(
            f"{many} labelled {named}; removing the tag clears that label too. Confirm to continue."
        )
    for segment_id, _ in carrying:
        changes.delete(verdicts, segment_id)


def _labelled(changes: RowChanges, bag: Row[Any], *which: Any) -> list[tuple[int, int]]:
    """Return (segment id, class id) of the segments of a bag that are labelled with a class."""
    found = changes.connection.execute(
        select(segments.c.id, verdicts.c.class_id)
        .join(verdicts, verdicts.c.segment_id == segments.c.id)
        .where(segments.c.bag_id == bag.id, segments.c.alive, verdicts.c.class_id.is_not(None), *which)
    )
    return [(row.id, row.class_id) for row in found]
