"""Write files so that they appear complete or not at all.

Every file is first written under a hidden name in its own folder and flushed to the disk, then renamed. A reader, or a
power cut, therefore finds the old file or the new one, never a part of it, and nothing is written through a link.
"""

from __future__ import annotations

import errno
import os
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from miml_core.errors import BagtagError

Check = Callable[[Path], None]
"""Raises `BagtagError` unless the file may be written (also over a file that exists)."""
Content = bytes | Iterator[bytes]
"""What a file will contain: all of it, or piece by piece if it may be too large for memory."""

_DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class NotWritten(OSError, BagtagError):
    """A file could not be written. It is an `OSError`, too, for callers that can do without the file."""

    def __init__(self, *args: object) -> None:
        BagtagError.__init__(self, *args)  # `OSError` comes first for its `__new__`, by which Dask reads what was sent


@contextmanager
def atomic_writer(path: str | Path, *, durable: bool = True) -> Iterator[BinaryIO]:
    """Open a binary file that replaces `path` when the block ends, and leaves no trace if the block raises.

    Parameters
    ----------
    path : path
        Its folder must exist.
    durable : bool
        Whether the content is flushed to the disk before it is renamed; not needed for files that can be made again.

    Raises
    ------
    NotWritten
        The file cannot be written. Errors of the block that concern other files are not changed.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "settings.json"
    ...     with atomic_writer(path) as file:
    ...         _ = file.write(b"{}")
    ...         exists_meanwhile = path.exists()
    ...     exists_meanwhile, path.read_bytes()
    (False, b'{}')
    """
    path = Path(path)
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise NotWritten(f"{str(path)!r} is a device or a pipe, which a file would replace; choose another name.")
    temporary = _temporary_name(path.parent)
    try:
        with temporary.open("xb") as file:
            yield file
            file.flush()
            if durable:
                os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and _concerns(error, temporary):
            raise _not_written(path, error) from error
        raise
    if durable:
        flush_folder(path.parent)


def write_file(path: Path, content: bytes) -> Path:
    """Write one file, over an existing one if there is one, and return its path; its folder is created if needed.

    Raises
    ------
    NotWritten
    """
    return write_files([(path, content)])[0]


def write_files(files: Iterable[tuple[Path, Content]], check: Check | None = None) -> list[Path]:
    """Write files so that all of them appear, or none.

    Parameters
    ----------
    files : iterable of (path, content)
        Taken one by one: their contents need not fit into memory together.
    check : callable, optional
        Called with each path before it is written and again just before the file is put in place. A file that did not
        exist then is never put over one that has appeared since.

    Returns
    -------
    list of Path
        The paths, in order.

    Raises
    ------
    NotWritten
    """
    batch = _Batch(check)
    try:
        for path, content in files:
            batch.write(path, content)
        batch.put_in_place()
    except BaseException:
        batch.take_back()
        raise
    finally:
        batch.remove_temporary()
    return [path for path, _ in batch.staged]


def flush_folder(folder: Path) -> None:
    """Flush the names in a folder to the disk, where the system can do that."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


class _Batch:
    def __init__(self, check: Check | None) -> None:
        self.staged: list[tuple[Path, Path]] = []
        """(path, temporary file with its content)"""
        self._check = check
        self._folders: list[Path] = []
        self._placed: list[tuple[Path, Path | None]] = []
        """(path, a link to the file that was there before)"""
        self._temporary: list[Path] = []

    def write(self, path: Path, content: Content) -> None:
        if self._check is not None:
            self._check(path)
        try:
            self._make_folder(path.parent)
            temporary = self._new_name(path.parent)
            with temporary.open("xb") as file:
                for piece in (content,) if isinstance(content, bytes) else content:
                    file.write(piece)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise _not_written(path, error) from error
        self.staged.append((path, temporary))

    def put_in_place(self) -> None:
        for path, temporary in self.staged:
            if self._check is not None:
                self._check(path)
            try:
                if self._check is None or os.path.lexists(path):
                    self._replace(path, temporary)
                else:
                    _create(path, temporary)
                    self._placed.append((path, None))
            except OSError as error:
                raise _not_written(path, error) from error
        for folder in {path.parent for path, _ in self.staged}:
            flush_folder(folder)

    def take_back(self) -> None:
        """Undo what was put in place, as far as the disk allows."""
        for path, before in reversed(self._placed):
            with suppress(OSError):
                path.unlink() if before is None else before.replace(path)

    def remove_temporary(self) -> None:
        for temporary in self._temporary:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
        for folder in reversed(self._folders):
            with suppress(OSError):
                folder.rmdir()  # fails, as it should, if the folder has files

    def _replace(self, path: Path, temporary: Path) -> None:
        is_new = not os.path.lexists(path)
        before = None
        if not is_new:
            name = self._new_name(path.parent)
            with suppress(OSError, NotImplementedError):  # without hard links the old file cannot be kept
                os.link(path, name, follow_symlinks=False)
                before = name
        temporary.replace(path)
        if is_new or before is not None:
            self._placed.append((path, before))

    def _make_folder(self, folder: Path) -> None:
        missing = [each for each in (folder, *folder.parents) if not each.exists()]
        for each in reversed(missing):
            each.mkdir(exist_ok=True)
            self._folders.append(each)
        folder.mkdir(parents=True, exist_ok=True)

    def _new_name(self, folder: Path) -> Path:
        self._temporary.append(_temporary_name(folder))
        return self._temporary[-1]


def _temporary_name(folder: Path) -> Path:
    return folder / f".writing-{uuid.uuid4().hex}"


def _create(path: Path, temporary: Path) -> None:
    """Give the file its name; raises `FileExistsError` if there is a file of that name."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        temporary.replace(path)


def _concerns(error: OSError, temporary: Path) -> bool:
    """Return whether an error is about the file that is written: writing to a full disk names no file."""
    if error.filename is None:
        return error.errno in _DISK_FULL
    return str(error.filename) == str(temporary)


def _not_written(path: Path, error: OSError) -> NotWritten:
    """Return the error for the file that was asked for: its temporary name would mean nothing to a person."""
    if isinstance(error, FileExistsError):
        return NotWritten(f"{str(path)!r} appeared while it was being written; choose another name.")
    if isinstance(error, IsADirectoryError):
        advice = "Choose another name."
    elif isinstance(error, FileNotFoundError | NotADirectoryError):
        advice = "Create its folder, or choose another one."
    else:
        advice = "Free some space on the disk, make its folder writable, or choose another one."
    found = NotWritten(f"{str(path)!r} could not be written: {error.strerror or error}. {advice}")
    found.strerror = error.strerror  # without `errno`: with both, the text of the error would be theirs
    return found
