"""The database file of a project: opening, reading, writing, and what can go wrong with it.

SQLite in WAL mode, every commit synced to disk before it returns (`synchronous=FULL`), foreign keys on. Writers take
their turn with ``BEGIN IMMEDIATE``, first among the threads of this process, then among processes, so that nobody is
refused half-way through a transaction. All statements go through SQLAlchemy Core.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from miml_core.errors import BagtagError
from miml_core.project import migrate
from miml_core.project.errors import Busy, NotSaved
from miml_core.project.own_folders import own_folder

DATABASE = "project.db"
APPLICATION_ID = 0x42414754
"""Written in the file's header ("BAGT"), so that a database of something else is told apart."""

_PAGE_BYTES = 8192
_SMALLEST_PAGE = 512
_POLITE_SECONDS = 30.0
_PATIENCE = 4
"""How many times a writer waits `_POLITE_SECONDS` before it gives up."""

_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_NOT_SAVED = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)
_BUSY_SENTENCE = "Another program keeps the project in {where} to itself; try again in a moment."
_READ_ONLY_SENTENCE = (
    "The project in {where} cannot be written: the folder or the file is read-only. "
    "Change its permissions, or copy the project to another place."
)
_DAMAGED_SENTENCE = (
    "The project.db in {where} is damaged or not a Bagtag project; restore it from a backup (there may be one in its "
    "backups folder)."
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
    sqlite3.SQLITE_CORRUPT: _DAMAGED_SENTENCE,
    sqlite3.SQLITE_NOTADB: _DAMAGED_SENTENCE,
}


class Store:
    """An open project folder; threads share it, each transaction has a connection of its own."""

    def __init__(self, folder: Path, engine: Engine) -> None:
        self.folder = folder
        self._engine = engine
        self._turn = threading.Lock()

    @property
    def path(self) -> Path:
        return self.folder / DATABASE

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
        except OSError as error:
            raise BagtagError(f"A project cannot be made in {str(folder)!r}: {error.strerror or error}.") from error
        engine = _engine(partial)
        with _in_words(partial), _no_leftover(partial):
            with engine.connect().execution_options(bagtag_begin="BEGIN IMMEDIATE") as connection, connection.begin():
                connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")
                migrate.upgrade(connection)
                initialise(connection)
            engine.dispose()
            partial.rename(path)
        return cls.open(folder)

    @classmethod
    def open(cls, folder: Path) -> Store:
        """The project in `folder`, brought up to date if an older Bagtag made it."""
        folder = folder.absolute()
        path = folder / DATABASE
        _check_is_ours(folder, path)
        store = cls(folder, _engine(path))
        try:
            with store.read() as connection:
                outdated = migrate.is_outdated(connection, folder)
            if outdated:
                store._bring_up_to_date()
        except BaseException:
            store.close()
            raise
        return store

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A connection that sees one moment of the project, whatever others write meanwhile."""
        with _in_words(self.path), self._engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """One transaction: everything in it is on disk when the block ends, or nothing is."""
        with _in_words(self.path), self._turn, self._engine.connect() as connection:
            writer = connection.execution_options(bagtag_begin="BEGIN IMMEDIATE")
            with _begin_politely(writer):
                yield writer

    def backup(self, path: Path) -> Path:
        """A consistent copy of the database, also while others write."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with _in_words(path), self._engine.connect() as connection:
            source = connection.connection.driver_connection
            assert isinstance(source, sqlite3.Connection)
            target = sqlite3.connect(path)
            try:
                source.backup(target)
            finally:
                target.close()
        return path

    def close(self) -> None:
        self._engine.dispose()

    def _bring_up_to_date(self) -> None:
        stamp = time.strftime("%Y%m%d-%H%M%S")
        self.backup(self.folder / "backups" / f"project-{stamp}.db")
        with self.write() as connection:
            migrate.upgrade(connection)


def folder_of(connection: Connection) -> Path:
    """The project folder a connection belongs to."""
    return Path(str(connection.engine.url.database)).parent


@contextmanager
def _no_leftover(partial: Path) -> Iterator[None]:
    """Remove a half-made file when making it failed."""
    try:
        yield
    except BaseException:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise


def _engine(path: Path) -> Engine:
    engine = create_engine(
        URL.create("sqlite", database=str(path)),
        connect_args={"timeout": _POLITE_SECONDS, "check_same_thread": False},
        pool_size=8,
        max_overflow=56,
    )

    @event.listens_for(engine, "connect")
    def set_up(connection: sqlite3.Connection, _: object) -> None:
        connection.isolation_level = None  # transactions begin where we say, not where the driver guesses
        connection.execute(f"PRAGMA page_size = {_PAGE_BYTES}")  # heard only while the file is empty
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA cache_size = -32768")
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute("PRAGMA wal_autocheckpoint = 4000")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        connection.exec_driver_sql(connection.get_execution_options().get("bagtag_begin", "BEGIN"))

    return engine


@contextmanager
def _begin_politely(connection: Connection) -> Iterator[None]:
    for attempt in range(_PATIENCE):
        try:
            transaction = connection.begin()
            break
        except DBAPIError as error:
            connection.rollback()
            if _code(error) not in _BUSY or attempt == _PATIENCE - 1:
                raise
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
        raise BagtagError(f"{str(folder)!r} is not a Bagtag project: it holds no {DATABASE}.")
    if path.stat().st_size < _SMALLEST_PAGE:
        raise BagtagError(_DAMAGED_SENTENCE.format(where=repr(str(folder))))
    with _in_words(path):
        connection = sqlite3.connect(path, timeout=_POLITE_SECONDS, isolation_level=None)
        try:
            if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
                raise BagtagError(f"{str(path)!r} is a database of another program, not a Bagtag project.")
            if connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA busy_timeout = 200")
            if not _someone_writes(connection):
                connection.execute("ROLLBACK")
        except UnicodeDecodeError as error:  # SQLite quotes the damaged bytes, which Python cannot read
            raise BagtagError(_DAMAGED_SENTENCE.format(where=repr(str(folder)))) from error
        finally:
            connection.close()


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
        code = _code(error)
        if code in _NOT_SAVED:
            raise NotSaved(_SENTENCES[code].format(where=repr(str(path.parent)))) from error
        if code in _BUSY:
            raise Busy(_SENTENCES[code].format(where=repr(str(path.parent)))) from error
        if code in _SENTENCES:
            raise BagtagError(_SENTENCES[code].format(where=repr(str(path.parent)))) from error
        raise
    except SQLAlchemyError as error:
        if "QueuePool" in str(error):
            raise Busy(f"Too many things use the project in {str(path.parent)!r} at once; try again.") from error
        raise
