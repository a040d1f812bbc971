"""Jobs: what may be asked of them, the order they run in, and what they report."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from miml_core.errors import BagtagError
from miml_core.project import Project
from miml_core.project.errors import NotSaved
from miml_core.project.jobs import queue as job_queue
from tests.conftest import PATIENCE
from tests.project.job_stages import Forked, copy_stage, do
from tests.project.sounds import write_recordings


def test_parameters_of_an_earlier_version_can_be_trained_again(stages: Path, forked: Forked) -> None:
    with Project.open(copy_stage(stages, "export", "old names")) as project:
        do(project, "train", {"params": {"alpha": 0.01, "max_iterations": 7, "tolerance": 0.1, "seed": 3}})
        run, model = project.runs.current(), project.runs.load_model()
        wanted = {"alpha": 0.01, "max_iter": 7, "tol": 0.1, "random_state": 3}
        assert run is not None and wanted.items() <= run.params.items()
        assert wanted.items() <= model.get_params().items()


@pytest.mark.slow
def test_one_training_at_a_time_and_other_lanes_need_not_wait(stages: Path, forked: Forked) -> None:
    with Project.open(copy_stage(stages, "export", "busy")) as project:
        forked.hold_at = 0
        first = project.jobs.start("train", {"params": {"alpha": 0.01}})
        second = project.jobs.start("train", {"params": {"alpha": 0.02}})
        third = project.jobs.start("train", {"params": {"alpha": 0.03}})
        beside = project.jobs.start("export", {"format": "csv", "path": str(stages / "beside.csv")})
        states = [project.jobs.get(job.id).state for job in (first, second, third, beside)]
        assert states == ["running", "queued", "queued", "running"]
        assert project.jobs.cancel(third.id).state == "cancelled"
        forked.hold_at = None
        project.jobs.cancel(first.id)
        project.jobs.cancel(beside.id)
        assert project.jobs.wait(second.id, timeout=PATIENCE).state == "done"
        assert project.jobs.get(third.id).started_at is None
        run = project.runs.current()
        assert run is not None and run.params["alpha"] == 0.02
        assert [each.state for each in project.runs.list()].count("done") == 2


@pytest.mark.slow
def test_a_bad_file_is_listed_and_the_rest_goes_on(stages: Path, forked: Forked) -> None:
    home = stages / "with a bad file"
    write_recordings(home / "recordings", 3)
    with Project.create(home / "project") as project:
        do(project, "import", {"paths": [str(home / "recordings")]})
        (home / "recordings" / "clip_001.wav").unlink()
        (home / "recordings" / "clip_002.wav").write_bytes(b"RIFF")
        job = do(project, "segment", {"processes": 1})
        failures = {failure.item: failure.reason for failure in project.jobs.failures(job.id)}
        assert set(failures) == {"clip_001.wav", "clip_002.wav"}
        assert job.n_failures == 2
        assert "new folder" in failures["clip_001.wav"]
        assert [bag.name for bag in project.bags.list(show="error").bags] == ["clip_001.wav", "clip_002.wav"]
        assert [bag.missing for bag in project.bags.list().bags] == [False, True, False]
        assert project.bags.get(1).segmented and project.bags.get(1).n_segments > 0


def test_jobs_that_fail_name_the_reason(project: Project, forked: Forked) -> None:
    for kind, params, why in (
        ("train", {}, "nothing to learn from"),
        ("predict", {}, "train one first"),
        ("import", {"paths": ["/nowhere at all"]}, "no file or folder"),
    ):
        job = project.jobs.wait(project.jobs.start(kind, params).id, timeout=PATIENCE)  # type: ignore[arg-type]
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
        ("segment", {"bags": ["1; DROP TABLE bags"]}, "bag numbers"),
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
        project.jobs.start(kind, params)
    assert project.jobs.list() == []


def test_jobs_are_listed_while_nothing_can_be_written(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk, or a project that became read-only: queued jobs cannot be started, but they are listed."""
    with monkeypatch.context() as patch:
        patch.setattr(job_queue, "_launch", lambda store, job_id: None)
        job = project.jobs.start("features")

    @contextmanager
    def refused() -> Iterator[Any]:
        raise NotSaved("The disk is full.")
        yield

    with monkeypatch.context() as patch:
        patch.setattr(project.store, "write", refused)
        assert [found.id for found in project.jobs.list(active=True)] == [job.id]
        assert project.jobs.get(job.id).state == "queued"
        assert project.jobs.list_stopped() == []


@pytest.mark.slow
def test_a_real_worker_is_detached_leaves_no_zombie_and_its_output_never_blocks(stages: Path) -> None:
    folder = copy_stage(stages, "segment", "detached")
    with Project.open(folder) as project:
        job = project.jobs.start("segment", {"processes": 2})
        pid = _pid(project, job.id)
        assert os.getsid(pid) == pid, "it has a session of its own: closing the terminal does not end it"
        assert project.jobs.wait(job.id, timeout=PATIENCE).state == "done"
        deadline = time.monotonic() + PATIENCE
        while Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
            job_queue.update_jobs(project.store)
            time.sleep(0.05)
        assert not Path(f"/proc/{pid}").exists()
        assert (folder / "logs" / f"job-{job.id}.txt").is_file()


def _pid(project: Project, job_id: int) -> int:
    with project.store.read() as connection:
        return int(job_queue.row(connection, job_id).pid)
