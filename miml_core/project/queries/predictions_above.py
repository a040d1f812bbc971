"""Predictions of at least a probability that nobody has labelled yet."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Select, exists, func, select, text

from miml_core.bags import BACKGROUND
from miml_core.project.db.schema import classes, verdicts
from miml_core.project.db.schema import predictions as table


def segments_above(connection: Connection, threshold: float, label: int | None = None) -> list[tuple[int, int, float]]:
    """Return (segment id, label, probability) of unlabelled segments predicted with at least `threshold`."""
    query = _above(select(table.c.segment_id, table.c.top, table.c.probability), threshold)
    if label is not None:
        query = query.where(table.c.top == label)
    found = connection.execute(query.order_by(table.c.segment_id))
    return [(int(row[0]), int(row[1]), float(row[2])) for row in found]


def count_above(connection: Connection, threshold: float) -> dict[int, int]:
    """Return {class id or BACKGROUND: number of segments that `segments_above` returns}."""
    query = _above(select(table.c.top, func.count()), threshold).group_by(table.c.top)
    return {int(label): int(number) for label, number in connection.execute(query)}


def _above(query: Select[Any], threshold: float) -> Select[Any]:
    labelled = exists().where(verdicts.c.segment_id == table.c.segment_id)
    # Undo could once delete a class that a run had learnt; `check --repair` then updates the rows.
    is_known = (table.c.top == BACKGROUND) | table.c.top.in_(select(classes.c.id))
    return query.where(text("NOT reviewed"), table.c.probability >= threshold, ~labelled, is_known)
