"""Processes for tests: forked from one that has already imported everything, so that a hundred of them are quick."""

from __future__ import annotations

import math
import multiprocessing
import os
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from miml_core.project.jobs.context import JobContext

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(
    [
        "miml_core.worker",
        "miml_core.project.jobs.tasks.exporting",
        "miml_core.project.jobs.tasks.importing",
        "miml_core.project.jobs.tasks.predicting",
        "miml_core.project.jobs.tasks.segmenting",
        "miml_core.project.jobs.tasks.training",
        "miml_core.features.acoustic_kernels",
        "miml_core.instances",
        "miml_core.models.ored_lr",
        "scipy.ndimage",
        "scipy.optimize",
        "sklearn.metrics",
        "soundfile",
        "tests.project.loaded_kernels",
        "tests.project.processes",
    ]
)


def start(target: Callable[..., None], *arguments: Any) -> multiprocessing.process.BaseProcess:
    """Start a process that calls `target` in the environment of this one as it is now."""
    process = _CONTEXT.Process(target=_run, args=(dict(os.environ), target, *arguments), daemon=True)
    process.start()
    return process


def _run(environment: dict[str, str], target: Callable[..., None], *arguments: Any) -> None:
    os.environ.clear()
    os.environ.update(environment)
    target(*arguments)


def pipe() -> tuple[Connection, Connection]:
    return _CONTEXT.Pipe(duplex=False)


def event() -> Any:
    return _CONTEXT.Event()


_WRITE_VERSION, _WAL = 18, 2
"""A byte in the header of a SQLite file, and its value if the file has a log of commits."""


def edit(number: int, n_bags: int) -> dict[str, Any]:
    """Return edit number `number` of `write_forever`, so that the outcome can be computed without the project."""
    bag, class_id = 1 + number % n_bags, 1 + number // n_bags % 3
    return {"act": "tag", "bag": bag, "class": class_id, "value": (1, -1, 0)[number % 3]}


def write_forever(folder: str, nonce: str, n_bags: int, acknowledge: Connection) -> None:
    """Tag without end; send the number of each edit once it is stored."""
    from miml_core.project import Project

    with Project.open(folder, annotator=nonce) as project:
        for number in range(1_000_000):
            project.edits.apply_once(nonce, number, edit(number, n_bags))
            acknowledge.send(number)


def mixed_edit(number: int, segments: list[int]) -> dict[str, Any]:
    """Make one of several edits in turn: corrections, tags, drawn segments and undo."""
    segment = segments[number % len(segments)]
    left = 0.1 + number % 90 / 10
    corner = [(left, 7000), (left + 0.1, 7000), (left + 0.1, 7900), (left, 7900)]
    acts: list[dict[str, Any]] = [
        {"act": "correct", "segments": [segment], "label": 1 + number % 3},
        {"act": "tag", "bag": 1, "class": 1 + number % 3, "value": 1},
        {"act": "draw", "bag": 1, "rings": [corner]},
        {"act": "undo"},
        {"act": "correct", "segments": [segment], "label": None},
    ]
    return acts[number % len(acts)]


def mix_forever(folder: str, nonce: str, acknowledge: Connection) -> None:
    """Edit without end in all ways; send the number of each edit once it is stored."""
    from miml_core.project import Project

    with Project.open(folder, annotator=nonce) as project:
        segments = [segment.id for segment in project.segments.list(1) if segment.origin == "automatic"]
        for number in range(1_000_000):
            project.edits.apply_once(nonce, number, mixed_edit(number, segments))
            acknowledge.send(number)


def write_some(folder: str, nonce: str, n_edits: int, bag_id: int, done: Connection) -> None:
    """Toggle tags of one bag; send how many edits were stored, or the error."""
    from miml_core.project import Project

    try:
        with Project.open(folder, annotator=nonce) as project:
            for number in range(n_edits):
                act = {"act": "tag", "bag": bag_id, "class": 1 + number % 3, "value": 1 - 2 * (number // 3 % 2)}
                project.edits.apply_once(nonce, number, act)
        done.send(n_edits)
    except Exception as error:
        done.send(repr(error))


def read_note(folder: str, bag_id: int, sender: Connection) -> None:
    from miml_core.project import Project

    with Project.open(folder) as project:
        sender.send(project.bags.get(bag_id).note)


def open_as_nobody(folder: str, sender: Connection) -> None:
    """Open a project as a user who may not write it; send the error."""
    from miml_core.project import Project

    if os.getuid() == 0:
        os.setgid(65534)
        os.setuid(65534)
    try:
        Project.open(folder).close()
        sender.send("it opened")
    except Exception as error:
        sender.send(repr(error))


def is_cancelled(context: JobContext) -> bool:
    """Return whether a job has noticed that it was cancelled."""
    from miml_core.project.errors import Cancelled

    try:
        context.check()
    except Cancelled:
        return True
    return False


def work(folder: str, job_id: int, hold_at: int | None, stubborn: bool, ready: Connection) -> None:
    """Run a worker that reports each step it begins, and stays at step `hold_at` until it is cancelled or killed.

    A stubborn one does not even notice that it was cancelled. What takes a worker a second takes this one a moment.
    """
    from miml_core import worker
    from miml_core.project.jobs import context
    from miml_core.project.jobs import worker as job_worker
    from miml_core.project.jobs.context import JobContext
    from miml_core.project.jobs.tasks import processes

    os.setsid()
    processes._WORTH_SECONDS = math.inf  # a forked process may not start others, and a slow machine would want them
    job_worker._PAUSE_SECONDS = 0.002  # as long as others wait between two tries to write
    if hold_at is not None:
        context._BEAT_SECONDS = 0.05
    if stubborn:
        context._GRACE_SECONDS = 0.1
    report = JobContext.report

    def held_report(self: JobContext, done: int, of: int, message: str) -> None:
        with suppress(OSError):
            ready.send(done)
        while hold_at is not None and done >= hold_at and (stubborn or not is_cancelled(self)):
            time.sleep(0.02)
        report(self, done, of, message)

    JobContext.report = held_report  # type: ignore[method-assign]
    worker.main(folder, job_id)


def write_on_through_moves(folder: str, n_edits: int, moved_last: Any, acknowledge: Connection) -> None:
    """Store edits one after the other, opening the project again when it was moved; sends each stored number.

    Goes on until the event `moved_last`, so that there is somebody to notice every move.
    """
    from miml_core.errors import BagtagError
    from miml_core.project import Project

    project, number = None, -1
    while number + 1 < n_edits or not moved_last.is_set():
        number += 1
        stored = False
        while not stored:
            try:
                project = project or Project.open(folder)
                project.edits.apply_once("writer", number, edit(number, 2))
                stored = True
            except BagtagError:
                if project is not None:
                    project.close()
                project = None
                time.sleep(0.002)
        acknowledge.send(number)
        time.sleep(0.002)
    if project is not None:
        project.close()


def replace_again_and_again(folder: str, aside: str, choices: list[float], moved_last: Any, done: Connection) -> None:
    """Replace the database by a copy, or move it away and back, as in `choices`; report where the old ones are."""
    import sqlite3
    from contextlib import closing
    from pathlib import Path

    path = Path(folder) / "project.db"
    for number, choice in enumerate(choices):
        old = Path(aside) / f"old {number}.db"
        if choice < 0.3:
            path.rename(old)
            time.sleep(choice / 100)
            old.rename(path)
        elif choice < 0.5:
            Path(folder).rename(Path(aside) / "folder aside")
            time.sleep(choice / 100)
            (Path(aside) / "folder aside").rename(folder)
        else:
            copy = Path(aside) / "copy.db"
            with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(copy)) as target:
                source.backup(target)
                target.execute("PRAGMA journal_mode = DELETE")
            path.rename(old)
            copy.rename(path)
            done.send(str(old))
            while path.read_bytes()[_WRITE_VERSION] != _WAL:  # until the writer has opened the copy
                time.sleep(0.001)
        time.sleep(choice / 20)
    moved_last.set()
