"""Open a copy of another project, a folder or a packed file: the original is only read, and nothing in it is run."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from miml_core.errors import BagtagError
from miml_core.project.db import backups
from miml_core.project.db.database_file import DATABASE, open_read_only
from miml_core.project.db.store import Store
from miml_core.project.packing.checked_zip import PackedProject
from miml_core.project.packing.unpack import check_database, check_space, extract_members


@contextmanager
def open_copy(path: str | Path) -> Iterator[Store]:
    """Yield a checked copy of the database of a project in a temporary folder, which is removed afterwards.

    The copy of a project that an older Bagtag made is migrated; the original stays as it is.

    Parameters
    ----------
    path : path
        The folder of a project, which may be in use, or a packed project.

    Raises
    ------
    BagtagError
        There is no project, or it is damaged or crafted.
    """
    path = Path(path).absolute()
    with tempfile.TemporaryDirectory(prefix="bagtag-") as home:
        folder = Path(home)
        try:
            if path.is_dir():
                _copy_database(path, folder / DATABASE)
            else:
                _unpack_database(path, folder)
        except OSError as error:
            raise BagtagError(
                f"{str(path)!r} could not be copied to the folder for temporary files: {error.strerror or error}. Free "
                "some space on the disk."
            ) from error
        check_database(folder, path)
        store = Store.open(folder)
        try:
            yield store
        finally:
            store.close()


def _unpack_database(path: Path, folder: Path) -> None:
    with PackedProject(path) as packed:
        database = [member for member in packed.members() if member.name == DATABASE]
        check_space(path, sum(member.size for member in database), folder)
        extract_members(packed, database, folder)


def _copy_database(project: Path, target: Path) -> None:
    database = project / DATABASE
    if not database.is_file():
        raise BagtagError(f"{str(project)!r} is not a Bagtag project: it has no {DATABASE}. Choose another folder.")
    try:
        with closing(_connect(database)) as connection:
            backups.copy_database(connection, target)
    except (sqlite3.Error, BagtagError) as error:
        reason = error.__cause__ if isinstance(error.__cause__, sqlite3.Error) else error
        raise BagtagError(
            f"The project in {str(project)!r} cannot be read: {reason}. Choose another one, or restore its backup."
        ) from error


def _connect(database: Path) -> sqlite3.Connection:
    """Connect without changing anything: a database with a log of commits is in use, others need no lock."""
    if os.path.lexists(f"{database}-wal"):
        return sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True, isolation_level=None)
    return open_read_only(database)
