"""Cut-outs and side files of a project's exports: where, of what, by whom; an import leaves the clips out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from miml_core import BACKGROUND, __version__
from miml_core.errors import BagtagError
from miml_core.exchange import FORMATS
from miml_core.project import Project
from miml_core.project.errors import Cancelled
from miml_core.project.jobs.context import JobContext
from miml_core.project.jobs.tasks import exporting
from tests.browser.projects import picture_project, sound_project
from tests.project.test_export_targets import contents, export, insert_job, work_here

assert work_here, "the fixture that runs jobs at once in this process"


@pytest.fixture
def sounds(tmp_path: Path) -> Iterator[Project]:
    """Return a project with two recordings; in the first, one segment is confirmed and one background."""
    with sound_project(tmp_path / "project", (4, 3)) as project:
        for bag_id in (1, 2):
            project.edits.set_label([segment.id for segment in project.segments.list(bag_id)], None)
        first, second = project.segments.list(1)[:2]
        project.edits.set_label(first.id, project.classes.list()[0].id)
        project.edits.set_label(second.id, BACKGROUND)
        yield project


def side_file(path: Path) -> dict[str, object]:
    found = json.loads(path.read_text())
    assert isinstance(found, dict)
    return found


def test_cut_outs_are_of_checked_labels_and_described_by_a_side_file(sounds: Project, tmp_path: Path) -> None:
    job = sounds.jobs.start(
        "export", {"format": "cut-outs", "path": str(tmp_path / "clips"), "padding": 0.1, "rate": 32000}
    )
    assert job.state == "done", job.message
    name = sounds.classes.list()[0].name
    written = sorted(path.relative_to(tmp_path / "clips").as_posix() for path in (tmp_path / "clips").rglob("*.*"))
    assert [each.split("/")[0] for each in written] == [
        "(background)", name, "bagtag.provenance.json", "segments.csv"
    ]  # fmt: skip
    about = side_file(tmp_path / "clips" / "bagtag.provenance.json")
    assert about["rows"] == 2 and about["by_status"] == {"background": 1, "confirmed": 1}
    assert about["filters"] == {"what": "confirmed"} and about["options"] == {"padding": 0.1, "rate": 32000}
    assert about["made_by"] == f"Bagtag {__version__}" and about["kind"] == "sound"
    run = sounds.runs.current()
    assert run is not None and isinstance(about["run"], dict)
    assert (about["run"]["number"], about["run"]["model"]) == (run.id, run.model)
    (one,) = sounds.exports.list()
    assert one.file_name == "clips.zip" and one.side_file is None and len(one.files) == 4


def test_every_format_has_a_side_file(sounds: Project, tmp_path: Path) -> None:
    with picture_project(tmp_path / "pictures") as pictures:
        for project in (sounds, pictures):
            classes = [project.classes.list()[0].name]
            for format in (one for one in FORMATS.values() if project.kind in one.kinds):
                target = project.folder / "exports" / format.name
                target = target if format.many_files else target.with_suffix(format.extensions[0])
                params = {"format": format.name, "path": str(target), "what": "predicted", "classes": classes}
                result = exporting.run(JobContext(project.store, insert_job(project, state="running", params=params)))
                beside = target / "bagtag.provenance.json" if format.many_files else Path(f"{target}.provenance.json")
                about = side_file(beside)
                assert about["format"] == format.name and about["rows"] == result["rows"] > 0
                assert about["filters"] == {"what": "predicted", "classes": classes}
                if not format.also_writes:
                    assert len(format.read(target)) == about["rows"], "the side file is not read as labels"


def test_clips_in_the_folder_of_the_media_are_not_imported_and_media_are_never_replaced(
    sounds: Project, tmp_path: Path
) -> None:
    media = sounds.media.path(1).parent
    made = export(sounds, media / "clips", "birdnet-training", what="confirmed")
    assert made.state == "done" and made.message.endswith("; left out: 1 of background near a call")
    job = sounds.jobs.start("import", {"paths": [str(media)]})
    assert job.state == "done" and "1 file was left out" in job.message and len(sounds.media.list()) == 2
    before = contents(tmp_path)
    for target in (sounds.media.path(1), sounds.folder, sounds.folder / "runs" / "clips"):
        with pytest.raises(BagtagError):
            export(sounds, target, "cut-outs")
    assert contents(tmp_path) == before


def test_a_side_file_of_somebody_else_stays(sounds: Project, tmp_path: Path) -> None:
    (tmp_path / "calls.csv.provenance.json").write_text("mine")
    with pytest.raises(BagtagError, match="unchanged export"):
        export(sounds, tmp_path / "calls.csv")
    assert not (tmp_path / "calls.csv").exists()
    with pytest.raises(BagtagError, match=r"must end in \.csv or \.zip"):
        export(sounds, tmp_path / "x.provenance.json")


def test_recordings_that_are_missing_are_listed(sounds: Project, tmp_path: Path) -> None:
    sounds.edits.set_label(sounds.segments.list(2)[0].id, sounds.classes.list()[1].id)
    sounds.media.path(2).unlink()
    job = export(sounds, tmp_path / "clips", "cut-outs", what="confirmed")
    assert job.state == "done" and job.result["rows"] == 2 and "1 could not be cut out" in job.message
    (failure,) = sounds.jobs.failures(job.id)
    assert failure.item == "../garden_2.wav" and "choose its new folder" in failure.reason


@pytest.mark.parametrize("name", ["clips", "clips.zip"])
def test_an_export_of_clips_can_be_cancelled_and_leaves_nothing(sounds: Project, name: str) -> None:
    params = {"format": "cut-outs", "path": str(sounds.folder / "exports" / name), "what": "all"}
    context = JobContext(sounds.store, insert_job(sounds, state="running", params=params))
    said: list[str] = []

    def report(done: int, of: int, message: str) -> None:
        said.append(f"{done} of {of}")
        if done == 3 and message.startswith("cutting"):
            raise Cancelled

    context.report = report  # type: ignore[method-assign]
    with pytest.raises(Cancelled):
        exporting.run(context)
    n = len(sounds.exports.rows("all"))
    assert said[-3:] == [f"{done} of {n}" for done in (1, 2, 3)]
    assert not list((sounds.folder / "exports").glob("*")), "no part of it, and no temporary file"
