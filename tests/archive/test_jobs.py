"""The jobs "apply" and "sample" of a project: what they do, cancelled and started again, and where they may write."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from miml_core import installation, worker
from miml_core.archive import run
from miml_core.archive.bundle import read_bundle
from miml_core.archive.reading import read_failures, summarise
from miml_core.archive.sample_project import add_run, open_or_create_project, read_estimates
from miml_core.errors import BagtagError
from miml_core.project import Job, Project
from miml_core.project.jobs import archive_targets, context, launch
from tests.archive.conftest import do_here, make_survey
from tests.archive.test_apply import content
from tests.project.foreign import add_job
from tests.project.processes import is_cancelled


@pytest.fixture(autouse=True)
def work_here(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Use a state of its own, and run jobs and their tasks at once in this process."""
    monkeypatch.setenv("BAGTAG_STATE", str(tmp_path_factory.mktemp("state")))
    monkeypatch.setattr(context, "_GRACE_SECONDS", 60.0)  # a job that is cancelled ends its process otherwise
    do_here(monkeypatch)

    def start_worker(folder: Path, job_id: int) -> int:
        worker.main(str(folder), job_id)
        return os.getpid()

    monkeypatch.setattr(launch, "start_worker", start_worker)


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two recordings and a file that is none."""
    return make_survey(tmp_path_factory.mktemp("two") / "survey", per_site=1)


@pytest.fixture
def project(bundle_file: Path, tmp_path: Path) -> Iterator[Project]:
    """A project with a trained run."""
    with open_or_create_project(tmp_path / "home" / "project", read_bundle(bundle_file), "Ann") as project:
        add_run(project, read_bundle(bundle_file), "Ann")
        yield project


def apply(project: Project, recordings: Path, archive: Path, **params: Any) -> Job:
    return project.jobs.start("apply", {"folders": [str(recordings)], "archive": str(archive), **params})


def test_a_job_applies_the_model_and_another_draws_a_sample(project, recordings, tmp_path):
    job = apply(project, recordings, tmp_path / "archive", workers=1)
    assert job.state == "done", (job.message, project.jobs.log(job.id))
    assert (job.result["files"], job.result["of_files"], job.result["failed"]) == (3, 3, 1)
    assert job.result["hours"] == pytest.approx(9.6 / 3600, abs=1e-4) and job.info["stage"] == "done"
    (failure,) = project.jobs.failures(job.id)
    model = job.params["model"]
    found = summarise(tmp_path / "archive", model)
    assert (found.files, found.segments) == (2, job.result["segments"]) and found.segments > 4
    assert [(failure.item, failure.reason)] == read_failures(tmp_path / "archive", model)
    assert archive_targets.known_archives(project.folder) == [tmp_path / "archive"]
    again = apply(project, recordings, tmp_path / "archive")
    assert again.state == "done" and again.result["segments"] == 0, "nothing is done twice"

    drawn = project.jobs.start("sample", {"archive": str(tmp_path / "archive"), "per_class": 2, "seed": 3})
    assert drawn.state == "done", drawn.message
    assert (
        project.review.sizes()["archive"]
        == drawn.result["detections"]
        == sum(one.drawn for one in read_estimates(project))
    )
    other = tmp_path / "check"
    drawn = project.jobs.start(
        "sample", {"archive": str(tmp_path / "archive"), "per_class": 2, "seed": 3, "project": str(other)}
    )
    assert drawn.state == "done" and drawn.result["project"] == str(other)
    with Project.open(other) as new:
        assert new.review.sizes()["archive"] == drawn.result["detections"]
    twice = project.jobs.start("sample", {"archive": str(tmp_path / "archive"), "per_class": 2})
    assert twice.state == "failed" and "has a sample of an archive already" in twice.message


def test_a_cancelled_job_continues_with_the_same_model(project, recordings, tmp_path, monkeypatch):
    whole = apply(project, recordings, tmp_path / "whole")

    seen: list[context.JobContext] = []
    report = context.JobContext.report
    monkeypatch.setattr(context.JobContext, "report", lambda self, *step: (seen.append(self), report(self, *step))[1])
    noticed = iter(lambda: is_cancelled(seen[-1]), True)

    def cancel_after_one(client, work, items, *arguments, key):
        for number, item in enumerate(items):
            yield item, work(item, *arguments)
            if number == 0 and getattr(work, "__name__", "") == "do_task":
                (job,) = project.jobs.list(active=True)
                project.jobs.cancel(job.id)
                for _ in noticed:
                    time.sleep(0.01)

    monkeypatch.setattr(run, "run_bounded", cancel_after_one)
    job = apply(project, recordings, tmp_path / "archive")
    assert job.state == "cancelled" and not project.jobs.list(active=True)
    partial = content(tmp_path / "archive")
    assert 0 < len(partial) < len(content(tmp_path / "whole"))
    do_here(monkeypatch)
    wren = project.classes.list()[0]
    project.edits.change_class(wren.id, name="renamed since")
    done = project.jobs.restart(job.id)
    assert done.state == "done" and done.params["model"] == job.params["model"] == whole.params["model"]
    assert content(tmp_path / "archive") == content(tmp_path / "whole")


def test_a_job_of_somebody_else_never_runs_by_itself(project, recordings, tmp_path):
    archive = tmp_path / "home" / "archive"
    params = {"folders": [str(recordings)], "archive": str(archive)}
    theirs = add_job(project, "apply", params, lane="archive")
    sample = add_job(project, "sample", {"archive": str(archive), "per_class": 1, "project": str(tmp_path / "x")})
    assert [job.state for job in project.jobs.list()] == ["stopped", "stopped"]
    for job_id in (theirs, sample):
        assert worker.main(str(project.folder), job_id) == 0
        done = project.jobs.restart(job_id)
        assert done.state == "failed" and "was not chosen on this computer" in done.message
    assert not archive.exists() and not (tmp_path / "x").exists()
    installation.allow_folder(project.folder, archive, "archive")
    outside = project.jobs.restart(theirs)
    assert outside.state == "failed" and str(recordings) in outside.message, "recordings were not chosen either"


def test_results_go_only_where_nothing_else_is(project, recordings, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").write_text("mine")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    refused = {
        project.folder: "the folder of a project",
        project.folder / "runs" / "archive": "belongs to the project",
        tmp_path / "full": "has files of something else",
        tmp_path / "full" / "notes.txt": "is a file",
    }
    for target, reason in refused.items():
        with pytest.raises(BagtagError, match=reason):
            apply(project, recordings, target)
    with pytest.raises(BagtagError, match="There is no folder"):
        apply(project, tmp_path / "none", tmp_path / "archive")
    with pytest.raises(BagtagError, match="system folder"):
        apply(project, Path("/etc"), tmp_path / "archive")
    with pytest.raises(BagtagError, match="no results of a model"):
        project.jobs.start("sample", {"archive": str(tmp_path / "full"), "per_class": 1})
    for params in ({"folders": []}, {"archive": ""}, {"model": "../../x"}, {"workers": 0}, {"command": "rm"}):
        asked = {"folders": [str(recordings)], "archive": str(tmp_path / "archive"), **params}
        with pytest.raises(BagtagError, match=r"of the job 'apply' must be|has no parameter 'command'"):
            project.jobs.start("apply", asked)
    assert project.jobs.list() == [] and archive_targets.known_archives(project.folder) == []
    job = apply(project, recordings, tmp_path / "link" / "archive")
    assert job.params["archive"] == str(tmp_path / "elsewhere" / "archive"), "a link is resolved when it is chosen"
    (tmp_path / "elsewhere" / "archive").rename(tmp_path / "moved")
    (tmp_path / "elsewhere" / "archive").symlink_to(tmp_path / "full")
    failed = project.jobs.restart(job.id)
    assert failed.state == "failed" and "was not chosen" in failed.message, "a link took its place"
