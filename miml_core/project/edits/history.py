"""The history of a project: recording edits, undo and redo.

Entries are only ever added. An undo is itself an entry that points to the entry it undid, whose `undone` is then
true. Undo follows the person, not the screen: it undoes the latest edit of the annotator.
"""

from __future__ import annotations

import json
import time
from typing import Any, Literal

from sqlalchemy import Connection, Row, exists, func, insert, select, update

from miml_core.project.db.rows import LIVE_CLASS
from miml_core.project.db.schema import bags, classes, history, runs
from miml_core.project.edits import invariants
from miml_core.project.edits.edit import find_edit
from miml_core.project.edits.row_changes import RowChanges, keys_of, reapply
from miml_core.project.errors import CannotUndo, Gone
from miml_core.project.records import EditResult

_INSERT = insert(history)


def record(
    connection: Connection,
    changes: RowChanges,
    *,
    annotator: str,
    edit: str,
    sentence: str,
    bag_id: int | None,
    kind: str = "act",
    target: int | None = None,
    nonce: str | None = None,
    creates: str = "segments",
) -> EditResult:
    """Check the invariants, finish the changes and write the entry; return the result."""
    touched_bags = changes.bags()
    invariants.check(connection, touched_bags)
    to_predict = find_edit(edit).bags_to_predict(changes)
    revision = changes.finish(to_predict)
    bag_id = bag_id if bag_id is not None or len(touched_bags) != 1 else touched_bags[0]
    entry = {
        "at": time.time(),
        "annotator": annotator,
        "act": edit,
        "kind": kind,
        "bag_id": bag_id,
        "sentence": sentence,
        "changes": changes.to_json(),
        "target": target,
        "undone": False,
        "revision": revision,
        "nonce": nonce,
    }
    done = connection.execute(_INSERT, entry)
    assert done.inserted_primary_key is not None
    return EditResult(
        revision,
        sentence,
        bag_id,
        touched=changes.segments(),
        created=[key[0] for table, key, before, _ in changes.rows if table == creates and before is None],
        history_id=int(done.inserted_primary_key[0]),
        bags=touched_bags,
        bags_to_predict=to_predict,
    )


def undo_entry(connection: Connection, history_id: int, annotator: str, nonce: str | None = None) -> EditResult:
    """Undo one chosen edit of anybody."""
    row = connection.execute(select(history).where(history.c.id == history_id)).first()
    if row is None:
        raise Gone(f"There is no entry {history_id} in the history; choose another one.")
    if row.kind != "act" or row.undone:
        raise CannotUndo(f"This cannot be undone: {row.sentence}.")
    return _undo(connection, row, annotator, nonce)


def undo(connection: Connection, annotator: str, bag_id: int | None = None, nonce: str | None = None) -> EditResult:
    """Undo the latest edit of a person that is not undone."""
    wanted = (
        select(history)
        .where(history.c.annotator == annotator, history.c.kind == "act", ~history.c.undone)
        .order_by(history.c.id.desc())
        .limit(1)
    )
    if bag_id is not None:
        wanted = wanted.where(history.c.bag_id == bag_id)
    row = connection.execute(wanted).first()
    if row is None:
        raise CannotUndo("There is nothing to undo.")
    return _undo(connection, row, annotator, nonce)


def redo(connection: Connection, annotator: str, bag_id: int | None = None, nonce: str | None = None) -> EditResult:
    """Redo what was undone last, unless the person made another edit since."""
    mine = [history.c.annotator == annotator]
    if bag_id is not None:
        mine.append(history.c.bag_id == bag_id)
    last_edit = connection.execute(select(func.max(history.c.id)).where(*mine, history.c.kind == "act")).scalar()
    target = history.alias("target")
    row = connection.execute(
        select(target)
        .select_from(history.join(target, history.c.target == target.c.id))
        .where(*mine, history.c.kind == "undo", history.c.id > (last_edit or 0), target.c.undone)
        .order_by(history.c.id.desc())
        .limit(1)
    ).first()
    if row is None:
        raise CannotUndo("There is nothing to redo.")
    changes = _reapply(connection, row, backwards=False)
    _refuse_ended_class(connection, row, changes, "redone")
    result = _record_again(connection, row, changes, annotator, nonce, kind="redo")
    connection.execute(update(history).where(history.c.id == row.id).values(undone=False))
    return result


def _undo(connection: Connection, row: Row[Any], annotator: str, nonce: str | None) -> EditResult:
    changes = _reapply(connection, row, backwards=True)
    _refuse_learnt_class(connection, row, changes)
    _refuse_ended_class(connection, row, changes, "undone")
    try:
        result = _record_again(connection, row, changes, annotator, nonce, kind="undo")
    except invariants.Broken as error:
        raise CannotUndo(f"This cannot be undone: {row.sentence}. {error}") from error
    connection.execute(update(history).where(history.c.id == row.id).values(undone=True))
    return result


def _refuse_learnt_class(connection: Connection, row: Row[Any], changes: RowChanges) -> None:
    """Raise `CannotUndo` if an undo deletes a class that a run has learnt: its predictions refer to it."""
    deleted = {key[0]: before for table, key, before, after in changes.rows if table == "classes" and after is None}
    if not deleted:
        return
    for run in connection.execute(select(runs).where(runs.c.state.in_(["training", "done"])).order_by(runs.c.id)):
        for class_id in json.loads(run.classes):
            if (learnt := deleted.get(class_id)) is not None:
                raise CannotUndo(
                    f"This cannot be undone: {row.sentence}. Run {run.id} has learnt the class {learnt['name']}; "
                    "remove its tags, or the class, instead."
                )


def _refuse_ended_class(connection: Connection, row: Row[Any], changes: RowChanges, verb: str) -> None:
    """Raise `CannotUndo` if tags or labels would have a class that was removed or merged since."""
    given = {key[1] for table, key, _, after in changes.rows if table == "tags" and after is not None}
    given |= {(after or {}).get("class_id") for table, _, _, after in changes.rows if table == "verdicts"}
    if not given - {None}:
        return
    other = classes.alias("other")
    ended = (
        select(classes.c.id, classes.c.name, other.c.name.label("merged_into"))
        .outerjoin(other, other.c.id == classes.c.merged_into)
        .where(~LIVE_CLASS)
    )
    for found in connection.execute(ended):
        if found.id in given:
            what = f"merged into {found.merged_into}" if found.merged_into else "removed"
            raise CannotUndo(
                f"This cannot be {verb}: {row.sentence}. The class {found.name} was {what} since; undo that first."
            )


def _record_again(
    connection: Connection,
    row: Row[Any],
    changes: RowChanges,
    annotator: str,
    nonce: str | None,
    *,
    kind: Literal["undo", "redo"],
) -> EditResult:
    """Add the entry of undoing or redoing the entry `row`."""
    return record(
        connection,
        changes,
        annotator=annotator,
        edit=row.act,
        sentence=f"{'undid' if kind == 'undo' else 'redid'}: {row.sentence}",
        bag_id=row.bag_id,
        kind=kind,
        target=row.id,
        nonce=nonce,
    )


def _reapply(connection: Connection, row: Row[Any], *, backwards: bool) -> RowChanges:
    try:
        return reapply(connection, row.changes, backwards=backwards)
    except CannotUndo as stuck:
        verb = "undone" if backwards else "redone"
        raise CannotUndo(f"This cannot be {verb}: {row.sentence}. {_reason(connection, row, str(stuck))}") from None


def _reason(connection: Connection, row: Row[Any], key: str) -> str:
    """Return why an edit cannot be undone: a later edit depends on it, or its rows no longer exist."""
    query = select(history).where(history.c.id > row.id, history.c.kind.in_(["act", "redo"]), ~history.c.undone)
    if row.bag_id is not None:
        query = query.where((history.c.bag_id == row.bag_id) | history.c.bag_id.is_(None))
    later = connection.execute(query.order_by(history.c.id.desc()))
    kind, _, number = key.partition(":")
    about = {key, f"verdicts:{number}"} if kind == "segments" else {key}
    for entry in later:
        if about & keys_of(entry.changes):
            who = f" by {entry.annotator}" if entry.annotator else ""
            return f"A later edit depends on it: {entry.sentence}{who}; undo that first."
    if kind == "media":
        return "Its file has been added again since."
    if row.bag_id is not None and not connection.execute(select(exists().where(bags.c.id == row.bag_id))).scalar():
        return "Its bag is no longer in the project."
    if kind in ("segments", "verdicts"):
        return "The segments of this bag have been detected again since."
    if kind == "classes" and row.act == "tag_by_name":
        return "Its new class is used by other bags now; remove the tag instead."
    return "A later edit uses what it created; undo that edit first."
