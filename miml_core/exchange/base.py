"""The interface of all formats: convert rows to files, and files to rows."""

from __future__ import annotations

import tempfile
import zipfile
import zlib
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import IO, ClassVar

from miml_core.atomic_files import Check, Content, write_files
from miml_core.errors import BagtagError
from miml_core.exchange.labels import LabelReader, LabelTable
from miml_core.exchange.provenance import is_side_file
from miml_core.exchange.rows import SegmentRow

_READ_LIMIT = 2 * 1024**3
_ZIP_DATE = (1980, 1, 1, 0, 0, 0)
_PIECE = 1 << 20
IN_MEMORY = 64 * 1024**2
"""Bytes of a temporary file that are kept in memory; a larger one is on the disk."""


class Format(LabelReader):
    """A file format of segments.

    A format converts rows to named files (`make_files`) and named files to rows (`read_file`). Folders, zip archives
    and atomic writing are the same for all formats and are implemented here.

    Examples
    --------
    >>> import tempfile
    >>> from miml_core.exchange import FORMATS, SegmentRow
    >>> row = SegmentRow("dawn.wav", start_s=1.5, end_s=2.0, label="Wren", status="confirmed", said_by="person")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = FORMATS["csv"].write([row], f"{folder}/calls.csv")
    ...     FORMATS["csv"].read(f"{folder}/calls.csv") == [row]
    True
    >>> FORMATS["audacity"].write_bytes([row])
    ('dawn.wav.txt', b'1.500000\\t2.000000\\tWren\\n')
    """

    many_files: ClassVar[bool]
    """Whether there is one file per recording, in a folder, instead of one file for all."""
    needs_outlines: ClassVar[bool] = False
    """Whether the rows must have outlines; without them a large project is written much faster."""
    keeps: ClassVar[str]
    """Description of what is preserved when the files are read again."""
    also_writes: ClassVar[tuple[str, ...]] = ()
    """Extensions of files that are written and never read: sounds and pictures."""
    only_checked: ClassVar[bool] = False
    """Whether only labels that a person checked are written, unless others are asked for."""

    @abstractmethod
    def make_files(self, rows: Sequence[SegmentRow]) -> Iterator[tuple[str, Content]]:
        """Yield (name, content) of each file; a name may have folders, with forward slashes."""

    def describe(self, rows: Sequence[SegmentRow]) -> dict[str, str]:
        """Return what the side file of an export contains about this format."""
        return {}

    def parse_files(self, files: Iterable[tuple[str, bytes]]) -> list[SegmentRow]:
        """Return the rows of files, given as (name, content); the first line that cannot be read is an error."""
        table = LabelTable(strict=True)
        for name, content in files:
            self.read_file(name, content, table)
        return table.rows

    def write(
        self,
        rows: Iterable[SegmentRow],
        target: Path | str,
        *,
        check: Check | None = None,
        side_file: tuple[Path, Callable[[], bytes]] | None = None,
    ) -> list[Path]:
        """Write the rows to `target` and return the written files.

        Parameters
        ----------
        rows : iterable of SegmentRow
        target : path
            The file, or a folder for a file with the format's own name. A format of many files writes to the folder
            `target`, to a zip archive if `target` ends in ``.zip``, or to the file `target` if there is only one.
        check : callable, optional
            Called with the path of each file; raises `BagtagError` if it must not be written. Without it, existing
            files are replaced.
        side_file : (Path, callable), optional
            A file that is written after all others, and what returns its content then.

        Returns
        -------
        list of Path
            All files appear, or none; existing files stay until the new ones are complete.
        """
        made = self._files(self._checked(rows), Path(target))
        return write_files(made if side_file is None else _with_side_file(made, *side_file), check)

    def _files(self, rows: Sequence[SegmentRow], target: Path) -> Iterator[tuple[Path, Content]]:
        files = self.make_files(rows)
        if target.suffix.lower() == ".zip":
            yield target, _zipped(files)
        elif self.is_one_file(target):
            yield target, self._only(files, target)
        else:
            yield from ((_inside(target, name), content) for name, content in files)

    def is_one_file(self, target: Path) -> bool:
        """Return whether `write` writes the one file `target`; otherwise `target` is a folder."""
        suffix = target.suffix.lower()
        return suffix == ".zip" or (not target.is_dir() and (not self.many_files or suffix in self.extensions))

    def write_bytes(self, rows: Iterable[SegmentRow]) -> tuple[str, bytes]:
        """Return (file name, content) for a download: the file, or a zip archive of several files."""
        files = list(self.make_files(self._checked(rows)))
        if len(files) == 1:
            return PurePosixPath(files[0][0]).name, _all_of(files[0][1])
        return f"{self.name}.zip", _all_of(_zipped(files))

    def read(self, path: Path | str) -> list[SegmentRow]:
        """Read a file, a zip archive or a folder of files in this format, written by Bagtag or another program."""
        path = Path(path)
        try:
            return self.parse_files(stored_files(path, self.extensions))
        except OSError as error:
            raise BagtagError(
                f"{str(path)!r} could not be read: {error.strerror or error}. Check the path and its permissions."
            ) from error
        except zipfile.BadZipFile as error:
            raise BagtagError(f"{str(path)!r} is a damaged zip archive: {error}. Copy it again.") from error

    def _only(self, files: Iterator[tuple[str, Content]], target: Path) -> Content:
        _, content = next(files)
        if next(files, None) is not None:
            raise BagtagError(f"Several files cannot be written to {str(target)!r}; give a folder or a zip archive.")
        return content

    def _checked(self, rows: Iterable[SegmentRow]) -> list[SegmentRow]:
        chosen = list(rows)
        if not chosen:
            raise BagtagError("There are no segments to export; change the selection, or label some segments first.")
        for row in chosen:
            if row.kind not in self.kinds:
                raise BagtagError(
                    f"{row.file!r} is a {row.kind}, which the format {self.title!r} cannot hold; choose another format."
                )
        return chosen


def _inside(folder: Path, name: str) -> Path:
    path = folder.joinpath(*PurePosixPath(name).parts)
    if ".." in path.relative_to(folder).parts:
        raise BagtagError(f"{name!r} would be written outside {str(folder)!r}.")
    return path


def _with_side_file(
    files: Iterator[tuple[Path, Content]], side_file: Path, content: Callable[[], bytes]
) -> Iterator[tuple[Path, Content]]:
    yield from files
    yield side_file, content()


def _all_of(content: Content) -> bytes:
    return content if isinstance(content, bytes) else b"".join(content)


def pieces_of(file: IO[bytes]) -> Iterator[bytes]:
    """Yield the content of an open file piece by piece, and close it."""
    with file:
        file.seek(0)
        while piece := file.read(_PIECE):
            yield piece


def _zipped(files: Iterable[tuple[str, Content]]) -> Iterator[bytes]:
    """Yield a zip archive whose bytes only depend on the content."""
    packed = tempfile.SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115 - closed by `pieces_of`
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files:
            about = zipfile.ZipInfo(name, _ZIP_DATE)
            about.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(about, "w", force_zip64=not isinstance(content, bytes)) as member:
                for piece in (content,) if isinstance(content, bytes) else content:
                    member.write(piece)
    yield from pieces_of(packed)


def _leads_out(name: str) -> bool:
    """Return whether a name in a zip archive is that of a place outside it."""
    parts = name.replace("\\", "/").split("/")
    return ".." in parts or not parts[0] or parts[0].endswith(":")


def _read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    try:
        return archive.read(member)
    except (RuntimeError, NotImplementedError, EOFError, zlib.error) as error:  # RuntimeError: a password is needed
        raise BagtagError(
            f"{member.filename!r} in {str(archive.filename)!r} cannot be unpacked: {error}. Unpack it by the program "
            "that made it, and choose the folder."
        ) from error


def stored_files(path: Path, extensions: tuple[str, ...]) -> Iterator[tuple[str, bytes]]:
    """Yield (name, content) of a file, or of the files of a folder or zip archive with one of some extensions."""
    if path.is_dir():
        for file in sorted(path.rglob("*")):
            is_meant = file.name.lower().endswith(extensions) and not is_side_file(file.name)
            if is_meant and not file.name.startswith(".") and file.is_file():
                yield file.relative_to(path).as_posix(), file.read_bytes()
    elif zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            members = [
                member
                for member in archive.infolist()
                if member.filename.lower().endswith(extensions) and not is_side_file(member.filename)
            ]
            outside = next((each.filename for each in members if _leads_out(each.filename)), None)
            if outside is not None:
                raise BagtagError(
                    f"{str(path)!r} names a file outside itself, {outside!r}, as no ordinary program does. "
                    "Nothing was read; ask for another copy, or unpack it by a program you trust."
                )
            if sum(member.file_size for member in members) > _READ_LIMIT:
                raise BagtagError(f"{str(path)!r} would unpack to more than 2 GB; unpack it and read the folder.")
            for member in sorted(members, key=lambda member: member.filename):
                yield member.filename, _read_member(archive, member)
    elif path.suffix.lower() == ".zip":
        path.stat()  # a file that does not exist is no damaged one
        raise BagtagError(f"{str(path)!r} is damaged, or no zip archive; copy it again, or choose the files in it.")
    else:
        yield path.name, path.read_bytes()
