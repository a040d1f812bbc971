"""What the installation remembers outside of projects."""

import os
from pathlib import Path

import pytest

from miml_core import installation
from miml_core.errors import BagtagError


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("BAGTAG_STATE", str(tmp_path / "state"))


def test_folders_belong_to_one_project_and_one_purpose(tmp_path):
    ours, other = tmp_path / "ours", tmp_path / "other"
    installation.allow_folder(ours, tmp_path / "x" / ".." / "media", "media")
    assert installation.allowed_folders(ours, "media") == [tmp_path / "media"]
    assert installation.allowed_folders(ours, "export") == []
    assert installation.allowed_folders(other, "media") == []


def test_a_file_name_that_is_not_text_comes_back_as_it_was(tmp_path):
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    installation.allow_folder(tmp_path, folder, "media")
    assert installation.allowed_folders(tmp_path, "media") == [folder]


def test_an_export_is_known_until_somebody_changes_the_file(tmp_path):
    file = tmp_path / "calls.csv"
    file.write_text("one")
    assert not installation.is_own_export(tmp_path, file)
    installation.record_exports(tmp_path, [file])
    assert installation.is_own_export(tmp_path, file)
    assert not installation.is_own_export(tmp_path / "other", file)
    file.write_text("changed")
    assert not installation.is_own_export(tmp_path, file)
    file.unlink()
    assert not installation.is_own_export(tmp_path, file)


def test_a_job_is_known_by_its_parameters_and_only_until_it_is_forgotten(tmp_path):
    installation.record_job(tmp_path, 3, "import", {"paths": ("a", "b"), "tags": {10: 1, 9: 0}})
    stored = {"paths": ["a", "b"], "tags": {"10": 1, "9": 0}}
    assert installation.is_own_job(tmp_path, 3, "import", stored)
    assert not installation.is_own_job(tmp_path, 3, "export", stored)
    assert not installation.is_own_job(tmp_path, 3, "import", {"paths": ["c"]})
    assert not installation.is_own_job(tmp_path / "copy", 3, "import", stored)
    installation.forget_job(tmp_path, 3)
    assert not installation.is_own_job(tmp_path, 3, "import", stored)


def test_notes_that_cannot_be_kept_are_explained(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("BAGTAG_STATE", str(tmp_path / "file" / "state"))
    with pytest.raises(BagtagError, match="BAGTAG_STATE"):
        installation.allow_folder(tmp_path, tmp_path, "media")
