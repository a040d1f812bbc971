"""Jobs: killed at any moment they are reported and can be run again to the same result; cancelling is quick."""

from __future__ import annotations

import os
import re
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, select

from miml_core import installation
from miml_core.errors import BagtagError
from miml_core.project import Job, Project, jobs, launch
from miml_core.project.errors import NotSaved
from miml_core.project.schema import bag_predictions, bags, features, predictions, segments
from tests.project import processes
from tests.project.sounds import write_recordings, write_tags

N_FILES = 6


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
        """Wait until the latest worker reports a step of at least that number; answers its process id."""
        process, reports = self.started[-1]
        while True:
            assert reports.poll(60), "the worker said nothing"
            if reports.recv() >= at_least:
                return int(process.pid)


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.fixture(scope="module")
def forked() -> Iterator[Forked]:
    workers = Forked()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(launch, "start_worker", workers.start_worker)
        yield workers
    for process, _ in workers.started:
        process.kill()
        process.join()


@pytest.fixture(autouse=True)
def unhindered(forked: Forked) -> None:
    forked.hold_at, forked.stubborn = None, False


@pytest.fixture(scope="module")
def stages(tmp_path_factory: pytest.TempPathFactory, forked: Forked) -> Path:
    """A folder with a copy of a project as it is before each kind of job, named after the kind."""
    home = tmp_path_factory.mktemp("stages")
    heard = write_recordings(home / "recordings", N_FILES)
    with Project.create(home / "whole", annotator="Ann") as project:
        _keep(project, home / "import")
        do(project, "import", {"paths": [str(home / "recordings")]})
        _keep(project, home / "segment")
        do(project, "segment", {"processes": 1})
        project.import_tags(write_tags(home / "tags.csv", heard))
        _keep(project, home / "train")
        _forget(project, features)
        _keep(project, home / "features")
        do(project, "train", {"params": {"alpha": 0.01}})
        _keep(project, home / "export")
        _forget(project, bag_predictions)
        _forget(project, predictions)
        _keep(project, home / "predict")
    return home


def _keep(project: Project, folder: Path) -> None:
    folder.mkdir()
    project.backup(folder / "project.db")
    if (project.folder / "runs").exists():
        shutil.copytree(project.folder / "runs", folder / "runs")


def _forget(project: Project, table: Any) -> None:
    with project.store.write() as connection:
        connection.execute(delete(table))


def _copy(stages: Path, kind: str, name: str) -> Path:
    return Path(shutil.copytree(stages / kind, stages / f"{kind} {name}"))


def do(project: Project, kind: Any, params: dict[str, Any] | None = None) -> Job:
    job = project.wait_job(project.start_job(kind, params).id, timeout=120)
    assert job.state == "done", (job.message, project.job_log(job.id))
    return job


def outcome(project: Project) -> dict[str, Any]:
    """What jobs made, without ids and times."""
    found: dict[str, Any] = {"files": [medium.fingerprint for medium in project.media()]}
    with project.store.read() as connection:
        for bag in connection.execute(select(bags).order_by(bags.c.name)).all():
            shapes = connection.execute(
                select(segments.c.id, segments.c.region).where(segments.c.bag_id == bag.id, segments.c.alive)
            ).all()
            order = {row.id: row.region for row in shapes}
            found[bag.name] = (bag.start, bag.end, bag.segment_key, sorted(order.values()))
            ids, X = project.features_of(bag.id)
            places = sorted(range(len(ids)), key=lambda k, order=order, ids=ids: order[int(ids[k])])
            found[f"features of {bag.name}"] = X[places].tolist()
    for bag in project.list_bags(sort="name").bags:
        guesses = [segment.prediction for segment in project.segments(bag.id)]
        found[f"predictions of {bag.name}"] = [guess.probabilities for guess in guesses if guess is not None]
    found["queue"] = len(project.review_queue(limit=1000))
    return found


PARAMS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "import": lambda home: {"paths": [str(home / "recordings")]},
    "segment": lambda home: {"processes": 1},
    "features": lambda home: {},
    "train": lambda home: {"params": {"alpha": 0.01}},
    "predict": lambda home: {},
    "export": lambda home: {"format": "csv", "path": str(home / "out.csv")},
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", list(PARAMS))
def test_a_killed_worker_is_reported_and_the_job_can_be_run_again(stages: Path, forked: Forked, kind: str) -> None:
    params = PARAMS[kind](stages)
    (stages / "out.csv").unlink(missing_ok=True)
    with Project.open(_copy(stages, kind, "unharmed")) as project:
        do(project, kind, params)
        expected = outcome(project)
        written = (stages / "out.csv").read_text() if kind == "export" else ""
    (stages / "out.csv").unlink(missing_ok=True)
    forked.hold_at = 0 if kind == "predict" else 1
    with Project.open(_copy(stages, kind, "killed")) as project:
        runs_before = [run.id for run in project.runs() if run.current]
        job = project.start_job(kind, params)
        os.kill(forked.wait_for_step(forked.hold_at), signal.SIGKILL)
        forked.started[-1][0].join()
    forked.hold_at = None
    with Project.open(stages / f"{kind} killed") as project:
        dead = project.job(job.id)
        assert dead.state == "dead" and "died" in dead.message
        assert [run.id for run in project.runs() if run.current] == runs_before
        assert not [run for run in project.runs() if run.state == "training"]
        assert not [problem for problem in project.check() if problem.kind not in ("leftover", "queue")]
        again = project.wait_job(project.restart_job(job.id).id, timeout=120)
        assert again.state == "done", again.message
        assert outcome(project) == expected
        assert not [problem for problem in project.check() if problem.kind != "leftover"]
        if kind == "export":
            assert (stages / "out.csv").read_text() == written


def test_parameters_of_an_earlier_version_can_be_trained_again(stages: Path, forked: Forked) -> None:
    with Project.open(_copy(stages, "export", "old names")) as project:
        do(project, "train", {"params": {"alpha": 0.01, "max_iterations": 7, "tolerance": 0.1, "seed": 3}})
        run, model = project.current_run(), project.load_model()
        wanted = {"alpha": 0.01, "max_iter": 7, "tol": 0.1, "random_state": 3}
        assert run is not None and wanted.items() <= run.params.items()
        assert wanted.items() <= model.get_params().items()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stage", "params"), [("segment", {}), ("train", {"again": True}), ("train", {"scope": "all"})]
)
def test_segmenting_goes_on_where_it_was(stages: Path, forked: Forked, stage: str, params: dict[str, Any]) -> None:
    with Project.open(_copy(stages, stage, f"interrupted {params}")) as project:
        forked.hold_at = 4
        job = project.start_job("segment", {"processes": 1, **params})
        forked.wait_for_step(4)
        project.cancel_job(job.id)
        assert project.wait_job(job.id, timeout=60).state == "cancelled"
        forked.hold_at = None
        assert project.progress().n_segmented == 4
        stored = {bag.name: bag.revision for bag in project.list_bags().bags if bag.segmented}
        assert project.wait_job(project.restart_job(job.id).id, timeout=60).state == "done"
        assert project.progress().n_segmented == N_FILES
        for bag in project.list_bags().bags:
            assert bag.name not in stored or bag.revision == stored[bag.name], "what was done is not done twice"


@pytest.mark.slow
@pytest.mark.parametrize("stubborn", [False, True])
@pytest.mark.parametrize("kind", ["segment", "train", "export"])
def test_cancelling_takes_effect_within_two_seconds(stages: Path, forked: Forked, kind: str, stubborn: bool) -> None:
    """Work that does not listen is ended by force. A busy machine may delay it once, but not three times in a row."""
    forked.hold_at, forked.stubborn = 0, stubborn
    (stages / "out.csv").unlink(missing_ok=True)
    taken = []
    with Project.open(_copy(stages, kind, f"cancelled {stubborn}")) as project:
        while min(taken, default=9.0) > 2.0 and len(taken) < 3:
            job = project.start_job(kind, PARAMS[kind](stages))  # type: ignore[arg-type]
            pid = forked.wait_for_step(0)
            began = time.monotonic()
            project.cancel_job(job.id)
            assert project.wait_job(job.id, timeout=60).state == "cancelled"
            taken.append(time.monotonic() - began)
            forked.started[-1][0].join(10)
            assert not is_alive(pid)
        assert min(taken) < 2.0, taken
        assert not [run for run in project.runs() if run.state == "training"]
        assert project.check() == []


def test_a_job_cancelled_while_its_worker_is_loaded_never_starts(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    from miml_core.project import worker

    monkeypatch.setattr(launch, "start_worker", lambda folder, job_id: os.getpid())
    job = project.start_job("train")
    assert job.state == "running"
    assert project.cancel_job(job.id).state == "cancelled"
    assert project.start_job("train").state == "running", "the lane is free at once"
    assert worker.main(str(project.folder), job.id) == 0
    assert project.job(job.id).message == "cancelled before it started"


@pytest.mark.slow
def test_one_training_at_a_time_and_other_lanes_need_not_wait(stages: Path, forked: Forked) -> None:
    with Project.open(_copy(stages, "export", "busy")) as project:
        forked.hold_at = 0
        first = project.start_job("train", {"params": {"alpha": 0.01}})
        second = project.start_job("train", {"params": {"alpha": 0.02}})
        third = project.start_job("train", {"params": {"alpha": 0.03}})
        beside = project.start_job("export", {"format": "csv", "path": str(stages / "beside.csv")})
        states = [project.job(job.id).state for job in (first, second, third, beside)]
        assert states == ["running", "queued", "queued", "running"]
        assert project.cancel_job(third.id).state == "cancelled"
        forked.hold_at = None
        project.cancel_job(first.id)
        project.cancel_job(beside.id)
        assert project.wait_job(second.id, timeout=60).state == "done"
        assert project.job(third.id).started_at is None
        run = project.current_run()
        assert run is not None and run.params["alpha"] == 0.02
        assert [each.state for each in project.runs()].count("done") == 2


@pytest.mark.slow
def test_a_bad_file_is_listed_and_the_rest_goes_on(stages: Path, forked: Forked) -> None:
    home = stages / "with a bad file"
    write_recordings(home / "recordings", 3)
    with Project.create(home / "project") as project:
        do(project, "import", {"paths": [str(home / "recordings")]})
        (home / "recordings" / "clip_001.wav").unlink()
        (home / "recordings" / "clip_002.wav").write_bytes(b"RIFF")
        job = do(project, "segment", {"processes": 1})
        failures = {failure.item: failure.reason for failure in project.job_failures(job.id)}
        assert set(failures) == {"clip_001.wav", "clip_002.wav"}
        assert job.n_failures == 2
        assert "new folder" in failures["clip_001.wav"]
        assert [bag.name for bag in project.list_bags(show="error").bags] == ["clip_001.wav", "clip_002.wav"]
        assert [bag.missing for bag in project.list_bags().bags] == [False, True, False]
        assert project.bag(1).segmented and project.bag(1).n_segments > 0


def test_jobs_that_cannot_be_done_say_why(project: Project, forked: Forked) -> None:
    for kind, params, why in (
        ("train", {}, "nothing to learn from"),
        ("predict", {}, "train one first"),
        ("import", {"paths": ["/nowhere at all"]}, "no file or folder"),
    ):
        job = project.wait_job(project.start_job(kind, params).id, timeout=60)  # type: ignore[arg-type]
        assert job.state == "failed" and why in job.message


@pytest.mark.parametrize(
    ("kind", "params", "why"),
    [
        ("dance", {}, "no job called 'dance'"),
        ("features", {"bags": [1]}, "no parameter 'bags'; it takes none"),
        ("import", {}, "needs paths"),
        ("import", {"paths": []}, "a list of files and folders"),
        ("import", {"paths": ["a\0b"]}, "a list of files and folders"),
        ("import", {"paths": "recordings"}, "a list of files and folders"),
        ("import", {"paths": ["/"], "bag_length": 0.0}, "at least 0.1 s"),
        ("import", {"paths": ["/"], "bag_length": 1.0, "overlap": 1.0}, "shorter than the bag"),
        ("segment", {"processes": 10**9}, "from 1 to 256"),
        ("segment", {"bags": ["1; DROP TABLE bags"]}, "numbers of bags"),
        ("segment", {"scope": "everything"}, "one of stale, unreviewed, all"),
        ("train", {"model": "crystal ball"}, "no model called"),
        ("train", {"seed": -5}, "seed"),
        ("train", {"params": {"strength": 1}}, "no parameter 'strength'; it has alpha"),
        ("train", {"params": {"max_iterations": 10**12}}, "between 0 and 100000"),
        ("train", {"params": {"leak": 10**400}}, "a finite number"),
        ("train", {"params": {"background": "yes"}}, "true or false"),
        ("train", {"model": "sim", "params": {"aggregate": "__import__"}}, "'softmax'"),
        ("train", {"model": "mimm", "params": {"restarts": 1.5}}, "a whole number"),
        ("predict", {"run": "../../1"}, "the number of a run"),
        ("export", {"format": "papyrus", "path": "x"}, "no format"),
        ("export", {"format": "csv"}, "needs path"),
        ("export", {"format": "csv", "path": "x", "min_probability": float("nan")}, "from 0 to 1"),
        ("export", {"format": "csv", "path": "x", "command": "rm"}, "no parameter 'command'"),
    ],
)
def test_wrong_parameters_are_refused_when_the_job_is_asked_for(
    project: Project, kind: Any, params: dict[str, Any], why: str
) -> None:
    with pytest.raises(BagtagError, match=re.escape(why)):
        project.start_job(kind, params)
    assert project.jobs() == []


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
            project.jobs()


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
    assert project.job(1).state == "running", "its clock may be years behind ours"
    with project.store.write() as connection:
        connection.exec_driver_sql("UPDATE jobs SET heartbeat = 0.5")
    clock.watch(project, 12)
    assert project.job(1).state == "running", "it changed, whichever way"
    clock.now += 3600.0
    assert project.job(1).state == "running", "this computer may have slept: nobody looked for an hour"
    clock.watch(project, 24)
    stopped = project.job(1)
    assert stopped.state == "stopped" and not stopped.active
    with project.store.read() as connection:
        assert jobs.row(connection, 1).state == "running", "the other computer may be asleep, and go on"


@pytest.mark.slow
def test_a_computer_that_slept_for_hours_keeps_its_running_job(
    stages: Path, forked: Forked, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Project.open(_copy(stages, "segment", "asleep")) as project:
        forked.hold_at = 1
        job = project.start_job("segment", {"processes": 1})
        pid = forked.wait_for_step(1)
        now = time.time
        monkeypatch.setattr(time, "time", lambda: now() + 9 * 3600)
        _hold(project, pid)
        with project.store.write() as connection:
            connection.exec_driver_sql("UPDATE jobs SET heartbeat = heartbeat - 32400")
        clock = Clock(monkeypatch)
        clock.watch(project, 1200)
        assert project.job(job.id).state == "running"
        os.kill(pid, signal.SIGCONT)
        project.cancel_job(job.id)
        monkeypatch.undo()
        assert project.wait_job(job.id, timeout=60).state == "cancelled"


@pytest.mark.slow
def test_a_process_that_got_the_number_of_a_dead_worker_is_not_taken_for_it(stages: Path, forked: Forked) -> None:
    with Project.open(_copy(stages, "segment", "reused")) as project:
        forked.hold_at = 1
        job = project.start_job("segment", {"processes": 1})
        forked.wait_for_step(1)
        worker = installation.own_jobs(project.folder)[job.id].worker
        assert worker is not None and launch.is_alive(worker)
        installation.record_worker(project.folder, job.id, replace(worker, started=worker.started - 60))
        assert project.job(job.id).state == "dead"


@pytest.mark.slow
def test_a_worker_that_hangs_is_ended_when_a_person_cancels_it(
    stages: Path, forked: Forked, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Project.open(_copy(stages, "segment", "hanging")) as project:
        forked.hold_at = 1
        job = project.start_job("segment", {"processes": 1})
        pid = forked.wait_for_step(1)
        _hold(project, pid)
        project.cancel_job(job.id)
        clock = Clock(monkeypatch)
        clock.watch(project, 40)
        assert project.job(job.id).state == "cancelled"
        forked.started[-1][0].join()
        assert not is_alive(pid)


def _hold(project: Project, pid: int) -> None:
    """Stop a worker for a while, and not in the middle of a transaction."""
    with project.store.write():
        os.kill(pid, signal.SIGSTOP)


def test_jobs_are_listed_while_nothing_can_be_written(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk, or a project that became read-only: what waits cannot be started, but the list is there."""
    with monkeypatch.context() as patch:
        patch.setattr(jobs, "_launch", lambda store, job_id: None)
        job = project.start_job("features")

    @contextmanager
    def refused() -> Iterator[Any]:
        raise NotSaved("The disk is full.")
        yield

    with monkeypatch.context() as patch:
        patch.setattr(project.store, "write", refused)
        assert [found.id for found in project.jobs(active=True)] == [job.id]
        assert project.job(job.id).state == "queued"
        assert project.stopped_jobs() == []


@pytest.mark.slow
def test_a_real_worker_is_detached_leaves_no_zombie_and_its_output_never_blocks(stages: Path) -> None:
    folder = _copy(stages, "segment", "detached")
    with pytest.MonkeyPatch.context() as patch, Project.open(folder) as project:
        patch.undo()
        patch.setattr(launch, "start_worker", REAL_START)
        job = project.start_job("segment", {"processes": 2})
        pid = _pid(project, job.id)
        assert os.getsid(pid) == pid, "it has a session of its own: closing the terminal does not end it"
        assert project.wait_job(job.id, timeout=120).state == "done"
        deadline = time.monotonic() + 10
        while Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
            jobs.look_after(project.store)
            time.sleep(0.05)
        assert not Path(f"/proc/{pid}").exists()
        assert (folder / "logs" / f"job-{job.id}.txt").is_file()


REAL_START = launch.start_worker


def _pid(project: Project, job_id: int) -> int:
    with project.store.read() as connection:
        return int(jobs.row(connection, job_id).pid)
