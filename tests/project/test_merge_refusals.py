"""Merging: copies that are refused, values that are not taken, and what changed since the preview."""

from __future__ import annotations

from pathlib import Path

import pytest

from miml_core.errors import BagtagError
from miml_core.project import Project
from miml_core.segments.regions import rectangle_bytes


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
