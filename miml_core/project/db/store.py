"""The database of a project: create, open, read and write it.

SQLite in WAL mode, every commit synced to disk before it returns (`synchronous=FULL`), foreign keys on. Writers take
their turn with ``BEGIN IMMEDIATE``, first among the threads of this process, then among processes, so that none is
refused half-way through a transaction. All statements go through SQLAlchemy Core.

Nothing is acknowledged unless the open file is still the file at its path (`database_file.py`), checked inside the
transaction and again after the commit.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from miml_core.errors import BagtagError
from miml_core.progress import Progress
from miml_core.project.db import backups, damage, migrate
from miml_core.project.db.daily_backup import DailyBackup
from miml_core.project.db.database_file import (
    APPLICATION_ID,
    BUSY_TIMEOUT_S,
    DATABASE,
    FileConnection,
    OpenFiles,
    connect,
    moved_error,
)
from miml_core.project.db.own_folders import own_folder
from miml_core.project.db.sqlite_errors import (
    BUSY_CODES,
    damaged_sentence,
    explain_errors,
    has_sentence,
    primary_code,
)
from miml_core.project.errors import ProjectMoved

_SMALLEST_PAGE = 512
_BEGIN_TIMEOUT_S = 120.0
"""How long a writer waits for its turn before an error."""
_BEGIN_RETRY_S = 0.002
_UNDAMAGED_FOR_S = 60.0
"""How long a database that was found undamaged after an error is not checked again."""

_UNEXPECTED = (
    DBAPIError, sqlite3.Error, ValueError, TypeError, LookupError, AttributeError, ArithmeticError, AssertionError,
    RecursionError,
)  # fmt: skip
"""Errors that reading damaged rows may raise; a mistake in Bagtag may raise the same."""


class Store:
    """An open project folder; threads share it, each transaction has a connection of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / DATABASE
        self._engine = _engine(self.path, self._connect)
        self._turn = threading.Lock()
        self._files: OpenFiles | None = None
        self._undamaged_at = float("-inf")
        self._daily = DailyBackup(self)
        self.predicts_in_background = False
        """Whether bags are predicted again soon after an edit; otherwise when the project is closed."""
        self.bags_to_predict: set[int] = set()
        self.stale_bags_noted = False
        """Whether the bags that an earlier server had not predicted when it was stopped have been noted."""
        self.edits_noted_until: int | None = None
        """The revision up to which a server has noted the bags that edits of any program left to predict."""
        self.pause_seconds = 0.0
        """The least time between two transactions of a worker, so that other writers get their turn."""
        self._wrote_until = float("-inf")

    @property
    def cache_folder(self) -> Path:
        """The folder of files that can be computed again; it may be deleted at any time."""
        return own_folder(self.folder, "cache")

    @classmethod
    def create(cls, folder: Path, initialise: Callable[[Connection], None]) -> Store:
        """Create a project in `folder`; its file appears complete or not at all."""
        folder = folder.absolute()
        path = folder / DATABASE
        if path.exists():
            raise BagtagError(f"There is already a project in {str(folder)!r}; open it, or choose another folder.")
        partial = folder / (DATABASE + ".new")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            partial.unlink(missing_ok=True)
            _rename_old_logs(path)
        except OSError as error:
            raise BagtagError(
                f"A project cannot be created in {str(folder)!r}: {error.strerror or error}. Choose another folder."
            ) from error
        engine = _engine(partial, lambda: connect(partial, create=True))
        with explain_errors(partial), _removed_on_error(partial):
            with engine.connect().execution_options(bagtag_begin="BEGIN IMMEDIATE") as connection, connection.begin():
                connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")
                migrate.upgrade(connection)
                initialise(connection)
            engine.dispose()
            partial.rename(path)
        store = cls.open(folder)
        store._daily.postpone()
        return store

    @classmethod
    def open(cls, folder: Path) -> Store:
        """Open the project in `folder`, and migrate it if an older Bagtag made it."""
        folder = folder.absolute()
        _check_is_project(folder, folder / DATABASE)
        store = cls(folder)
        try:
            with store.read() as connection:
                outdated = migrate.is_outdated(connection, folder)
                foreign = damage.foreign_schema(_file(connection), complete=not outdated)
            if foreign is not None:
                raise BagtagError(damaged_sentence(folder, foreign))
            if outdated:
                store._migrate()
        except BaseException:
            store.close()
            raise
        return store

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Yield a connection that reads a snapshot of the project, whatever others write meanwhile."""
        with self._explained(), self._engine.connect() as connection:
            file = _file(connection)
            try:
                file.check_in_place()
            except ProjectMoved:
                file.checkpoint()
                raise
            with connection.begin():
                yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Yield a connection in one transaction: everything in it is on disk when the block ends, or nothing is.

        Raises
        ------
        ProjectMoved
            The file that is open is not the one at the project's path, before or just after the commit.
        """
        with self._explained(), self._turn_after_pause(), self._engine.connect() as connection:
            writer = connection.execution_options(bagtag_begin="BEGIN IMMEDIATE")
            file = _file(connection)
            try:
                with _begin_with_retries(writer):
                    file.check_in_place()
                    yield writer
                    file.check_in_place()
                file.check_in_place()
            except ProjectMoved:
                file.checkpoint()
                raise
        self._daily.after_write()

    @contextmanager
    def _turn_after_pause(self) -> Iterator[None]:
        with self._turn:
            pause = self._wrote_until + self.pause_seconds - time.monotonic()
            if pause > 0:
                time.sleep(pause)
            try:
                yield
            finally:
                self._wrote_until = time.monotonic()

    def is_in_place(self) -> bool:
        """Return whether the open files are still those at the project's path."""
        return self._files is None or self._files.in_place()

    def backup(self, path: Path) -> Path:
        """Write a checked copy of the database to a new file, also while others write."""
        path = path.absolute()
        if os.path.lexists(path):
            raise BagtagError(f"There is already a file {str(path)!r}; choose another name for the backup.")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BagtagError(
                f"The folder {str(path.parent)!r} cannot be created: {error.strerror or error}. Choose another folder."
            ) from error
        return self.copy_to(path)

    def backup_before(self, kind: backups.Kind) -> Path:
        """Write a backup to the project's own backups folder before something is changed; raise if that fails."""
        path = self.copy_to(backups.new_path(self.folder, kind))
        backups.prune(self.folder)
        return path

    def copy_to(self, path: Path, *, gentle: bool = False, progress: Progress | None = None) -> Path:
        """Copy the database as it is at this moment."""
        with self._explained(), self._engine.connect() as connection:
            file = _file(connection)
            file.check_in_place()
            return backups.copy_database(file, path, gentle=gentle, progress=progress)

    def close(self) -> None:
        """Close all connections, after a backup that is being made."""
        self._daily.wait()
        if not self.is_in_place() and self._engine.pool.checkedin():  # type: ignore[attr-defined]
            with suppress(BagtagError, SQLAlchemyError), self._engine.connect() as connection:
                _file(connection).checkpoint()
        self._engine.dispose()
        if self._files is not None:  # the next connection makes a new log
            self._files = replace(self._files, wal_id=None)

    def explain(self, error: Exception) -> None:
        """Raise `BagtagError` in place of an unexpected error if the project turns out to be damaged."""
        if isinstance(error, BagtagError) or time.monotonic() - self._undamaged_at < _UNDAMAGED_FOR_S:
            return
        found = None
        with suppress(BagtagError, OSError), closing(connect(self.path)) as connection:
            found = damage.find_damage(connection)
        if found is not None:
            raise BagtagError(damaged_sentence(self.folder, found)) from error
        self._undamaged_at = time.monotonic()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        with explain_errors(self.path):
            try:
                yield
            except _UNEXPECTED as error:
                if not has_sentence(error):
                    self.explain(error)
                raise

    def _connect(self) -> FileConnection:
        """Make a connection for the pool; all of them have the same files open."""
        connection = connect(self.path, use_log=self._files is None)
        known, now = self._files, connection.files
        if known is None or (known.wal_id is None and known.database_id == now.database_id):
            self._files = now
        elif (known.database_id, known.wal_id) != (now.database_id, now.wal_id):
            connection.close()
            raise moved_error(self.path, known.database_id)
        return connection

    def _migrate(self) -> None:
        self.backup_before("before-migration")
        self._daily.postpone()
        with self.write() as connection:
            migrate.upgrade(connection)


def folder_of(connection: Connection) -> Path:
    """Return the project folder that a connection belongs to."""
    return Path(str(connection.engine.url.database)).parent


def _file(connection: Connection) -> FileConnection:
    file = connection.connection.driver_connection
    assert isinstance(file, FileConnection)
    return file


@contextmanager
def _removed_on_error(partial: Path) -> Iterator[None]:
    """Remove an incomplete file if an error occurs."""
    try:
        yield
    except BaseException:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise


def _rename_old_logs(path: Path) -> None:
    """Rename logs that a deleted database left behind: SQLite would replay them on the new one."""
    for end in ("-wal", "-shm", "-journal"):
        log = path.with_name(path.name + end)
        if os.path.lexists(log):
            log.rename(path.with_name(f"{log.name}.old-{time.time_ns()}"))


def _engine(path: Path, creator: Callable[[], FileConnection]) -> Engine:
    engine = create_engine(
        URL.create("sqlite", database=str(path)),
        creator=creator,
        pool_size=8,
        max_overflow=56,
    )

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        connection.exec_driver_sql(connection.get_execution_options().get("bagtag_begin", "BEGIN"))

    return engine


@contextmanager
def _begin_with_retries(connection: Connection) -> Iterator[None]:
    """Begin a transaction, trying to get the lock every few milliseconds.

    SQLite itself sleeps for up to 100 ms between tries, and later writers overtake: with a few workers an edit waited
    for seconds.
    """
    driver = connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)
    until = time.monotonic() + _BEGIN_TIMEOUT_S
    driver.execute("PRAGMA busy_timeout = 0")
    try:
        while True:
            try:
                transaction = connection.begin()
                break
            except DBAPIError as error:
                connection.rollback()
                if primary_code(error) not in BUSY_CODES or time.monotonic() > until:
                    raise
            time.sleep(_BEGIN_RETRY_S)
    finally:
        driver.execute(f"PRAGMA busy_timeout = {round(1000 * BUSY_TIMEOUT_S)}")
    with transaction:
        yield


def _check_is_project(folder: Path, path: Path) -> None:
    """Raise `BagtagError` unless the file is a project that can be written: now, not at the first edit.

    Only SQLite may open the file: closing it by any other means would drop the locks that this process holds on it,
    and another process could remove the log of commits (the WAL) while we still write to it.
    """
    if not folder.is_dir():
        raise BagtagError(f"There is no folder {str(folder)!r}; choose the folder of a project.")
    if not path.is_file():
        raise BagtagError(f"{str(folder)!r} is not a Bagtag project: it has no {DATABASE}.{backups.advice(folder)}")
    if path.stat().st_size < _SMALLEST_PAGE:
        raise BagtagError(damaged_sentence(folder))
    with explain_errors(path), _damage_if_unreadable(folder), closing(connect(path)) as connection:
        if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
            raise BagtagError(f"{str(path)!r} is the database of another program; choose the folder of a project.")
        foreign = damage.foreign_schema(connection, complete=False)
        if foreign is not None:
            raise BagtagError(damaged_sentence(folder, foreign))
        if connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
            connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA busy_timeout = 200")
        if _begin_unless_busy(connection):
            connection.execute("ROLLBACK")


@contextmanager
def _damage_if_unreadable(folder: Path) -> Iterator[None]:
    """Report a file whose tables cannot be read, or SQLite's errors about it, as damaged."""
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError) as error:
        if has_sentence(error):
            raise
        raise BagtagError(damaged_sentence(folder)) from error


def _begin_unless_busy(connection: sqlite3.Connection) -> bool:
    """Begin a transaction that writes; return False if another program has one, raise any other error."""
    try:
        connection.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as error:
        if primary_code(error) not in BUSY_CODES:
            raise
        return False
    return True
