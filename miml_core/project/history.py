"""The history of a project: who did what and when; undo and redo.

Entries are only ever added. An undo is itself an entry that points to what it took back; `undone` on the target says
how things stand. Undo follows the person, not the screen: each annotator takes back their own latest act.
"""

from __future__ import annotations

import time
from typing import Any

from sqlalchemy import Connection, Row, exists, func, insert, select, update

from miml_core.project import invariants
from miml_core.project.changes import Changes, keys_of, reapply
from miml_core.project.errors import CannotUndo, Gone
from miml_core.project.rows import EditResult, HistoryEntry
from miml_core.project.schema import bags, history

_INSERT = insert(history)


def record(
    connection: Connection,
    changes: Changes,
    *,
    annotator: str,
    act: str,
    sentence: str,
    bag_id: int | None,
    kind: str = "act",
    target: int | None = None,
    nonce: str | None = None,
) -> EditResult:
    """Finish an act: bring counters up to date, take a revision, write the entry."""
    touched_bags = changes.bags()
    invariants.check(connection, touched_bags)
    revision = changes.finish()
    bag_id = bag_id if bag_id is not None or len(touched_bags) != 1 else touched_bags[0]
    entry = {
        "at": time.time(),
        "annotator": annotator,
        "act": act,
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
        created=[key[0] for table, key, before, _ in changes.rows if table == "segments" and before is None],
        history_id=int(done.inserted_primary_key[0]),
        bags=touched_bags,
    )


def note(
    connection: Connection, annotator: str, act: str, sentence: str, *, revision: int, bag_id: int | None = None
) -> None:
    """Write down something that cannot be undone (settings, a job's replacement of segments)."""
    connection.execute(
        insert(history).values(
            at=time.time(),
            annotator=annotator,
            act=act,
            kind="note",
            bag_id=bag_id,
            sentence=sentence,
            changes="[]",
            undone=False,
            revision=revision,
        )
    )


def entries(
    connection: Connection,
    *,
    bag_id: int | None = None,
    annotator: str | None = None,
    before: int | None = None,
    limit: int = 100,
) -> list[HistoryEntry]:
    """The latest first."""
    wanted = select(history).order_by(history.c.id.desc()).limit(limit)
    if bag_id is not None:
        wanted = wanted.where(history.c.bag_id == bag_id)
    if annotator is not None:
        wanted = wanted.where(history.c.annotator == annotator)
    if before is not None:
        wanted = wanted.where(history.c.id < before)
    return [_entry(row) for row in connection.execute(wanted)]


def undo_entry_in(connection: Connection, history_id: int, annotator: str) -> EditResult:
    """Take back one chosen act, whoever's it was."""
    row = connection.execute(select(history).where(history.c.id == history_id)).first()
    if row is None:
        raise Gone(f"There is no entry {history_id} in the history.")
    if row.kind != "act" or row.undone:
        raise CannotUndo(f"This cannot be undone: {row.sentence}.")
    return _take_back(connection, row, annotator, None)


def undo_in(connection: Connection, annotator: str, bag_id: int | None = None, nonce: str | None = None) -> EditResult:
    """Take back the latest act of a person that stands."""
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
    return _take_back(connection, row, annotator, nonce)


def redo_in(connection: Connection, annotator: str, bag_id: int | None = None, nonce: str | None = None) -> EditResult:
    """Do again what was undone last, unless the person has done something new since."""
    mine = [history.c.annotator == annotator]
    if bag_id is not None:
        mine.append(history.c.bag_id == bag_id)
    last_act = connection.execute(select(func.max(history.c.id)).where(*mine, history.c.kind == "act")).scalar()
    target = history.alias("target")
    row = connection.execute(
        select(target)
        .select_from(history.join(target, history.c.target == target.c.id))
        .where(*mine, history.c.kind == "undo", history.c.id > (last_act or 0), target.c.undone)
        .order_by(history.c.id.desc())
        .limit(1)
    ).first()
    if row is None:
        raise CannotUndo("There is nothing to do again.")
    changes = _reapply(connection, row, backwards=False)
    result = record(
        connection,
        changes,
        annotator=annotator,
        act=row.act,
        sentence=f"did again: {row.sentence}",
        bag_id=row.bag_id,
        kind="redo",
        target=row.id,
        nonce=nonce,
    )
    connection.execute(update(history).where(history.c.id == row.id).values(undone=False))
    return result


def _take_back(connection: Connection, row: Row[Any], annotator: str, nonce: str | None) -> EditResult:
    changes = _reapply(connection, row, backwards=True)
    try:
        result = record(
            connection,
            changes,
            annotator=annotator,
            act=row.act,
            sentence=f"undid: {row.sentence}",
            bag_id=row.bag_id,
            kind="undo",
            target=row.id,
            nonce=nonce,
        )
    except invariants.Broken as error:
        raise CannotUndo(f"This cannot be undone: {row.sentence}. {error}") from error
    connection.execute(update(history).where(history.c.id == row.id).values(undone=True))
    return result


def _reapply(connection: Connection, row: Row[Any], *, backwards: bool) -> Changes:
    try:
        return reapply(connection, row.changes, backwards=backwards)
    except CannotUndo as stuck:
        verb = "undone" if backwards else "done again"
        raise CannotUndo(f"This cannot be {verb}: {row.sentence}. {_why(connection, row, str(stuck))}") from None


def _why(connection: Connection, row: Row[Any], key: str) -> str:
    """Which later act stands in the way of undoing this one."""
    query = select(history).where(history.c.id > row.id, history.c.kind.in_(["act", "redo"]), ~history.c.undone)
    if row.bag_id is not None:
        query = query.where((history.c.bag_id == row.bag_id) | history.c.bag_id.is_(None))
    later = connection.execute(query.order_by(history.c.id.desc()))
    kind, _, number = key.partition(":")
    about = {key, f"verdicts:{number}"} if kind == "segments" else {key}
    for entry in later:
        if about & keys_of(entry.changes):
            who = f" by {entry.annotator}" if entry.annotator else ""
            return f"A later act stands on it: {entry.sentence}{who}; undo that first."
    if kind == "media":
        return "Its file has been added again since."
    if row.bag_id is not None and not connection.execute(select(exists().where(bags.c.id == row.bag_id))).scalar():
        return "Its bag is no longer in the project."
    if kind in ("segments", "verdicts"):
        return "The segments of this bag have been found anew since."
    return "What it changed is in use now."


def _entry(row: Row[Any]) -> HistoryEntry:
    return HistoryEntry(
        row.id, row.at, row.annotator, row.act, row.kind, row.bag_id, row.sentence, bool(row.undone)
    )
