"""Jobs of somebody else's project, of a copy and of another computer: none runs until a person starts it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from miml_core import installation
from miml_core.errors import BagtagError
from miml_core.project import Project
from miml_core.project.jobs import launch, worker
from miml_core.project.jobs import queue as job_queue
from tests.conftest import PATIENCE
from tests.project.foreign import EXPORT, add_job, make_trap


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Yield the numbers of the jobs a worker was started for; the workers are processes that only wait."""
    started: list[int] = []
    waiting: list[subprocess.Popen[bytes]] = []

    def start_worker(folder: Path, job_id: int) -> int:
        started.append(job_id)
        waiting.append(subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE))
        return waiting[-1].pid

    monkeypatch.setattr(launch, "start_worker", start_worker)
    yield started
    for process in waiting:
        process.kill()
        process.wait()


def state_in_database(project: Project, job_id: int) -> str:
    with project.store.read() as connection:
        return str(job_queue.row(connection, job_id).state)


def test_opening_a_project_with_a_queued_export_writes_nothing(tmp_path: Path) -> None:
    target = tmp_path / "site-packages" / "evil.pth"
    target.parent.mkdir()
    make_trap(tmp_path / "theirs", target)
    with Project.open(tmp_path / "theirs") as project:
        (job,) = project.jobs.list()
        assert job.state == "stopped" and not job.active
        assert job.message == "queued on another computer or by another copy of this project"
        assert project.jobs.list(active=True) == [] and [one.id for one in project.jobs.list_stopped()] == [job.id]
        assert project.jobs.wait(job.id, timeout=PATIENCE).state == "stopped", "nobody waits for it for ever"
        project.check(repair=True)
        assert state_in_database(project, job.id) == "queued", "another computer may still do it"
    assert worker.main(str(tmp_path / "theirs"), job.id) == 0
    assert list(target.parent.iterdir()) == []
    assert not (tmp_path / "theirs" / "logs").exists(), "no worker was started"


def test_a_copy_of_a_project_starts_none_of_its_jobs(project: Project, tmp_path: Path, launched: list[int]) -> None:
    running, waiting = project.jobs.start("features"), project.jobs.start("features")
    assert [running.state, waiting.state] == ["running", "queued"]
    project.backup(tmp_path / "copy" / "project.db")
    with Project.open(tmp_path / "copy") as copy:
        assert copy.jobs.get(waiting.id).state == "stopped"
    assert project.jobs.get(waiting.id).state == "queued" and launched == [running.id]


def test_a_moved_project_asks_again(project: Project, tmp_path: Path, launched: list[int]) -> None:
    first, job = project.jobs.start("features"), project.jobs.start("features")
    project.close()
    shutil.move(project.folder, tmp_path / "moved")
    with Project.open(tmp_path / "moved") as moved:
        assert moved.jobs.get(job.id).state == "stopped" and launched == [first.id]


def test_a_job_whose_parameters_were_changed_in_the_database_does_not_start(
    project: Project, tmp_path: Path, launched: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(job_queue, "_launch", lambda store, job_id: None)
        job = project.jobs.start("export", {**EXPORT, "path": str(tmp_path / "mine.csv")})
    with project.store.write() as connection:
        connection.exec_driver_sql("UPDATE jobs SET params = replace(params, 'mine.csv', 'evil.pth')")
    assert project.jobs.get(job.id).state == "stopped"
    with project.store.write() as connection:
        assert not job_queue.claim(connection, job.id)
        connection.exec_driver_sql("UPDATE jobs SET params = replace(params, 'evil.pth', 'mine.csv')")
    assert project.jobs.get(job.id).state == "running" and launched == [job.id]


def test_starting_a_foreign_job_here_is_the_users_consent(project: Project, launched: list[int]) -> None:
    theirs = add_job(project, "train", {"seed": 3, "stop_early": True})
    mine = project.jobs.restart(theirs)
    assert mine.id != theirs and mine.state == "running" and mine.params == {"seed": 3}
    assert launched == [mine.id]
    assert project.jobs.get(theirs).state == "cancelled" and project.jobs.list_stopped() == []
    with pytest.raises(BagtagError, match="still running"):
        project.jobs.restart(mine.id)


@pytest.mark.parametrize("params", ["no json", "[1, 2]", '{"path": "/tmp/x", "format": "csv", "command": "rm"}'])
def test_a_foreign_job_with_parameters_that_make_no_sense_cannot_be_started(
    project: Project, launched: list[int], params: str
) -> None:
    theirs = add_job(project, "export", params, done="many", total=-1, info="[", result="3", created_at="long ago")
    assert project.jobs.get(theirs).state == "stopped"
    with pytest.raises(BagtagError, match="parameter"):
        project.jobs.restart(theirs)
    assert state_in_database(project, theirs) == "queued" and launched == []
    assert project.jobs.cancel(theirs).state == "cancelled" and project.jobs.list_stopped() == []


def test_a_foreign_job_does_not_block_own_jobs(
    project: Project, launched: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither one that waits nor one that claims to run and has no heartbeat."""
    add_job(project, "train", {})
    claimed = add_job(project, "train", {}, state="running", message="starting", host=launch.HOST, heartbeat=1e12)
    mine = project.jobs.start("train")
    assert mine.state == "queued", "the other one may be at work; that takes some seconds of watching"
    clock = iter(range(0, 10_000, 4))
    monkeypatch.setattr(launch, "_clock", lambda: 1e9 + next(clock))
    while project.jobs.get(mine.id).state == "queued":
        pass
    assert launched == [mine.id] and project.jobs.get(claimed).state == "stopped"


def test_a_process_number_in_a_foreign_row_is_never_used(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(0, 10_000, 4))
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as bystander:
        for pid in (bystander.pid, -1, 2**62, "1"):
            values = {"state": "running", "message": "step 1", "host": launch.HOST, "pid": pid, "cancel": True}
            add_job(project, "features", {}, heartbeat=1.0, **values)
        monkeypatch.setattr(launch, "_clock", lambda: 1e9 + next(clock))
        while project.jobs.list(active=True):
            pass
        for job in project.jobs.list_stopped():
            project.jobs.cancel(job.id)
        assert bystander.poll() is None
        bystander.communicate(b"\n")
        assert bystander.returncode == 0


def test_a_worker_does_not_run_a_row_that_claims_to_be_launched(project: Project, tmp_path: Path) -> None:
    target = tmp_path / "evil.pth"
    theirs = add_job(
        project, "export", {**EXPORT, "path": str(target)}, state="running", message="starting", host=launch.HOST
    )
    worker.main(str(project.folder), theirs)
    assert not target.exists() and state_in_database(project, theirs) == "running"


def test_changed_parameters_of_a_running_job_stay_recorded(project: Project, launched: list[int]) -> None:
    job = project.jobs.start("train", {"seed": 1})
    with project.store.write() as connection:
        assert job_queue.begin(connection, job.id, os.getpid())
        assert not job_queue.begin(connection, job.id, os.getpid()), "one worker only"
    stopping = project.jobs.stop_early(job.id)
    assert stopping.params == {"seed": 1, "stop_early": True}
    assert installation.is_own_job(project.folder, job.id, "train", stopping.params)
    theirs = add_job(project, "train", {}, state="running", message="step 1", heartbeat=1.0)
    project.jobs.stop_early(theirs)
    assert not installation.is_own_job(project.folder, theirs, "train", {"stop_early": True}), "this one is not ours"


def test_the_record_of_a_job_goes_when_it_ends(project: Project, launched: list[int]) -> None:
    done, waiting = project.jobs.start("features"), project.jobs.start("features")
    assert set(installation.own_jobs(project.folder)) == {done.id, waiting.id}
    project.jobs.cancel(waiting.id)
    with project.store.write() as connection:
        job_queue.finish(connection, done.id, "done", "done")
    project.jobs.list()
    assert installation.own_jobs(project.folder) == {}


def test_a_job_that_cannot_be_recorded_is_not_queued(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise BagtagError("The notes cannot be written.")

    monkeypatch.setattr(installation, "record_job", refuse)
    with pytest.raises(BagtagError, match="notes"):
        project.jobs.start("features")
    assert project.jobs.list() == []
