"""Backups of a project's database, in the folder `backups` of the project.

A backup is one file, made by SQLite's backup API while others continue to write. It has a temporary name until it is
complete, checked and on disk. Daily backups and those made before a repair or a migration are limited in number;
all others stay until a person deletes them.
"""

from __future__ import annotations

import os
import re
import shlex
import sqlite3
import stat
import tempfile
import time
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

from miml_core.atomic_files import flush_folder
from miml_core.errors import BagtagError
from miml_core.progress import Progress
from miml_core.project.db.interrupts import interrupted_by
from miml_core.project.db.own_folders import own_folder

FOLDER = "backups"
N_DAILY = 7
N_BEFORE_CHANGES = 10

Kind = Literal["daily", "before-repair", "before-migration", "before-restore", "manual"]

_NAME = re.compile(r"(daily|before-repair|before-migration|before-restore|manual|project)-([0-9-]{8,})\.db")
_PARTIAL = ".partial"
_GENTLE_PAGES, _GENTLE_PAUSE_S = 1000, 0.01
_PAGE_BYTES = 8192
_STALE_PARTIAL_S = 24 * 3600


@dataclass(frozen=True)
class Backup:
    """One backup of a project."""

    path: Path
    kind: str
    made_at: datetime
    size: int


def make_folder(project: Path) -> Path:
    """Return the backups folder of a project, made if needed; raise `BagtagError` for a link."""
    try:
        return own_folder(project, FOLDER)
    except OSError as error:
        raise BagtagError(
            f"The folder {str(project / FOLDER)!r} cannot be created: {error.strerror or error}. Make the project "
            "folder writable, and try again."
        ) from error


def new_path(project: Path, kind: str, extension: str = ".db") -> Path:
    """Return an unused path in the backups folder, named by its purpose and the time."""
    folder, stamp = make_folder(project), time.strftime("%Y-%m-%d-%H%M%S")
    names = (f"{kind}-{stamp}{'' if number == 1 else f'-{number}'}{extension}" for number in range(1, 10_000))
    return next(folder / name for name in names if not os.path.lexists(folder / name))


def daily_path(project: Path) -> Path:
    """Return the path of today's daily backup."""
    return project / FOLDER / f"daily-{time.strftime('%Y-%m-%d')}.db"


def copy_database(
    source: sqlite3.Connection, target: Path, *, gentle: bool = False, progress: Progress | None = None
) -> Path:
    """Write a checked copy of an open database to `target`, which appears complete or not at all.

    With `gentle`, the copy is made in small steps with pauses, so that the disk stays free for others. `progress` is
    called after each step with the megabytes copied and their number; an exception that it raises ends the copy.
    """
    partial = None
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=_PARTIAL, dir=target.parent)
        os.close(handle)
        partial = Path(name)
        _copy(source, partial, gentle=gentle, progress=progress)
        _flush(partial)
        partial.replace(target)
        flush_folder(target.parent)
    except (sqlite3.Error, OSError) as error:
        raise BagtagError(
            f"The backup {str(target)!r} could not be written: {error}. Free some space on the disk, or make its "
            "folder writable, and try again."
        ) from error
    finally:
        for leftover in [] if partial is None else [partial, *(Path(f"{partial}{end}") for end in _SIDE_FILES)]:
            with suppress(OSError):
                leftover.unlink(missing_ok=True)
    return target


def _copy(source: sqlite3.Connection, partial: Path, *, gentle: bool, progress: Progress | None) -> None:
    def report(status: int, remaining: int, total: int) -> None:
        if progress is not None:
            done, of = (total - remaining) * _PAGE_BYTES // 10**6, -(-total * _PAGE_BYTES // 10**6)
            progress(done, of, {"what": "copying the database"})

    pages = _GENTLE_PAGES if gentle or progress is not None else -1
    with closing(sqlite3.connect(partial, isolation_level=None)) as copy:
        in_transaction = source.in_transaction
        if not in_transaction:
            source.execute("BEGIN")  # a snapshot of the project, whatever is written meanwhile
        try:
            source.execute("SELECT 1 FROM sqlite_master").fetchone()
            source.backup(copy, pages=pages, progress=report, sleep=_GENTLE_PAUSE_S if gentle else 0.0)
        finally:
            if not in_transaction:
                source.execute("ROLLBACK")
        copy.execute("PRAGMA journal_mode = DELETE")  # a single file, without a log beside it
        pages_copied = copy.execute("PRAGMA page_count").fetchone()[0]
        with interrupted_by(copy, lambda: report(0, 0, pages_copied)):
            found = copy.execute("PRAGMA quick_check(1)").fetchone()[0]
    if found != "ok":
        raise sqlite3.DatabaseError(f"the copy is damaged, and so is the project's database: {found}")
    database = source.execute("PRAGMA database_list").fetchone()[2]
    with suppress(OSError):
        partial.chmod(stat.S_IMODE(Path(database).stat().st_mode))


_SIDE_FILES = ("-journal", "-wal", "-shm")


def prune(project: Path) -> None:
    """Delete the oldest daily backups, and of those before repairs and migrations, beyond the numbers kept."""
    found = in_folder(project)
    daily = [backup for backup in found if backup.kind == "daily"]
    before = [backup for backup in found if backup.kind in ("before-repair", "before-migration")]
    for backup in daily[N_DAILY:] + before[N_BEFORE_CHANGES:]:
        with suppress(OSError):
            backup.path.unlink()
    with suppress(OSError):
        for path in (project / FOLDER).glob(f".*{_PARTIAL}*"):
            if time.time() - path.lstat().st_mtime > _STALE_PARTIAL_S:
                path.unlink()


def in_folder(project: Path) -> list[Backup]:
    """Return the backups of a project, the newest first, without opening them."""
    found = []
    with suppress(OSError):
        for path in (project / FOLDER).iterdir():
            named = _NAME.fullmatch(path.name)
            status = path.lstat()
            if named is not None and stat.S_ISREG(status.st_mode):
                kind = "before-migration" if named[1] == "project" else named[1]
                found.append(Backup(path, kind, _made_at(named[2], status.st_mtime), status.st_size))
    return sorted(found, key=lambda backup: (backup.made_at, backup.path.name), reverse=True)


def _made_at(stamp: str, changed: float) -> datetime:
    """Return when a backup was made, by its name, which copying keeps; for the time of a daily one, by its file."""
    digits, on_disk = stamp.replace("-", "")[:14], datetime.fromtimestamp(changed)
    with suppress(ValueError):
        day = datetime.strptime(digits[:8], "%Y%m%d")
        if len(digits) == 14:
            return datetime.strptime(digits, "%Y%m%d%H%M%S")
        return on_disk if on_disk.date() == day.date() else day
    return on_disk


def advice(project: Path) -> str:
    """Return a sentence that names the newest backup and how to restore it; empty if there is none."""
    found = in_folder(project)
    if not found:
        return ""
    when = found[0].made_at.strftime("%Y-%m-%d %H:%M")
    command = f"python -m miml_core restore {shlex.quote(str(project))}"
    return f" The newest backup is {FOLDER}/{found[0].path.name} of {when}; restore it with: {command}"


def _flush(path: Path) -> None:
    with path.open("r+b") as file:
        os.fsync(file.fileno())
