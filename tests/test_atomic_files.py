"""Files appear complete or not at all."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from miml_core.atomic_files import atomic_writer, write_file, write_files
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
