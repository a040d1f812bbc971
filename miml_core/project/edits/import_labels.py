"""The edit that imports labels of other programs: all of them, or none; undone like any other edit."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from sqlalchemy import Connection, text, update

from miml_core.bags import BACKGROUND
from miml_core.plurals import counted
from miml_core.project.db import settings
from miml_core.project.db.rows import bag_row
from miml_core.project.db.schema import BY_EYE, bags, segments, verdicts
from miml_core.project.db.schema import tags as tags_table
from miml_core.project.edits.classes import class_ids_for
from miml_core.project.edits.edit import Edit, Outcome
from miml_core.project.edits.fields import LONGEST_NOTE, FieldType
from miml_core.project.edits.grids import store_grid
from miml_core.project.edits.label_plan import MAPPING, LabelPlan, Piece, label_id, remembered_classes, storable
from miml_core.project.edits.label_shapes import NewSegment, SegmentPlan
from miml_core.project.edits.row_changes import RowChanges
from miml_core.project.edits.suggested_labels import add_suggestions

if TYPE_CHECKING:
    from miml_core.media.grid import Grid

_OF_BAGS = "IN (SELECT value FROM json_each(:bags))"
_NUMBERS = text(f"SELECT bag_id, max(number) FROM segments WHERE bag_id {_OF_BAGS} GROUP BY bag_id")
_TAGS = text(f"SELECT bag_id, class_id, value FROM tags WHERE bag_id {_OF_BAGS}")
_STILL_FREE = text(
    """
    SELECT id FROM segments LEFT JOIN verdicts ON segment_id = id
    WHERE alive AND segment_id IS NULL AND id IN (SELECT value FROM json_each(:segments))
    """
)

_Plan = Annotated[LabelPlan, FieldType(lambda value: isinstance(value, LabelPlan), {})]
_Shapes = Annotated[SegmentPlan, FieldType(lambda value: isinstance(value, SegmentPlan), {})]


@dataclass(frozen=True)
class ImportLabels(Edit):
    """Add the segments, labels and tags of a plan."""

    name: ClassVar[str] = "import_labels"
    from_screen: ClassVar[bool] = False
    plan: _Plan
    shapes: _Shapes

    def apply(self, changes: RowChanges, annotator: str) -> Outcome:
        needed = {piece.class_name for piece in self.plan.pieces}
        used = {use.class_name: use.scientific_name for use in self.plan.labels if use.class_name in needed - {""}}
        class_ids = class_ids_for(changes, used)
        tagged = self.plan.pieces
        if self.plan.options.way != "tags":
            delete_unlabelled(changes, self.shapes.replaced)
            ids = add_segments(changes, [_columns(each) for each in self.shapes.new])
            tagged = [piece for piece in tagged if not piece.has_place]
            if self.plan.options.way == "segments":
                _add_labels(changes, ids, self.shapes.new, class_ids, annotator)
                tagged += [each.piece for each in self.shapes.new]
            else:
                add_suggestions(changes, ids, self.shapes.new, class_ids, annotator)
                tagged = []
        _add_tags(changes, tagged, class_ids)
        if self.plan.options.rest == "absent":
            for bag_id in self.plan.named_bags:
                changes.update(bags, bag_id, finished=True, rest_unknown=False)
        _add_notes(changes, self.plan.notes)
        _remember(changes.connection, self.plan)
        return Outcome(_sentence(self.plan, self.shapes), None)


def add_segments(changes: RowChanges, new: Sequence[tuple[int, Grid, bytes, Mapping[str, Any]]]) -> list[int]:
    """Add drawn segments (bag, grid, region, edges and tags), numbered after those of their bags; return their ids."""
    connection = changes.connection
    grid_ids: dict[Any, int] = {}
    bag_grids: dict[int, int] = {}
    chosen = json.dumps(sorted({bag_id for bag_id, *_ in new}))
    numbers = defaultdict(int, {row[0]: row[1] for row in connection.execute(_NUMBERS, {"bags": chosen})})
    rows = []
    for bag_id, grid, region, columns in new:
        if grid not in grid_ids:
            grid_ids[grid] = store_grid(connection, grid)
        numbers[bag_id] += 1
        bag_grids[bag_id] = grid_ids[grid]
        rows.append(
            {
                "bag_id": bag_id,
                "number": numbers[bag_id],
                "grid_id": grid_ids[grid],
                "region": region,
                **columns,
                "origin": "drawn",
                "alive": True,
                "revision": 0,
            }
        )
    for bag_id, grid_id in bag_grids.items():
        without = (bags.c.id == bag_id) & bags.c.grid_id.is_(None)
        connection.execute(update(bags).where(without).values(grid_id=grid_id))
    return changes.insert_many(segments, rows)


def _columns(new: NewSegment) -> tuple[int, Grid, bytes, dict[str, Any]]:
    tags = {"other_tags": storable(new.piece.row.other_tags) or None}
    return new.piece.bag_id, new.grid, new.region, {**new.edges, **tags}


def delete_unlabelled(changes: RowChanges, segment_ids: Iterable[int]) -> None:
    """Remove segments that nobody has labelled meanwhile; undo restores them."""
    free = changes.connection.execute(_STILL_FREE, {"segments": json.dumps(list(segment_ids))}).scalars().all()
    for segment_id in free:
        changes.update(segments, segment_id, alive=False)


def _add_labels(
    changes: RowChanges, ids: Sequence[int], new: Sequence[NewSegment], class_ids: dict[str, int], annotator: str
) -> None:
    now = time.time()
    rows = []
    for segment_id, each in zip(ids, new):
        label = label_id(each.piece, class_ids)
        if label is not None:
            rows.append(
                {
                    "segment_id": segment_id,
                    "class_id": None if label == BACKGROUND else label,
                    "accepted": False,
                    "checked_by": BY_EYE,
                    "sampled": False,
                    "run_id": None,
                    "predicted": None,
                    "probability": None,
                    "annotator": storable(each.piece.row.who) or annotator,
                    "at": now,
                }
            )
    changes.insert_many(verdicts, rows)


def _add_tags(changes: RowChanges, pieces: Iterable[Piece], class_ids: dict[str, int]) -> None:
    """Tag every bag with the classes of its labels."""
    wanted = {(each.bag_id, class_ids[each.class_name]) for each in pieces if each.class_name}
    chosen = json.dumps(sorted({bag_id for bag_id, _ in wanted}))
    known = {(row[0], row[1]): row[2] for row in changes.connection.execute(_TAGS, {"bags": chosen})}
    new = sorted(wanted - set(known))
    changes.insert_many(tags_table, [{"bag_id": bag, "class_id": each, "value": 1} for bag, each in new])
    for bag_id, class_id in sorted(pair for pair in wanted & set(known) if known[pair] < 0):
        changes.update(tags_table, bag_id, class_id, value=1)


def _add_notes(changes: RowChanges, notes: Mapping[int, list[str]]) -> None:
    """Add lines to the notes of bags, as far as a note may be long."""
    for bag_id, lines in notes.items():
        present = bag_row(changes.connection, bag_id).note
        joined = "\n".join([*([present] if present else []), *lines])
        changes.update(bags, bag_id, note=joined[: max(LONGEST_NOTE, len(present))])


def _remember(connection: Connection, plan: LabelPlan) -> None:
    """Remember which label became which class, for the next table of the same program."""
    renamed = {use.label: use.class_name for use in plan.labels if use.class_name != use.label}
    kept = {label for use in plan.labels if (label := use.label) not in renamed}
    known = {label: name for label, name in remembered_classes(connection).items() if label not in kept}
    if {**known, **renamed} != remembered_classes(connection):
        settings.put(connection, MAPPING, {**known, **renamed})


def _sentence(plan: LabelPlan, shapes: SegmentPlan) -> str:
    n_files = sum(use.path is not None for use in plan.files)
    files = counted(n_files, "file")
    if plan.options.way == "tags":
        n_bags = len({piece.bag_id for piece in plan.pieces})
        return f"imported the tags of {counted(n_bags, 'bag')} of {files}"
    what = "suggestion" if plan.options.way == "suggestions" else "segment"
    return f"imported {counted(len(shapes.new), what)} of {files}"
