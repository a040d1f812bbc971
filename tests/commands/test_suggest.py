"""`suggest` from the command line."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from miml_core import BagtagError
from miml_core.__main__ import main
from miml_core.features.birdnet import BirdnetStatus, find_species
from miml_core.project import Project
from miml_core.project.suggestions import suggest as suggesting
from tests.birdnet import needs_birdnet
from tests.project.conftest import add_bags


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two bags and the class Great Tit."""
    with Project.create(tmp_path / "project") as project:
        add_bags(project, 2)
        project.edits.add_class("Great Tit")
    return tmp_path / "project"


def detect(monkeypatch: pytest.MonkeyPatch, detected: Any) -> None:
    monkeypatch.setattr(suggesting, "detected_species", detected)


def tit_and_wren(store: Any, bag_id: int) -> dict[int, float]:
    tit, wren = find_species("Great Tit"), find_species("Eurasian Wren")
    assert tit is not None and wren is not None
    return {tit.index: 0.75, wren.index: 0.25} if bag_id == 1 else {}


@needs_birdnet
def test_as_json_as_a_table_and_as_text(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    detect(monkeypatch, tit_and_wren)
    assert main(["suggest", str(folder), "--json"]) == 0
    outcome = json.loads(capsys.readouterr().out)
    assert outcome["bags"] == 2 and outcome["failures"] == []
    assert [(one["species"], one["scientific_name"], one["class"], one["score"]) for one in outcome["suggestions"]] == [
        ("Great Tit", "", "Great Tit", 0.75),
        ("Eurasian Wren", "Troglodytes troglodytes", None, 0.25),
    ]
    table = tmp_path / "suggestions.csv"
    for _ in range(2):  # the second one replaces the first
        assert main(["suggest", str(folder), "--out", str(table)]) == 0
    with table.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["file"], row["class"], row["score"], row["source"]) for row in rows] == [
        ("media/clip 0.wav", "Great Tit", "0.75", "BirdNET"),
        ("media/clip 0.wav", "", "0.25", "BirdNET"),
    ]
    capsys.readouterr()
    assert main(["suggest", str(folder)]) == 0
    printed = capsys.readouterr().out
    assert "0.25  Eurasian Wren (Troglodytes troglodytes), no class yet  [BirdNET]" in printed
    assert "2 suggestions for 2 bags" in printed


def test_a_file_of_another_kind_is_not_replaced(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sound = folder / "media" / "clip 0.wav"
    before = sound.read_bytes()
    assert main(["suggest", str(folder), "--out", str(sound)]) == 1
    assert "is not a table of suggestions" in capsys.readouterr().err
    assert main(["suggest", str(folder), "--out", str(folder)]) == 1
    assert "is a folder" in capsys.readouterr().err
    assert sound.read_bytes() == before


def test_without_birdnet_and_without_a_run_there_is_one_sentence(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = BirdnetStatus(False, "BirdNET is not installed; install it with 'make birdnet'.", "")
    monkeypatch.setattr("miml_core.project.suggestions.suggest.birdnet_status", lambda: missing)
    assert main(["suggest", str(folder), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["error"].startswith(missing.reason)


@needs_birdnet
def test_one_bag_that_fails_is_listed(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def detected(store: Any, bag_id: int) -> dict[int, float]:
        if bag_id == 2:
            raise BagtagError("The file is missing.")
        return tit_and_wren(store, bag_id)

    detect(monkeypatch, detected)
    assert main(["suggest", str(folder)]) == 3
    assert "bagtag: clip 1.wav: The file is missing." in capsys.readouterr().err


@needs_birdnet
def test_what_was_analysed_before_ctrl_c_is_kept(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import numpy as np

    from miml_core.project.suggestions import detected_species as detecting

    analysed: list[str] = []

    def scores(store: Any, bag_id: int, file: Any, *window: Any) -> Any:
        if len(analysed) == 1:
            analysed.append("stopped")
            raise KeyboardInterrupt
        analysed.append(file.path.name)
        return np.linspace(0, 0.9, 6522, dtype=np.float32)

    monkeypatch.setattr(detecting, "_scores_of_bag", scores)
    assert main(["suggest", str(folder)]) == 130
    assert main(["suggest", str(folder)]) == 0
    assert analysed == ["clip 0.wav", "stopped", "clip 1.wav"]
