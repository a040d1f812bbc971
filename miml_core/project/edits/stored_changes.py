"""Changed rows as text, for the history.

One edit may accept 100 000 predictions. Rows of one table that were all inserted (or all deleted) are therefore stored
as a table: values that all rows share once, the others as lists. That is 30 bytes per label instead of 250.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from itertools import groupby
from typing import Any

Key = list[Any]
"""Numbers, or the name of a value in `meta`."""
Row = dict[str, Any]
Change = tuple[str, Key, Row | None, Row | None]
"""(table, key, values before, values after); None where the row did not exist."""

MANY = 20
"""From this number of rows on they are stored, and written, together."""


def dump_changes(changes: list[Change]) -> str:
    """Return the changes as text.

    >>> rows = [("verdicts", [k], None, {"segment_id": k, "annotator": "Ann"}) for k in range(20)]
    >>> text = dump_changes(rows)
    >>> text[:75]
    '[{"table": "verdicts", "kind": "inserted", "shared": {"annotator": "Ann"}, '
    >>> load_changes(text) == rows
    True
    """
    stored: list[Any] = []
    for (table, kind, names), rows in group_changes(changes):
        if kind == "changed" or len(rows) < MANY:
            stored += [[table, key, _encode(before), _encode(after)] for table, key, before, after in rows]
        else:
            stored.append({"table": table, "kind": kind, **_as_table(names, rows)})
    return json.dumps(stored)


def load_changes(stored: str) -> list[Change]:
    """Return the changes that `dump_changes` wrote."""
    return [change for item in json.loads(stored) for change in _load(item)]


def group_changes(changes: list[Change]) -> Iterator[tuple[tuple[str, str, tuple[str, ...]], list[Change]]]:
    """Yield (table, "inserted", "deleted" or "changed", names of columns) and the consecutive changes that share it."""
    for (table, kind, names), rows in groupby(changes, key=_kind_of):
        yield (table, kind, names), list(rows)


def _kind_of(change: Change) -> tuple[str, str, tuple[str, ...]]:
    table, _, before, after = change
    if before is None and after is not None:
        return table, "inserted", tuple(after)
    if after is None and before is not None:
        return table, "deleted", tuple(before)
    return table, "changed", ()


def _as_table(names: tuple[str, ...], rows: list[Change]) -> dict[str, Any]:
    values = [_encode(before if after is None else after) or {} for _, _, before, after in rows]
    shared = {name: values[0][name] for name in names if all(row[name] == values[0][name] for row in values)}
    columns = [name for name in names if name not in shared]
    return {
        "shared": shared,
        "names": names,
        "columns": columns,
        "rows": [[key, *(row[name] for name in columns)] for (_, key, _, _), row in zip(rows, values)],
    }


def _load(item: Any) -> Iterator[Change]:
    if isinstance(item, list):
        table, key, before, after = item
        yield table, key, _decode(before), _decode(after)
        return
    for key, *varying in item["rows"]:
        known = {**item["shared"], **dict(zip(item["columns"], varying))}
        row = _decode({name: known[name] for name in item["names"]})
        yield (item["table"], key, None, row) if item["kind"] == "inserted" else (item["table"], key, row, None)


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
    return {name: base64.b64decode(value["bytes"]) if isinstance(value, dict) else value for name, value in row.items()}
