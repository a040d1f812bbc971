"""The interface every format keeps: rows in, files out; files in, rows out."""

from __future__ import annotations

import io
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import ClassVar

from miml_core.atomic_files import Check, write_files
from miml_core.errors import BagtagError
from miml_core.exchange.rows import Kind, SegmentRow

_READ_LIMIT = 2 * 1024**3
_ZIP_DATE = (1980, 1, 1, 0, 0, 0)


class Format(ABC):
    """A file format of segments.

    A format says how rows become named files (`make_files`) and how named files become rows (`parse_files`);
    folders, zip archives and safe saving are the same for all and live here.
    """

    name: ClassVar[str]
    """The word on the command line: `export --format NAME`."""
    title: ClassVar[str]
    """What a person reads in a list."""
    kinds: ClassVar[tuple[Kind, ...]]
    extensions: ClassVar[tuple[str, ...]]
    """How the files end, with the dot; the first is the one that is written."""
    many_files: ClassVar[bool]
    """True where a format is a folder of files (one a recording); False where everything goes into one file."""
    needs_outlines: ClassVar[bool] = False
    """Whether the rows must have outlines; without them a large project is written much sooner."""
    keeps: ClassVar[str]
    """What comes back when the files are read again, in words."""

    @abstractmethod
    def make_files(self, rows: Sequence[SegmentRow]) -> Iterator[tuple[str, bytes]]:
        """(name, content) of each file; a name may have folders, with forward slashes."""

    @abstractmethod
    def parse_files(self, files: Iterable[tuple[str, bytes]]) -> list[SegmentRow]:
        """The rows that the files hold."""

    def write(self, rows: Iterable[SegmentRow], target: Path | str, *, check: Check | None = None) -> list[Path]:
        """Write the rows to `target` and return the files that were made.

        A format of one file writes the file `target` (or a file of its own name in the folder `target`); a format
        of many files fills the folder `target`, or a zip archive when `target` ends in ``.zip``; when there is only
        one recording, `target` may be its file. All files appear, or none; an older one stays until the new ones are
        complete. `check` is called with the path of each file and raises `BagtagError` where it must not be written;
        without it, older files are replaced.
        """
        target = Path(target)
        files = self.make_files(self._checked(rows))
        if target.suffix.lower() == ".zip":
            return write_files([(target, _zip(files))], check)
        if self.is_one_file(target):
            return write_files([(target, self._only(files, target))], check)
        return write_files(((_inside(target, name), content) for name, content in files), check)

    def is_one_file(self, target: Path) -> bool:
        """Return whether `write` makes the one file `target`; otherwise `target` is a folder."""
        suffix = target.suffix.lower()
        return suffix == ".zip" or (not target.is_dir() and (not self.many_files or suffix in self.extensions))

    def write_bytes(self, rows: Iterable[SegmentRow]) -> tuple[str, bytes]:
        """(file name, content) to download: the one file, or a zip archive of several."""
        files = list(self.make_files(self._checked(rows)))
        if len(files) == 1:
            return PurePosixPath(files[0][0]).name, files[0][1]
        return f"{self.name}.zip", _zip(files)

    def read(self, path: Path | str) -> list[SegmentRow]:
        """Read a file, a zip archive or a folder of files that this format wrote, or that others wrote in it."""
        path = Path(path)
        try:
            return self.parse_files(_stored_files(path, self.extensions))
        except OSError as error:
            raise BagtagError(f"{str(path)!r} could not be read: {error.strerror or error}.") from error
        except zipfile.BadZipFile as error:
            raise BagtagError(f"{str(path)!r} is a damaged zip archive: {error}.") from error

    def _only(self, files: Iterator[tuple[str, bytes]], target: Path) -> bytes:
        _, content = next(files)
        if next(files, None) is not None:
            raise BagtagError(f"These are several files and do not fit into {str(target)!r}; name a folder or a zip.")
        return content

    def _checked(self, rows: Iterable[SegmentRow]) -> list[SegmentRow]:
        chosen = list(rows)
        if not chosen:
            raise BagtagError("There are no segments to export; choose others, or label some first.")
        for row in chosen:
            if row.kind not in self.kinds:
                raise BagtagError(f"{self.title} is not for a {row.kind}: {row.file!r} cannot be written in it.")
        return chosen


def _inside(folder: Path, name: str) -> Path:
    path = folder.joinpath(*PurePosixPath(name).parts)
    if ".." in path.relative_to(folder).parts:
        raise BagtagError(f"{name!r} would be written outside of {str(folder)!r}.")
    return path


def _zip(files: Iterable[tuple[str, bytes]]) -> bytes:
    """An archive whose bytes depend on the content alone."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files:
            archive.writestr(zipfile.ZipInfo(name, _ZIP_DATE), content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def _stored_files(path: Path, extensions: tuple[str, ...]) -> Iterator[tuple[str, bytes]]:
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
