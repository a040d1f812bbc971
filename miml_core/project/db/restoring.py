"""Replace the database of a project by a backup, even if it can no longer be opened.

The present database is kept: as a backup if it can be read, otherwise the files as they are. The backup is copied
beside the database and replaces it in one step.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from miml_core.atomic_files import flush_folder
from miml_core.errors import BagtagError
from miml_core.project.db import backups, damage
from miml_core.project.db.database_file import APPLICATION_ID, DATABASE, connect, open_read_only
from miml_core.project.db.sqlite_errors import BUSY_CODES, primary_code

_LOGS = ("-wal", "-shm", "-journal")


@dataclass(frozen=True)
class Contents:
    """Counts of what a backup contains."""

    bags: int
    tags: int
    edits: int


@dataclass(frozen=True)
class Restored:
    """The backup that was restored, and where the former database is kept (None if there was none)."""

    backup: Path
    kept: Path | None


def contents(backup: Path) -> Contents:
    """Count what a backup contains.

    Raises
    ------
    BagtagError
        The file is damaged, or not a backup of a project.
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
    """Return the backup with this name or path; without a name, the newest that is not damaged."""
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
            f"{str(project)!r} is not a Bagtag project: it has neither a {DATABASE} nor a backup. To restore it, "
            "give the path of a backup."
        )
    raise BagtagError(f"There is no backup in {str(project / backups.FOLDER)!r}; give the path of one.")


def check_backup(backup: Path) -> None:
    """Raise `BagtagError` unless a file is a complete backup of a project."""
    with closing(_open_backup(backup)) as connection:
        try:
            result = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
            wrong = damage.foreign_schema(connection, complete=False) if result == "ok" else result
        except (sqlite3.Error, UnicodeDecodeError) as error:
            wrong = str(error)
    if wrong is not None:
        raise BagtagError(f"{str(backup)!r} is damaged: {wrong}. Choose another backup.")


def restore(project: Path, name: str | None = None) -> Restored:
    """Replace the database by a backup, after keeping the present one."""
    project = project.absolute()
    if not project.is_dir():
        raise BagtagError(f"There is no folder {str(project)!r}; give the folder of a project.")
    backup, database = choose(project, name), project / DATABASE
    if os.path.lexists(database) and backup.resolve() == database.resolve():
        raise BagtagError(f"{str(backup)!r} is the project itself, not a backup of it; choose a backup.")
    partial = project / f"{DATABASE}.restoring"
    try:
        partial.unlink(missing_ok=True)
        _copy_backup(backup, partial)
        kept = _keep_present(project)
        _remove_logs(database, kept)
        partial.replace(database)
        flush_folder(project)
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
    """Open a backup for reading; raise `BagtagError` if it is not one."""
    if not backup.is_file():
        raise BagtagError(f"There is no backup {str(backup)!r}; `restore --list` lists the backups.")
    try:
        connection = open_read_only(backup)
        if connection.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID:
            return connection
        connection.close()
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise BagtagError(f"{str(backup)!r} is damaged or not a backup: {error}. Choose another one.") from error
    raise BagtagError(f"{str(backup)!r} is not a backup of a Bagtag project; choose another file.")


def _copy_backup(backup: Path, partial: Path) -> None:
    """Copy a backup beside the database, sync it to disk, and check that the copy is complete."""
    with partial.open("xb") as target, backup.open("rb") as source:
        shutil.copyfileobj(source, target)
        target.flush()
        os.fsync(target.fileno())
    shutil.copymode(backup, partial)
    check_backup(partial)


def _keep_present(project: Path) -> Path | None:
    """Keep the present database: as a backup, or, if it cannot be read, the files as they are."""
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
        if isinstance(error, sqlite3.Error) and primary_code(error) in BUSY_CODES:
            _discard(aside)
            raise BagtagError(
                f"The project in {str(project)!r} is open in another window, or one of its jobs runs. Close Bagtag, "
                "wait for its jobs, and restore again."
            ) from error
    except BagtagError as error:  # the copy found it damaged
        if not isinstance(error.__cause__, sqlite3.DatabaseError) or _is_disk_error(error.__cause__):
            _discard(aside)
            raise
    return _keep_files(aside or backups.new_path(project, "damaged", ""), [database])


def _keep_files(folder: Path, files: list[Path]) -> Path:
    """Copy files as they are to a folder of the backups."""
    folder.mkdir(exist_ok=True)
    for file in files:
        try:
            os.link(file, folder / file.name)
        except OSError:
            shutil.copy2(file, folder / file.name)
    flush_folder(folder)
    return folder


def _discard(aside: Path | None) -> None:
    """Remove the kept logs of a database that turned out to be readable."""
    if aside is not None:
        shutil.rmtree(aside, ignore_errors=True)


def _remove_logs(database: Path, kept: Path | None) -> None:
    """Remove the logs of the former database, which are kept, so that they are not replayed on the backup."""
    for log in _logs(database):
        if not log.is_file():
            continue
        if kept is None or not kept.is_dir() or not (kept / log.name).is_file():
            raise BagtagError(f"{str(log)!r} is in use: the project is open in another program. Close it first.")
        log.unlink()


def _logs(database: Path) -> list[Path]:
    return [database.with_name(database.name + end) for end in _LOGS]


def _is_disk_error(error: sqlite3.Error) -> bool:
    disk_errors = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)
    return primary_code(error) in disk_errors
