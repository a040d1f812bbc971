"""Putting a backup in the place of a project's database, also of one that cannot be opened any more.

What is there is kept first: as a backup if it can be read, otherwise the files as they are. The backup is copied beside
the database and takes its place in one step.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from miml_core.errors import BagtagError
from miml_core.project import backups, damage
from miml_core.project.database_file import APPLICATION_ID, DATABASE, connect, open_read_only

_LOGS = ("-wal", "-shm", "-journal")
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


@dataclass(frozen=True)
class Contents:
    """How much is in a backup."""

    bags: int
    tags: int
    edits: int


@dataclass(frozen=True)
class Restored:
    """What a restore did: the backup it used, and where the former state is kept (None when there was none)."""

    backup: Path
    kept: Path | None


def contents(backup: Path) -> Contents:
    """Count what is in a backup.

    Raises
    ------
    BagtagError
        The file is damaged, or no backup of a project.
    """
    with closing(_open_backup(backup)) as connection:
        try:
            counts = [
                connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
                for table in ("bags", "tags", "history")
            ]
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise BagtagError(f"{str(backup)!r} is damaged: {error}. Choose another backup.") from error
    return Contents(*counts)


def choose(project: Path, name: str | None) -> Path:
    """Return the backup of that name, or the file at that path; without one, the newest that is sound."""
    found = backups.in_folder(project)
    if name is not None:
        chosen = next((backup.path for backup in found if backup.path.name == name), Path(name))
        check_backup(chosen)
        return chosen
    for backup in found:
        with suppress(BagtagError):
            check_backup(backup.path)
            return backup.path
    if not (project / DATABASE).exists():
        raise BagtagError(
            f"{str(project)!r} is not a Bagtag project: it holds neither a {DATABASE} nor a backup. Give the path of a "
            "backup to restore it here."
        )
    raise BagtagError(f"There is no backup in {str(project / backups.FOLDER)!r}; give the path of one.")


def check_backup(backup: Path) -> None:
    """Raise `BagtagError` unless a file is a whole backup of a project."""
    with closing(_open_backup(backup)) as connection:
        try:
            whole = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
            wrong = damage.foreign_schema(connection, complete=False) if whole == "ok" else whole
        except (sqlite3.Error, UnicodeDecodeError) as error:
            wrong = str(error)
    if wrong is not None:
        raise BagtagError(f"{str(backup)!r} is damaged: {wrong}. Choose another backup.")


def restore(project: Path, name: str | None = None) -> Restored:
    """Put a backup in the place of the database, after keeping what is there."""
    project = project.absolute()
    if not project.is_dir():
        raise BagtagError(f"There is no folder {str(project)!r}.")
    backup, database = choose(project, name), project / DATABASE
    if os.path.lexists(database) and backup.resolve() == database.resolve():
        raise BagtagError(f"{str(backup)!r} is the project itself, not a backup of it.")
    partial = project / f"{DATABASE}.restoring"
    try:
        partial.unlink(missing_ok=True)
        _copy_backup(backup, partial)
        kept = _keep_present(project)
        _move_logs_away(database, kept)
        partial.replace(database)
        backups.flush_folder(project)
    except OSError as error:
        raise BagtagError(
            f"The backup {str(backup)!r} could not be restored: {error.strerror or error}. Free some space on the "
            "disk, or make the project folder writable, and try again."
        ) from error
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
    return Restored(backup, kept)


def _open_backup(backup: Path) -> sqlite3.Connection:
    """Open a backup for reading, if it is one."""
    if not backup.is_file():
        raise BagtagError(f"There is no backup {str(backup)!r}; restore --list shows those there are.")
    try:
        connection = open_read_only(backup)
        if connection.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID:
            return connection
        connection.close()
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise BagtagError(f"{str(backup)!r} is damaged or no backup: {error}. Choose another one.") from error
    raise BagtagError(f"{str(backup)!r} is not a backup of a Bagtag project.")


def _copy_backup(backup: Path, partial: Path) -> None:
    """Copy a backup beside the database, on disk, and look whether the copy is whole."""
    with partial.open("xb") as target, backup.open("rb") as source:
        shutil.copyfileobj(source, target)
        target.flush()
        os.fsync(target.fileno())
    shutil.copymode(backup, partial)
    check_backup(partial)


def _keep_present(project: Path) -> Path | None:
    """Keep the database that is there now: as a backup, or, when it cannot be read, the files as they are."""
    database = project / DATABASE
    logs = [path for path in _logs(database) if path.is_file()]
    aside = _keep_files(backups.new_path(project, "damaged", ""), logs) if logs else None  # SQLite deletes bad logs
    if not database.is_file():
        return aside
    try:
        with closing(connect(database)) as connection:
            connection.execute("PRAGMA busy_timeout = 1000")
            if connection.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID:
                connection.execute("PRAGMA journal_mode = DELETE")  # fails while anybody else has it open
                kept = backups.copy_database(connection, backups.new_path(project, "before-restore"))
                _discard(aside)
                return kept
    except (sqlite3.Error, UnicodeDecodeError) as error:
        if isinstance(error, sqlite3.Error) and _code(error) in _BUSY:
            _discard(aside)
            raise BagtagError(
                f"The project in {str(project)!r} is open in another window or a job works in it. Close Bagtag, wait "
                "for its jobs, and restore again."
            ) from error
    except BagtagError as error:  # the copy found it damaged
        if not isinstance(error.__cause__, sqlite3.DatabaseError) or _is_disk_error(error.__cause__):
            _discard(aside)
            raise
    return _keep_files(aside or backups.new_path(project, "damaged", ""), [database])


def _keep_files(folder: Path, files: list[Path]) -> Path:
    """Keep files as they are in a folder of the backups."""
    folder.mkdir(exist_ok=True)
    for file in files:
        try:
            os.link(file, folder / file.name)
        except OSError:
            shutil.copy2(file, folder / file.name)
    backups.flush_folder(folder)
    return folder


def _discard(aside: Path | None) -> None:
    """Remove the kept logs of a database that turned out to be sound."""
    if aside is not None:
        shutil.rmtree(aside, ignore_errors=True)


def _move_logs_away(database: Path, kept: Path | None) -> None:
    """Remove the logs of the former database, which are kept, so that they are not replayed on the backup."""
    for log in _logs(database):
        if not log.is_file():
            continue
        if kept is None or not kept.is_dir() or not (kept / log.name).is_file():
            raise BagtagError(f"{str(log)!r} is in use: the project is open in another program. Close it first.")
        log.unlink()


def _logs(database: Path) -> list[Path]:
    return [database.with_name(database.name + end) for end in _LOGS]


def _code(error: sqlite3.Error) -> int:
    return int(getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF


def _is_disk_error(error: sqlite3.Error) -> bool:
    return _code(error) in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)
