"""Runs: each training, with its parameters, scores, curves and model file."""

from __future__ import annotations

import json
import shutil
import time
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Row, delete, func, insert, select, update

from miml_core.errors import BagtagError
from miml_core.project import review_lines, revisions, run_blocks, settings
from miml_core.project.errors import Gone
from miml_core.project.own_folders import find_own_folder, is_real_file
from miml_core.project.rows import Run
from miml_core.project.schema import bags, verdicts
from miml_core.project.schema import runs as table
from miml_core.project.store import Store

if TYPE_CHECKING:
    from miml_core.models.base import Model

STOPPED_EARLY = "stopped early"
"""The message of a run that a person ended before it had settled, to keep what it had learnt."""

_AT_ONCE = 50_000
"""Up to so many segments, choosing a run brings the review queues in step at once; more is a job."""


def all_runs(connection: Connection) -> list[Run]:
    """The latest first."""
    current_id = settings.get(connection, "current_run")
    return [_run(connection, row, current_id) for row in connection.execute(select(table).order_by(table.c.id.desc()))]


def one(connection: Connection, run_id: int) -> Run:
    return _run(connection, row(connection, run_id), settings.get(connection, "current_run"))


def current(connection: Connection) -> Run | None:
    found = run_blocks.current_run(connection)
    return None if found is None else _run(connection, found, found.id)


def row(connection: Connection, run_id: int) -> Row[Any]:
    found = connection.execute(select(table).where(table.c.id == run_id)).first()
    if found is None:
        raise Gone(f"There is no run number {run_id}.")
    return found


def model_path(store: Store, run_id: int) -> Path:
    return store.folder / "runs" / str(run_id) / "model.npz"


def has_model(store: Store, run_id: int) -> bool:
    """Return whether the model file of a run is there, in the project itself and not behind a link."""
    folder = find_own_folder(store.folder, "runs", str(run_id))
    return folder is not None and is_real_file(model_path(store, run_id))


def begin(connection: Connection, **values: Any) -> int:
    """A new run, in training."""
    done = connection.execute(insert(table).values(state="training", started_at=time.time(), **values))
    assert done.inserted_primary_key is not None
    revisions.advance(connection, changed_topics=["runs"])
    return int(done.inserted_primary_key[0])


def change(connection: Connection, run_id: int, **values: Any) -> None:
    connection.execute(update(table).where(table.c.id == run_id).values(**values))


def add_scores(connection: Connection, run_id: int, scores: dict[str, float]) -> None:
    known = json.loads(row(connection, run_id).scores)
    change(connection, run_id, scores=json.dumps({**known, **scores}))
    revisions.advance(connection, changed_topics=["runs"])


def make_current(connection: Connection, run_id: int) -> None:
    """From here on this run's predictions are shown."""
    settings.put(connection, "current_run", run_id)
    revisions.advance(connection, changed_topics=["runs"])


def abandon(connection: Connection, job_id: int, state: str, message: str) -> None:
    """A training ended without a model; the current run stays what it was."""
    connection.execute(
        update(table).where(table.c.job_id == job_id, table.c.state == "training").values(state=state, message=message)
    )


def choose(store: Store, run_id: int) -> Run:
    with store.write() as connection:
        chosen = row(connection, run_id)
        if chosen.state != "done":
            raise BagtagError(f"Run {run_id} has no model: it is {chosen.state}.")
        make_current(connection, run_id)
        n_segments = connection.execute(select(func.total(bags.c.n_segments))).scalar() or 0
    if n_segments <= _AT_ONCE:
        review_lines.summarise_all(store)
    else:
        from miml_core.project import jobs

        jobs.start(store, "predict", {"run": run_id}, chosen.annotator)
    with store.read() as connection:
        return one(connection, run_id)


def remove(store: Store, run_id: int) -> None:
    with store.write() as connection:
        row(connection, run_id)
        if settings.get(connection, "current_run") == run_id:
            raise BagtagError("The current run cannot be removed; choose another one first.")
        connection.execute(delete(table).where(table.c.id == run_id))
        revisions.advance(connection, changed_topics=["runs"])
    if (folder := find_own_folder(store.folder, "runs", str(run_id))) is not None:
        shutil.rmtree(folder, ignore_errors=True)


def load_model(store: Store, run_id: int | None = None) -> Model:
    """The model of a run; kept in memory while the file stays the same."""
    if run_id is None:
        with store.read() as connection:
            run_id = settings.get(connection, "current_run")
        if run_id is None:
            raise BagtagError("There is no model yet; train one first.")
    if not isinstance(run_id, int):
        raise BagtagError(f"The project names {run_id!r} as its current run, which is no number; choose another run.")
    path = model_path(store, run_id)
    if not has_model(store, run_id):
        raise BagtagError(f"The model file of run {run_id} is missing ({str(path)!r}); train again.")
    return _load(str(path), path.stat().st_mtime_ns)


@lru_cache(maxsize=4)
def _load(path: str, changed: int) -> Model:
    from miml_core.models import load_model as read_model

    return read_model(path)


def _run(connection: Connection, found: Row[Any], current_id: int | None) -> Run:
    said = select(func.count()).select_from(verdicts).where(verdicts.c.at > found.started_at)
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
        n_corrections_since=int(connection.execute(said).scalar() or 0),
        n_tags_since=int(connection.execute(tagged).scalar() or 0),
    )
