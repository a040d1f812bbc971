"""Classes: the kinds of thing people tag; added, renamed, merged and removed."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import Any

from sqlalchemy import Column, Connection, Row, bindparam, exists, func, select

from miml_core.bags import BACKGROUND
from miml_core.errors import BagtagError
from miml_core.project import palette
from miml_core.project.changes import Changes
from miml_core.project.errors import Gone, NeedsConfirmation
from miml_core.project.rows import Class
from miml_core.project.schema import bags, tags, verdicts
from miml_core.project.schema import classes as table

_FIELDS = ("name", "colour", "shortcut", "scientific_name", "note")
_LIVE = table.c.merged_into.is_(None) & ~table.c.removed
_LONGEST_NAME = 200
_ONE = select(table).where(table.c.id == bindparam("class"), _LIVE)
_ALIASES = select(table.c.id, table.c.merged_into, table.c.removed)

# reading


def all_classes(connection: Connection) -> list[Class]:
    """In the order they were made, with how often they are used."""
    tagged = dict(_pairs(connection, _count(tags.c.class_id).where(tags.c.value > 0)))
    labelled = dict(_pairs(connection, _count(verdicts.c.class_id).where(verdicts.c.class_id.is_not(None))))
    rows = connection.execute(select(table).where(_LIVE).order_by(table.c.id))
    return [_class(row, tagged.get(row.id, 0), labelled.get(row.id, 0)) for row in rows]


def one(connection: Connection, class_id: int) -> Class:
    found = [each for each in all_classes(connection) if each.id == class_id]
    if not found:
        raise Gone(f"There is no class number {class_id}.")
    return found[0]


def find(connection: Connection, name: str) -> Class | None:
    """By name or scientific name, whatever the case."""
    class_id = ids_by_name(connection, [name]).get(name)
    return None if class_id is None else one(connection, class_id)


def ids_by_name(connection: Connection, names: Iterable[str]) -> dict[str, int]:
    """The classes that are called so, by name or scientific name, whatever the case; the oldest, where several are."""
    ids: dict[str, int] = {}
    for each in connection.execute(select(table).where(_LIVE).order_by(table.c.id)):
        for key in (each.name_key, _key(each.scientific_name)):
            ids.setdefault(key, each.id)
    return {name: ids[key] for name in names if (key := _key(name)) and key in ids}


def row(connection: Connection, class_id: Any) -> Row[Any]:
    """One class that is in use; raises `Gone` otherwise."""
    found = None
    if isinstance(class_id, int):
        found = connection.execute(_ONE, {"class": class_id}).first()
    if found is None:
        raise Gone(f"There is no class number {class_id!r} (any more).")
    return found


def aliases(connection: Connection) -> dict[int, int]:
    """Every class ever made -> the class it is now; a removed one is the background."""
    rows = {row.id: row for row in connection.execute(_ALIASES)}
    found = {BACKGROUND: BACKGROUND}
    for class_id, each in rows.items():
        while each.merged_into is not None:
            each = rows[each.merged_into]
        found[class_id] = BACKGROUND if each.removed else each.id
    return found


# acts


def add(changes: Changes, act: dict[str, Any], annotator: str) -> tuple[str, int | None]:
    """{name, colour, shortcut, scientific_name, note}"""
    values = _checked(changes.connection, {field: str(act.get(field) or "") for field in _FIELDS}, None)
    _insert(changes, values)
    return f"new class {values['name']}", None


def add_many(changes: Changes, act: dict[str, Any], annotator: str) -> tuple[str, int | None]:
    """{classes: [{name, ...}, ...]}: those that are not there yet."""
    added = 0
    for each in act["classes"]:
        name = _name(each.get("name", ""))
        if not ids_by_name(changes.connection, [name]):
            values = {field: str(each.get(field) or "") for field in _FIELDS}
            _insert(changes, _checked(changes.connection, values, None))
            added += 1
    return f"{added} classes from a list", None


def change(changes: Changes, act: dict[str, Any], annotator: str) -> tuple[str, int | None]:
    """{class, and any of name, colour, shortcut, scientific_name, note}"""
    before = row(changes.connection, act["class"])
    unknown = set(act) - {"class", *_FIELDS}
    if unknown:
        raise BagtagError(f"A class has no {', '.join(sorted(unknown))}.")
    asked = {field: str(act[field]) for field in _FIELDS if field in act}
    values = _checked(changes.connection, {**{f: getattr(before, f) for f in _FIELDS}, **asked}, before.id)
    changes.update(table, before.id, **values)
    if values["name"] != before.name:
        return f"class {before.name} renamed to {values['name']}", None
    return f"class {before.name} changed", None


def merge(changes: Changes, act: dict[str, Any], annotator: str) -> tuple[str, int | None]:
    """{classes, into}"""
    target = row(changes.connection, act["into"])
    merged = [row(changes.connection, class_id) for class_id in act["classes"] if class_id != target.id]
    for each in merged:
        _forget_half_known(changes, each.id, target.id)
        tagged = select(tags.c.bag_id, tags.c.value).where(tags.c.class_id == each.id)
        for bag_id, value in _pairs(changes.connection, tagged):
            _move_tag(changes, bag_id, each.id, target.id, value)
        labelled = select(verdicts.c.segment_id).where(verdicts.c.class_id == each.id)
        for segment_id in list(changes.connection.execute(labelled).scalars()):
            changes.update(verdicts, segment_id, class_id=target.id)
        changes.update(table, each.id, merged_into=target.id)
    return f"merged {', '.join(each.name for each in merged)} into {target.name}", None


def remove(changes: Changes, act: dict[str, Any], annotator: str) -> tuple[str, int | None]:
    """{class, confirm}"""
    gone = row(changes.connection, act["class"])
    tagged = list(changes.connection.execute(select(tags.c.bag_id).where(tags.c.class_id == gone.id)).scalars())
    labelled = list(
        changes.connection.execute(select(verdicts.c.segment_id).where(verdicts.c.class_id == gone.id)).scalars()
    )
    if (tagged or labelled) and not act.get("confirm"):
        raise NeedsConfirmation(
            f"{gone.name} is a tag of {len(tagged)} bags and the label of {len(labelled)} segments; "
            "removing it takes these along. Confirm to go on."
        )
    for segment_id in labelled:
        changes.delete(verdicts, segment_id)
    for bag_id in tagged:
        changes.delete(tags, bag_id, gone.id)
    changes.update(table, gone.id, removed=True)
    return f"removed class {gone.name}", None


def _forget_half_known(changes: Changes, old: int, new: int) -> None:
    """Where `new` is absent but of `old` nothing is known, nothing is known of the two together."""
    other = tags.alias("other")
    said_of_old = exists().where(other.c.bag_id == tags.c.bag_id, other.c.class_id == old)
    half_known = (
        select(tags.c.bag_id)
        .join(bags, bags.c.id == tags.c.bag_id)
        .where(tags.c.class_id == new, tags.c.value < 0, ~said_of_old, ~bags.c.finished | bags.c.rest_unknown)
    )
    for bag_id in list(changes.connection.execute(half_known).scalars()):
        changes.delete(tags, bag_id, new)


def _move_tag(changes: Changes, bag_id: int, old: int, new: int, value: int) -> None:
    """A bag with either of two kinds has the merged one; one absent and the other unknown stays unknown."""
    changes.delete(tags, bag_id, old)
    if value > 0:
        changes.put(tags, bag_id, new, value=1)


def _insert(changes: Changes, values: dict[str, str]) -> int:
    if not values["colour"]:
        used = changes.connection.execute(select(table.c.colour).where(_LIVE)).scalars()
        values = {**values, "colour": palette.next_colour(list(used))}
    return changes.insert(table, {**values, "merged_into": None, "removed": False})


def _checked(connection: Connection, values: dict[str, str], own_id: int | None) -> dict[str, str]:
    name = _name(values["name"])
    others = select(table).where(_LIVE, table.c.id != (own_id or 0))
    twin = connection.execute(others.where(table.c.name_key == _key(name))).first()
    if twin is not None:
        raise BagtagError(f"There is already a class called {twin.name!r}.")
    if values["colour"] and not palette.is_colour(values["colour"]):
        raise BagtagError(f"{values['colour']!r} is not a colour; write it as #RRGGBB.")
    shortcut = values["shortcut"].strip()
    if len(shortcut) > 1:
        raise BagtagError(f"A shortcut is one key, not {shortcut!r}.")
    if shortcut:
        taken = connection.execute(others.where(func.lower(table.c.shortcut) == shortcut.lower())).first()
        if taken is not None:
            raise BagtagError(f"The key {shortcut!r} already stands for {taken.name!r}.")
    return {**values, "name": name, "name_key": _key(name), "shortcut": shortcut}


def _name(name: Any) -> str:
    cleaned = " ".join(unicodedata.normalize("NFC", str(name)).split())
    if not cleaned:
        raise BagtagError("A class needs a name.")
    if len(cleaned) > _LONGEST_NAME:
        raise BagtagError(f"A name of {len(cleaned)} letters is too long; use at most {_LONGEST_NAME}.")
    return cleaned


def _key(name: str) -> str:
    """What makes two names the same: letter case and spaces do not count."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def _class(row: Row[Any], n_bags: int, n_segments: int) -> Class:
    return Class(row.id, row.name, row.colour, row.shortcut, row.scientific_name, row.note, n_bags, n_segments)


def _count(column: Column[int]) -> Any:
    return select(column, func.count()).group_by(column)


def _pairs(connection: Connection, query: Any) -> list[tuple[int, int]]:
    return [(int(a), int(b)) for a, b in connection.execute(query)]

