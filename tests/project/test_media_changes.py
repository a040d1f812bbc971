"""Media files that were replaced, shortened or changed: detected everywhere, never mixed with the old file."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import soundfile

from miml_core.errors import BagtagError
from miml_core.project import Project
from miml_core.project.jobs.tasks import segmenting
from miml_core.project.media import state as media_state
from miml_core.project.queries import features as feature_blocks
from tests.conftest import PATIENCE
from tests.project.sounds import RATE, write_recordings

pytestmark = pytest.mark.usefixtures("forked")


@pytest.fixture
def recordings(tmp_path: Path) -> Path:
    write_recordings(tmp_path / "recordings", 3)
    return tmp_path / "recordings"


@pytest.fixture
def project(tmp_path: Path, recordings: Path, forked: object) -> Iterator[Project]:
    with Project.create(tmp_path / "project", annotator="Ann") as made:
        made.media.add(sorted(recordings.iterdir()), bag_length=1.2)
        made.edits.add_class("Wren")
        made.edits.tag(1, 1, 1)
        assert made.jobs.wait(made.jobs.start("segment", {}).id, timeout=PATIENCE).state == "done"
        yield made


def shorten(path: Path) -> None:
    samples, rate = soundfile.read(path)
    soundfile.write(path, samples[: len(samples) // 3], rate)


def alter(path: Path) -> None:
    """Replace the sound by another of the same size and time of change."""
    times = path.stat().st_atime_ns, path.stat().st_mtime_ns
    n = soundfile.info(path).frames
    tone = 0.3 * np.sin(2 * np.pi * 3000 * np.arange(n) / RATE) * (np.arange(n) % 9000 < 4000)
    size = path.stat().st_size
    soundfile.write(path, tone, RATE)
    os.utime(path, ns=times)
    assert path.stat().st_size == size


@pytest.mark.parametrize("change", [shorten, alter])
def test_a_changed_file_is_reported_everywhere(project: Project, recordings: Path, change) -> None:
    change(recordings / "clip_000.wav")
    with pytest.raises(BagtagError, match=r"'clip_000\.wav' has changed since it was added .*--accept-changed"):
        project.media.path(1)
    assert project.bags.get(1).changed and not project.bags.get(1).missing and not project.bags.get(3).changed
    problems = {problem.kind: problem.sentence for problem in project.check()}
    assert "clip_000.wav" in problems["changed"] and "missing" not in problems
    assert project.progress().n_changed == 1 and project.progress().n_missing == 0
    assert [bag.id for bag in project.bags.list(show="changed file").bags] == [1, 2]
    with pytest.raises(BagtagError, match="has changed since it was added"):
        project.media.add([recordings / "clip_000.wav"])


def test_pictures_of_the_old_file_are_not_shown_for_the_new(project: Project, recordings: Path) -> None:
    before = project.bags.get(1).thumbnail_key
    alter(recordings / "clip_000.wav")
    changed = project.bags.get(1).thumbnail_key
    project.media.accept_changed()
    assert len({before, changed, project.bags.get(1).thumbnail_key}) == 3


def test_the_original_put_back_is_fine_again(project: Project, recordings: Path, tmp_path: Path) -> None:
    shutil.copy2(recordings / "clip_000.wav", tmp_path / "kept.wav")
    alter(recordings / "clip_000.wav")
    project.media.refresh_missing()
    shutil.copy2(tmp_path / "kept.wav", recordings / "clip_000.wav")
    assert not project.bags.get(1).changed and project.media.path(1)
    assert not any(problem.kind == "changed" for problem in project.check())
    assert project.progress().n_changed == 0


def test_the_original_is_found_in_another_folder(project: Project, recordings: Path, tmp_path: Path) -> None:
    shutil.copytree(recordings, tmp_path / "archive")
    alter(recordings / "clip_000.wav")
    alter(recordings / "clip_001.wav")
    shutil.copy2(recordings / "clip_001.wav", tmp_path / "archive" / "clip_001.wav")
    assert [Path(path).name for path in project.media.relink(tmp_path / "archive")] == ["clip_000.wav"]
    assert project.media.path(1) == tmp_path / "archive" / "clip_000.wav"
    assert project.bags.get(3).changed, "other content by the same name is not taken"


def test_files_that_have_each_other_s_names_now_are_found(project: Project, recordings: Path) -> None:
    first, second = (recordings / f"clip_00{number}.wav" for number in (0, 1))
    bag_of = {project.media.path(bag).name: bag for bag in project.bags.ids()}
    first.rename(recordings / "kept")
    second.rename(first)
    (recordings / "kept").rename(second)
    project.media.refresh_missing()
    assert len(project.media.relink(recordings)) == 2
    assert project.media.path(bag_of["clip_000.wav"]) == second
    assert project.media.path(bag_of["clip_001.wav"]) == first


def test_a_name_that_a_lost_file_still_has_is_not_taken(project: Project, recordings: Path) -> None:
    first, second = (recordings / f"clip_00{number}.wav" for number in (0, 1))
    second.unlink()
    first.rename(second)
    before = [one.path for one in project.media.list()]
    assert project.media.relink(recordings) == []
    assert [one.path for one in project.media.list()] == before


def test_jobs_leave_a_changed_file_alone_and_go_on(project: Project, recordings: Path) -> None:
    old = features_of(project, 1)
    alter(recordings / "clip_000.wav")
    job = project.jobs.wait(project.jobs.start("segment", {"scope": "all"}).id, timeout=PATIENCE)
    assert job.state == "done" and job.result["bags"] == 4
    assert {failure.bag_id for failure in project.jobs.failures(job.id)} == {1, 2}
    assert all("has changed" in failure.reason for failure in project.jobs.failures(job.id))
    np.testing.assert_array_equal(features_of(project, 1), old)


def test_an_unexpected_error_fails_one_bag_and_its_traceback_is_logged(
    project: Project, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    detect = segmenting.detect_in_file

    def fail_at_first(path: Path, *rest: object) -> object:
        if path.name == "clip_000.wav":
            raise ZeroDivisionError("by zero")
        return detect(path, *rest)

    monkeypatch.setattr(segmenting, "detect_in_file", fail_at_first)
    context = InProcess(project, {"bags": [1, 3], "scope": "all"})
    assert segmenting.run(context)["bags"] == 1
    reason = "clip_000.wav could not be segmented (ZeroDivisionError: by zero)."
    assert [(each, bag) for _, each, bag in context.failures] == [(reason, 1)]
    (logged,) = caplog.records
    assert logged.exc_info[0] is ZeroDivisionError and "clip_000.wav" in logged.getMessage()


def test_segments_of_a_file_replaced_meanwhile_are_not_stored(
    project: Project, recordings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is replaced, and the new one accepted, while the job reads the old one."""
    old = features_of(project, 1)
    work = segmenting._detect

    def replace_meanwhile(path: Path, *rest: object) -> object:
        found = work(path, *rest)
        if path.name == "clip_000.wav" and rest[0] == 0.0:
            alter(path)
            project.media.accept_changed()
        return found

    monkeypatch.setattr(segmenting, "_detect", replace_meanwhile)
    context = InProcess(project, {"bags": [1], "scope": "all"})
    segmenting.run(context)
    assert ["was replaced while it was read" in reason for _, reason, _ in context.failures] == [True]
    assert not project.bags.get(1).segmented and not np.isin(features_of(project, 1), old).all()


def test_accepting_keeps_tags_and_has_segments_found_again(project: Project, recordings: Path) -> None:
    drawn = project.edits.draw(1, [[(0.2, 1000.0), (0.5, 1000.0), (0.5, 3000.0), (0.2, 3000.0)]]).created[0]
    assert project.jobs.wait(project.jobs.start("features", {}).id, timeout=PATIENCE).state == "done"
    shorten(recordings / "clip_000.wav")
    accepted = project.media.accept_changed()
    assert accepted.paths == ["../recordings/clip_000.wav"]
    assert len(accepted.notes) == 1 and "begins at 1.2 s, after the new end of its file (0.8 s)" in accepted.notes[0]
    bag = project.bags.get(1)
    assert not bag.changed and not bag.segmented and bag.tags == {1: 1} and bag.n_segments > 0
    assert len(features_of(project, 1)) == 0 and project.bags.get(3).segmented
    assert project.media.list()[0].duration == pytest.approx(0.8, abs=0.01)
    job = project.jobs.wait(project.jobs.start("segment", {}).id, timeout=PATIENCE)
    assert {failure.bag_id for failure in project.jobs.failures(job.id)} == {2}, "the bag beyond the end is kept"
    assert project.bags.get(1).segmented and drawn in [segment.id for segment in project.segments.list(1)]
    assert drawn in feature_ids(project, 1) and len(features_of(project, 1)) == project.bags.get(1).n_segments


def test_a_file_that_cannot_be_read_is_not_accepted(project: Project, recordings: Path) -> None:
    (recordings / "clip_000.wav").write_bytes(b"no sound at all")
    accepted = project.media.accept_changed()
    assert accepted.paths == [] and "Not accepted: clip_000.wav" in accepted.notes[0]
    assert project.bags.get(1).changed and project.bags.get(1).segmented


def test_files_are_read_once_while_they_stay_as_they_are(
    project: Project, recordings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(media_state, "_FRESH_SECONDS", -1.0)
    read: list[str] = []
    fingerprint = media_state.fingerprint
    monkeypatch.setattr(media_state, "fingerprint", lambda path: read.append(path.name) or fingerprint(path))
    media_state._seen.clear()
    project.media.refresh_missing()
    assert len(read) == 3
    project.media.refresh_missing()
    media_state._seen.clear()  # as in another process
    media_state._loaded.clear()
    project.media.refresh_missing()
    project.media.path(1)
    assert len(read) == 3
    alter(recordings / "clip_001.wav")
    assert project.bags.get(3).changed and read[3:] == ["clip_001.wav"]


class InProcess:
    """The part of `JobContext` that a task needs, without a worker."""

    def __init__(self, project: Project, params: dict[str, object]) -> None:
        self.store, self.params, self.annotator = project.store, params, "Ann"
        self.job_id = project.jobs.start("predict", {}).id
        self.failures: list[tuple[str, str, int | None]] = []

    def report(self, *_: object) -> None:
        pass

    check = report
    log = report

    def fail(self, item: str, reason: str, bag_id: int | None = None) -> None:
        self.failures.append((item, reason, bag_id))


def features_of(project: Project, bag_id: int) -> np.ndarray:
    with project.store.read() as connection:
        return feature_blocks.of_bag(connection, bag_id)[1]


def feature_ids(project: Project, bag_id: int) -> list[int]:
    with project.store.read() as connection:
        return feature_blocks.of_bag(connection, bag_id)[0].tolist()
