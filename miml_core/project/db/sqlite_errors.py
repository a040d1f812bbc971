"""Errors of SQLite as sentences that name the project and what to do.

Code that uses the database runs inside `explain_errors`. Errors that are not in its tables are raised as they are.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from miml_core.errors import BagtagError
from miml_core.project.db import backups
from miml_core.project.db.database_file import DATABASE
from miml_core.project.errors import Busy, NotSaved

BUSY_CODES = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_NOT_SAVED_CODES = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)
_DAMAGED_CODES = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_BUSY = "The database of the project in {where} is locked by another program; try again in a moment."
_READ_ONLY = (
    "The project in {where} cannot be written: the folder or the file is read-only. "
    "Change its permissions, or copy the project to another folder."
)
_SENTENCES = {
    sqlite3.SQLITE_BUSY: _BUSY,
    sqlite3.SQLITE_LOCKED: _BUSY,
    sqlite3.SQLITE_FULL: "The disk of {where} is full: this was not saved. Free some space and try again.",
    sqlite3.SQLITE_IOERR: "The project in {where} could not be written: this was not saved. Check the disk and its "
    "free space, then try again.",
    sqlite3.SQLITE_READONLY: _READ_ONLY,
    sqlite3.SQLITE_CANTOPEN: _READ_ONLY,
    sqlite3.SQLITE_PERM: _READ_ONLY,
}


def primary_code(error: DBAPIError | sqlite3.Error) -> int:
    """Return SQLite's primary result code of an error; 0 when it has none."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    return int(getattr(cause, "sqlite_errorcode", 0) or 0) & 0xFF


def has_sentence(error: BaseException) -> bool:
    """Return whether `explain_errors` has a sentence for this error of SQLite."""
    return isinstance(error, DBAPIError | sqlite3.Error) and primary_code(error) in {*_SENTENCES, *_DAMAGED_CODES}


@contextmanager
def explain_errors(path: Path) -> Iterator[None]:
    """Raise errors of the database at `path` as a `BagtagError` that states what to do."""
    try:
        yield
    except (DBAPIError, sqlite3.Error) as error:
        code, where = primary_code(error), repr(str(path.parent))
        if code in _DAMAGED_CODES:
            raise BagtagError(damaged_sentence(path.parent)) from error
        if code in _NOT_SAVED_CODES:
            raise NotSaved(_SENTENCES[code].format(where=where)) from error
        if code in BUSY_CODES:
            raise Busy(_SENTENCES[code].format(where=where)) from error
        if code in _SENTENCES:
            raise BagtagError(_SENTENCES[code].format(where=where)) from error
        raise
    except SQLAlchemyError as error:
        if "QueuePool" in str(error):
            raise Busy(
                f"The project in {str(path.parent)!r} has too many connections at once; try again in a moment."
            ) from error
        raise


def damaged_sentence(folder: Path, found: str = "") -> str:
    """Return the sentence for a damaged project; it names the newest backup if there is one."""
    what = f": {found}" if found else ""
    advice = backups.advice(folder) or " If you have a copy of the project, replace the file by it."
    return f"The {DATABASE} in {str(folder)!r} is damaged or not a Bagtag project{what}.{advice}"
