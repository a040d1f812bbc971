"""Merging: copies that are refused, values that are not taken, and what changed since the preview."""

from __future__ import annotations

import errno
import tracemalloc
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sqlalchemy import Engine, event

from miml_core.errors import BagtagError
from miml_core.project import Project
from miml_core.project.edits import merge_segments
from miml_core.project.edits.classes import AddClasses
from miml_core.project.edits.label_shapes import box_areas, shared_areas
from miml_core.project.errors import Gone
from miml_core.project.packing import unpack
from miml_core.project.packing.checked_zip import PackedProject
from miml_core.project.packing.pack import pack
from miml_core.segments.regions import rectangle_bytes
from tests.project.conftest import grid_of, ring
from tests.project.copies import N_SEGMENTS, content


def test_what_cannot_be_merged_is_refused(ours: Project, tmp_path: Path) -> None:
    with Project.create(tmp_path / "pictures", kind="picture") as pictures:
        pass
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "project.db").write_bytes(b"x" * 9000)
    (tmp_path / "notes.zip").write_bytes(b"no zip")
    reasons = {
        ours.folder: "the project itself",
        pictures.folder: "holds pictures",
        tmp_path / "damaged": "cannot be read|damaged",
        tmp_path: "not a Bagtag project",
        tmp_path / "nothing": "There is no",
        tmp_path / "notes.zip": "not a zip",
    }
    for other, reason in reasons.items():
        with pytest.raises(BagtagError, match=reason):
            ours.edits.preview_merge(other)


def test_values_that_bagtag_never_writes_do_not_come_in(ours: Project, theirs: Project) -> None:
    theirs.edits.set_label([1, 2, 3, 5], 1)
    theirs.edits.add_class("Kite")
    theirs.edits.tag(1, 4)
    with theirs.store.write() as connection:
        run = connection.exec_driver_sql
        run("UPDATE verdicts SET at = 9e999, annotator = 'B' || char(0) || 'b' WHERE segment_id = 1")
        run("UPDATE segments SET region = ? WHERE id = 2", (rectangle_bytes(10, 90, 20, 500),))
        run("UPDATE segments SET right = 9e999 WHERE id = 3")
        run("UPDATE classes SET name = 'Ki' || char(0) || 'te' WHERE id = 4")
    plan = ours.edits.preview_merge(theirs.folder)
    assert [(each.segment_id, each.at) for each in plan.labels][:1] == [(1, 0.0)] and plan.segments == []
    ours.edits.merge_copy(plan)
    assert ours.segments.get(1).annotator == "B\ufffdb" and "Ki\ufffdte" in [one.name for one in ours.classes.list()]
    assert {one.id for one in ours.segments.list(1) if one.label is not None} == {1}


def test_other_tags_come_in_without_zero_bytes(ours: Project, theirs: Project) -> None:
    made = theirs.edits.draw(1, [ring(6.0, 8.0, 1000.0, 2000.0)], label=1).created[0]
    with theirs.store.write() as connection:
        tags = '[["quality", "A\0"]]'
        connection.exec_driver_sql("UPDATE segments SET other_tags = ? WHERE id = ?", (tags, made))
    ours.edits.merge_copy(ours.edits.preview_merge(theirs.folder))
    (added,) = [one for one in ours.segments.list(1) if one.label == 1]
    assert added.other_tags == '[["quality", "A\ufffd"]]'


def test_what_was_answered_after_the_preview_stays(ours: Project, theirs: Project) -> None:
    for bag in (1, 2):
        theirs.edits.set_note(bag, "of Bob")
    theirs.edits.set_label([1, 5, 9], 1)
    theirs.edits.draw(3, [ring(6.0, 8.0, 1000.0, 2000.0)], label=1)
    theirs.edits.tag(4, 2)
    plan = ours.edits.preview_merge(theirs.folder)
    ours.edits.set_note(1, "of Ann")
    ours.edits.finish(3)
    ours.edits.tag(2, 1, -1)
    ours.edits.finish(4)
    ours.edits.merge_copy(plan)
    assert [ours.bags.get(bag).note for bag in (1, 2)] == ["of Ann", "of Bob"]
    assert [ours.bags.get(bag).tags for bag in (1, 2, 3, 4)] == [{1: 1}, {1: -1}, {}, {}]
    labels = {one.id: one.label for bag in (1, 2, 3) for one in ours.segments.list(bag) if one.label is not None}
    assert labels == {1: 1} and len(ours.segments.list(3)) == N_SEGMENTS + 1
    assert ours.check() == []
    missed = ours.edits.preview_merge(theirs.folder)
    assert {each.segment_id for each in missed.conflicts} >= {5, 9}, "a second look lists what was left out"


@pytest.mark.parametrize("what", ["bag", "class", "merged class"])
def test_a_preview_of_what_was_removed_since_is_refused(ours: Project, theirs: Project, what: str) -> None:
    theirs.edits.tag(1, 1)
    theirs.edits.set_note(2, "of Bob")
    plan = ours.edits.preview_merge(theirs.folder)
    if what == "bag":
        ours.edits.remove_bags([2])
    elif what == "class":
        ours.edits.remove_class(1)
    else:
        ours.edits.merge_classes([1], 2)
    before = content(ours.folder)
    with pytest.raises(BagtagError, match="compare them again"):
        ours.edits.merge_copy(plan)
    assert content(ours.folder) == before


def test_a_conflict_that_was_decided_meanwhile_is_not_decided_again(ours: Project, theirs: Project) -> None:
    for project, label in ((ours, 1), (theirs, 2)):
        project.edits.set_label([1, 5], label)
        project.edits.tag(3, 1, 1 if project is ours else -1)
    ours.edits.merge_copy(ours.edits.preview_merge(theirs.folder))
    listed = [each.id for each in ours.review.conflicts()]
    assert len(listed) == 3
    ours.edits.set_label(1, 3)
    ours.edits.tag(3, 1, 1)
    result = ours.edits.resolve_conflicts(listed, take_theirs=True)
    assert result.sentence == "1 conflict: took the other answer"
    assert [ours.segments.get(number).label for number in (1, 5)] == [3, 2] and ours.bags.get(3).tags == {1: 1}
    with pytest.raises(Gone, match="already been decided"):
        ours.edits.resolve_conflicts(listed, take_theirs=True)


@pytest.mark.parametrize(
    "changes",
    ["[1]", '[["tags"]]', '[["tags", [[1], 2], null, {}]]', '[["merges", [1], null, 3]]', '[{"table": "tags"}]'],
)
def test_a_copy_with_a_crafted_history_is_refused(ours: Project, theirs: Project, changes: str) -> None:
    ours.edits.tag(1, 1)
    theirs.edits.tag(1, 1, -1)
    with theirs.store.write() as connection:
        connection.exec_driver_sql("UPDATE history SET act = 'merge_copy', changes = ?", (changes,))
    with pytest.raises(BagtagError, match="history is damaged"):
        ours.edits.preview_merge(theirs.folder)


def test_a_full_disk_for_temporary_files_is_a_reason(
    ours: Project, theirs: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = pack(theirs.store, tmp_path / "bob.zip").path
    with monkeypatch.context() as patched:
        patched.setattr(unpack.shutil, "disk_usage", lambda folder: SimpleNamespace(free=1000))
        with pytest.raises(BagtagError, match="0 MB left"):
            ours.edits.preview_merge(packed)

    def fail(*args: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(PackedProject, "extract", fail)
    with pytest.raises(BagtagError, match="No space left on device"):
        ours.edits.preview_merge(packed)


def test_copies_with_many_classes_are_compared_by_one_look_at_ours(ours: Project, theirs: Project) -> None:
    theirs.edits.apply(AddClasses([{"name": f"Bird {number}"} for number in range(300)]))
    theirs.edits.tag(1, 303)
    statements: list[str] = []

    def note(*seen: Any) -> None:
        statements.append(seen[2])

    event.listen(Engine, "before_cursor_execute", note)
    try:
        plan = ours.edits.preview_merge(theirs.folder)
    finally:
        event.remove(Engine, "before_cursor_execute", note)
    assert plan.new_classes == {"Bird 299": ""} and 0 < len(statements) < 200


def boxes_at(starts: np.ndarray, first: int = 0) -> list[SimpleNamespace]:
    edges = np.stack([starts, starts + 0.4, np.full(len(starts), 1e3), np.full(len(starts), 2e3)], axis=1)
    return [
        SimpleNamespace(id=first + number, grid_id=1, region=b"%d" % (first + number), left=a, right=b, low=c, high=d)
        for number, (a, b, c, d) in enumerate(edges.tolist())
    ]


def test_segments_of_a_long_recording_are_compared_in_little_memory() -> None:
    rng = np.random.default_rng(0)
    n, grids = 3000, {1: grid_of()}
    ours, theirs = boxes_at(np.arange(n) * 1.0), boxes_at(np.arange(n) + 0.5, n)
    new = boxes_at(rng.permutation(n * 10)[:n] / 10)
    tracemalloc.start()
    matched = merge_segments.match_segments(ours, theirs, grids, grids)
    covered = merge_segments.covered_by(new, ours)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    own = merge_segments.boxes(ours)
    everything = shared_areas(merge_segments.boxes(new), own) >= box_areas(own) / 2
    assert matched == {} and covered == np.flatnonzero(everything.any(axis=0)).tolist() and len(covered) > 100
    assert peak < 30e6, "72 MB per table of all pairs"


def test_a_label_whose_class_was_removed_since_is_no_conflict(ours: Project, theirs: Project) -> None:
    ours.edits.set_label([1, 2], 1)
    theirs.edits.set_label(1, 2)
    theirs.edits.set_label(2, 3)
    ours.edits.merge_copy(ours.edits.preview_merge(theirs.folder))
    assert {each.theirs for each in ours.review.conflicts()} == {2, 3}
    ours.edits.remove_class(3, confirm=True)
    (left,) = ours.review.conflicts()
    assert left.theirs == 2 and ours.review.count_conflicts() == (0, 1)
    ours.edits.undo()
    assert ours.review.count_conflicts() == (0, 2)
