"""Folders a person may choose: links and `..` do not lead out."""

import os

import pytest

from miml_core import BagtagError
from pages.widgets.folders.paths import allowed_path, allowed_roots, existing_folder, subfolders


@pytest.fixture
def home(tmp_path, monkeypatch):
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    monkeypatch.delenv("BAGTAG_ROOTS", raising=False)
    monkeypatch.delenv("BAGTAG_HOME", raising=False)
    return home


def test_home_the_projects_parent_and_named_roots_are_allowed(home, tmp_path, monkeypatch):
    for name in ("disk", "work/project"):
        (tmp_path / name).mkdir(parents=True)
    monkeypatch.setenv("BAGTAG_ROOTS", os.pathsep.join([str(tmp_path / "disk"), str(tmp_path / "not there"), ""]))
    assert set(allowed_roots(tmp_path / "work" / "project")) == {home, tmp_path / "disk", tmp_path / "work"}


def test_a_root_inside_another_is_not_listed_twice(home, monkeypatch):
    (home / "deep").mkdir()
    monkeypatch.setenv("BAGTAG_ROOTS", str(home / "deep"))
    assert allowed_roots() == [home]


@pytest.mark.parametrize("typed", ["../other", "a/../../other", "/etc", "~/../other", "a/link", "\0", "", "   "])
def test_nothing_outside_is_accepted(home, tmp_path, typed):
    (tmp_path / "other").mkdir()
    (home / "a").mkdir()
    (home / "a" / "link").symlink_to(tmp_path / "other")
    with pytest.raises(BagtagError):
        existing_folder(typed, allowed_roots())


def test_what_is_inside_is_found_however_it_is_typed(home):
    folder = home / "Vögel 鸟"
    folder.mkdir()
    for typed in ("Vögel 鸟", "~/Vögel 鸟", str(folder), f'"{folder}"', f" {folder}/. "):
        assert existing_folder(typed, allowed_roots()) == folder


def test_a_file_and_a_folder_to_be_are_distinguished(home):
    (home / "file.wav").write_bytes(b"")
    assert allowed_path("new", allowed_roots()) == home / "new"
    with pytest.raises(BagtagError, match="is a file"):
        existing_folder("file.wav", allowed_roots())
    with pytest.raises(BagtagError, match="does not exist"):
        existing_folder("new", allowed_roots())


def test_only_folders_that_may_be_entered_are_offered(home, tmp_path):
    for name in ("b", "A", ".hidden"):
        (home / name).mkdir()
    (home / "file").write_bytes(b"")
    (home / "out").symlink_to(tmp_path)
    (home / "in").symlink_to(home / "b")
    assert subfolders(home, allowed_roots()) == ["A", "b", "in"]


def test_folders_whose_names_are_no_text_are_left_out(tmp_path):
    (tmp_path / "good").mkdir()
    os.mkdir(os.fsencode(tmp_path) + b"/caf\xe9")  # noqa: PTH102
    assert subfolders(tmp_path, [tmp_path]) == ["good"]
