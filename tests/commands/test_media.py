"""Commands and media: notes of unfinished recordings, changed files, folders to be allowed, lengths of bags."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
import soundfile

from miml_core import installation
from miml_core.__main__ import main
from tests.commands.test_flow import run
from tests.project.sounds import RATE, write_recordings

pytestmark = pytest.mark.usefixtures("quick_workers")


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BAGTAG_STATE", str(tmp_path / "state"))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    write_recordings(tmp_path / "data" / "2024", 2)
    (tmp_path / "home").mkdir()
    assert main(["new", str(tmp_path / "home" / "marsh")]) == 0
    return tmp_path / "home" / "marsh"


def test_an_unfinished_recording_is_imported_with_a_note(project: Path, tmp_path: Path, capsys) -> None:
    path = tmp_path / "data" / "2024" / "clip_001.wav"
    whole = path.read_bytes()
    place = whole.index(b"data") + 4
    path.write_bytes(whole[:place] + struct.pack("<I", 0) + whole[place + 4 :])
    code, done = run(capsys, "import", project, tmp_path / "data")
    assert (code, done["bags"], done["failures"]) == (0, 2, [])
    assert [Path(note["item"]).name for note in done["notes"]] == ["clip_001.wav"]
    assert "read to its end, 2.4 s" in done["notes"][0]["note"]


def test_impossible_lengths_of_bags_are_refused(project: Path, tmp_path: Path, capsys) -> None:
    assert main(["import", str(project), str(tmp_path / "data"), "--bag-length", "0.05"]) == 1
    assert "must be" in capsys.readouterr().err
    for option, value in (("--bag-length", "nan"), ("--bag-length", "inf"), ("--overlap", "nan")):
        with pytest.raises(SystemExit, match="2"):
            main(["import", str(project), str(tmp_path / "data"), option, value])
        assert "must be a number" in capsys.readouterr().err


def test_more_bags_than_can_be_kept_are_refused(project: Path, tmp_path: Path, capsys) -> None:
    options = ("--bag-length", "1", "--overlap", "0.9999999")
    code, done = run(capsys, "import", project, tmp_path / "data", *options)
    assert code == 3 and done["bags"] == 0
    assert all("more than 1,000,000 bags" in failure["reason"] for failure in done["failures"])


def test_a_changed_file_is_reported_and_can_be_accepted(project: Path, tmp_path: Path, capsys) -> None:
    run(capsys, "import", project, tmp_path / "data")
    soundfile.write(tmp_path / "data" / "2024" / "clip_000.wav", np.zeros(RATE), RATE)
    assert run(capsys, "status", project)[1]["progress"]["n_changed"] == 1
    assert main(["status", str(project)]) == 0
    assert "1 changed since they were added" in capsys.readouterr().out
    code, found = run(capsys, "check", project)
    assert code == 1 and [problem["kind"] for problem in found["problems"]] == ["changed"]
    code, found = run(capsys, "check", project, "--accept-changed")
    assert code == 0 and len(found["accepted"]) == 1 and found["problems"] == []


def test_a_folder_not_chosen_here_is_reported_and_can_be_allowed(project: Path, tmp_path: Path, capsys) -> None:
    run(capsys, "import", project, tmp_path / "data")
    (installation.state_folder() / "installation.db").unlink()
    folder = tmp_path / "data" / "2024"
    assert main(["status", str(project)]) == 0
    assert f"not read  2 files in {folder}" in capsys.readouterr().out
    assert run(capsys, "check", project)[1]["problems"][0]["kind"] == "not-allowed"
    assert run(capsys, "check", project, "--allow", folder)[0] == 0
    assert run(capsys, "status", project)[1]["blocked_folders"] == []
