"""Projects before each kind of job, and workers that can be held at a step: what tests of jobs share."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, select

from miml_core.project import Job, Project
from miml_core.project.db.schema import bag_predictions, bags, features, predictions, segments
from miml_core.project.jobs import launch
from tests.conftest import PATIENCE
from tests.project import processes
from tests.project.sounds import write_recordings, write_tags

N_FILES = 6

PARAMS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "import": lambda home: {"paths": [str(home / "recordings")]},
    "segment": lambda home: {"processes": 1},
    "features": lambda home: {},
    "train": lambda home: {"params": {"alpha": 0.01}},
    "predict": lambda home: {},
    "export": lambda home: {"format": "csv", "path": str(home / "out.csv")},
}
"""Kind of job -> its parameters, given the folder of `make_stages`."""


class Forked:
    """Workers forked from a process that has imported everything, which can be held at a step and so caught at work."""

    def __init__(self) -> None:
        self.hold_at: int | None = None
        self.stubborn = False
        self.started: list[tuple[Any, Any]] = []

    def start_worker(self, folder: Path, job_id: int) -> int:
        ours, theirs = processes.pipe()
        process = processes.start(processes.work, str(folder), job_id, self.hold_at, self.stubborn, theirs)
        theirs.close()
        self.started.append((process, ours))
        assert process.pid is not None
        return process.pid

    def wait_for_step(self, at_least: int) -> int:
        """Wait until the latest worker reports a step of at least that number; returns its process id."""
        process, reports = self.started[-1]
        while True:
            assert reports.poll(PATIENCE), "the worker reported nothing"
            if reports.recv() >= at_least:
                return int(process.pid)


@contextmanager
def forked_workers() -> Iterator[Forked]:
    """Let projects start forked workers; they are ended at the end."""
    workers = Forked()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(launch, "start_worker", workers.start_worker)
        yield workers
    for process, _ in workers.started:
        process.kill()
        process.join()


def make_stages(home: Path) -> None:
    """Write a copy of a project as it is before each kind of job, named after the kind."""
    heard = write_recordings(home / "recordings", N_FILES)
    with Project.create(home / "whole", annotator="Ann") as project:
        _keep(project, home / "import")
        do(project, "import", {"paths": [str(home / "recordings")]})
        _keep(project, home / "segment")
        do(project, "segment", {"processes": 1})
        project.edits.import_tags(write_tags(home / "tags.csv", heard))
        _keep(project, home / "train")
        _forget(project, features)
        _keep(project, home / "features")
        do(project, "train", {"params": {"alpha": 0.01}})
        _keep(project, home / "export")
        _forget(project, bag_predictions)
        _forget(project, predictions)
        _keep(project, home / "predict")


def _keep(project: Project, folder: Path) -> None:
    folder.mkdir()
    project.backup(folder / "project.db")
    if (project.folder / "runs").exists():
        shutil.copytree(project.folder / "runs", folder / "runs")


def _forget(project: Project, table: Any) -> None:
    with project.store.write() as connection:
        connection.execute(delete(table))


def copy_stage(stages: Path, kind: str, name: str) -> Path:
    return Path(shutil.copytree(stages / kind, stages / f"{kind} {name}"))


def do(project: Project, kind: Any, params: dict[str, Any] | None = None) -> Job:
    job = project.jobs.wait(project.jobs.start(kind, params).id, timeout=PATIENCE)
    assert job.state == "done", (job.message, project.jobs.log(job.id))
    return job


def outcome(project: Project) -> dict[str, Any]:
    """What jobs made, without ids and times."""
    found: dict[str, Any] = {"files": [medium.fingerprint for medium in project.media.list()]}
    with project.store.read() as connection:
        for bag in connection.execute(select(bags).order_by(bags.c.name)).all():
            shapes = connection.execute(
                select(segments.c.id, segments.c.region).where(segments.c.bag_id == bag.id, segments.c.alive)
            ).all()
            order = {row.id: row.region for row in shapes}
            found[bag.name] = (bag.start, bag.end, bag.segment_key, sorted(order.values()))
            ids, X = project.segments.features(bag.id)
            places = sorted(range(len(ids)), key=lambda k, order=order, ids=ids: order[int(ids[k])])
            found[f"features of {bag.name}"] = X[places].tolist()
    for bag in project.bags.list(sort="name").bags:
        guesses = [segment.prediction for segment in project.segments.list(bag.id)]
        found[f"predictions of {bag.name}"] = [guess.probabilities for guess in guesses if guess is not None]
    found["queue"] = len(project.review.queue(limit=1000))
    return found
