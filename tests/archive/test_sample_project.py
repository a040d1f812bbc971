"""A sample of an archive in a project: the clips, the review list, and estimates from its answers."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from miml_core import installation
from miml_core.__main__ import main
from miml_core.archive.bundle import read_bundle
from miml_core.archive.plan import plan_tasks
from miml_core.archive.reading import open_table
from miml_core.archive.recordings import SitePattern, find_recordings, read_headers
from miml_core.archive.sample_project import draw_into_project, read_estimates
from miml_core.archive.work import do_task
from miml_core.bags import BACKGROUND
from miml_core.errors import BagtagError
from miml_core.instances import InstanceSettings
from miml_core.project import Project

PER_CLASS = 12


@pytest.fixture(scope="module")
def archive(bundle_file: Path, survey: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of the model on the survey, task by task in this process."""
    folder = tmp_path_factory.mktemp("sampled") / "archive"
    bundle = read_bundle(bundle_file)
    kept = folder / "models" / f"{bundle.id}.bagtag"
    kept.parent.mkdir(parents=True)
    shutil.copy(bundle_file, kept)
    (folder / "folders.json").write_text(json.dumps({"survey": str(survey)}))
    installation.allow_folder(folder, survey, "media")
    headers = read_headers(find_recordings([survey], "sound"), "sound")
    tasks = plan_tasks(
        headers, model_id=bundle.id, clip_seconds=bundle.clip_seconds, task_seconds=20.0, sites=SitePattern()
    )
    for task in tasks:
        do_task(task, str(folder), str(kept))
    return folder


@pytest.fixture(scope="module")
def drawn(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("check") / "project"
    found = draw_into_project(archive, folder, PER_CLASS, seed=1, annotator="Ann")
    assert found.detections == sum(one.drawn for one in found.strata) == 3 * PER_CLASS and not found.failures
    return folder


@pytest.fixture
def checked(drawn: Path, tmp_path: Path) -> Path:
    """A copy of the project, to answer."""
    return Path(shutil.copytree(drawn, tmp_path / "project"))


def test_the_review_list_has_the_detections_of_the_archive(archive, drawn):
    model_id = next((archive / "models").iterdir()).stem
    detections = {
        (row["file"].split("/", 1)[1], round(row["start"], 6)): row
        for row in open_table(archive, "segments", model_id).to_table().to_pylist()
    }
    with Project.open(drawn, annotator="Ann") as project:
        assert project.review.sizes()["archive"] == 3 * PER_CLASS
        items = project.review.queue("archive", limit=1000)
        names = {one.id: one.name for one in project.classes.list()}
        sites, days = set(), set()
        for item in items:
            segment, bag = project.segments.get(item.segment_id), project.bags.get(item.bag_id)
            row = detections["/".join(Path(bag.path).parts[-2:]), round(segment.left, 6)]
            assert segment.right == pytest.approx(row["end"]) and segment.low == pytest.approx(row["low"])
            assert (bag.start, bag.end) == (row["clip_start"], row["clip_end"])
            assert names[segment.prediction.top] == row["class"]
            sites.add(row["site"])
            days.add(row["day"])
        assert len(items) == len({item.segment_id for item in items}) == 3 * PER_CLASS
        assert sites == {"hill", "marsh"} and len(days) == 3
        assert [one.segment_id for one in project.review.page("archive", limit=1000)] == [i.segment_id for i in items]
        assert project.check() == []


def test_answers_become_estimates(checked, archive, capsys):
    with Project.open(checked, annotator="Ann") as project:
        assert all(one.answered == 0 for one in read_estimates(project))
        for number, item in enumerate(project.review.queue("archive", limit=1000)):
            if number % 4 == 0:
                project.edits.set_label([item.segment_id], BACKGROUND)
            else:
                project.edits.accept([item.segment_id])
        assert project.review.sizes()["archive"] == 0
        found = read_estimates(project)
        assert sum(one.answered for one in found) == 3 * PER_CLASS
        right = sum(one.correct.value for one in found) / sum(one.detections for one in found)
        assert right == pytest.approx(0.75, abs=0.05)
        assert all(one.correct.low < one.correct.value < one.correct.high for one in found)
        sampled = set(project.get_preference("archive_sample")["segments"])
        assert len(sampled) == 3 * PER_CLASS
        assert not sampled & {item.segment_id for item in project.review.queue("random", limit=1000)}
    assert main(["sample", str(archive), "--into", str(checked), "--results", "--precision", "0.5"]) == 0
    text = capsys.readouterr().out
    assert "12 of 12 sampled ones reviewed" in text and "precision of at least 50%: from" in text
    assert main(["sample", str(archive), "--into", str(checked), "--results", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["classes"]) == 3


def test_estimates_do_not_depend_on_what_the_project_calls_the_classes(checked):
    with Project.open(checked, annotator="Ann") as project:
        for item in project.review.queue("archive", limit=1000):
            project.edits.accept([item.segment_id])
        before = read_estimates(project)
        assert all(one.thresholds[0][2].value == 1.0 for one in before)
        first, second, _ = (project.classes.find(one.class_name) for one in before)
        project.edits.change_class(first.id, name="Troglodytes")
        assert read_estimates(project) == before, "renamed"
        project.edits.merge_classes([second.id], into=first.id)
        assert [one.correct for one in read_estimates(project)] == [one.correct for one in before], "merged"


def test_a_class_of_the_project_may_be_written_differently_from_that_of_the_model(archive, drawn, tmp_path):
    with Project.open(drawn, annotator="Ann") as made:
        settings, names = made.settings.to_dict(), [one.name for one in made.classes.list()]
    with Project.create(tmp_path / "check", settings=settings) as project:
        for name in names:
            project.edits.add_class(name.upper())
    draw_into_project(archive, tmp_path / "check", 3)
    with Project.open(tmp_path / "check", annotator="Ann") as project:
        assert len(project.classes.list()) == len(names)
        for item in project.review.queue("archive", limit=1000):
            project.edits.accept([item.segment_id])
        assert all(one.thresholds[0][2].value == 1.0 for one in read_estimates(project))
        record = project.get_preference("archive_sample")
        del record["class_ids"]
        project.set_preference("archive_sample", record)
        assert all(one.thresholds[0][2].value == 1.0 for one in read_estimates(project)), "of an earlier version"


def test_the_command_draws_and_shows_missing_answers(archive, tmp_path, capsys):
    words = ["sample", str(archive), "--into", str(tmp_path / "new"), "--per-class", "3", "--json"]
    assert main(words) == 0
    assert json.loads(capsys.readouterr().out)["detections"] >= 9
    assert main(words) == 1
    assert "has a sample of an archive already" in json.loads(capsys.readouterr().out)["error"]
    assert main([*words, "--results"]) == 0
    assert json.loads(capsys.readouterr().out)["classes"][0]["correct"]["value"] is None


def test_recordings_that_changed_or_are_gone(archive, survey, tmp_path):
    moved = tmp_path / "survey"
    shutil.copytree(survey, moved)
    gone = sorted((moved / "hill").glob("*.wav"))
    for path in gone:
        path.unlink()
    for path in (moved / "marsh").glob("*_0[0-3]*.wav"):
        shutil.copy(survey / "marsh" / "20240503_110000.wav", path)
    found = draw_into_project(archive, tmp_path / "check", PER_CLASS, recordings=moved)
    reasons = " ".join(reason for _, reason in found.failures)
    assert "is missing" in reasons and "has changed since the model was applied" in reasons
    assert 0 < found.detections < 3 * PER_CLASS
    with Project.open(tmp_path / "check") as project:
        assert project.review.sizes()["archive"] == found.detections


def test_an_archive_from_elsewhere_opens_no_folder_of_this_computer(archive, survey, tmp_path):
    shutil.copytree(archive, tmp_path / "archive")
    with pytest.raises(BagtagError, match=r"The folder of the recording .* is not known; give it with `--recordings`"):
        draw_into_project(tmp_path / "archive", tmp_path / "check", 3)
    assert not (tmp_path / "check").exists(), "no project is left behind"
    assert draw_into_project(tmp_path / "archive", tmp_path / "check", 3, recordings=survey).detections >= 9


def test_projects_and_folders_that_cannot_take_a_sample(archive, tmp_path):
    settings = replace(InstanceSettings(), feature_set="paper").to_dict()
    with (
        Project.create(tmp_path / "other", settings=settings) as project,
        pytest.raises(BagtagError, match="no sample of an archive"),
    ):
        read_estimates(project)
    with pytest.raises(BagtagError, match="describes segments differently from the model"):
        draw_into_project(archive, tmp_path / "other", 5)
    with pytest.raises(BagtagError, match="no results of a model"):
        draw_into_project(tmp_path, tmp_path / "new", 5)
