"""Which edit gave each tag and label, by the history: the tables do not have that."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, select

from miml_core.errors import BagtagError
from miml_core.project.db.schema import history

MERGE = "merge_copy"
"""The name of the edit that merges another annotator's copy."""

Signature = tuple[str, float]
"""Name and time of an edit: the same in all copies of a project that were made after it."""
Subject = tuple[str, int, int | None]
"""("tags", bag, class), ("bags", bag, None) for the end of its tagging, ("verdicts", segment, None), or
("segments", segment, None) for its removal."""

_STANDING = (history.c.kind == "act") & ~history.c.undone


class LastEdits:
    """The latest edit of each answer; the history is read when it is first needed."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._found: dict[Subject, Signature] | None = None
        self._merged: dict[Signature, str] = {}

    def of_tag(self, bag_id: int, class_id: int) -> Signature | None:
        """Return the edit that tagged a class of a bag."""
        return self._edits().get(("tags", bag_id, class_id))

    def of_finish(self, bag_id: int) -> Signature | None:
        """Return the edit that finished the tagging of a bag."""
        return self._edits().get(("bags", bag_id, None))

    def of_label(self, segment_id: int) -> Signature | None:
        """Return the edit that labelled a segment."""
        return self._edits().get(("verdicts", segment_id, None))

    def of_removal(self, segment_id: int) -> Signature | None:
        """Return the edit that deleted, merged, split or replaced a segment."""
        return self._edits().get(("segments", segment_id, None))

    def name_of(self, edit: Signature | None) -> str:
        """Return who gave the answer of an edit: for one that a merge took, those who worked on the merged copy."""
        if edit is None:
            return ""
        self._edits()
        return self._merged.get(edit, edit[0])

    def _edits(self) -> dict[Subject, Signature]:
        if self._found is None:
            self._found = {}
            columns = (history.c.annotator, history.c.at, history.c.act, history.c.changes)
            for row in self._connection.execute(select(*columns).where(_STANDING).order_by(history.c.id)):
                for subject in _subjects(row.changes):
                    self._found[subject] = row.annotator, row.at
                if row.act == MERGE and (people := _people(row.changes)):
                    self._merged[row.annotator, row.at] = people
        return self._found


def signatures(connection: Connection) -> set[Signature]:
    """Return all edits of a project."""
    query = select(history.c.annotator, history.c.at).where(history.c.kind == "act")
    return {(row.annotator, row.at) for row in connection.execute(query)}


def merged_bags(connection: Connection) -> set[int]:
    """Return the bags whose tags an earlier merge changed."""
    query = select(history.c.changes).where(_STANDING, history.c.act == MERGE)
    found = (subject for changes in connection.execute(query).scalars() for subject in _subjects(changes))
    return {key for table, key, _ in found if table in ("tags", "bags")}


def _people(stored: str) -> str:
    """Return the names of those whose copy an edit merged."""
    with _readable():
        rows = (item[3] for item in json.loads(stored) if isinstance(item, list) and item[0] == "merges")
        return ", ".join(str(name) for row in rows for name in json.loads(row["people"]))


def _subjects(stored: str) -> list[Subject]:
    """Return what a stored edit answered; the layout is that of `edits/stored_changes.py`, a layer above."""
    with _readable():
        return _parse(json.loads(stored))


def _parse(items: list[Any]) -> list[Subject]:
    found: list[Subject] = []
    for item in items:
        if isinstance(item, list):
            table, key, before, after = item
            rows, names = [key], set(after or before or {})
            if table == "segments" and before and after and after.get("alive") is False:
                found.append((table, key[0], None))
        else:
            table, rows, names = item["table"], [row[0] for row in item["rows"]], set(item["names"])
        if table == "tags":
            found += [(table, key[0], key[1]) for key in rows]
        elif table == "verdicts" or (table == "bags" and "finished" in names):
            found += [(table, key[0], None) for key in rows]
    if not all(isinstance(part, int | None) for _, *key in found for part in key):
        raise ValueError("a key is no number")
    return found


@contextmanager
def _readable() -> Iterator[None]:
    """Turn what an entry of another structure raises into a `BagtagError`: the history may be that of another."""
    try:
        yield
    except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
        raise BagtagError(
            "The projects cannot be compared: an entry of a history is damaged. Ask for another copy, or check this "
            "project with `bagtag check`."
        ) from error
