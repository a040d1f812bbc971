"""Runs: each training, with its parameters, scores, curves and model file."""

from __future__ import annotations

import json
import shutil
import time
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, delete, func, insert, select, update

from miml_core.errors import BagtagError
from miml_core.project.db import revisions, settings
from miml_core.project.db.own_folders import find_own_folder, is_real_file
from miml_core.project.db.rows import run_row
from miml_core.project.db.schema import bags
from miml_core.project.db.schema import runs as table
from miml_core.project.db.store import Store
from miml_core.project.learning import review_index

if TYPE_CHECKING:
    from miml_core.models.base import Model

STOPPED_EARLY = "stopped early"
"""The message of a run that a person stopped early, to keep what it had learnt."""

_AT_ONCE = 50_000
"""Up to this many segments, choosing a run updates the review index at once; for more a job does."""


def model_path(store: Store, run_id: int) -> Path:
    """Return the path of a run's model file."""
    return store.folder / "runs" / str(run_id) / "model.npz"


def has_model(store: Store, run_id: int) -> bool:
    """Return whether the model file of a run exists, in the project itself and not behind a link."""
    folder = find_own_folder(store.folder, "runs", str(run_id))
    return folder is not None and is_real_file(model_path(store, run_id))


def begin(connection: Connection, **values: Any) -> int:
    """Add a run in training; return its id."""
    done = connection.execute(insert(table).values(state="training", started_at=time.time(), **values))
    assert done.inserted_primary_key is not None
    revisions.advance(connection, changed_topics=["runs"])
    return int(done.inserted_primary_key[0])


def change(connection: Connection, run_id: int, **values: Any) -> None:
    """Change columns of a run."""
    connection.execute(update(table).where(table.c.id == run_id).values(**values))


def add_scores(connection: Connection, run_id: int, scores: dict[str, float]) -> None:
    """Add scores to those of a run."""
    known = json.loads(run_row(connection, run_id).scores)
    change(connection, run_id, scores=json.dumps({**known, **scores}))
    revisions.advance(connection, changed_topics=["runs"])


def make_current(connection: Connection, run_id: int) -> None:
    """Make a run the current one, whose predictions are shown."""
    settings.put(connection, "current_run", run_id)
    revisions.advance(connection, changed_topics=["runs"])


def abandon(connection: Connection, job_id: int, state: str, message: str) -> None:
    """Mark the run of a job that ended without a model; the current run stays."""
    connection.execute(
        update(table).where(table.c.job_id == job_id, table.c.state == "training").values(state=state, message=message)
    )


def choose(store: Store, run_id: int) -> bool:
    """Make a finished run the current one; return whether a job has to bring the review index up to date."""
    with store.write() as connection:
        chosen = run_row(connection, run_id)
        if chosen.state != "done":
            raise BagtagError(f"Run {run_id} has no model: it is {chosen.state}; choose another run.")
        make_current(connection, run_id)
        n_segments = connection.execute(select(func.total(bags.c.n_segments))).scalar() or 0
    if n_segments > _AT_ONCE:
        return True
    review_index.summarise_all(store)
    return False


def remove(store: Store, run_id: int) -> None:
    """Remove a run that is not the current one, with its predictions and its model file."""
    with store.write() as connection:
        run_row(connection, run_id)
        if settings.get(connection, "current_run") == run_id:
            raise BagtagError("The current run cannot be removed; choose another one first.")
        connection.execute(delete(table).where(table.c.id == run_id))
        revisions.advance(connection, changed_topics=["runs"])
    if (folder := find_own_folder(store.folder, "runs", str(run_id))) is not None:
        shutil.rmtree(folder, ignore_errors=True)


def load_model(store: Store, run_id: int | None = None) -> Model:
    """Return the model of a run; cached while its file stays the same."""
    if run_id is None:
        with store.read() as connection:
            run_id = settings.get(connection, "current_run")
        if run_id is None:
            raise BagtagError("There is no model yet; train one first.")
    if not isinstance(run_id, int):
        raise BagtagError(f"The current run of the project, {run_id!r}, is not a number; choose another run.")
    path = model_path(store, run_id)
    if not has_model(store, run_id):
        raise BagtagError(f"The model file of run {run_id} is missing ({str(path)!r}); train again.")
    return _load(str(path), path.stat().st_mtime_ns)


@lru_cache(maxsize=4)
def _load(path: str, changed: int) -> Model:
    from miml_core.models import load_model as read_model

    return read_model(path)
