"""Check whether a database is a complete Bagtag project: its tables when it is opened, its rows after an error.

A project may be damaged, or made by somebody else on purpose. The tables are compared with `schema.py` before anything
is read or written: a foreign trigger or view would otherwise run with our statements. The rows are checked only
after an unexpected error, to distinguish damage from a mistake in Bagtag.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from typing import Any

from sqlalchemy import Boolean, Column, Float, Integer, LargeBinary, Text
from sqlalchemy.types import TypeEngine

from miml_core.instances import InstanceSettings
from miml_core.media.grid import Grid
from miml_core.project.db.schema import metadata
from miml_core.segments.regions import Region

_DECLARED: dict[type[TypeEngine[Any]], str] = {
    Boolean: "BOOLEAN",
    Integer: "INTEGER",
    Float: "FLOAT",
    Text: "TEXT",
    LargeBinary: "BLOB",
}
_STORED_AS = {
    "BOOLEAN": ("integer",),
    "INTEGER": ("integer",),
    "FLOAT": ("real", "integer"),
    "TEXT": ("text",),
    "BLOB": ("blob",),
}
_OTHER_TABLES = {"alembic_version", "sqlite_sequence", "sqlite_stat1", "sqlite_stat4"}
_JSON: dict[str, dict[str, type | tuple[type, ...]]] = {
    "meta": {"value": object},
    "grids": {"grid": dict},
    "history": {"changes": list},
    "edits": {"result": dict},
    "runs": {"params": dict, "scores": dict, "curves": dict, "classes": list},
    "jobs": {"params": dict, "info": dict, "result": dict},
    "merges": {"people": list, "counts": dict, "agreement": dict},
}
"""Columns that hold JSON, and the type of its value."""

_BLOCKS_OF_WRONG_LENGTH = {
    "the features of a bag": "SELECT 1 FROM features WHERE length(numbers) * 2 != length(segment_ids) * n_features",
    "the predictions of a bag": "SELECT 1 FROM bag_predictions JOIN runs ON runs.id = run_id "
    "WHERE length(posterior) * 4 != length(segment_ids) * (json_array_length(classes) + background) "
    "OR length(free_top) * 4 != length(segment_ids) OR length(free_probability) * 4 != length(segment_ids)",
}
"""Blocks of numbers per bag, and the query for those of a wrong length."""


def foreign_schema(connection: sqlite3.Connection, *, complete: bool = True) -> str | None:
    """Return the first difference between the tables of a database and those of a project; None if there is none.

    With `complete` false, for a project of an older Bagtag, tables and columns may be missing.
    """
    found = connection.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
    tables = set()
    for kind, name, sql in found:
        if kind not in ("table", "index"):
            return f"it has a {kind} called {name!r}"
        if kind == "table":
            if (complete and name not in metadata.tables and name not in _OTHER_TABLES) or not isinstance(sql, str):
                return f"it has a table called {name!r}"
            if not sql.upper().startswith("CREATE TABLE"):
                return f"its table {name!r} is not an ordinary table"
            tables.add(name)
    for name in sorted(metadata.tables) if complete else []:
        if name not in tables:
            return f"its table {name!r} is missing"
        wrong = _wrong_columns(connection, name)
        if wrong is not None:
            return wrong
    return None


def _wrong_columns(connection: sqlite3.Connection, table: str) -> str | None:
    columns = {row[1]: row for row in connection.execute(f'PRAGMA table_xinfo("{table}")')}
    for column in metadata.tables[table].columns:
        if column.name not in columns:
            return f"the column {column.name!r} of its table {table!r} is missing"
        if columns[column.name][2].upper() != _declared(column):
            return f"the column {column.name!r} of its table {table!r} has another type"
    if any(row[6] for row in columns.values()):
        return f"its table {table!r} has computed columns"
    return None


def find_damage(connection: sqlite3.Connection) -> str | None:
    """Check every row of a project's database; return the first error, or None if there is none."""
    try:
        return next(_damage(connection), None)
    except sqlite3.Error as error:
        return str(error)
    except UnicodeDecodeError:
        return "its text cannot be read"


def _damage(connection: sqlite3.Connection) -> Iterator[str]:
    found = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
    if found != "ok":
        yield " ".join(str(found).split())
    foreign = foreign_schema(connection)
    if foreign is not None:
        yield foreign
    for table in metadata.sorted_tables:
        for column in table.columns:
            yield from _wrong_values(connection, table.name, column)
    yield from _wrong_settings(connection)
    for what, query in _BLOCKS_OF_WRONG_LENGTH.items():
        if connection.execute(f"SELECT EXISTS ({query})").fetchone()[0]:
            yield f"{what} are incomplete (repair them with `check --repair`)"
    for (region,) in connection.execute("SELECT region FROM segments"):
        if not _works(Region.from_bytes, region):
            yield "the shape of a segment cannot be read"
    for table_name, _, parent, _ in connection.execute("PRAGMA foreign_key_check"):
        yield (
            f"rows of its table {table_name!r} refer to rows of {parent!r} that do not exist (repair them with "
            "`check --repair`)"
        )


def _wrong_values(connection: sqlite3.Connection, table: str, column: Column[Any]) -> Iterator[str]:
    kinds = ", ".join(f"'{kind}'" for kind in (*_STORED_AS[_declared(column)], *(["null"] if column.nullable else [])))
    where = f'"{column.name}"'
    wrong = connection.execute(f'SELECT count(*) FROM "{table}" WHERE typeof({where}) NOT IN ({kinds})').fetchone()[0]
    if wrong:
        yield f"{wrong} values of the column {column.name!r} of its table {table!r} are of another type"
    if not isinstance(column.type, Text):
        return
    expected = _JSON.get(table, {}).get(column.name)
    texts = connection.execute(f'SELECT CAST({where} AS BLOB) FROM "{table}" WHERE {where} IS NOT NULL')
    for (value,) in texts:
        if not _is_readable(value, expected):
            yield f"a value of the column {column.name!r} of its table {table!r} cannot be read"


def _is_readable(value: bytes, expected: type | tuple[type, ...] | None) -> bool:
    try:
        text = value.decode()
        return expected is None or isinstance(json.loads(text), expected)
    except (ValueError, RecursionError):
        return False


def _wrong_settings(connection: sqlite3.Connection) -> Iterator[str]:
    known = {key: json.loads(value) for key, value in connection.execute("SELECT key, value FROM meta")}
    if known.get("kind") not in ("sound", "picture"):
        yield "its kind is neither sound nor picture"
    if not _works(InstanceSettings.from_dict, known.get("settings")):
        yield "its settings cannot be read"
    for (grid,) in connection.execute("SELECT grid FROM grids"):
        if not _works(Grid.from_dict, json.loads(grid)):
            yield "the grid of some segments cannot be read"
    for (classes,) in connection.execute("SELECT classes FROM runs"):
        if not all(isinstance(each, int) for each in json.loads(classes)):
            yield "the classes of a run cannot be read"


def _works(make: Callable[[Any], object], value: Any) -> bool:
    try:
        make(value)
    except Exception:  # a damaged value may raise anything
        return False
    return True


def _declared(column: Column[Any]) -> str:
    return next(name for kind, name in _DECLARED.items() if isinstance(column.type, kind))
