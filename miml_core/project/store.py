"""The database file of a project: opening, reading, writing, and what can go wrong with it.

SQLite in WAL mode, every commit synced to disk before it returns (`synchronous=FULL`), foreign keys on. Writers take
their turn with ``BEGIN IMMEDIATE``, first among the threads of this process, then among processes, so that nobody is
refused half-way through a transaction. All statements go through SQLAlchemy Core.

Nothing is acknowledged unless the open file is still the file at its path (`database_file.py`), looked at inside the
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
from miml_core.project import backups, damage, migrate
from miml_core.project.daily_backup import DailyBackup
from miml_core.project.database_file import (
    APPLICATION_ID,
    BUSY_TIMEOUT_S,
    DATABASE,
    FileConnection,
    OpenFiles,
    connect,
    moved_error,
)
from miml_core.project.errors import Busy, NotSaved, ProjectMoved
from miml_core.project.own_folders import own_folder

_SMALLEST_PAGE = 512
_BEGIN_TIMEOUT_S = 120.0
"""How long a writer waits for its turn before it gives up."""
_BEGIN_RETRY_S = 0.002
_SOUND_FOR_S = 60.0
"""How long a database that was found sound after an error is not looked through again."""

_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_NOT_SAVED = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_BUSY_SENTENCE = "Another program keeps the project in {where} to itself; try again in a moment."
_READ_ONLY_SENTENCE = (
    "The project in {where} cannot be written: the folder or the file is read-only. "
    "Change its permissions, or copy the project to another place."
)
_SENTENCES = {
    sqlite3.SQLITE_BUSY: _BUSY_SENTENCE,
    sqlite3.SQLITE_LOCKED: _BUSY_SENTENCE,
    sqlite3.SQLITE_FULL: "The disk of {where} is full: this was not saved. Free some space and try again.",
    sqlite3.SQLITE_IOERR: "The project in {where} could not be written: this was not saved. Check the disk and its "
    "free space, then try again.",
    sqlite3.SQLITE_READONLY: _READ_ONLY_SENTENCE,
    sqlite3.SQLITE_CANTOPEN: _READ_ONLY_SENTENCE,
    sqlite3.SQLITE_PERM: _READ_ONLY_SENTENCE,
}
_UNEXPECTED = (
    DBAPIError, sqlite3.Error, ValueError, TypeError, LookupError, AttributeError, ArithmeticError, AssertionError,
    RecursionError,
)  # fmt: skip
"""What reading damaged rows may raise; a mistake in Bagtag may raise the same."""


class Store:
    """An open project folder; threads share it, each transaction has a connection of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / DATABASE
        self._engine = _engine(self.path, self._connect)
        self._turn = threading.Lock()
        self._files: OpenFiles | None = None
        self._sound_at = float("-inf")
        self._daily = DailyBackup(self)
        self.predicts_in_background = False
        """Whether bags are predicted again soon after an edit; otherwise when the project is closed."""
        self.bags_to_predict: set[int] = set()
        self.pause_seconds = 0.0
        """What a worker waits after each transaction, so that others who want to write get in between."""

    @property
    def cache_folder(self) -> Path:
        """For what can be made again; may be deleted at any time."""
        return own_folder(self.folder, "cache")

    @classmethod
    def create(cls, folder: Path, initialise: Callable[[Connection], None]) -> Store:
        """A new project in `folder`; it appears whole or not at all."""
        folder = folder.absolute()
        path = folder / DATABASE
        if path.exists():
            raise BagtagError(f"There is already a project in {str(folder)!r}; open it, or choose another folder.")
        partial = folder / (DATABASE + ".new")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            partial.unlink(missing_ok=True)
            _set_logs_aside(path)
        except OSError as error:
            raise BagtagError(f"A project cannot be made in {str(folder)!r}: {error.strerror or error}.") from error
        engine = _engine(partial, lambda: connect(partial, create=True))
        with _in_words(partial), _no_leftover(partial):
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
        """The project in `folder`, brought up to date if an older Bagtag made it."""
        folder = folder.absolute()
        _check_is_ours(folder, folder / DATABASE)
        store = cls(folder)
        try:
            with store.read() as connection:
                outdated = migrate.is_outdated(connection, folder)
                foreign = damage.foreign_schema(_file(connection), complete=not outdated)
            if foreign is not None:
                raise BagtagError(damaged_sentence(folder, foreign))
            if outdated:
                store._bring_up_to_date()
        except BaseException:
            store.close()
            raise
        return store

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A connection that sees one moment of the project, whatever others write meanwhile."""
        with self._explained(), self._engine.connect() as connection:
            file = _file(connection)
            try:
                file.check_in_place()
            except ProjectMoved:
                file.settle()
                raise
            with connection.begin():
                yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """One transaction: everything in it is on disk when the block ends, or nothing is.

        Raises
        ------
        ProjectMoved
            The file that is open is not the one at the project's path, before or just after the commit.
        """
        with self._explained(), self._turn, self._engine.connect() as connection:
            writer = connection.execution_options(bagtag_begin="BEGIN IMMEDIATE")
            file = _file(connection)
            try:
                with _begin_politely(writer):
                    file.check_in_place()
                    yield writer
                    file.check_in_place()
                file.check_in_place()
            except ProjectMoved:
                file.settle()
                raise
        self._daily.after_write()
        if self.pause_seconds:
            time.sleep(self.pause_seconds)

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
            raise BagtagError(f"The folder {str(path.parent)!r} cannot be made: {error.strerror or error}.") from error
        return self.copy_to(path)

    def backup_before(self, kind: backups.Kind) -> Path:
        """Write a backup to the project's own backups folder before something is changed; raise if that fails."""
        path = self.copy_to(backups.new_path(self.folder, kind))
        backups.prune(self.folder)
        return path

    def copy_to(self, path: Path, *, gentle: bool = False) -> Path:
        """Copy the database as it is at this moment."""
        with self._explained(), self._engine.connect() as connection:
            file = _file(connection)
            file.check_in_place()
            return backups.copy_database(file, path, gentle=gentle)

    def close(self) -> None:
        """Let go of the file."""
        self._daily.wait()
        if not self.is_in_place() and self._engine.pool.checkedin():  # type: ignore[attr-defined]
            with suppress(BagtagError, SQLAlchemyError), self._engine.connect() as connection:
                _file(connection).settle()
        self._engine.dispose()
        if self._files is not None:  # the next connection makes a new log
            self._files = replace(self._files, wal_id=None)

    def explain(self, error: Exception) -> None:
        """Raise a sentence in place of an unexpected error, if the reason for it is that the project is damaged."""
        if isinstance(error, BagtagError) or time.monotonic() - self._sound_at < _SOUND_FOR_S:
            return
        found = None
        with suppress(BagtagError, OSError), closing(connect(self.path)) as connection:
            found = damage.find_damage(connection)
        if found is not None:
            raise BagtagError(damaged_sentence(self.folder, found)) from error
        self._sound_at = time.monotonic()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        with _in_words(self.path):
            try:
                yield
            except _UNEXPECTED as error:
                if not isinstance(error, (DBAPIError, sqlite3.Error)) or _code(error) not in {*_SENTENCES, *_DAMAGED}:
                    self.explain(error)
                raise

    def _connect(self) -> FileConnection:
        """Make a connection for the pool; all of them have the same files open."""
        connection = connect(self.path)
        known, now = self._files, connection.files
        if known is None or (known.wal_id is None and known.database_id == now.database_id):
            self._files = now
        elif (known.database_id, known.wal_id) != (now.database_id, now.wal_id):
            connection.close()
            raise moved_error(self.path, known.database_id)
        return connection

    def _bring_up_to_date(self) -> None:
        self.backup_before("before-migration")
        self._daily.postpone()
        with self.write() as connection:
            migrate.upgrade(connection)


def folder_of(connection: Connection) -> Path:
    """The project folder a connection belongs to."""
    return Path(str(connection.engine.url.database)).parent


def damaged_sentence(folder: Path, found: str = "") -> str:
    """Return the sentence for a damaged project; it names the newest backup if there is one."""
    what = f": {found}" if found else ""
    advice = backups.advice(folder) or " If you have a copy of the project, put it in its place."
    return f"The {DATABASE} in {str(folder)!r} is damaged or not a Bagtag project{what}.{advice}"


def _file(connection: Connection) -> FileConnection:
    file = connection.connection.driver_connection
    assert isinstance(file, FileConnection)
    return file


@contextmanager
def _no_leftover(partial: Path) -> Iterator[None]:
    """Remove a half-made file when making it failed."""
    try:
        yield
    except BaseException:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise


def _set_logs_aside(path: Path) -> None:
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
def _begin_politely(connection: Connection) -> Iterator[None]:
    """Begin a transaction, asking for the lock every few milliseconds.

    SQLite's own waiting sleeps for up to 100 ms at a time, and writers that come later get in between: with a few
    workers an edit waited for seconds.
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
                if _code(error) not in _BUSY or time.monotonic() > until:
                    raise
            time.sleep(_BEGIN_RETRY_S)
    finally:
        driver.execute(f"PRAGMA busy_timeout = {round(1000 * BUSY_TIMEOUT_S)}")
    with transaction:
        yield


def _check_is_ours(folder: Path, path: Path) -> None:
    """Refuse what is no project, or cannot be written, now and not at the first tag.

    Only SQLite may open the file: closing it by any other means would take away the locks that this process holds on
    it, and another process could remove the log of commits (the WAL) while we still write to it.
    """
    if not folder.is_dir():
        raise BagtagError(f"There is no folder {str(folder)!r}.")
    if not path.is_file():
        raise BagtagError(
            f"{str(folder)!r} is not a Bagtag project: it holds no {DATABASE}.{backups.advice(folder)}"
        )
    if path.stat().st_size < _SMALLEST_PAGE:
        raise BagtagError(damaged_sentence(folder))
    with _in_words(path), _readable(folder), closing(connect(path)) as connection:
        if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
            raise BagtagError(f"{str(path)!r} is a database of another program, not a Bagtag project.")
        foreign = damage.foreign_schema(connection, complete=False)
        if foreign is not None:
            raise BagtagError(damaged_sentence(folder, foreign))
        if connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
            connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA busy_timeout = 200")
        if not _someone_writes(connection):
            connection.execute("ROLLBACK")


@contextmanager
def _readable(folder: Path) -> Iterator[None]:
    """Turn into a sentence that the tables of a file, or what SQLite says of them, cannot be read."""
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError) as error:
        if isinstance(error, sqlite3.Error) and _code(error) in {*_SENTENCES, *_DAMAGED}:
            raise
        raise BagtagError(damaged_sentence(folder)) from error


def _someone_writes(connection: sqlite3.Connection) -> bool:
    """Try to begin writing: busy is fine (somebody can), any other refusal is not."""
    try:
        connection.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF not in _BUSY:
            raise
        return True
    return False


def _code(error: DBAPIError | sqlite3.Error) -> int:
    """SQLite's primary result code."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    return int(getattr(cause, "sqlite_errorcode", 0) or 0) & 0xFF


@contextmanager
def _in_words(path: Path) -> Iterator[None]:
    """Turn what SQLite says into a sentence that names the project and what to do."""
    try:
        yield
    except (DBAPIError, sqlite3.Error) as error:
        code, where = _code(error), repr(str(path.parent))
        if code in _DAMAGED:
            raise BagtagError(damaged_sentence(path.parent)) from error
        if code in _NOT_SAVED:
            raise NotSaved(_SENTENCES[code].format(where=where)) from error
        if code in _BUSY:
            raise Busy(_SENTENCES[code].format(where=where)) from error
        if code in _SENTENCES:
            raise BagtagError(_SENTENCES[code].format(where=where)) from error
        raise
    except SQLAlchemyError as error:
        if "QueuePool" in str(error):
            raise Busy(f"Too many things use the project in {str(path.parent)!r} at once; try again.") from error
        raise
