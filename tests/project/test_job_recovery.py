"""Jobs that are killed, cancelled or left alone: they are reported, and can be run again to the same result."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from miml_core import installation
from miml_core.project import Job, Project
from miml_core.project.jobs import context, launch
from miml_core.project.jobs import queue as job_queue
from tests.conftest import PATIENCE
from tests.project.job_stages import N_FILES, PARAMS, Forked, copy_stage, do, outcome


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def remove_export(stages: Path) -> None:
    """Remove what a copy of the project exported: to another copy it is the work of somebody else."""
    for path in stages.glob("out.csv*"):
        path.unlink()


@pytest.mark.slow
@pytest.mark.parametrize("kind", list(PARAMS))
def test_a_killed_worker_is_reported_and_the_job_can_be_run_again(stages: Path, forked: Forked, kind: str) -> None:
    params = PARAMS[kind](stages)
    remove_export(stages)
    with Project.open(copy_stage(stages, kind, "unharmed")) as project:
        do(project, kind, params)
        expected = outcome(project)
        written = (stages / "out.csv").read_text() if kind == "export" else ""
    remove_export(stages)
    forked.hold_at = 0 if kind == "predict" else 1
    with Project.open(copy_stage(stages, kind, "killed")) as project:
        runs_before = [run.id for run in project.runs.list() if run.current]
        job = project.jobs.start(kind, params)
        os.kill(forked.wait_for_step(forked.hold_at), signal.SIGKILL)
        forked.started[-1][0].join()
    forked.hold_at = None
    with Project.open(stages / f"{kind} killed") as project:
        dead = project.jobs.get(job.id)
        assert dead.state == "dead" and "died" in dead.message
        assert [run.id for run in project.runs.list() if run.current] == runs_before
        assert not [run for run in project.runs.list() if run.state == "training"]
        assert not [problem for problem in project.check() if problem.kind not in ("leftover", "queue")]
        again = project.jobs.wait(project.jobs.restart(job.id).id, timeout=PATIENCE)
        assert again.state == "done", again.message
        assert outcome(project) == expected
        assert not [problem for problem in project.check() if problem.kind != "leftover"]
        if kind == "export":
            assert (stages / "out.csv").read_text() == written


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stage", "params"), [("segment", {}), ("train", {"again": True}), ("train", {"scope": "all"})]
)
def test_segmenting_goes_on_where_it_was(stages: Path, forked: Forked, stage: str, params: dict[str, Any]) -> None:
    with Project.open(copy_stage(stages, stage, f"interrupted {params}")) as project:
        forked.hold_at = 4
        job = project.jobs.start("segment", {"processes": 1, **params})
        forked.wait_for_step(4)
        project.jobs.cancel(job.id)
        assert project.jobs.wait(job.id, timeout=PATIENCE).state == "cancelled"
        forked.hold_at = None
        assert project.progress().n_segmented == 4
        stored = {bag.name: bag.revision for bag in project.bags.list().bags if bag.segmented}
        assert project.jobs.wait(project.jobs.restart(job.id).id, timeout=PATIENCE).state == "done"
        assert project.progress().n_segmented == N_FILES
        now = {bag.name: bag.revision for bag in project.bags.list().bags}
        assert {name: now[name] for name in stored} == stored, "what was done is not done twice"


@pytest.mark.slow
@pytest.mark.parametrize("stubborn", [False, True])
@pytest.mark.parametrize("kind", ["segment", "train", "export"])
def test_cancelling_ends_work_that_listens_and_work_that_does_not(
    stages: Path, forked: Forked, kind: str, stubborn: bool
) -> None:
    assert context._BEAT_SECONDS + context._GRACE_SECONDS <= 2.0
    forked.hold_at, forked.stubborn = 0, stubborn
    remove_export(stages)
    with Project.open(copy_stage(stages, kind, f"cancelled {stubborn}")) as project:
        job = project.jobs.start(kind, PARAMS[kind](stages))  # type: ignore[arg-type]
        pid = forked.wait_for_step(0)
        project.jobs.cancel(job.id)
        assert _wait_in_own_time(project, job.id, 10.0).state == "cancelled"
        forked.started[-1][0].join(PATIENCE)
        assert not is_alive(pid)
        assert not [run for run in project.runs.list() if run.state == "training"]
        assert project.check() == []


def _wait_in_own_time(project: Project, job_id: int, seconds: float) -> Job:
    """Wait until a job has ended; fail after so many seconds in which the computer had time for this process.

    On a busy computer a look at the job takes long: it counts as 0.15 s at most.
    """
    spent, last = 0.0, time.monotonic()

    def count(job: Job) -> None:
        nonlocal spent, last
        now = time.monotonic()
        spent, last = spent + min(now - last, 0.15), now
        assert spent < seconds, f"{job.kind} has not ended after {seconds:g} s"

    return project.jobs.wait(job_id, timeout=PATIENCE, tick=count)


def test_a_job_cancelled_while_its_worker_is_loaded_never_starts(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    from miml_core.project.jobs import worker

    monkeypatch.setattr(launch, "start_worker", lambda folder, job_id: os.getpid())
    job = project.jobs.start("train")
    assert job.state == "running"
    assert project.jobs.cancel(job.id).state == "cancelled"
    assert project.jobs.start("train").state == "running", "the lane is free at once"
    assert worker.main(str(project.folder), job.id) == 0
    assert project.jobs.get(job.id).message == "cancelled before it started"


class Clock:
    """Time as the looks at jobs see it, moved by hand."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = time.monotonic()
        monkeypatch.setattr(launch, "_clock", lambda: self.now)

    def watch(self, project: Project, seconds: float) -> None:
        """Look at the jobs every four seconds, as the idle screen does."""
        end = self.now + seconds
        while self.now < end:
            self.now += 4.0
            project.jobs.list()


def test_a_worker_on_another_computer_is_judged_by_whether_its_heartbeat_changes(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    with project.store.write() as connection:
        connection.exec_driver_sql(
            "INSERT INTO jobs (kind, lane, params, state, message, done, total, info, result, cancel, created_at,"
            " annotator, host, pid, heartbeat) VALUES ('train', 'model', '{}', 'running', 'step 7', 0, 0, '{}', '{}',"
            " 0, 0, '', 'elsewhere', 1, 1.0)"
        )
    clock = Clock(monkeypatch)
    clock.watch(project, 12)
    assert project.jobs.get(1).state == "running", "its clock may be years behind ours"
    with project.store.write() as connection:
        connection.exec_driver_sql("UPDATE jobs SET heartbeat = 0.5")
    clock.watch(project, 12)
    assert project.jobs.get(1).state == "running", "it changed, whichever way"
    clock.now += 3600.0
    assert project.jobs.get(1).state == "running", "this computer may have slept: nobody looked for an hour"
    clock.watch(project, 24)
    stopped = project.jobs.get(1)
    assert stopped.state == "stopped" and not stopped.active
    with project.store.read() as connection:
        assert job_queue.row(connection, 1).state == "running", "the other computer may be asleep, and go on"


@pytest.mark.slow
def test_a_computer_that_slept_for_hours_keeps_its_running_job(
    stages: Path, forked: Forked, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Project.open(copy_stage(stages, "segment", "asleep")) as project:
        forked.hold_at = 1
        job = project.jobs.start("segment", {"processes": 1})
        pid = forked.wait_for_step(1)
        now = time.time
        monkeypatch.setattr(time, "time", lambda: now() + 9 * 3600)
        _hold(project, pid)
        with project.store.write() as connection:
            connection.exec_driver_sql("UPDATE jobs SET heartbeat = heartbeat - 32400")
        clock = Clock(monkeypatch)
        clock.watch(project, 1200)
        assert project.jobs.get(job.id).state == "running"
        os.kill(pid, signal.SIGCONT)
        project.jobs.cancel(job.id)
        monkeypatch.undo()
        assert project.jobs.wait(job.id, timeout=PATIENCE).state == "cancelled"


@pytest.mark.slow
def test_a_process_that_got_the_number_of_a_dead_worker_is_not_taken_for_it(stages: Path, forked: Forked) -> None:
    with Project.open(copy_stage(stages, "segment", "reused")) as project:
        forked.hold_at = 1
        job = project.jobs.start("segment", {"processes": 1})
        forked.wait_for_step(1)
        worker = installation.own_jobs(project.folder)[job.id].worker
        assert worker is not None and launch.is_alive(worker)
        installation.record_worker(project.folder, job.id, replace(worker, started=worker.started - 60))
        assert project.jobs.get(job.id).state == "dead"


@pytest.mark.slow
def test_a_worker_that_hangs_is_ended_when_a_person_cancels_it(
    stages: Path, forked: Forked, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Project.open(copy_stage(stages, "segment", "hanging")) as project:
        forked.hold_at = 1
        job = project.jobs.start("segment", {"processes": 1})
        pid = forked.wait_for_step(1)
        _hold(project, pid)
        project.jobs.cancel(job.id)
        clock = Clock(monkeypatch)
        clock.watch(project, 40)
        assert project.jobs.get(job.id).state == "cancelled"
        forked.started[-1][0].join()
        assert not is_alive(pid)


def _hold(project: Project, pid: int) -> None:
    """Stop a worker for a while, and not in the middle of a transaction."""
    with project.store.write():
        os.kill(pid, signal.SIGSTOP)
