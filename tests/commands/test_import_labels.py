"""Importing labels from the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from miml_core.__main__ import main
from miml_core.project import Project
from tests.project.conftest import add_bags

TABLE = "recording,from,to,bird\nclip 0,1,2,Wren\nclip 1,3,4,SYLATR\nclip 1,5,6,noise\nnowhere,0,1,Wren\n"
COLUMNS = [word for pair in ("start_s=from", "end_s=to", "label=bird") for word in ("--column", pair)]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    with Project.create(tmp_path / "project") as made:
        add_bags(made, 2, 1)
    (tmp_path / "calls.csv").write_text(TABLE)
    return made.folder


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, dict[str, Any]]:
    code = main([str(word) for word in words] + ["--json"])
    return code, json.loads(capsys.readouterr().out)


def test_a_table_with_columns_by_hand(project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    classes = ["--class", "SYLATR=Blackcap", "--class", "noise="]
    words = ["import-labels", project, tmp_path / "calls.csv", *COLUMNS, *classes]
    code, done = run(capsys, *words, "--dry-run")
    assert code == 3 and done["imported"] == 2 and done["n_left_out"] == 1
    assert done["classes"] == {"Wren": "Wren", "SYLATR": "Blackcap", "noise": ""}
    assert "'nowhere'" in done["left_out"][0]
    code, done = run(capsys, *words)
    assert code == 3 and done["message"] == "imported 2 segments of 2 files"
    with Project.open(project) as opened:
        assert [one.name for one in opened.classes.list()] == ["Blackcap", "Wren"]
        assert opened.bags.get(2).tags == {1: 1}
        assert opened.edits.history()[0].act == "import_labels"


def test_lines_with_errors_are_printed_and_nothing_is_imported(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "calls.csv").write_text("file,start_s,end_s,label\nclip 0,1,2,Wren\nclip 0,one,2,Wren\n")
    assert main(["import-labels", str(project), str(tmp_path / "calls.csv")]) == 1
    printed = capsys.readouterr().err
    assert "'calls.csv', line 3: 'one' is not a number." in printed and "nothing was imported" in printed
    with Project.open(project) as opened:
        assert opened.edits.history() == []
    code, done = run(capsys, "import-labels", project, tmp_path / "calls.csv", "--leave-out-errors", "--as", "tags")
    assert code == 3 and done["imported"] == 1
    assert done["unreadable"] == [{"where": "'calls.csv', line 3", "reason": "'one' is not a number"}]
