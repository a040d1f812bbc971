"""Record what the user of this computer allowed, outside all projects.

A project may come from somebody else, so nothing in its folder decides what is allowed on this computer. The folders
that the user chose, the files that exports wrote and the queued jobs are therefore recorded here, by the path of the
project, in a small SQLite database in the user's state folder.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from platformdirs import user_state_path

from miml_core.errors import BagtagError

Purpose = Literal["media", "export", "archive"]
"""Reading media of a project, writing its exports, writing archives and samples of them."""

_BUSY_TIMEOUT_S = 30.0
_PATHS_AT_ONCE = 500
_TABLES = """
CREATE TABLE IF NOT EXISTS folders (project BLOB, purpose TEXT, folder BLOB, PRIMARY KEY (project, purpose, folder));
CREATE TABLE IF NOT EXISTS exports (
    project BLOB, path BLOB, size INTEGER, mtime_ns INTEGER, PRIMARY KEY (project, path));
CREATE TABLE IF NOT EXISTS jobs (project BLOB, job_id INTEGER, kind TEXT, params TEXT, PRIMARY KEY (project, job_id));
CREATE TABLE IF NOT EXISTS workers (
    project BLOB, job_id INTEGER, host TEXT, pid INTEGER, started REAL, PRIMARY KEY (project, job_id));
"""


@dataclass(frozen=True)
class Worker:
    """The process of a running job; its start time distinguishes processes with the same number."""

    host: str
    pid: int
    started: float


@dataclass(frozen=True)
class OwnJob:
    """A job that the user started on this computer and that has not ended."""

    kind: str
    params: str
    worker: Worker | None

    def is_same(self, kind: str, params: dict[str, Any]) -> bool:
        """Return whether the job has this kind and exactly these parameters."""
        return (self.kind, self.params) == (kind, _canonical(params))


def state_folder() -> Path:
    """Return the folder for the state of this installation: `BAGTAG_STATE`, or the system's default."""
    return Path(os.environ.get("BAGTAG_STATE") or user_state_path("bagtag", appauthor=False))


# folders


def allow_folder(project: Path, folder: Path, purpose: Purpose) -> None:
    """Record that the user chose `folder` for reading media of, or writing exports of, the project in `project`.

    A folder of media is also recorded without resolving links, because a path of a foreign project is compared with it
    without accessing that path.
    """
    places = {_place(folder)}
    if purpose == "media":
        places.add(os.fsencode(os.path.normpath(folder.absolute())))
    with _database() as connection:
        connection.executemany(
            "INSERT OR IGNORE INTO folders VALUES (?, ?, ?)",
            [(_place(project), purpose, place) for place in sorted(places)],
        )


def allowed_folders(project: Path, purpose: Purpose) -> list[Path]:
    """Return the folders the user chose for a project, with links resolved (those of media also unresolved)."""
    with _database() as connection:
        found = connection.execute(
            "SELECT folder FROM folders WHERE project = ? AND purpose = ? ORDER BY folder", (_place(project), purpose)
        )
        return [_path(folder) for (folder,) in found]


# exported files


def record_exports(project: Path, files: Iterable[Path]) -> None:
    """Record files as just written by an export of the project."""
    rows = [(_place(project), _place(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    with _database() as connection:
        connection.executemany("INSERT OR REPLACE INTO exports VALUES (?, ?, ?, ?)", rows)


def is_own_export(project: Path, file: Path) -> bool:
    """Return whether an export of the project wrote the file and it is unchanged: same path, size and time."""
    try:
        facts = file.stat()
    except OSError:
        return False
    with _database() as connection:
        found = connection.execute(
            "SELECT 1 FROM exports WHERE project = ? AND path = ? AND size = ? AND mtime_ns = ?",
            (_place(project), _place(file), facts.st_size, facts.st_mtime_ns),
        ).fetchone()
    return found is not None


def recorded_sizes(project: Path, files: Iterable[str]) -> dict[str, int]:
    """Return the files among `files` that exports of the project wrote, with their sizes at that time.

    No file is accessed: full paths are compared with the recorded ones as text.
    """
    asked, place = [os.fsencode(file) for file in files], _place(project)
    found: dict[str, int] = {}
    with _database() as connection:
        for first in range(0, len(asked), _PATHS_AT_ONCE):
            some = asked[first : first + _PATHS_AT_ONCE]
            query = f"SELECT path, size FROM exports WHERE project = ? AND path IN ({','.join('?' * len(some))})"
            found.update((os.fsdecode(path), size) for path, size in connection.execute(query, (place, *some)))
    return found


# queued jobs


def record_job(project: Path, job_id: int, kind: str, params: dict[str, Any]) -> None:
    """Record that the user started a job, so that a worker may run it."""
    row = (_place(project), job_id, kind, _canonical(params))
    with _database() as connection:
        connection.execute("INSERT OR REPLACE INTO jobs VALUES (?, ?, ?, ?)", row)


def is_own_job(project: Path, job_id: int, kind: str, params: dict[str, Any]) -> bool:
    """Return whether the user started exactly this job on this computer, and it has not ended."""
    found = own_jobs(project).get(job_id)
    return found is not None and found.is_same(kind, params)


def own_jobs(project: Path) -> dict[int, OwnJob]:
    """Return the jobs by number that the user started in the project at this path and that have not ended."""
    with _database() as connection:
        found = connection.execute(
            "SELECT job_id, kind, params, host, pid, started FROM jobs LEFT JOIN workers USING (project, job_id) "
            "WHERE project = ?",
            (_place(project),),
        ).fetchall()
    return {
        job_id: OwnJob(kind, params, None if pid is None else Worker(host, pid, started))
        for job_id, kind, params, host, pid, started in found
    }


def record_worker(project: Path, job_id: int, worker: Worker) -> None:
    """Record the process that runs a job; does nothing if the job has ended meanwhile."""
    place = _place(project)
    with _database() as connection:
        connection.execute(
            "INSERT OR REPLACE INTO workers SELECT project, job_id, ?, ?, ? FROM jobs WHERE project = ? AND job_id = ?",
            (worker.host, worker.pid, worker.started, place, job_id),
        )


def forget_job(project: Path, job_id: int) -> None:
    """Remove the record of a job that ended or was cancelled, so that it cannot start again."""
    with _database() as connection:
        for table in ("jobs", "workers"):
            connection.execute(f"DELETE FROM {table} WHERE project = ? AND job_id = ?", (_place(project), job_id))


def _place(path: Path) -> bytes:
    """Return the resolved path as bytes: a file name need not be valid text."""
    return os.fsencode(path.resolve())


def _path(place: bytes) -> Path:
    return Path(os.fsdecode(place))


def _canonical(params: dict[str, Any]) -> str:
    """Return the parameters as text that is the same before and after they are stored as JSON."""
    return json.dumps(json.loads(json.dumps(params)), sort_keys=True)


@contextmanager
def _database() -> Iterator[sqlite3.Connection]:
    """Open the database for one transaction."""
    folder = state_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with closing(sqlite3.connect(folder / "installation.db", timeout=_BUSY_TIMEOUT_S)) as connection, connection:
            connection.executescript(_TABLES)
            yield connection
    except (OSError, sqlite3.Error) as error:
        raise BagtagError(
            f"The settings of Bagtag in {str(folder)!r} cannot be read or written: {error}. Make the folder writable, "
            "or set BAGTAG_STATE to another one."
        ) from error
