"""The interface of all formats: convert rows to files, and files to rows."""

from __future__ import annotations

import io
import zipfile
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import ClassVar

from miml_core.atomic_files import Check, write_files
from miml_core.errors import BagtagError
from miml_core.exchange.labels import LabelReader, LabelTable
from miml_core.exchange.rows import SegmentRow

_READ_LIMIT = 2 * 1024**3
_ZIP_DATE = (1980, 1, 1, 0, 0, 0)


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

    @abstractmethod
    def make_files(self, rows: Sequence[SegmentRow]) -> Iterator[tuple[str, bytes]]:
        """Yield (name, content) of each file; a name may have folders, with forward slashes."""

    def parse_files(self, files: Iterable[tuple[str, bytes]]) -> list[SegmentRow]:
        """Return the rows of files, given as (name, content); the first line that cannot be read is an error."""
        table = LabelTable(strict=True)
        for name, content in files:
            self.read_file(name, content, table)
        return table.rows

    def write(self, rows: Iterable[SegmentRow], target: Path | str, *, check: Check | None = None) -> list[Path]:
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

        Returns
        -------
        list of Path
            All files appear, or none; existing files stay until the new ones are complete.
        """
        target = Path(target)
        files = self.make_files(self._checked(rows))
        if target.suffix.lower() == ".zip":
            return write_files([(target, _zip(files))], check)
        if self.is_one_file(target):
            return write_files([(target, self._only(files, target))], check)
        return write_files(((_inside(target, name), content) for name, content in files), check)

    def is_one_file(self, target: Path) -> bool:
        """Return whether `write` writes the one file `target`; otherwise `target` is a folder."""
        suffix = target.suffix.lower()
        return suffix == ".zip" or (not target.is_dir() and (not self.many_files or suffix in self.extensions))

    def write_bytes(self, rows: Iterable[SegmentRow]) -> tuple[str, bytes]:
        """Return (file name, content) for a download: the file, or a zip archive of several files."""
        files = list(self.make_files(self._checked(rows)))
        if len(files) == 1:
            return PurePosixPath(files[0][0]).name, files[0][1]
        return f"{self.name}.zip", _zip(files)

    def read(self, path: Path | str) -> list[SegmentRow]:
        """Read a file, a zip archive or a folder of files in this format, written by Bagtag or another program."""
        path = Path(path)
        try:
            return self.parse_files(stored_files(path, self.extensions))
        except OSError as error:
            raise BagtagError(f"{str(path)!r} could not be read: {error.strerror or error}.") from error
        except zipfile.BadZipFile as error:
            raise BagtagError(f"{str(path)!r} is a damaged zip archive: {error}.") from error

    def _only(self, files: Iterator[tuple[str, bytes]], target: Path) -> bytes:
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
                    f"{row.file!r} is a {row.kind}, which the format {self.title!r} cannot hold; choose another."
                )
        return chosen


def _inside(folder: Path, name: str) -> Path:
    path = folder.joinpath(*PurePosixPath(name).parts)
    if ".." in path.relative_to(folder).parts:
        raise BagtagError(f"{name!r} would be written outside of {str(folder)!r}.")
    return path


def _zip(files: Iterable[tuple[str, bytes]]) -> bytes:
    """Return a zip archive whose bytes only depend on the content."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files:
            archive.writestr(zipfile.ZipInfo(name, _ZIP_DATE), content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def stored_files(path: Path, extensions: tuple[str, ...]) -> Iterator[tuple[str, bytes]]:
    """Yield (name, content) of a file, or of the files of a folder or zip archive with one of some extensions."""
    if path.is_dir():
        for file in sorted(path.rglob("*")):
            if file.is_file() and file.name.lower().endswith(extensions) and not file.name.startswith("."):
                yield file.relative_to(path).as_posix(), file.read_bytes()
    elif zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            members = [member for member in archive.infolist() if member.filename.lower().endswith(extensions)]
            if sum(member.file_size for member in members) > _READ_LIMIT:
                raise BagtagError(f"{str(path)!r} would unpack to more than 2 GB; unpack it and read the folder.")
            for member in sorted(members, key=lambda member: member.filename):
                yield member.filename, archive.read(member)
    else:
        yield path.name, path.read_bytes()
