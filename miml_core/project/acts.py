"""Acts: everything a person can do to a project, by name.

An act is a function that changes rows through `Changes` and answers what it did, in words. Performing one is one
transaction: the rows, the counters that follow from them, the history entry and, from a screen's outbox, the edit's
number are stored together or not at all.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

from sqlalchemy import Connection, bindparam, func, insert, select

from miml_core.errors import BagtagError
from miml_core.project import bags, classes, corrections, history, repredict, revisions, shapes, tags
from miml_core.project.changes import Changes, keys_of
from miml_core.project.errors import BadAct
from miml_core.project.rows import EditResult
from miml_core.project.schema import edits
from miml_core.project.schema import history as history_table
from miml_core.project.store import Store

Act = Callable[[Changes, dict[str, Any], str], tuple[str, int | None]]
"""(changes, arguments, annotator) -> (what was done, the one bag it concerns)."""

ACTS: dict[str, Act] = {
    "tag": tags.tag,
    "set_tags": tags.set_tags,
    "finish": tags.finish,
    "unfinish": tags.unfinish,
    "nothing_here": tags.nothing_here,
    "correct": corrections.correct,
    "accept": corrections.accept,
    "accept_bag": corrections.accept_bag,
    "draw": shapes.draw,
    "redraw": shapes.redraw,
    "merge": shapes.merge,
    "split": shapes.split,
    "delete": shapes.delete,
    "note": bags.set_note,
    "remove_bags": bags.remove,
    "add_class": classes.add,
    "add_classes": classes.add_many,
    "change_class": classes.change,
    "merge_classes": classes.merge,
    "remove_class": classes.remove,
}


_STORED_RESULT = select(edits.c.result).where(
    edits.c.nonce == bindparam("screen"), edits.c.number == bindparam("edit")
)
_INSERT_EDIT = insert(edits)

_KEEP_PREDICTIONS = {"accept", "accept_bag", "note", "add_class", "add_classes", "change_class", "remove_bags"}
"""Acts after which nothing has to be predicted again."""

_LOOK_BACK = 500
"""How many later acts are looked at to tell a person what they overtook."""


def perform(
    store: Store, name: str, act: dict[str, Any], annotator: str, seen: int | None = None
) -> EditResult:
    """Do one act in one transaction."""
    with store.write() as connection:
        result = _perform(connection, name, act, annotator, seen, None)
    return _after(store, name, result)


def undo_entry(store: Store, history_id: int, annotator: str) -> EditResult:
    """Take back one chosen act, whoever's it was."""
    with store.write() as connection:
        result = history.undo_entry_in(connection, history_id, annotator)
    return _after(store, "undo", result)


def apply_edit(
    store: Store, nonce: str, number: int, act: dict[str, Any], annotator: str, seen: int | None
) -> EditResult:
    """Do one edit of a screen's outbox, once."""
    if not isinstance(act, dict) or not isinstance(act.get("act"), str):
        raise BagtagError("An edit must say which act it is.")
    with store.write() as connection:
        stored = connection.execute(_STORED_RESULT, {"screen": nonce, "edit": number}).scalar()
        if stored is not None:
            return replace(EditResult(**json.loads(stored)), repeated=True)
        named = _resolve(connection, nonce, {key: value for key, value in act.items() if key != "act"})
        result = _perform(connection, act["act"], named, annotator, seen, nonce)
        row = {"nonce": nonce, "number": number, "result": json.dumps(asdict(result)), "at": time.time()}
        connection.execute(_INSERT_EDIT, row)
    return _after(store, act["act"], result)


def _after(store: Store, name: str, result: EditResult) -> EditResult:
    """What follows from an edit that is stored, whoever made it."""
    if name not in _KEEP_PREDICTIONS:
        repredict.note_bags(store, result.bags)
    return result


def last_edit(connection: Connection, nonce: str) -> int:
    """The highest number stored for a screen; -1 when there is none."""
    highest = connection.execute(select(func.max(edits.c.number)).where(edits.c.nonce == nonce)).scalar()
    return -1 if highest is None else int(highest)


def _perform(
    connection: Connection, name: str, act: dict[str, Any], annotator: str, seen: int | None, nonce: str | None
) -> EditResult:
    if name in ("undo", "redo"):
        again = history.undo_in if name == "undo" else history.redo_in
        bag = None if act.get("bag") is None else bags.row(connection, act["bag"]).id
        return again(connection, annotator, bag, nonce)
    if name not in ACTS:
        raise BagtagError(f"There is no act called {name!r}.")
    if name == "add_class" and nonce is not None and (there := classes.find(connection, str(act.get("name", "")))):
        # A screen that has not heard of the class yet asks for it by name: it gets the one that is there.
        return EditResult(revisions.current(connection), f"class {there.name} is there", None, created=[there.id])
    changes = Changes(connection)
    try:
        sentence, bag_id = ACTS[name](changes, act, annotator)
    except BagtagError:
        raise
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise BadAct(f"The act {name!r} cannot be done as it was asked ({error!r}).") from error
    if not changes.rows:
        return EditResult(revisions.current(connection), sentence, bag_id)
    overtook = [] if seen is None else _overtaken(connection, changes, seen, annotator, nonce)
    result = history.record(
        connection, changes, annotator=annotator, act=name, sentence=sentence, bag_id=bag_id, nonce=nonce
    )
    if name in ("add_class", "add_classes"):
        made = [key[0] for table, key, before, _ in changes.rows if table == "classes" and before is None]
        result = replace(result, created=made)
    return replace(result, overtook=overtook)


def _overtaken(connection: Connection, changes: Changes, seen: int, annotator: str, nonce: str | None) -> list[str]:
    """What others did to the same rows since revision `seen`: other screens, or, without a screen, other people."""
    bag_ids = changes.bags()
    same_place = history_table.c.bag_id.in_(bag_ids) | history_table.c.bag_id.is_(None)
    later = select(history_table).where(history_table.c.revision > seen, history_table.c.kind != "note", same_place)
    mine = changes.keys()
    sentences = []
    for row in reversed(connection.execute(later.order_by(history_table.c.id.desc()).limit(_LOOK_BACK)).all()):
        own = row.nonce == nonce if nonce is not None else row.annotator == annotator
        if not own and mine & keys_of(row.changes):
            sentences.append(f"{row.annotator or 'somebody'}: {row.sentence}")
    return sentences


def _resolve(connection: Connection, nonce: str, act: dict[str, Any]) -> dict[str, Any]:
    """Replace "@7" and "@7.1" by the segments that edit 7 of this screen created."""
    resolved = dict(act)
    for key in ("segment", "segments", "class"):
        if isinstance(resolved.get(key), list):
            resolved[key] = [_resolve_one(connection, nonce, value) for value in resolved[key]]
        elif key in resolved:
            resolved[key] = _resolve_one(connection, nonce, resolved[key])
    if "label" in resolved:
        resolved["label"] = _resolve_one(connection, nonce, resolved["label"])
    return resolved


def _resolve_one(connection: Connection, nonce: str, value: Any) -> Any:
    if not (isinstance(value, str) and value.startswith("@")):
        return value
    number, _, place = value[1:].partition(".")
    place = place or "0"
    created: list[int] = []
    if number.isdecimal() and place.isdecimal() and len(number + place) < 16:
        stored = connection.execute(
            select(edits.c.result).where(edits.c.nonce == nonce, edits.c.number == int(number))
        ).scalar()
        created = [] if stored is None else json.loads(stored)["created"]
    if not created or int(place) >= len(created):
        raise BagtagError("What this edit refers to was never made; reload the page.")
    return created[int(place)]
