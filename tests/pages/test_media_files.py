"""Files dropped onto the page, and folders looked through."""

import io

import pytest

from miml_core import BagtagError
from pages.widgets.library.add_media import copy_dropped_files, count_media, safe_name


class Dropped(io.BytesIO):
    def __init__(self, name, content):
        super().__init__(content)
        self.name = name


def test_dropped_files_are_kept_once_and_never_overwrite(tmp_path):
    first = copy_dropped_files([Dropped("wren.wav", b"one"), Dropped("wren.wav", b"two")], tmp_path)
    again = copy_dropped_files([Dropped("wren.wav", b"two")], tmp_path)
    assert [path.name for path in first] == ["wren.wav", "wren (2).wav"]
    assert again == [first[1]]
    assert [path.read_bytes() for path in first] == [b"one", b"two"]
    assert len(list((tmp_path / "media").iterdir())) == 2


def test_dropped_files_are_not_written_through_links(tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "wren.wav").write_bytes(b"mine")
    (tmp_path / "project" / "media").mkdir(parents=True)
    (tmp_path / "project" / "media" / "wren.wav").symlink_to(tmp_path / "outside" / "wren.wav")
    (tmp_path / "project" / "media" / ".wren (2).wav.part").symlink_to(tmp_path / "outside" / "wren.wav")
    (kept,) = copy_dropped_files([Dropped("wren.wav", b"new")], tmp_path / "project")
    assert kept.name == "wren (2).wav" and kept.read_bytes() == b"new"
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "media").symlink_to(tmp_path / "outside")
    with pytest.raises(BagtagError, match="is a link"):
        copy_dropped_files([Dropped("new.wav", b"new")], tmp_path / "other")
    assert [path.read_bytes() for path in (tmp_path / "outside").iterdir()] == [b"mine"]


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("../../etc/passwd.wav", "passwd.wav"),
        (r"C:\Users\a\b.wav", "b.wav"),
        ("Zaunkönig 鹪鹩.wav", "Zaunkönig 鹪鹩.wav"),
        ('a<b>|".wav', "a-b---.wav"),
        ("..hidden.wav", "hidden.wav"),
    ],
)
def test_names_stay_inside_the_folder(name, kept):
    assert safe_name(name) == kept


def test_a_file_without_a_name_is_refused():
    with pytest.raises(BagtagError):
        safe_name("..")


def test_sounds_and_pictures_of_a_folder_are_counted(tmp_path):
    (tmp_path / "a" / ".hidden").mkdir(parents=True)
    for name in ("x.WAV", "a/y.flac", "a/z.jpg", "notes.txt", "a/.hidden/no.wav"):
        (tmp_path / name).write_bytes(b"")
    assert count_media(tmp_path) == ({"sound": 2, "picture": 1}, True)
