"""The rows that an edit changed: enough to undo it and to redo it.

An edit changes rows only through `RowChanges`, which keeps the values of each row before and after. Undo writes the
old values where the row still has the new ones, and refuses where a later edit changed it. So undo and redo are the
same code for every edit.
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from sqlalchemy import Connection, Select, Table, and_, bindparam, delete, func, insert, select, text, update
from sqlalchemy.exc import IntegrityError

from miml_core.project.db import revisions
from miml_core.project.db.schema import bag_predictions, metadata, runs, segments
from miml_core.project.edits.stored_changes import MANY, Change, Key, Row, dump_changes, group_changes, load_changes
from miml_core.project.errors import CannotUndo
from miml_core.project.events import BagsChanged, publish

CURRENT_RUN = "current_run"
_NOT_COMPARED = {"revision", "tags_at", "exact", "n_tags", "n_segments", "n_reviewed", "doubt"}
"""Columns that are computed from other rows, and therefore never stop an undo."""
_KEEP_BLOCK = """
    UPDATE bag_predictions SET revision = :mark
    WHERE run_id = (SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'current_run') AND bag_id = :id
      AND revision >= (SELECT revision FROM bags WHERE id = :id)
    """
"""Run before the bag itself gets its new revision."""
_KEYS = ("first", "second")
"""Names of the parts of a primary key, as parameters."""


@dataclass
class RowChanges:
    """The rows that one edit changes, inside one transaction."""

    connection: Connection
    rows: list[Change] = field(default_factory=list)

    def insert(self, table: Table, values: Row) -> int:
        """Insert a row; return the first part of its key."""
        done = self.connection.execute(insert(table).values(**values))
        assert done.inserted_primary_key is not None
        key = [int(part) for part in done.inserted_primary_key]
        self.rows.append((table.name, key, None, _read(self.connection, table, key)))
        return key[0]

    def update(self, table: Table, *key: int | str, **values: Any) -> bool:
        """Change a row; return False when it already has these values."""
        before = _read(self.connection, table, list(key))
        if before is None:
            raise LookupError(f"{table.name} {key}")
        changed = {name: value for name, value in values.items() if before[name] != value}
        if not changed:
            return False
        self.connection.execute(update(table).where(_is(table, list(key))).values(**changed))
        self.rows.append((table.name, list(key), {name: before[name] for name in changed}, changed))
        return True

    def put(self, table: Table, *key: int, **values: Any) -> bool:
        """Insert the row with this key, or change it."""
        if _read(self.connection, table, list(key)) is not None:
            return self.update(table, *key, **values)
        names = [column.name for column in table.primary_key]
        self.insert(table, {**dict(zip(names, key)), **values})
        return True

    def delete(self, table: Table, *key: int) -> bool:
        """Delete a row; return False when there is none."""
        before = _read(self.connection, table, list(key))
        if before is None:
            return False
        self.connection.execute(delete(table).where(_is(table, list(key))))
        self.rows.append((table.name, list(key), before, None))
        return True

    def insert_many(self, table: Table, rows: Sequence[Row]) -> list[int]:
        """Insert rows, all with the same columns, without reading them back; return the first part of each key.

        Every column has a value but a key that the database numbers.
        """
        if not rows:
            return []
        names = [column.name for column in table.primary_key]
        numbered = next((name for name in names if name not in rows[0]), None)
        if numbered is None:
            self.connection.execute(insert(table), list(rows))
        else:
            inserting = insert(table).returning(table.c[numbered], sort_by_parameter_order=True)
            ids = self.connection.execute(inserting, list(rows)).scalars().all()
            rows = [{numbered: each, **row} for each, row in zip(ids, rows)]
        self.rows += [(table.name, [row[name] for name in names], None, row) for row in rows]
        return [row[names[0]] for row in rows]

    def delete_many(self, table: Table, rows: dict[int, Row]) -> None:
        """Delete rows of a table with a key of one column, given by their keys with their present values."""
        (column,) = table.primary_key
        if rows:
            self.connection.execute(delete(table).where(column == bindparam("key")), [{"key": key} for key in rows])
        self.rows += [(table.name, [key], row, None) for key, row in rows.items()]

    def keys(self) -> set[str]:
        """Return the names of the changed rows, to compare with other edits."""
        return {f"{table}:{key}" for table, key, _, _ in self.rows}

    def segments(self) -> list[int]:
        """Return the ids of segments that were added, changed, removed or labelled."""
        return sorted({key[0] for table, key, _, _ in self.rows if table in ("segments", "verdicts")})

    def bags(self) -> list[int]:
        """Return the ids of bags with a changed row."""
        found = {key[0] for table, key, _, _ in self.rows if table in ("tags", "bags")}
        of_segments = {(row or {}).get("bag_id") for _, _, before, after in self.rows for row in (before, after)}
        ids = self.segments()
        for part in range(0, len(ids), 500):
            chosen = segments.c.id.in_(ids[part : part + 500])
            of_segments |= set(self.connection.execute(select(segments.c.bag_id).where(chosen)).scalars())
        return sorted(bag for bag in found | of_segments if bag is not None)

    def finish(self, to_predict: Collection[int]) -> int:
        """Publish what changed, take the next revision and mark the changed rows with it; return the revision.

        Bags other than those `to_predict` keep their predictions: blocks that were up to date stay so.
        """
        tables = frozenset(table for table, *_ in self.rows)
        bags = self.bags()
        reshaped = [
            key[0]
            for table, key, before, after in self.rows
            if table == "segments" and "region" in (before or {}) and "region" in (after or {})
        ]
        joined = any(table == "classes" and _alias_changed(before, after) for table, _, before, after in self.rows)
        chosen = any(table == "meta" and key == [CURRENT_RUN] for table, key, _, _ in self.rows)
        publish(BagsChanged(self.connection, bags, tables, reshaped, classes_joined=joined, run_chosen=chosen))
        topics = [topic for topic in ("classes", "media", "runs") if topic in tables]
        if any(table == "bags" and (before is None or after is None) for table, _, before, after in self.rows):
            topics.append("media")
        revision = revisions.advance(self.connection, changed_topics=topics)
        self._mark(_KEEP_BLOCK, revision, sorted(set(bags) - set(to_predict)))
        self._mark("UPDATE bags SET revision = :mark WHERE id = :id", revision, bags)
        self._mark("UPDATE segments SET revision = :mark WHERE id = :id", revision, self.segments())
        self._mark("UPDATE bags SET tags_at = :mark WHERE id = :id", time.time(), self._retagged())
        return revision

    def _retagged(self) -> list[int]:
        """Return the bags whose tags changed: runs trained before are older than them."""
        states = {"finished", "rest_unknown"}
        tagged = {key[0] for table, key, _, _ in self.rows if table == "tags"}
        closed = {key[0] for table, key, _, after in self.rows if table == "bags" and states & set(after or {})}
        return sorted(tagged | closed)

    def _mark(self, statement: str, mark: float, ids: list[int]) -> None:
        if ids:
            self.connection.execute(text(statement), [{"mark": mark, "id": each} for each in ids])

    def to_json(self) -> str:
        """Return the rows as text, for the history."""
        return dump_changes(self.rows)


def keys_of(stored: str) -> set[str]:
    """Return the names of the rows of a stored edit, as `RowChanges.keys` does."""
    return {f"{table}:{key}" for table, key, _, _ in load_changes(stored)}


def reapply(connection: Connection, stored: str, *, backwards: bool) -> RowChanges:
    """Write the values before (or after) a stored edit, if the rows still have the others.

    Predictions of runs that were removed since are left out.

    Raises
    ------
    CannotUndo
        With the name of the first row that is not as the edit left it.
    """
    rows = load_changes(stored)
    if backwards:
        rows = [(t, k, a, b) for t, k, b, a in reversed(rows)]
    if any(table == bag_predictions.name for table, *_ in rows):
        existing = set(connection.execute(select(runs.c.id)).scalars())
        rows = [row for row in rows if row[0] != bag_predictions.name or row[1][0] in existing]
    changes = RowChanges(connection)
    for (name, kind, _), some in group_changes(rows):
        table = metadata.tables[name]
        if kind != "changed" and len(some) >= MANY and len(table.primary_key) == 1:
            _reapply_many(changes, table, some)
        else:
            for change in some:
                _reapply_one(changes, table, change)
    return changes


def _reapply_one(changes: RowChanges, table: Table, change: Change) -> None:
    name, key, expected, wanted = change
    found = _read(changes.connection, table, key)
    if table is not bag_predictions and not _has_values(found, expected):  # a bag may have been predicted again
        raise CannotUndo(f"{name}:{key}")
    try:
        if wanted is None:
            changes.delete(table, *key)
        elif expected is None:
            changes.insert(table, wanted)
        else:
            changes.update(table, *key, **wanted)
    except IntegrityError as error:
        raise CannotUndo(f"{name}:{key}") from error


def _reapply_many(changes: RowChanges, table: Table, some: list[Change]) -> None:
    """Insert, or delete, many rows of a table together."""
    found = _read_many(changes.connection, table, [key[0] for _, key, _, _ in some])
    for name, key, expected, _ in some:
        if not _has_values(found.get(key[0]), expected):
            raise CannotUndo(f"{name}:{key}")
    wanted = [row for _, _, _, row in some if row is not None]
    try:
        if wanted:
            changes.insert_many(table, wanted)
        else:
            changes.delete_many(table, found)
    except IntegrityError as error:
        raise CannotUndo(f"{table.name}:{some[0][1]}") from error


def _has_values(found: Row | None, expected: Row | None) -> bool:
    if found is None or expected is None:
        return found is None and expected is None
    return all(found[name] == value for name, value in expected.items() if name not in _NOT_COMPARED)


def _alias_changed(before: Row | None, after: Row | None) -> bool:
    fields = {"merged_into", "removed"}
    return before is not None and after is not None and bool(fields & (set(before) | set(after)))


def _read(connection: Connection, table: Table, key: Key) -> Row | None:
    row = connection.execute(_select_by_key(table), dict(zip(_KEYS, key))).mappings().first()
    return None if row is None else dict(row)


def _read_many(connection: Connection, table: Table, ids: list[int]) -> dict[int, Row]:
    """Return {key: row} of a table with a key of one column, in the order of the keys."""
    (column,) = table.primary_key
    query = select(table).where(column.in_(select(func.json_each(bindparam("ids")).table_valued("value").c.value)))
    rows = connection.execute(query, {"ids": json.dumps(ids)}).mappings()
    found = {row[column.name]: dict(row) for row in rows}
    return {key: found[key] for key in ids if key in found}


@cache
def _select_by_key(table: Table) -> Select[Any]:
    """Return the statement of a table, built once: building it takes longer than running it."""
    return select(table).where(*(column == bindparam(name) for column, name in zip(table.primary_key, _KEYS)))


def _is(table: Table, key: Key) -> Any:
    return and_(*(column == part for column, part in zip(table.primary_key, key)))
