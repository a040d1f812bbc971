"""Apply edits: each is one transaction, with its history entry and, for a screen's outbox, its number."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

from sqlalchemy import Connection, bindparam, insert, select

from miml_core.errors import BagtagError
from miml_core.project.db import revisions
from miml_core.project.db.rows import bag_row
from miml_core.project.db.schema import edits
from miml_core.project.db.schema import history as history_table
from miml_core.project.db.store import Store
from miml_core.project.edits import history
from miml_core.project.edits.bags import RemoveBags, SetNote
from miml_core.project.edits.classes import AddClass, AddClasses, ChangeClass, MergeClasses, RemoveClass, TagByName
from miml_core.project.edits.conflicts import ResolveConflicts
from miml_core.project.edits.edit import Edit
from miml_core.project.edits.fields import OptionalBagId, OptionalNumber, Schema
from miml_core.project.edits.import_labels import ImportLabels
from miml_core.project.edits.label_many import AcceptAbove, LabelMany
from miml_core.project.edits.labels import Accept, AcceptBag, SetLabel
from miml_core.project.edits.merge_copy import MergeCopy
from miml_core.project.edits.row_changes import RowChanges, keys_of
from miml_core.project.edits.shapes import DeleteSegments, DrawSegment, MergeSegments, RedrawSegment, SplitSegment
from miml_core.project.edits.tags import Finish, NothingHere, SetTags, Tag, Unfinish
from miml_core.project.errors import BadEdit, CannotUndo
from miml_core.project.events import EditStored, publish
from miml_core.project.queries.classes import find_class
from miml_core.project.records import EditResult


@dataclass(frozen=True)
class Undo(Edit):
    """Undo the person's latest edit, of all bags or of one; or the edit of this number of the same screen."""

    name: ClassVar[str] = "undo"
    bag: OptionalBagId = None
    edit: OptionalNumber = None


@dataclass(frozen=True)
class Redo(Edit):
    """Redo what the person last undid."""

    name: ClassVar[str] = "redo"
    bag: OptionalBagId = None


EDITS: dict[str, type[Edit]] = {
    each.name: each
    for each in (
        *(Tag, TagByName, SetTags, Finish, Unfinish, NothingHere, SetLabel, Accept, AcceptBag, LabelMany, AcceptAbove),
        *(DrawSegment, RedrawSegment, MergeSegments, SplitSegment, DeleteSegments, SetNote, RemoveBags),
        *(AddClass, AddClasses, ChangeClass, MergeClasses, RemoveClass, ImportLabels, MergeCopy),
        *(ResolveConflicts, Undo, Redo),
    )
}
"""Every edit by its name."""

_STORED_RESULT = select(edits.c.result).where(edits.c.nonce == bindparam("screen"), edits.c.number == bindparam("edit"))
_INSERT_EDIT = insert(edits)

_MOST_LATER = 500
"""Number of later edits that are searched for those the person had not seen."""


def parse_edit(values: Any) -> Edit:
    """Return the edit that ``{"act": NAME, ...}`` of a screen describes; raises `BadEdit` for anything else."""
    name = values.get("act") if isinstance(values, dict) else None
    kind = EDITS.get(name) if isinstance(name, str) else None
    if kind is None or not kind.from_screen:
        raise BadEdit(f"There is no edit called {str(name)[:40]!r}.")
    return kind.from_json({field: value for field, value in values.items() if field != "act"})


def screen_schema() -> Schema:
    """Return the JSON schema of the edits that the editor in the browser sends."""
    schemas = []
    for kind in EDITS.values():
        if kind.from_screen:
            schema = kind.json_schema()
            named = {"act": {"const": kind.name}, **schema["properties"]}
            schemas.append({**schema, "properties": named, "required": ["act", *schema["required"]]})
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "oneOf": schemas}


def perform(store: Store, edit: Edit, annotator: str, seen: int | None = None) -> EditResult:
    """Apply one edit in one transaction."""
    edit.check()
    with store.write() as connection:
        result = _perform(connection, edit, annotator, seen, None)
    return _stored(store, result)


def perform_once(
    store: Store, nonce: str, number: int, edit: Edit, annotator: str, seen: int | None = None
) -> EditResult:
    """Apply one edit of a screen's outbox; the same (nonce, number) again returns the first result."""
    edit.check()
    with store.write() as connection:
        stored = connection.execute(_STORED_RESULT, {"screen": nonce, "edit": number}).scalar()
        if stored is not None:
            return replace(EditResult(**json.loads(stored)), repeated=True)
        edit = edit.resolve(lambda reference: _created_by(connection, nonce, reference))
        result = _perform(connection, edit, annotator, seen, nonce)
        row = {"nonce": nonce, "number": number, "result": json.dumps(asdict(result)), "at": time.time()}
        connection.execute(_INSERT_EDIT, row)
    return _stored(store, result)


def undo_entry(store: Store, history_id: int, annotator: str) -> EditResult:
    """Undo one chosen edit of anybody."""
    with store.write() as connection:
        result = history.undo_entry(connection, history_id, annotator)
    return _stored(store, result)


def _stored(store: Store, result: EditResult) -> EditResult:
    publish(EditStored(store, result.bags, result.bags_to_predict))
    return result


def _perform(connection: Connection, edit: Edit, annotator: str, seen: int | None, nonce: str | None) -> EditResult:
    if isinstance(edit, Undo) and edit.edit is not None:
        return _undo_own(connection, edit.edit, annotator, nonce)
    if isinstance(edit, Undo | Redo):
        again = history.undo if isinstance(edit, Undo) else history.redo
        bag = None if edit.bag is None else bag_row(connection, edit.bag).id
        return again(connection, annotator, bag, nonce)
    if isinstance(edit, AddClass) and nonce is not None and (known := find_class(connection, edit.class_name)):
        # A screen that does not show the class yet adds it by name: return the one that exists.
        return EditResult(revisions.current(connection), f"class {known.name} exists", None, created=[known.id])
    changes = RowChanges(connection)
    sentence, bag_id, meant = edit.apply(changes, annotator)
    if not changes.rows:
        created = [] if meant is None else [meant]
        return EditResult(revisions.current(connection), sentence, bag_id, created=created)
    overtook = [] if seen is None else _overtaken(connection, changes, seen, annotator, nonce)
    result = history.record(
        connection,
        changes,
        annotator=annotator,
        edit=edit.name,
        sentence=sentence,
        bag_id=bag_id,
        nonce=nonce,
        creates=edit.creates,
    )
    return replace(result, overtook=overtook, created=result.created if meant is None else [meant])


def _undo_own(connection: Connection, number: int, annotator: str, nonce: str | None) -> EditResult:
    """Undo an edit of the same screen, whatever the person did elsewhere since."""
    stored = connection.execute(_STORED_RESULT, {"screen": nonce, "edit": number}).scalar()
    entry = None if stored is None else json.loads(stored)["history_id"]
    if entry is None:
        raise CannotUndo("This edit changed nothing, so there is nothing to undo.")
    return history.undo_entry(connection, entry, annotator, nonce)


def _overtaken(connection: Connection, changes: RowChanges, seen: int, annotator: str, nonce: str | None) -> list[str]:
    """Return what others did to the same rows since revision `seen`: other screens or, without a screen, people."""
    bag_ids = changes.bags()
    same_bags = history_table.c.bag_id.in_(bag_ids) | history_table.c.bag_id.is_(None)
    later = select(history_table).where(history_table.c.revision > seen, history_table.c.kind != "note", same_bags)
    mine = changes.keys()
    sentences = []
    for row in reversed(connection.execute(later.order_by(history_table.c.id.desc()).limit(_MOST_LATER)).all()):
        own = row.nonce == nonce if nonce is not None else row.annotator == annotator
        if not own and mine & keys_of(row.changes):
            sentences.append(f"{row.annotator or 'somebody'}: {row.sentence}")
    return sentences


def _created_by(connection: Connection, nonce: str, reference: str) -> int:
    """Return the id that "@7" or "@7.1" means: the first or second thing that edit 7 of this screen created."""
    number, _, place = reference[1:].partition(".")
    stored = connection.execute(_STORED_RESULT, {"screen": nonce, "edit": int(number)}).scalar()
    created: list[int] = [] if stored is None else json.loads(stored)["created"]
    if int(place or 0) >= len(created):
        raise BagtagError("This edit refers to something that was never created; open the bag again and repeat it.")
    return created[int(place or 0)]
