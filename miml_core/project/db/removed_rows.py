"""Rows that a repair removes from the tables, kept in a file of the backups folder.

The work of people is never dropped: a tag or a label whose bag, segment or class no longer exists cannot stay in the
tables, so its whole row is written to `backups/repair-DATE.json` before the repair is committed.
"""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from miml_core.atomic_files import atomic_writer
from miml_core.errors import BagtagError
from miml_core.plurals import counted
from miml_core.project.db import backups

_WORDS = {"tags": "tag", "verdicts": "label", "segments": "segment", "history": "history entry", "classes": "class"}
_PLURALS = {"history entry": "history entries", "class": "classes"}


class RemovedRows:
    """The rows of one repair, collected inside its transaction."""

    def __init__(self, connection: Connection, reason: str) -> None:
        self._connection = connection
        self._reason = reason
        self._rows: list[dict[str, Any]] = []

    def keep(self, table: str, condition: str, values: Sequence[Any]) -> None:
        """Collect the rows of a table that match a condition (SQL with `?` for the values)."""
        found = self._connection.exec_driver_sql(f'SELECT * FROM "{table}" WHERE {condition}', tuple(values))
        for row in found.mappings():
            self._rows.append({"table": table, "row": {name: _to_json(value) for name, value in row.items()}})

    def write(self, project: Path) -> str:
        """Write the rows to a new file, complete and on disk; return a sentence that names it, empty without rows."""
        if not self._rows:
            return ""
        path = backups.new_path(project, "repair", ".json")
        try:
            content = json.dumps({"reason": self._reason, "rows": self._rows}, ensure_ascii=False, indent=1)
            with atomic_writer(path) as file:
                file.write(content.encode())
        except OSError as error:
            raise BagtagError(
                f"The rows to be repaired could not be kept in {str(path)!r}: {error.strerror or error}. Nothing was "
                "repaired. Free some space on the disk, or make the folder writable, and try again."
            ) from error
        return f" {self._counts()} kept in {backups.FOLDER}/{path.name}."

    def _counts(self) -> str:
        counts = Counter(_WORDS.get(row["table"], row["table"]) for row in self._rows)
        return ", ".join(counted(n, word, _PLURALS.get(word)) for word, n in counts.items())


def _to_json(value: Any) -> Any:
    return {"base64": base64.b64encode(value).decode()} if isinstance(value, bytes) else value
