"""The library: files found again after moving, lists that search, filter and sort, settings that invalidate."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soundfile
from sqlalchemy import select

from miml_core.errors import BagtagError
from miml_core.project import CannotUndo, Gone, NeedsConfirmation, Project
from miml_core.project.db.schema import bag_predictions
from miml_core.project.media import files as media_files
from miml_core.project.media.fingerprint import fingerprint
from tests.project.conftest import add_bags, row_of_boxes, store_run
from tests.project.sounds import RATE, write_recordings


def names(project: Project, **options: object) -> list[str]:
    return [bag.name for bag in project.bags.list(**options).bags]  # type: ignore[arg-type]


# files


def test_media_stay_where_they_are_and_move_with_the_project(tmp_path: Path) -> None:
    home = tmp_path / "home"
    write_recordings(home / "recordings", 2)
    with Project.create(home / "project") as project:
        assert len(project.media.add(sorted((home / "recordings").iterdir()))) == 2
        assert [medium.path for medium in project.media.list()] == [f"../recordings/clip_00{k}.wav" for k in range(2)]
    moved = tmp_path / "moved"
    home.rename(moved)
    with Project.open(moved / "project") as project:
        assert project.media.path(1) == moved / "recordings" / "clip_000.wav"
        assert not project.bags.get(1).missing


def test_moved_files_are_found_again_by_their_content(tmp_path: Path) -> None:
    write_recordings(tmp_path / "old", 3)
    with Project.create(tmp_path / "project") as project:
        project.media.add(sorted((tmp_path / "old").iterdir()))
        shutil.move(tmp_path / "old", tmp_path / "new place" / "deep")
        (tmp_path / "new place" / "deep" / "clip_001.wav").rename(tmp_path / "new place" / "renamed.wav")
        (tmp_path / "new place" / "deep" / "clip_002.wav").write_bytes(b"something else")
        assert [bag.missing for bag in project.bags.list().bags] == [True, True, True]
        assert project.media.refresh_missing() == 3
        assert len(names(project, show="missing")) == 3
        with pytest.raises(BagtagError, match="new folder"):
            project.media.path(1)
        assert len(project.media.relink(tmp_path / "new place")) == 2
        assert [bag.missing for bag in project.bags.list().bags] == [False, False, True]
        assert names(project, show="missing") == ["clip_002.wav"]


def test_importing_a_folder_finds_the_files_that_moved_there(tmp_path: Path) -> None:
    write_recordings(tmp_path / "old", 2)
    with Project.create(tmp_path / "project") as project:
        project.media.add(sorted((tmp_path / "old").iterdir()))
        project.edits.add_class("Wren")
        project.edits.tag(1, 1, 1)
        shutil.move(tmp_path / "old", tmp_path / "new")
        assert project.media.add(sorted((tmp_path / "new").iterdir())) == []
        assert project.media.path(1) == tmp_path / "new" / "clip_000.wav"
        assert project.bags.get(1).tags == {1: 1} and len(project.media.list()) == 2


def test_the_same_file_is_not_added_twice(tmp_path: Path) -> None:
    write_recordings(tmp_path / "a", 1)
    shutil.copytree(tmp_path / "a", tmp_path / "copy")
    with Project.create(tmp_path / "project") as project:
        project.media.add([tmp_path / "a" / "clip_000.wav"])
        assert project.media.add([tmp_path / "copy" / "clip_000.wav"]) == []
        assert len(project.media.list()) == 1


def test_a_long_recording_is_cut_into_bags(tmp_path: Path) -> None:
    write_recordings(tmp_path, 1, seconds=4.8)
    with Project.create(tmp_path / "project") as project:
        project.media.add([tmp_path / "clip_000.wav"], bag_length=2.0)
        bags = project.bags.list().bags
        assert [bag.start for bag in bags] == [0.0, 2.0, 4.0]
        assert [bag.end for bag in bags] == pytest.approx([2.0, 4.0, 4.8])
        assert [bag.name for bag in bags] == [
            "clip_000.wav 00:00-00:02",
            "clip_000.wav 00:02-00:04",
            "clip_000.wav 00:04-00:04.800",
        ]


def test_settings_suit_the_first_recording_unless_chosen(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "bat.wav", [0.0] * 40_000, 256_000)
    write_recordings(tmp_path / "birds", 1)
    with Project.create(tmp_path / "bats") as bats, Project.create(tmp_path / "project") as project:
        bats.media.add([tmp_path / "bat.wav"])
        project.media.add([tmp_path / "birds" / "clip_000.wav"])
        assert bats.settings != project.settings
        assert bats.settings == type(bats.settings).for_rate(256_000)
        assert project.settings == type(bats.settings).for_rate(RATE)


def test_the_fingerprint_sees_head_middle_and_tail(tmp_path: Path) -> None:
    path = tmp_path / "big"
    seen = set()
    for change in (None, 0, 500_000, 999_999):
        content = bytearray(1_000_000)
        if change is not None:
            content[change] = 1
        path.write_bytes(content)
        seen.add(fingerprint(path))
    assert len(seen) == 4


_ODD_NAMES = ('it\'s "quoted".wav', "new\nline.wav", "🦉 müsic 日本.wav", "100%_[x].wav", "  .wav")


@pytest.mark.parametrize("name", _ODD_NAMES)
def test_any_file_name_will_do(tmp_path: Path, name: str) -> None:
    write_recordings(tmp_path / "made", 1)
    (tmp_path / "made" / "clip_000.wav").rename(tmp_path / name)
    with Project.create(tmp_path / "project") as project:
        (bag,) = project.media.add([tmp_path / name])
        assert project.bags.get(bag).name == name and project.media.path(bag) == tmp_path / name
        assert names(project, search=name.split()[0][:4]) == [name]


def test_looking_for_files_leaves_out_hidden_ones_and_what_projects_make(tmp_path: Path) -> None:
    Project.create(tmp_path / "here").close()
    plain = ("a.wav", "b.WAV", "deep/c.flac", "here/f.wav")
    for name in (*plain, "note.txt", ".hidden.wav", ".git/d.wav", "here/cache/e.wav"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    found = [path.relative_to(tmp_path).as_posix() for path in media_files.find_files([tmp_path], "sound")]
    assert found == list(plain)
    flat = [path.name for path in media_files.find_files([tmp_path, tmp_path / "note.txt"], "sound", recursive=False)]
    assert flat == ["a.wav", "b.WAV", "note.txt"], "a file named by a person is taken as it is"


# lists


def test_pages_have_a_total_and_do_not_overlap(project: Project) -> None:
    add_bags(project, 7, n_segments=1)
    first = project.bags.list(limit=3)
    rest = project.bags.list(limit=10, offset=3)
    assert first.total == rest.total == 7
    assert [bag.id for bag in first.bags + rest.bags] == list(range(1, 8)) == project.bags.ids()
    assert project.bags.list(offset=100).bags == []


def test_search_looks_at_names_notes_and_tags(small: Project) -> None:
    small.edits.tag(2, 3)
    small.edits.change_class(3, scientific_name="Strix aluco")
    small.edits.set_note(1, "50%_windy")
    assert names(small, search="CLIP 1") == ["clip 1.wav"]
    assert names(small, search="owl") == names(small, search="strix") == ["clip 1.wav"]
    assert names(small, search="50%_") == ["clip 0.wav"]
    assert names(small, search="clip owl") == ["clip 1.wav"], "every word must be found"
    assert names(small, search="'; DROP TABLE bags; --") == []


def test_filters(small: Project) -> None:
    add = small.edits.set_label
    assert names(small, show="untagged") == ["clip 0.wav", "clip 1.wav"]
    small.edits.tag(1, 1)
    small.edits.nothing_here(2)
    assert names(small, show="untagged") == []
    assert names(small, show="unfinished") == ["clip 0.wav"]
    assert names(small, show="finished") == ["clip 1.wav"] == names(small, show="unreviewed")
    add([segment.id for segment in small.segments.list(2)], -2)
    assert names(small, show="unreviewed") == []
    assert names(small, class_id=1) == ["clip 0.wav"] and names(small, class_id=2) == []
    assert names(small, show="unsegmented") == []
    small.segments.store(1, row_of_boxes(0))
    assert names(small, show="empty") == ["clip 0.wav"]
    with pytest.raises(BagtagError, match="not 'nonsense'"):
        small.bags.list(show="nonsense")  # type: ignore[arg-type]


def test_sorting(small: Project) -> None:
    small.edits.tag(1, 1)
    assert names(small, sort="progress") == ["clip 1.wav", "clip 0.wav"]
    assert names(small, sort="changed", descending=True) == ["clip 0.wav", "clip 1.wav"]
    assert names(small, sort="name", descending=True) == ["clip 1.wav", "clip 0.wav"]
    assert names(small, sort="time") == ["clip 0.wav", "clip 1.wav"]
    for sort in ("added", "duration", "doubt"):
        assert len(names(small, sort=sort)) == 2
    with pytest.raises(BagtagError, match="sorted"):
        small.bags.list(sort="smell")  # type: ignore[arg-type]


def test_progress_counts_bags_and_segments(predicted: Project) -> None:
    predicted.edits.accept(1)
    predicted.edits.finish(1)
    done = predicted.progress()
    assert (done.n_media, done.n_bags, done.n_tagged, done.n_finished, done.n_segmented) == (2, 2, 1, 1, 2)
    assert (done.n_segments, done.n_reviewed, done.n_predicted, done.n_missing, done.n_errors) == (10, 1, 10, 0, 0)


def test_taking_bags_out_asks_when_there_is_work_on_them(small: Project) -> None:
    small.edits.set_label(1, 1)
    with pytest.raises(NeedsConfirmation, match="1 of these 2"):
        small.edits.remove_bags([1, 2])
    small.edits.remove_bags([1, 2], confirm=True)
    assert small.bags.list().total == 0 and small.media.list() == []
    with pytest.raises(Gone):
        small.bags.get(1)
    assert small.check() == []
    assert "removed 2 bags" in small.edits.history(limit=1)[0].sentence


def test_taking_bags_out_is_undone_and_done_again(predicted: Project) -> None:
    predicted.edits.set_label(1, 2)
    predicted.edits.tag(1, 3, -1)
    predicted.edits.finish(2)

    def state() -> tuple[object, ...]:
        bags = [replace(bag, revision=0) for bag in predicted.bags.list().bags]
        segments = [replace(each, revision=0) for bag in bags for each in predicted.segments.list(bag.id)]
        return (
            bags,
            predicted.media.list(),
            segments,
            predicted.review.queue("random"),
            predicted.segments.n_to_describe(),
        )

    before, problems = state(), predicted.check()
    predicted.edits.remove_bags([1, 2], confirm=True)
    assert predicted.bags.list().total == 0
    predicted.edits.undo()
    assert state() == before
    assert predicted.check() == problems
    predicted.edits.redo()
    assert predicted.bags.list().total == 0 and predicted.media.list() == [] and predicted.check() == problems


def test_removing_a_bag_cannot_be_undone_if_its_file_was_added_again(small: Project) -> None:
    path = small.media.path(1)
    small.edits.remove_bags([1])
    size, mark = media_files.fingerprint(path)
    facts = media_files.FileFacts(
        {"path": media_files.stored_path(small.folder, path), "size": size, "fingerprint": mark, "missing": False},
        [{"name": path.name, "start": 0.0, "end": 10.0}],
    )
    with small.store.write() as connection:
        media_files.store_file(connection, facts)
    with pytest.raises(CannotUndo, match="added again"):
        small.edits.undo()
    assert small.bags.list().total == 2 and small.check() == []


# settings


def test_settings_invalidate_exactly_what_depends_on_them(small: Project) -> None:
    used = small.settings
    pictures_only = replace(used, spectrogram=replace(used.spectrogram, colour_map=_other(used.spectrogram.colour_map)))
    assert small.set_settings(pictures_only) == 0
    assert names(small, show="unsegmented") == [] and small.segments.n_to_describe() == 0
    other_features = replace(pictures_only, feature_set="paper")
    assert small.set_settings(other_features) == 2
    assert names(small, show="unsegmented") == [] and small.segments.n_to_describe() == 2
    other_segments = replace(used, segments=replace(used.segments, sensitivity=used.segments.sensitivity + 0.1))
    assert small.set_settings(other_segments) == 2
    assert len(names(small, show="unsegmented")) == 2 and small.segments.n_to_describe() == 0
    assert len(small.segments.list(1)) == 5, "old segments stay until new ones replace them"
    small.set_settings(used)
    assert names(small, show="unsegmented") == []


def _other(colour_map: str) -> str:
    return "grey" if colour_map != "grey" else "viridis"


def test_preferences_are_kept(project: Project) -> None:
    project.set_preference("page", {"last": [1, 2]})
    folder = project.folder
    project.close()
    with Project.open(folder) as again:
        assert again.get_preference("page") == {"last": [1, 2]}
        assert again.get_preference("nothing", "default") == "default"


def test_removed_bags_come_back_after_their_run_was_removed(predicted: Project) -> None:
    first = predicted.runs.current()
    removed = predicted.edits.remove_bags([1], confirm=True)
    store_run(predicted, lambda n: np.tile([0.2, 0.5, 0.2, 0.1], (n, 1)))
    predicted.runs.remove(first.id)
    predicted.edits.undo_entry(removed.history_id)
    assert predicted.bags.ids() == [1, 2] and len(predicted.segments.list(1)) == 5
    assert [problem.kind for problem in predicted.check()] == ["model"], "the run of this test has no model file"


def test_predictions_of_all_runs_come_back_with_removed_bags(predicted: Project) -> None:
    def blocks() -> list[tuple[int, int, bytes]]:
        with predicted.store.read() as connection:
            columns = (bag_predictions.c.run_id, bag_predictions.c.bag_id, bag_predictions.c.posterior)
            return sorted(map(tuple, connection.execute(select(*columns))))

    store_run(predicted, lambda n: np.tile([0.2, 0.5, 0.2, 0.1], (n, 1)))
    before = blocks()
    assert {run for run, _, _ in before} == {1, 2}
    predicted.edits.remove_bags([1], confirm=True)
    assert {bag for _, bag, _ in blocks()} == {2}
    predicted.edits.undo()
    assert blocks() == before
    predicted.edits.redo()
    assert {bag for _, bag, _ in blocks()} == {2}


@pytest.mark.parametrize("end", ["removed", "merged into Robin"])
def test_removed_bags_do_not_come_back_with_a_class_that_has_ended(predicted: Project, end: str) -> None:
    predicted.edits.set_label(1, 1)
    bags = predicted.edits.remove_bags([1], confirm=True)
    ended = predicted.edits.remove_class(1) if end == "removed" else predicted.edits.merge_classes([1], 2)
    with pytest.raises(CannotUndo, match=f"The class Wren was {end} since; undo that first"):
        predicted.edits.undo_entry(bags.history_id)
    assert predicted.bags.ids() == [2], "nothing was changed"
    predicted.edits.undo_entry(ended.history_id)
    predicted.edits.undo_entry(bags.history_id)
    assert predicted.bags.get(1).tags == {1: 1} and predicted.segments.get(1).label == 1


def test_a_tag_does_not_come_back_with_a_class_that_has_ended(small: Project) -> None:
    small.edits.tag(1, 1)
    untagged = small.edits.tag(1, 1, 0)
    small.edits.remove_class(1)
    with pytest.raises(CannotUndo, match="The class Wren was removed since; undo that first"):
        small.edits.undo_entry(untagged.history_id)
