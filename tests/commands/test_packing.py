"""Packing, unpacking and merging from the command line: the job, the target, the outcome."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from miml_core.__main__ import main
from miml_core.project import Project
from tests.project.conftest import add_bags


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, dict[str, Any]]:
    code = main([str(word) for word in words] + ["--json"])
    return code, json.loads(capsys.readouterr().out)


def test_a_project_is_packed_by_a_job_and_unpacked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], quick_workers: None
) -> None:
    with Project.create(tmp_path / "project") as project:
        add_bags(project, 2, 1)
    target = tmp_path / "out.zip"
    code, done = run(capsys, "pack", project.folder, target, "--media")
    assert code == 0 and done["media"] == 2 and done["counts"]["bags"] == 2 and done["bytes"] == target.stat().st_size
    assert run(capsys, "pack", project.folder, target)[0] == 0, "an own file is replaced"
    code, made = run(capsys, "unpack", target, tmp_path / "bare")
    assert code == 3 and made["missing"] == ["media/clip 0.wav", "media/clip 1.wav"]
    with Project.open(tmp_path / "bare") as bare:
        assert [job.state for job in bare.jobs.list()] == ["done"], "the job that packs is not in what it packs"
    with Project.open(project.folder) as opened:
        latest = opened.exports.list()[0]
        assert (latest.title, latest.files) == ("Packed project", (str(target),))
    (project.folder / "media" / "clip 0.wav").unlink()
    code, done = run(capsys, "pack", project.folder, target, "--media")
    assert code == 3 and [each["item"] for each in done["failures"]] == ["media/clip 0.wav"]
    code, made = run(capsys, "unpack", target, tmp_path / "again", "--media-from", project.folder / "media")
    assert code == 3 and made["media"] == 1 and made["missing"] == ["media/clip 0.wav"]


@pytest.mark.parametrize("name", ["project.db", "runs/out.zip", "out.csv", "notes.zip", "media/clip 0.zip"])
def test_a_project_is_not_packed_over_other_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    with Project.create(tmp_path / "project") as project:
        add_bags(project, 1, 1)
    (project.folder / "notes.zip").write_bytes(b"mine")
    (project.folder / "media" / "clip 0.zip").mkdir()
    code, refused = run(capsys, "pack", project.folder, project.folder / name)
    assert code == 1 and refused["kind"] == "refused"
    assert (project.folder / "notes.zip").read_bytes() == b"mine"
    with Project.open(project.folder) as opened:
        assert opened.jobs.list() == []


def test_a_copy_is_merged_with_kappa_and_conflicts_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Project.create(tmp_path / "project", name="Marsh", annotator="Ann") as project:
        add_bags(project, 2, 3)
        for name in ("Wren", "Robin"):
            project.edits.add_class(name)
    shutil.copytree(project.folder, tmp_path / "copy" / "project")
    with (
        Project.open(project.folder, annotator="Ann") as mine,
        Project.open(tmp_path / "copy" / "project", annotator="Bob") as other,
    ):
        mine.edits.set_label([1, 2], 1)
        mine.edits.set_label(3, 2)
        other.edits.set_label(1, 1)
        other.edits.set_label([2, 3, 4], 2)
    words = ["merge", project.folder, tmp_path / "copy" / "project"]
    code, done = run(capsys, *words, "--dry-run")
    assert code == 0 and done["new_labels"] == 1 and done["label_conflicts"] == 1 and done["conflicts"] == []
    assert done["agreement"]["labels"]["classes"]["Wren"]["n"] == 3
    assert main([str(word) for word in [*words, "--annotator", "Ann"]]) == 0
    printed = capsys.readouterr().out
    assert "all labels                      0.40" in printed and "2 of 3 alike" in printed
    assert "conflict: clip 0.wav, segment 2: Ann Wren, Bob Robin" in printed
    assert "merged Marsh of Bob: 1 tag, 1 label, 0 segments; 1 conflict" in printed
    assert run(capsys, *words)[1]["message"] == "nothing new in Marsh"
