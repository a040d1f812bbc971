"""What an act changed, row by row: enough to take it back and to do it again.

An act changes rows only through `Changes`, which remembers each one before and after. Undo writes the old values
where the new ones still stand, and refuses where somebody has gone on from them. Undo and redo are thereby the same
few lines for every act there is.
"""

from __future__ import annotations

import base64
import json
import time
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from sqlalchemy import Connection, Select, Table, and_, bindparam, delete, insert, select, text, update
from sqlalchemy.exc import IntegrityError

from miml_core.project import counters, revisions
from miml_core.project.errors import CannotUndo
from miml_core.project.schema import metadata, segments

Key = list[int]
Row = dict[str, Any]
_NOT_COMPARED = {"revision", "tags_at", "exact", "n_tags", "n_segments", "n_reviewed", "doubt"}
"""Columns that follow from other rows: nobody goes on from them, so they do not stand in the way of an undo."""
_KEYS = ("first", "second")
"""Names of the parts of a primary key, as parameters."""


@dataclass
class Changes:
    """The rows that one act changes, inside one transaction."""

    connection: Connection
    rows: list[tuple[str, Key, Row | None, Row | None]] = field(default_factory=list)
    """(table, key, values before, values after); None where the row did not exist."""

    def insert(self, table: Table, values: Row) -> int:
        """Make a row; answers its first key."""
        done = self.connection.execute(insert(table).values(**values))
        assert done.inserted_primary_key is not None
        key = [int(part) for part in done.inserted_primary_key]
        self.rows.append((table.name, key, None, _read(self.connection, table, key)))
        return key[0]

    def update(self, table: Table, *key: int, **values: Any) -> bool:
        """Change a row; False when it already is like that."""
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
        """Make the row with this key, or change it."""
        if _read(self.connection, table, list(key)) is not None:
            return self.update(table, *key, **values)
        names = [column.name for column in table.primary_key]
        self.insert(table, {**dict(zip(names, key)), **values})
        return True

    def delete(self, table: Table, *key: int) -> bool:
        """Remove a row; False when there is none."""
        before = _read(self.connection, table, list(key))
        if before is None:
            return False
        self.connection.execute(delete(table).where(_is(table, list(key))))
        self.rows.append((table.name, list(key), before, None))
        return True

    # what it touched

    def keys(self) -> set[str]:
        """Names of the rows, to compare with other acts."""
        return {f"{table}:{key}" for table, key, _, _ in self.rows}

    def segments(self) -> list[int]:
        """Ids of the segments that were made, changed, removed or labelled."""
        return sorted({key[0] for table, key, _, _ in self.rows if table in ("segments", "verdicts")})

    def bags(self) -> list[int]:
        """Ids of the bags that look different now."""
        found = {key[0] for table, key, _, _ in self.rows if table in ("tags", "bags")}
        of_segments = {(row or {}).get("bag_id") for _, _, before, after in self.rows for row in (before, after)}
        ids = self.segments()
        for part in range(0, len(ids), 500):
            chosen = segments.c.id.in_(ids[part : part + 500])
            of_segments |= set(self.connection.execute(select(segments.c.bag_id).where(chosen)).scalars())
        return sorted(bag for bag in found | of_segments if bag is not None)

    def finish(self) -> int:
        """Bring what follows from the changed rows up to date and take the next revision."""
        tables = {table for table, *_ in self.rows}
        bags = self.bags()
        reshaped = [
            key[0]
            for table, key, before, after in self.rows
            if table == "segments" and "region" in (before or {}) and "region" in (after or {})
        ]
        if reshaped:
            from miml_core.project import features

            features.forget(self.connection, reshaped)
        counters.refresh(self.connection, bags, shapes_changed="segments" in tables)
        if "bag_predictions" in tables:
            from miml_core.project import review_lines, run_blocks

            review_lines.write_lines(self.connection, run_blocks.current_run(self.connection), bags)
        topics = [topic for topic in ("classes", "media") if topic in tables]
        if any(table == "bags" and (before is None or after is None) for table, _, before, after in self.rows):
            topics.append("media")
        revision = revisions.advance(self.connection, changed_topics=topics, changed_bags=bags)
        self._mark("UPDATE segments SET revision = :mark WHERE id = :id", revision, self.segments())
        self._mark("UPDATE bags SET tags_at = :mark WHERE id = :id", time.time(), self._retagged())
        if any(table == "classes" and _alias_changed(before, after) for table, _, before, after in self.rows):
            from miml_core.project import review_lines

            review_lines.summarise(self.connection)
        return revision

    def _retagged(self) -> list[int]:
        """Bags whose tags say something else now: a run trained before is older than them."""
        states = {"finished", "rest_unknown"}
        tagged = {key[0] for table, key, _, _ in self.rows if table == "tags"}
        closed = {key[0] for table, key, _, after in self.rows if table == "bags" and states & set(after or {})}
        return sorted(tagged | closed)

    def _mark(self, statement: str, mark: float, ids: list[int]) -> None:
        if ids:
            self.connection.execute(text(statement), [{"mark": mark, "id": each} for each in ids])

    # to text and back

    def to_json(self) -> str:
        return json.dumps([[t, k, _encode(b), _encode(a)] for t, k, b, a in self.rows])


def keys_of(stored: str) -> set[str]:
    """The names of the rows of a stored act, as `Changes.keys` gives them."""
    return {f"{table}:{key}" for table, key, _, _ in json.loads(stored)}


def reapply(connection: Connection, stored: str, *, backwards: bool) -> Changes:
    """Write the values before (or after) a stored act, if the others still stand.

    Raises
    ------
    CannotUndo
        With the name of the first row that is not as the act left it.
    """
    rows = [(t, k, _decode(b), _decode(a)) for t, k, b, a in json.loads(stored)]
    if backwards:
        rows = [(t, k, a, b) for t, k, b, a in reversed(rows)]
    changes = Changes(connection)
    for name, key, expected, wanted in rows:
        table = metadata.tables[name]
        found = _read(connection, table, key)
        if not _stands(found, expected):
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
    return changes


def _stands(found: Row | None, expected: Row | None) -> bool:
    if found is None or expected is None:
        return found is None and expected is None
    return all(found[name] == value for name, value in expected.items() if name not in _NOT_COMPARED)


def _alias_changed(before: Row | None, after: Row | None) -> bool:
    fields = {"merged_into", "removed"}
    return before is not None and after is not None and bool(fields & (set(before) | set(after)))


def _read(connection: Connection, table: Table, key: Key) -> Row | None:
    row = connection.execute(_select_by_key(table), dict(zip(_KEYS, key))).mappings().first()
    return None if row is None else dict(row)


@cache
def _select_by_key(table: Table) -> Select[Any]:
    """Built once per table: building a statement takes longer than running it, and every edit reads several rows."""
    return select(table).where(*(column == bindparam(name) for column, name in zip(table.primary_key, _KEYS)))


def _is(table: Table, key: Key) -> Any:
    return and_(*(column == part for column, part in zip(table.primary_key, key)))


def _encode(row: Row | None) -> Row | None:
    if row is None:
        return None
    return {
        name: {"bytes": base64.b64encode(value).decode()} if isinstance(value, bytes) else value
        for name, value in row.items()
    }


def _decode(row: Row | None) -> Row | None:
    if row is None:
        return None
    return {
        name: base64.b64decode(value["bytes"]) if isinstance(value, dict) else value for name, value in row.items()
    }
