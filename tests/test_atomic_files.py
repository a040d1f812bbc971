"""Files appear complete or not at all."""

import errno
import os
import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest

from miml_core.atomic_files import NotWritten, atomic_writer, write_file, write_files
from miml_core.errors import BagtagError


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = write_file(tmp_path / "calls.csv", b"old")
    with pytest.raises(RuntimeError), atomic_writer(path) as file:
        file.write(b"ne")
        raise RuntimeError
    assert path.read_bytes() == b"old" and [one.name for one in tmp_path.iterdir()] == ["calls.csv"]


def test_a_link_is_replaced_and_its_target_is_not_written(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"theirs")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    with atomic_writer(tmp_path / "link") as file:
        file.write(b"ours")
    assert (tmp_path / "target").read_bytes() == b"theirs"
    assert (tmp_path / "link").read_bytes() == b"ours" and not (tmp_path / "link").is_symlink()


def test_several_files_appear_together_or_not_at_all(tmp_path: Path) -> None:
    write_file(tmp_path / "a.txt", b"old")

    def refuse_last(path: Path) -> None:
        if path.name == "z.txt" and (tmp_path / "a.txt").read_bytes() == b"new":
            raise BagtagError("not here")

    with pytest.raises(BagtagError, match="not here"):
        write_files([(tmp_path / name, b"new") for name in ("a.txt", "deep/b.txt", "z.txt")], refuse_last)
    assert (tmp_path / "a.txt").read_bytes() == b"old" and [one.name for one in tmp_path.iterdir()] == ["a.txt"]


def test_content_in_pieces_that_fails_half_way_leaves_nothing(tmp_path: Path) -> None:
    def pieces(fail: bool) -> Iterator[bytes]:
        yield b"one "
        if fail:
            raise BagtagError("The recording ends here.")
        yield b"two"

    with pytest.raises(BagtagError, match="ends here"):
        write_files([(tmp_path / "first", b"whole"), (tmp_path / "second", pieces(fail=True))])
    assert list(tmp_path.iterdir()) == []
    (written,) = write_files([(tmp_path / "second", pieces(fail=False))])
    assert written.read_bytes() == b"one two"


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("nowhere/m.bagtag", "Create its folder"),
        ("file/m.bagtag", "Create its folder"),
        ("folder", "Choose another name"),
    ],
)
def test_an_error_names_the_file_that_was_asked_for(tmp_path: Path, name: str, advice: str) -> None:
    (tmp_path / "folder").mkdir()
    write_file(tmp_path / "file", b"")
    with pytest.raises(NotWritten) as raised, atomic_writer(tmp_path / name) as file:
        file.write(b"content")
    said = str(raised.value)
    assert said.startswith(f"{str(tmp_path / name)!r} could not be written: ") and advice in said
    assert ".writing-" not in said and isinstance(raised.value, OSError), "callers may do without the file"
    assert str(pickle.loads(pickle.dumps(raised.value))) == said, "workers of a cluster send it"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["file", "folder"]


def test_a_full_disk_is_an_error_of_the_file_and_other_files_keep_their_own_errors(tmp_path: Path) -> None:
    full = r"m\.bagtag' could not be written: No space left.*Free some space"
    with pytest.raises(NotWritten, match=full), atomic_writer(tmp_path / "m.bagtag"):
        raise OSError(errno.ENOSPC, "No space left on device")
    with pytest.raises(FileNotFoundError, match=r"other\.wav"), atomic_writer(tmp_path / "m.bagtag"):
        (tmp_path / "other.wav").read_bytes()
    with pytest.raises(OSError, match="Input/output") as raised, atomic_writer(tmp_path / "m.bagtag"):
        raise OSError(errno.EIO, "Input/output error")  # perhaps of a file that is read
    assert not isinstance(raised.value, NotWritten) and list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_or_a_device_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(NotWritten, match="device or a pipe"), atomic_writer(tmp_path / "pipe") as file:
        file.write(b"x")
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"] and not (tmp_path / "pipe").is_file()
