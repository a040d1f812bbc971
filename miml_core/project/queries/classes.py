"""The classes of a project: lists, lookups by name, and what merged ones became."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import Any

from sqlalchemy import Column, Connection, Row, func, select

from miml_core.bags import BACKGROUND
from miml_core.project.db.rows import LIVE_CLASS
from miml_core.project.db.schema import BY_EYE, tags, verdicts
from miml_core.project.db.schema import classes as table
from miml_core.project.errors import Gone
from miml_core.project.records import Class

_ALIASES = select(table.c.id, table.c.merged_into, table.c.removed)


def all_classes(connection: Connection) -> list[Class]:
    """Return all classes in the order in which they were added, with how often they are used."""
    tagged = dict(_pairs(connection, _count(tags.c.class_id).where(tags.c.value > 0)))
    by_eye = [verdicts.c.class_id.is_not(None), verdicts.c.checked_by == BY_EYE]
    labelled = dict(_pairs(connection, _count(verdicts.c.class_id).where(*by_eye)))
    rows = connection.execute(select(table).where(LIVE_CLASS).order_by(table.c.id))
    return [_class(row, tagged.get(row.id, 0), labelled.get(row.id, 0)) for row in rows]


def get_class(connection: Connection, class_id: int) -> Class:
    """Return one class; raises `Gone` if there is none."""
    found = [each for each in all_classes(connection) if each.id == class_id]
    if not found:
        raise Gone(f"Class {class_id} is not in the project; it may have been merged or removed. Choose another one.")
    return found[0]


def find_class(connection: Connection, name: str) -> Class | None:
    """Return the class of this name or scientific name, ignoring case."""
    class_id = ids_by_name(connection, [name]).get(name)
    return None if class_id is None else get_class(connection, class_id)


def ids_by_name(connection: Connection, names: Iterable[str]) -> dict[str, int]:
    """Return {name: class id} by name or scientific name, ignoring case; the oldest class, if there are several."""
    ids: dict[str, int] = {}
    for each in connection.execute(select(table).where(LIVE_CLASS).order_by(table.c.id)):
        for key in (each.name_key, name_key(each.scientific_name)):
            ids.setdefault(key, each.id)
    return {name: ids[key] for name in names if (key := name_key(name)) and key in ids}


def aliases(connection: Connection) -> dict[int, int]:
    """Return {id of every class ever added: the class it is now}; a removed one is the background."""
    rows = {row.id: row for row in connection.execute(_ALIASES)}
    found = {BACKGROUND: BACKGROUND}
    for class_id, each in rows.items():
        while each.merged_into is not None:
            each = rows[each.merged_into]
        found[class_id] = BACKGROUND if each.removed else each.id
    return found


def name_key(name: str) -> str:
    """Return a name for comparisons: without letter case and repeated spaces."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def _class(row: Row[Any], n_bags: int, n_segments: int) -> Class:
    return Class(row.id, row.name, row.colour, row.shortcut, row.scientific_name, row.note, n_bags, n_segments)


def _count(column: Column[int]) -> Any:
    return select(column, func.count()).group_by(column)


def _pairs(connection: Connection, query: Any) -> list[tuple[int, int]]:
    return [(int(a), int(b)) for a, b in connection.execute(query)]
