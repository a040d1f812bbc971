"""Which projects use BirdNET, how that is changed, and how exports show it."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import pytest
import soundfile

from miml_core.__main__ import main
from miml_core.demo import make_demo
from miml_core.features.birdnet.files import BirdnetStatus
from miml_core.features.embeddings import default_embedding
from miml_core.project import Project
from tests.birdnet import needs_birdnet
from tests.project.sounds import write_recordings, write_tags

pytestmark = pytest.mark.usefixtures("quick_workers")


@pytest.fixture(autouse=True)
def no_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BAGTAG_EMBEDDING")


def embedding_of_new_project(folder: Path, rate: int) -> str | None:
    folder.mkdir()
    soundfile.write(folder / "clip.wav", [0.0] * rate, rate)
    with Project.create(folder / "project") as project:
        project.media.add([folder / "clip.wav"])
        return project.settings.embedding


@needs_birdnet
def test_new_projects_of_audible_recordings_use_birdnet(tmp_path: Path) -> None:
    found = {rate: embedding_of_new_project(tmp_path / str(rate), rate) for rate in (8000, 22050, 48000, 384_000)}
    assert found == {8000: None, 22050: "birdnet-2.4", 48000: "birdnet-2.4", 384_000: None}


@needs_birdnet
def test_chosen_settings_stay(tmp_path: Path) -> None:
    write_recordings(tmp_path / "recordings", 1)
    with Project.create(tmp_path / "project") as project:
        project.set_settings(replace(project.settings, feature_set="paper"))
        project.media.add(list((tmp_path / "recordings").iterdir()))
        assert project.settings.embedding is None


@pytest.mark.parametrize(("chosen", "used"), [("none", None), ("perch-1", "perch-1")])
def test_the_environment_chooses_for_new_projects(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chosen: str, used: str | None
) -> None:
    monkeypatch.setenv("BAGTAG_EMBEDDING", chosen)
    assert embedding_of_new_project(tmp_path / "new", 22050) == used


def test_without_birdnet_new_projects_have_hand_made_features(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("miml_core.features.birdnet.files.birdnet_status", lambda: BirdnetStatus(False, "no", ""))
    assert default_embedding(48000) is None


def test_the_demo_has_hand_made_features(tmp_path: Path) -> None:
    with make_demo(tmp_path / "demo", count=1, train=False) as demo:
        assert demo.settings.embedding is None and demo.progress().n_segmented == 1


@needs_birdnet
@pytest.mark.slow
def test_from_the_command_line_to_exports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    heard = write_recordings(tmp_path / "recordings", 4)
    folder = str(tmp_path / "project")
    assert main(["new", folder]) == 0 and main(["import", folder, str(tmp_path / "recordings")]) == 0
    assert main(["tag", folder, str(write_tags(tmp_path / "tags.csv", heard))]) == 0
    assert main(["segment", folder]) == 0 and main(["train", folder]) == 0
    target = tmp_path / "exports" / "calls.csv"
    target.parent.mkdir()
    capsys.readouterr()
    assert main(["export", folder, str(target), "--format", "csv"]) == 0
    assert "predictions are based on birdnet-2.4 (CC BY-NC-SA 4.0)" in capsys.readouterr().out
    with target.open(encoding="utf-8-sig", newline="") as file:
        runs = {row["run"] for row in csv.DictReader(file)}
    assert runs == {"run 1, birdnet-2.4 (CC BY-NC-SA 4.0)"}
    assert main(["segment", folder, "--embedding", "none"]) == 0
    with Project.open(tmp_path / "project") as project:
        assert project.settings.embedding is None and project.bags.bagset()[0].X.shape[1] == 61
        assert {row.run for row in project.exports.rows("predicted")} == {"run 1, birdnet-2.4 (CC BY-NC-SA 4.0)"}
    assert main(["segment", folder, "--embedding", "birdnet-2.4"]) == 0
    with Project.open(tmp_path / "project") as project:
        assert project.bags.bagset()[0].X.shape[1] == 61 + 1024
