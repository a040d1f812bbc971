"""The edit that merges another annotator's copy: all of it, or nothing; undone like any other edit."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from sqlalchemy import Connection, select, text

from miml_core.bags import BACKGROUND
from miml_core.errors import BagtagError
from miml_core.plurals import counted
from miml_core.project.db.schema import BY_EYE, bags, conflicts, merges, segments, verdicts
from miml_core.project.db.schema import tags as tags_table
from miml_core.project.edits.classes import class_ids_for
from miml_core.project.edits.edit import Edit, Outcome
from miml_core.project.edits.fields import FieldType
from miml_core.project.edits.import_labels import add_segments, delete_unlabelled
from miml_core.project.edits.merge_records import ClassRef, MergePlan, NewConflict
from miml_core.project.edits.row_changes import RowChanges
from miml_core.project.queries.last_edits import MERGE

_TAGS = text("SELECT bag_id, class_id, value FROM tags WHERE bag_id IN (SELECT value FROM json_each(:bags))")
_OPEN_BAGS = text(
    "SELECT id FROM bags WHERE (NOT finished OR rest_unknown) AND id IN (SELECT value FROM json_each(:bags))"
)
_WITHOUT_NOTE = text("SELECT id FROM bags WHERE note = '' AND id IN (SELECT value FROM json_each(:bags))")
_GONE = text(
    """
    SELECT EXISTS (SELECT 1 FROM json_each(:bags) WHERE value NOT IN (SELECT id FROM bags))
        OR EXISTS (SELECT 1 FROM json_each(:classes) WHERE value NOT IN
                   (SELECT id FROM classes WHERE merged_into IS NULL AND NOT removed))
    """
)
_PRESENT = text(
    """
    SELECT segments.id, bag_id, checked_by FROM segments LEFT JOIN verdicts ON segment_id = segments.id
    WHERE alive AND segments.id IN (SELECT value FROM json_each(:segments))
    """
)
_LABELLED_AT = text(
    """
    SELECT segments.id, at FROM segments LEFT JOIN verdicts ON segment_id = segments.id
    WHERE alive AND segments.id IN (SELECT value FROM json_each(:segments))
    """
)
_CONTRADICTED = text(
    """
    SELECT verdicts.segment_id FROM verdicts
    JOIN segments ON segments.id = verdicts.segment_id
    JOIN bags ON bags.id = segments.bag_id
    LEFT JOIN tags ON tags.bag_id = bags.id AND tags.class_id = verdicts.class_id
    WHERE verdicts.checked_by = 'threshold' AND verdicts.class_id IS NOT NULL
      AND bags.id IN (SELECT value FROM json_each(:bags))
      AND coalesce(tags.value, CASE WHEN bags.finished AND NOT bags.rest_unknown THEN -1 ELSE 0 END) < 0
    """
)
"""Labels that a threshold gave and that the bag is tagged as without."""

_Plan = Annotated[MergePlan, FieldType(lambda value: isinstance(value, MergePlan), {})]


@dataclass(frozen=True)
class MergeCopy(Edit):
    """Add the tags, labels and segments of a plan, and list its conflicts.

    What somebody answered since the plan was made stays as it is.
    """

    name: ClassVar[str] = MERGE
    from_screen: ClassVar[bool] = False
    plan: _Plan

    def apply(self, changes: RowChanges, annotator: str) -> Outcome:
        plan = self.plan
        if not plan.changes_anything and _is_known(changes.connection, plan):
            return Outcome(f"nothing new in {plan.source}", None)
        _check_still_there(changes.connection, plan)
        merge_id = changes.insert(merges, _merge_row(plan, annotator))
        class_ids = class_ids_for(changes, plan.new_classes)

        def class_id(ref: ClassRef) -> int:
            return class_ids[ref] if isinstance(ref, str) else ref

        _add_tags(changes, plan.new_tags, class_id)
        _finish(changes, plan.finished)
        _add_notes(changes, plan.notes)
        tagged = {bag_id for bag_id, _ in plan.new_tags} | set(plan.finished)
        contradicted = changes.connection.execute(_CONTRADICTED, {"bags": json.dumps(sorted(tagged))}).scalars().all()
        for segment_id in contradicted:
            changes.delete(verdicts, segment_id)
        delete_unlabelled(changes, plan.replaced)
        _delete(changes, plan.deleted)
        new = add_segments(changes, [(each.bag_id, each.grid, each.region, each.columns) for each in plan.segments])
        found = list(plan.conflicts)
        labels = {one.segment_id: (class_id(one.label), one.annotator, one.at, one.accepted) for one in plan.labels}
        for segment_id, each in zip(new, plan.segments):
            if each.label is not None and not each.conflicting:
                labels[segment_id] = (class_id(each.label), each.annotator, each.at, each.accepted)
            elif each.label is not None:
                found.append(
                    NewConflict(each.bag_id, segment_id, None, None, "", 0.0, each.label, each.annotator, each.at)
                )
        _add_labels(changes, labels)
        rows = [_conflict_row(merge_id, each, class_ids) for each in found]
        changes.insert_many(conflicts, rows)
        return Outcome(_sentence(plan), None)


def _is_known(connection: Connection, plan: MergePlan) -> bool:
    """Return whether a copy of the same people was merged before."""
    query = select(merges.c.id).where(merges.c.source == plan.source, merges.c.people == json.dumps(plan.people))
    return connection.execute(query).first() is not None


def _merge_row(plan: MergePlan, annotator: str) -> dict[str, Any]:
    return {
        "at": time.time(),
        "annotator": annotator,
        "source": plan.source,
        "people": json.dumps(plan.people),
        "counts": json.dumps(plan.counts()),
        "agreement": json.dumps(plan.agreement()),
    }


def _check_still_there(connection: Connection, plan: MergePlan) -> None:
    wanted = {
        "bags": json.dumps(sorted(plan.changed_bags())),
        "classes": json.dumps(sorted(ref for ref in plan.used_classes() if isinstance(ref, int) and ref > 0)),
    }
    if connection.execute(_GONE, wanted).scalar():
        raise BagtagError(
            "Bags or classes were removed after the projects were compared, so nothing was merged; compare them again."
        )


def _add_tags(
    changes: RowChanges, wanted: Mapping[tuple[int, ClassRef], int], class_id: Callable[[ClassRef], int]
) -> None:
    chosen = json.dumps(sorted({bag_id for bag_id, _ in wanted}))
    known = _tags(changes.connection, chosen)
    still_open = set(changes.connection.execute(_OPEN_BAGS, {"bags": chosen}).scalars())
    rows = {
        (bag_id, class_id(ref)): value
        for (bag_id, ref), value in wanted.items()
        if bag_id in still_open or isinstance(ref, str)  # finished since: a class of the project is absent
    }
    new = [
        {"bag_id": bag_id, "class_id": number, "value": value}
        for (bag_id, number), value in sorted(rows.items())
        if (bag_id, number) not in known
    ]
    changes.insert_many(tags_table, new)


def _tags(connection: Connection, bag_ids: str) -> dict[tuple[int, int], int]:
    """Return {(bag, class): 1 or -1} of bags given as JSON."""
    return {(row.bag_id, row.class_id): row.value for row in connection.execute(_TAGS, {"bags": bag_ids})}


def _add_notes(changes: RowChanges, wanted: Mapping[int, str]) -> None:
    without = changes.connection.execute(_WITHOUT_NOTE, {"bags": json.dumps(list(wanted))}).scalars().all()
    for bag_id in without:
        changes.update(bags, bag_id, note=wanted[bag_id])


def _finish(changes: RowChanges, wanted: Mapping[int, bool]) -> None:
    still_open = changes.connection.execute(_OPEN_BAGS, {"bags": json.dumps(list(wanted))}).scalars().all()
    for bag_id in still_open:
        changes.update(bags, bag_id, finished=True, rest_unknown=wanted[bag_id])


def _delete(changes: RowChanges, wanted: Mapping[int, float | None]) -> None:
    """Remove segments whose label, if any, is still the one that the plan saw; undo restores them."""
    for row in changes.connection.execute(_LABELLED_AT, {"segments": json.dumps(list(wanted))}).all():
        if row.at == wanted[row.id]:
            changes.delete(verdicts, row.id)
            changes.update(segments, row.id, alive=False)


def _add_labels(changes: RowChanges, wanted: Mapping[int, tuple[int, str, float, bool]]) -> None:
    """Label segments, where nobody has labelled them or tagged the bag as without the class meanwhile."""
    present = changes.connection.execute(_PRESENT, {"segments": json.dumps(list(wanted))}).all()
    known = _tags(changes.connection, json.dumps(sorted({row.bag_id for row in present})))
    rows = []
    for segment_id, bag_id, checked_by in present:
        label, annotator, at, accepted = wanted[segment_id]
        if label != BACKGROUND and known.get((bag_id, label), 0) <= 0:
            continue
        values = {
            "class_id": None if label == BACKGROUND else label,
            "accepted": accepted,
            "checked_by": BY_EYE,
            "sampled": False,
            "run_id": None,  # numbers of runs of another project mean nothing here
            "predicted": None,
            "probability": None,
            "annotator": annotator,
            "at": at,
        }
        if checked_by is None:
            rows.append({"segment_id": segment_id, **values})
        elif checked_by != BY_EYE:
            changes.update(verdicts, segment_id, **values)
    changes.insert_many(verdicts, rows)


def _conflict_row(merge_id: int, found: NewConflict, class_ids: Mapping[str, int]) -> dict[str, Any]:
    def class_id(ref: ClassRef | None) -> int | None:
        return class_ids[ref] if isinstance(ref, str) else ref

    return {
        "merge_id": merge_id,
        "bag_id": found.bag_id,
        "segment_id": found.segment_id,
        "class_id": class_id(found.class_ref),
        "ours": found.ours,
        "ours_by": found.ours_by,
        "ours_at": found.ours_at,
        "theirs": class_id(found.theirs),
        "theirs_by": found.theirs_by,
        "theirs_at": found.theirs_at,
        "resolved": False,
    }


def _sentence(plan: MergePlan) -> str:
    who = f" of {', '.join(plan.people)}" if plan.people else ""
    counts = plan.counts()
    n_conflicts = counts["tag_conflicts"] + counts["label_conflicts"]
    parts = [(counts["new_tags"], "tag"), (counts["new_labels"], "label"), (counts["new_segments"], "segment")]
    taken = ", ".join(counted(n, noun) for n, noun in parts)
    n = counts["deleted_segments"]
    taken += f", {counted(n, 'segment')} deleted" if n else ""
    return f"merged {plan.source}{who}: {taken}; {counted(n_conflicts, 'conflict')}"
