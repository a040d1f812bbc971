"""What the tests of merging compare: the rows that a merge may change."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

SHARED = ("Wren", "Robin", "Owl")
N_BAGS, N_SEGMENTS = 4, 4
CONTENT = {
    "tags": "*",
    "verdicts": "*",
    "segments": "id, bag_id, number, grid_id, region, origin, alive",
    "classes": "*",
    "bags": "id, finished, rest_unknown, note",
    "merges": "*",
    "conflicts": "*",
}


def content(folder: Path) -> dict[str, list[Any]]:
    """Return the rows that a merge may change."""
    with closing(sqlite3.connect(folder / "project.db")) as connection:
        return {
            table: sorted(connection.execute(f"SELECT {columns} FROM {table}").fetchall(), key=repr)
            for table, columns in CONTENT.items()
        }
