"""An export writes where the user chose, and replaces only its own unchanged former export."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from sqlalchemy import insert, update

from miml_core import installation
from miml_core.errors import BagtagError
from miml_core.exchange import FORMATS
from miml_core.project import Job, Project
from miml_core.project.db.schema import bags
from miml_core.project.db.schema import jobs as jobs_table
from miml_core.project.errors import Cancelled
from miml_core.project.jobs import launch, worker
from miml_core.project.jobs import queue as job_queue
from miml_core.project.jobs.context import JobContext
from miml_core.project.jobs.export_targets import TargetCheck, resolve_target
from miml_core.project.jobs.tasks import exporting
from tests.browser.projects import picture_project
from tests.conftest import PATIENCE
from tests.project.conftest import add_bags


@pytest.fixture(autouse=True)
def work_here(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Use a state of its own, and run jobs at once in this process."""
    monkeypatch.setenv("BAGTAG_STATE", str(tmp_path_factory.mktemp("state")))

    def start_worker(folder: Path, job_id: int) -> int:
        worker.main(str(folder), job_id)
        return os.getpid()

    monkeypatch.setattr(launch, "start_worker", start_worker)


def export(project: Project, path: Path | str, format: str = "csv", **params: Any) -> Job:
    return project.jobs.start("export", {"format": format, "path": str(path), "what": "all", **params})


def insert_job(project: Project, **values: Any) -> int:
    """Insert a row that somebody else may have written into the database."""
    row = {"kind": "export", "lane": "export", "message": "", "created_at": 0.0, "annotator": "", "params": {}}
    row |= values
    row["params"] = json.dumps(row["params"])
    with project.store.write() as connection:
        done = connection.execute(insert(jobs_table).values(**row))
        assert done.inserted_primary_key is not None
        return int(done.inserted_primary_key[0])


def assert_refused(project: Project, params: dict[str, Any]) -> None:
    """Assert that a job with these parameters is not restarted, or fails with a sentence."""
    job_id = insert_job(project, state="failed", params=params)
    try:
        job = project.jobs.restart(job_id)
    except BagtagError:
        return
    assert job.state == "failed" and "unexpected" not in job.message


def contents(folder: Path) -> dict[str, str]:
    """Return all files below a folder, without the database and the workers' output, which change with every job."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.name.startswith("project.db") and path.parent.name != "logs":
            found[str(path)] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


@pytest.fixture
def there(small: Project, tmp_path: Path) -> Iterator[Path]:
    """Return a folder of the user beside the project."""
    folder = tmp_path / "tables"
    folder.mkdir()
    yield folder


def test_the_project_and_its_media_are_never_a_target(small: Project, tmp_path: Path) -> None:
    inside = small.folder
    for name in ("runs", "logs", "cache", "backups", "segmenters"):
        (inside / name).mkdir(exist_ok=True)
    (tmp_path / "link").symlink_to(inside)
    os.link(inside / "media" / "clip 0.wav", tmp_path / "hard.csv")
    (tmp_path / "soft.csv").symlink_to(inside / "media" / "clip 0.wav")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    before = contents(tmp_path)
    for target in (
        "project/project.db",
        "project/project.db-wal",
        "project/PROJECT.DB",
        "project/project.db.csv",
        "project/project.db.",
        "project/x/../project.db",
        "link/project.db",
        "project/runs/new.csv",
        "project/Runs/new.csv",
        "project/logs/deep/new.csv",
        "link/cache/new.csv",
        "project/backups/new.zip",
        "project/segmenters/new.csv",
        "project",
        "link",
        "project/media/clip 0.wav",
        "project/media/new.wav",
        "hard.csv",
        "soft.csv",
        "loop/x.csv",
        "nul.csv",
        "x.csv:stream",
        "x:y.csv",
        "x.csv ",
        ".bashrc",
        "x.pth",
        "authorized_keys",
        "sitecustomize.py",
        "page.html",
    ):
        with pytest.raises(BagtagError) as refusal:
            export(small, tmp_path / target)
        assert str(refusal.value).endswith(".") and "choose " in str(refusal.value).lower()
    with pytest.raises(BagtagError, match="must be a file or folder"):
        export(small, tmp_path / "x.csv\0")
    for target in ("project", "project/runs", "hard.csv"):
        with pytest.raises(BagtagError):
            export(small, tmp_path / target, "raven")
    assert contents(tmp_path) == before
    assert installation.allowed_folders(small.folder, "export") == [], "what was refused was not chosen"
    assert small.jobs.list() == [] and small.check() == []


def test_only_an_unchanged_export_is_replaced(small: Project, there: Path) -> None:
    (there / "notes.csv").write_text("mine")
    with pytest.raises(BagtagError, match="already exists and is not an unchanged export of this project"):
        export(small, there / "notes.csv")
    assert (there / "notes.csv").read_text() == "mine"

    assert export(small, there / "calls.csv").state == "done"
    first = (there / "calls.csv").read_bytes()
    small.edits.set_label(1, 2)
    os.link(there / "calls.csv", there / "kept.csv")
    assert export(small, there / "calls.csv").state == "done"
    assert b"Robin" in (there / "calls.csv").read_bytes()
    assert (there / "kept.csv").read_bytes() == first, "nothing is written through a hard link"

    (there / "calls.csv").write_text("edited by hand")
    with pytest.raises(BagtagError, match="unchanged export"):
        export(small, there / "calls.csv")
    assert (there / "calls.csv").read_text() == "edited by hand"


def test_another_project_does_not_replace_an_export(small: Project, there: Path, tmp_path: Path) -> None:
    export(small, there / "calls.csv")
    with Project.create(tmp_path / "other") as other:
        add_bags(other, 1)
        with pytest.raises(BagtagError, match="unchanged export"):
            export(other, there / "calls.csv")


@pytest.mark.parametrize("target", ["raven", "raven.zip"])
def test_many_files_are_written_all_or_none(small: Project, there: Path, target: str) -> None:
    assert export(small, there / target, "raven").state == "done"
    before = contents(there)
    assert len(before) == (2 if target.endswith("zip") else 3), "with the side file"
    small.edits.set_label([1, 6], 2)
    last = there / target if target.endswith("zip") else there / target / "media" / "clip 1.wav.selections.txt"
    with last.open("ab") as file:
        file.write(b"by hand")
    changed = contents(there)
    if target.endswith("zip"):
        with pytest.raises(BagtagError, match="unchanged export"):
            export(small, there / target, "raven")
    else:
        job = export(small, there / target, "raven")
        assert job.state == "failed" and "clip 1.wav.selections.txt" in job.message
    assert contents(there) == changed, "not even the file that might have been replaced"
    last.unlink()
    assert export(small, there / target, "raven").state == "done"
    assert contents(there).keys() == before.keys()


def test_files_put_in_place_are_taken_back_when_a_later_one_fails(small: Project, there: Path) -> None:
    """The last file appears between the check and the write."""
    export(small, there / "raven", "raven")
    first, second = sorted((there / "raven" / "media").iterdir())
    second.unlink()
    before = contents(there)
    calls: list[Path] = []

    def check(path: Path) -> None:
        calls.append(path)
        if calls.count(second) == 2:
            raise BagtagError("it appeared")

    rows = small.exports.rows("all")
    with pytest.raises(BagtagError, match="it appeared"):
        FORMATS["raven"].write(rows, there / "raven", check=check)
    assert calls.count(first) == 2 and contents(there) == before
    assert installation.is_own_export(small.folder, first), "the older export is as it was, its time included"
    assert sorted(path.name for path in (there / "raven" / "media").iterdir()) == [first.name]


def test_a_file_that_appears_in_the_last_moment_stays(small: Project, there: Path) -> None:
    def check(path: Path) -> None:
        if any(other.name.startswith(".writing-") for other in there.iterdir()):
            checked.append(path)

    checked: list[Path] = []
    rows = small.exports.rows("all")
    link = os.link

    def link_late(source: Any, target: Any, **options: Any) -> None:
        Path(target).write_text("somebody else's")
        link(source, target, **options)

    with pytest.MonkeyPatch.context() as patch, pytest.raises(BagtagError, match="appeared while"):
        patch.setattr(os, "link", link_late)
        FORMATS["csv"].write(rows, there / "calls.csv", check=check)
    assert checked == [there / "calls.csv"]
    assert [path.name for path in there.iterdir()] == ["calls.csv"]
    assert (there / "calls.csv").read_text() == "somebody else's"


def test_a_folder_that_became_a_link_is_not_followed(small: Project, there: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    export(small, there / "raven", "raven")
    shutil.rmtree(there / "raven" / "media")
    (there / "raven" / "media").symlink_to(tmp_path / "elsewhere")
    job = export(small, there / "raven", "raven")
    assert job.state == "failed" and "through a link" in job.message
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_jobs_of_a_foreign_database_write_nowhere(small: Project, tmp_path: Path) -> None:
    """Neither a queued row nor a restarted one makes a folder a chosen one."""
    (tmp_path / "victim").mkdir()
    (small.folder / "exports").symlink_to(tmp_path / "victim")
    targets = [tmp_path / "victim" / "x.csv", small.folder / "exports" / "x.csv", "x.csv", None, ["x.csv"], 5]
    for target in targets:
        for format in ("csv", "raven"):
            params = {"format": format, "path": str(target) if isinstance(target, Path) else target, "what": "all"}
            assert_refused(small, params)
    for odd in ({"bags": "all"}, {"min_probability": "much"}, {"format": ["csv"]}, {"what": ["all"]}):
        params = {"format": "csv", "path": str(tmp_path / "victim" / "x.csv"), **odd}
        assert_refused(small, params)
    assert list((tmp_path / "victim").iterdir()) == []
    assert installation.allowed_folders(small.folder, "export") == []
    with pytest.raises(BagtagError, match="not in a folder that was chosen"):
        TargetCheck(small.folder)(resolve_target(tmp_path / "victim" / "x.csv"))
    (small.folder / "exports").unlink()
    TargetCheck(small.folder)(resolve_target(small.folder / "exports" / "x.csv"))


def test_an_export_that_was_asked_for_here_can_be_run_again(small: Project, there: Path) -> None:
    job = export(small, there / "calls.csv")
    with small.store.write() as connection:
        connection.execute(update(jobs_table).where(jobs_table.c.id == job.id).values(state="failed"))
    (there / "calls.csv").unlink()
    assert small.jobs.restart(job.id).state == "done" and (there / "calls.csv").is_file()


def test_the_place_of_a_missing_picture_stays_free(tmp_path: Path) -> None:
    with picture_project(tmp_path / "meadow", n_pictures=1) as pictures:
        job = export(pictures, tmp_path / "maps", "label-maps")
        (made,) = (Path(file) for file in job.result["files"] if "/labels/" in file)
        made.unlink()
        with pictures.store.write() as connection:
            row = (str(made.with_name(made.name.upper())), "x")
            connection.exec_driver_sql("INSERT INTO media (path, size, fingerprint, missing) VALUES (?, 1, ?, 1)", row)
        job = export(pictures, tmp_path / "maps", "label-maps")
        assert job.state == "failed" and "path of a media file" in job.message and not made.exists()


def test_own_label_maps_are_not_imported_as_pictures(tmp_path: Path) -> None:
    with picture_project(tmp_path / "meadow") as pictures:
        export(pictures, tmp_path / "meadow" / "maps", "label-maps")
        Image.open(tmp_path / "meadow" / "meadow_1.png").save(tmp_path / "meadow" / "maps" / "photo.png")
    with Project.create(tmp_path / "new", kind="picture") as new:
        job = new.jobs.start("import", {"paths": [str(tmp_path / "meadow")]})
        assert job.state == "done" and job.result["files"] == 3 and job.result["exports"] == 4
        assert "4 files were left out because an export of Bagtag wrote them" in job.message
        assert not [each.path for each in new.media.list() if "labels" in each.path or "segments" in each.path]
    with Project.create(tmp_path / "empty", kind="picture") as empty:
        job = empty.jobs.start("import", {"paths": [str(tmp_path / "meadow" / "maps" / "labels")]})
        assert job.state == "failed" and "2 files were left out" in job.message


@pytest.mark.parametrize("state", ["running", "queued"])
def test_an_export_waits_until_segments_are_detected(
    small: Project, there: Path, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    monkeypatch.setattr(job_queue, "update_jobs", lambda store: None)
    busy = insert_job(small, kind="segment", lane="files", state=state, heartbeat=time.time())
    installation.record_job(small.folder, busy, "segment", {})
    params = {"format": "csv", "path": str(there / "calls.csv"), "what": "all"}
    installation.allow_folder(small.folder, there, "export")
    context = JobContext(small.store, insert_job(small, state="running", params=params))
    waiting = threading.Event()
    report = JobContext.report

    def watch(self: JobContext, done: int, of: int, message: str) -> None:
        if "waiting until segments are detected" in message:
            waiting.set()
        report(self, done, of, message)

    monkeypatch.setattr(JobContext, "report", watch)
    results: list[dict[str, Any]] = []
    task = threading.Thread(target=lambda: results.append(exporting.run(context)))
    task.start()
    assert waiting.wait(PATIENCE)
    assert not (there / "calls.csv").exists()
    with small.store.write() as connection:
        connection.execute(update(bags).where(bags.c.id == 2).values(segment_key="of earlier settings"))
        job_queue.finish(connection, busy, "failed", "it failed")
    task.join(PATIENCE)
    assert results[0]["rows"] == 10 and results[0]["missing"] == 1
    assert "segments of 1 bag are missing or out of date" in results[0]["message"]


def test_an_export_that_waits_can_be_cancelled(small: Project, there: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_queue, "update_jobs", lambda store: None)
    insert_job(small, kind="features", lane="files", state="running", heartbeat=time.time())
    params = {"format": "csv", "path": str(there / "calls.csv"), "what": "all"}
    context = JobContext(small.store, insert_job(small, state="running", cancel=True, params=params))
    context.flush()
    with pytest.raises(Cancelled):
        exporting.run(context)
    assert list(there.iterdir()) == []


def test_an_export_does_not_wait_for_a_job_nobody_asked_for_here(small: Project, there: Path) -> None:
    export_params = {"format": "csv", "path": str(there / "calls.csv"), "what": "all"}
    insert_job(small, kind="segment", lane="files", state="queued")
    installation.allow_folder(small.folder, there, "export")
    context = JobContext(small.store, insert_job(small, state="running", params=export_params))
    result = exporting.run(context)
    assert result["missing"] == 0 and "earlier settings" not in result["message"]


def test_exports_made_are_only_files_this_installation_wrote(small: Project, there: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    for files in ([str(secret)], str(secret), 5, [5], {"a": 1}):
        insert_job(
            small,
            state="done",
            params={"format": "csv", "path": str(secret)},
            result=json.dumps({"files": files}),
            finished_at=1.0,
        )
    insert_job(small, state="done", params={"format": "papyrus", "path": "x"}, result='{"files": []}')
    insert_job(small, state="done", params=["csv"], result="[]")
    (there / "raven").mkdir()
    (there / "raven" / "diary.txt").write_text("mine")
    export(small, there / "raven", "raven")
    ours, *foreign = small.exports.list(limit=20)
    assert [Path(file).name for file in ours.files] == [
        "clip 0.wav.selections.txt",
        "clip 1.wav.selections.txt",
        "bagtag.provenance.json",
    ]
    assert ours.size == sum(Path(file).stat().st_size for file in ours.files) and ours.is_there()
    assert all(one.files == () and not one.is_there() for one in foreign)
    shutil.copytree(small.folder, tmp_path / "copy")
    with Project.open(tmp_path / "copy") as copy:
        assert all(one.files == () for one in copy.exports.list(limit=20))
