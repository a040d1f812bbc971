"""Connect to the database file of a project, and detect when it is no longer the file at its path.

SQLite continues to write to a file that was deleted, replaced or moved while it was open, and reports success. A
connection therefore records the identity (device and inode) of the files it has open, to be compared with the files at
their paths. Only `os.stat` is used for that: opening and closing the database by other means than SQLite would drop the
locks that this process holds on it.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from miml_core.project.db import backups
from miml_core.project.errors import ProjectMoved

DATABASE = "project.db"
APPLICATION_ID = 0x42414754
"""Written in the file's header ("BAGT"), to distinguish a project from the database of another program."""
BUSY_TIMEOUT_S = 30.0

FileId = tuple[int, int]
"""(device, inode): no two files have the same one as long as one of them is open."""

_PAGE_BYTES = 8192
_CONNECT_ATTEMPTS = 5
_CHECKPOINT_TIMEOUT_MS = 500


@dataclass(frozen=True)
class OpenFiles:
    """The files that a connection has open, and where they were when it opened them."""

    path: str
    database_id: FileId | None
    wal_path: str
    wal_id: FileId | None
    shm_path: str
    shm_id: FileId | None

    @classmethod
    def at(cls, path: Path) -> OpenFiles:
        """Return the files of a database that was just opened at `path`."""
        real = os.path.realpath(path)  # the log is beside the file that a link points to
        wal_path, shm_path = real + "-wal", real + "-shm"
        return cls(str(path), file_id(path), wal_path, file_id(wal_path), shm_path, file_id(shm_path))

    def in_place(self) -> bool:
        """Return whether the database and its log of commits are the files at their paths."""
        return file_id(self.path) == self.database_id and (self.wal_id is None or file_id(self.wal_path) == self.wal_id)


class FileConnection(sqlite3.Connection):
    """A connection with a record of the files it has open."""

    files: OpenFiles

    def check_in_place(self) -> None:
        """Raise `ProjectMoved` unless the open files are those at their paths."""
        if not self.files.in_place():
            raise moved_error(Path(self.files.path), self.files.database_id)

    def checkpoint(self) -> None:
        """Write all commits into the open database file, wherever it is now, after it was found not in place.

        SQLite would otherwise replay the log of the old file on the file that is at the path now. Once all of it is in
        the old file, the log is removed from the path, if a new database is there and the log is still the old one's.
        """
        files = self.files
        with suppress(sqlite3.Error, OSError):
            self.execute(f"PRAGMA busy_timeout = {_CHECKPOINT_TIMEOUT_MS}")
            busy = self.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
            if not busy and file_id(files.path) not in (None, files.database_id):
                for side_path, side_id in ((files.wal_path, files.wal_id), (files.shm_path, files.shm_id)):
                    if side_id is not None and file_id(side_path) == side_id:
                        Path(side_path).unlink()
        with suppress(sqlite3.Error):
            self.execute(f"PRAGMA busy_timeout = {round(1000 * BUSY_TIMEOUT_S)}")


def file_id(path: str | Path) -> FileId | None:
    """Return the identity of the file at a path; None if there is none, or it cannot be reached."""
    try:
        found = os.stat(path)  # noqa: PTH116 (done several times per write; Path.stat is slower)
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino


def connect(path: Path, *, create: bool = False, use_log: bool = False) -> FileConnection:
    """Open a database with the settings of projects, and record which files that opened.

    With `use_log` it gets a log of commits (WAL) if it has none: a copy put in place of the project may lack one.

    Raises
    ------
    ProjectMoved
        There is no file at the path, or it was replaced several times while connecting.
    """
    for _ in range(_CONNECT_ATTEMPTS):
        before = file_id(path)
        if before is None and not create:
            break
        connection = _open(path, "rwc" if create else "rw")
        try:
            _set_up(connection)
            if use_log:
                connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA schema_version").fetchone()  # opens the log of commits, and locks both
            connection.files = OpenFiles.at(path)
        except BaseException:
            connection.close()
            raise
        if create or connection.files.database_id == before:
            return connection
        connection.close()
    raise moved_error(path, None)


def open_read_only(path: Path) -> sqlite3.Connection:
    """Open a database that nobody writes, such as a backup, without making any file beside it."""
    connection = _open(path, "ro&immutable=1")
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    return connection


def moved_error(path: Path, opened: FileId | None) -> ProjectMoved:
    """Return the error that describes what happened to the file that was opened at a path."""
    where, found = repr(str(path.parent)), file_id(path)
    if not path.parent.is_dir():
        return ProjectMoved(
            f"The folder {where} of the open project is gone: it was moved, renamed or deleted, or its disk was "
            "removed. Nothing is saved now. Put the folder back to continue, or open the project in its new folder."
        )
    if found is None:
        return ProjectMoved(
            f"The file {path.name} in {where} was deleted or moved while the project was open. Nothing is saved now. "
            f"Put the file back to continue.{backups.advice(path.parent)}"
        )
    if found != opened:
        return ProjectMoved(
            f"The file {path.name} in {where} was replaced by another one while the project was open. Nothing is saved "
            "now. Open the project again to use the new file."
        )
    return ProjectMoved(
        f"The file {path.name}-wal in {where}, which holds the latest edits, was deleted or replaced while the project "
        "was open. Nothing is saved now. Close the project in all windows, wait for its jobs, and open it again."
    )


def _open(path: Path, mode: str) -> FileConnection:
    place = os.fsencode(path.absolute().as_posix())
    address = f"file://{'' if place.startswith(b'/') else '/'}{quote(place)}?mode={mode}"
    return sqlite3.connect(
        address,
        uri=True,
        timeout=BUSY_TIMEOUT_S,
        isolation_level=None,  # transactions begin where `Store` begins them, not where the driver guesses
        check_same_thread=False,
        factory=FileConnection,
    )


def _set_up(connection: FileConnection) -> None:
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    connection.execute("PRAGMA trusted_schema = OFF")  # a project may come from somebody else
    connection.execute("PRAGMA cell_size_check = ON")
    connection.execute(f"PRAGMA page_size = {_PAGE_BYTES}")  # has an effect only while the file is empty
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA cache_size = -32768")
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute("PRAGMA wal_autocheckpoint = 4000")
