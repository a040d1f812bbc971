"""Runs of models, for lists."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import Connection, Row, func, select

from miml_core.project.db import settings
from miml_core.project.db.rows import run_row
from miml_core.project.db.schema import BY_EYE, bags, verdicts
from miml_core.project.db.schema import runs as table
from miml_core.project.queries import prediction_blocks
from miml_core.project.records import Run


def list_runs(connection: Connection) -> list[Run]:
    """Return all runs, the latest first."""
    current_id = settings.get(connection, "current_run")
    return [_run(connection, row, current_id) for row in connection.execute(select(table).order_by(table.c.id.desc()))]


def get_run(connection: Connection, run_id: int) -> Run:
    """Return one run; raises `Gone` if there is none."""
    return _run(connection, run_row(connection, run_id), settings.get(connection, "current_run"))


def get_current_run(connection: Connection) -> Run | None:
    """Return the current run."""
    found = prediction_blocks.current_run(connection)
    return None if found is None else _run(connection, found, found.id)


def _run(connection: Connection, found: Row[Any], current_id: int | None) -> Run:
    by_eye = select(func.count()).select_from(verdicts).where(verdicts.c.checked_by == BY_EYE)
    corrections = by_eye.where(verdicts.c.at > found.started_at)
    tagged = select(func.count()).select_from(bags).where(bags.c.tags_at > found.started_at)
    return Run(
        id=found.id,
        model=found.model,
        params=json.loads(found.params),
        seed=found.seed,
        state=found.state,
        current=found.id == current_id,
        started_at=found.started_at,
        seconds=found.seconds,
        scores=json.loads(found.scores),
        curves=json.loads(found.curves),
        classes=json.loads(found.classes),
        background=bool(found.background),
        feature_key=found.feature_key,
        n_bags=found.n_bags,
        n_segments=found.n_segments,
        n_corrections=found.n_corrections,
        annotator=found.annotator,
        message=found.message,
        n_corrections_since=int(connection.execute(corrections).scalar() or 0),
        n_tags_since=int(connection.execute(tagged).scalar() or 0),
    )
