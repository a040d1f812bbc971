"""Entries of the history, for lists."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Row, select

from miml_core.project.db.schema import history
from miml_core.project.records import HistoryEntry


def list_entries(
    connection: Connection,
    *,
    bag_id: int | None = None,
    annotator: str | None = None,
    before: int | None = None,
    limit: int = 100,
) -> list[HistoryEntry]:
    """Return entries of the history, the latest first; `before` is an entry's id, for paging."""
    wanted = select(history).order_by(history.c.id.desc()).limit(limit)
    if bag_id is not None:
        wanted = wanted.where(history.c.bag_id == bag_id)
    if annotator is not None:
        wanted = wanted.where(history.c.annotator == annotator)
    if before is not None:
        wanted = wanted.where(history.c.id < before)
    return [_entry(row) for row in connection.execute(wanted)]


def _entry(row: Row[Any]) -> HistoryEntry:
    return HistoryEntry(row.id, row.at, row.annotator, row.act, row.kind, row.bag_id, row.sentence, bool(row.undone))
