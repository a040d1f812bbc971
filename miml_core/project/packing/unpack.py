"""Make a project of a packed one: checked before anything is written, complete or not at all, and nothing in it is run.

It is unpacked to a hidden folder beside its place, its database is checked as that of any foreign project, its media
are found by their fingerprints, and the folder gets its name last.
"""

from __future__ import annotations

import shutil
import sqlite3
import uuid
from collections import defaultdict
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import select

from miml_core.atomic_files import flush_folder
from miml_core.errors import BagtagError
from miml_core.progress import Progress, ignore_progress
from miml_core.project.db import damage, restoring
from miml_core.project.db.database_file import DATABASE, connect
from miml_core.project.db.schema import media as media_table
from miml_core.project.db.store import Store
from miml_core.project.media import files as media_files
from miml_core.project.media import state as media_state
from miml_core.project.media.fingerprint import fingerprint
from miml_core.project.packing.checked_zip import PackedProject
from miml_core.project.packing.manifest import MEDIA, Manifest, Member

_MEGABYTE = 10**6
_SPARE_BYTES = 2**24


@dataclass(frozen=True)
class UnpackedProject:
    """A project that was unpacked."""

    folder: Path
    manifest: Manifest
    n_media: int
    """Media that were in the packed file."""
    relinked: list[str] = field(default_factory=list)
    """Media that were found in the folder given for them."""
    missing: list[str] = field(default_factory=list)
    """Media that were found nowhere, as the project names them."""


def unpack(
    source: str | Path,
    folder: str | Path,
    *,
    media_from: str | Path | None = None,
    progress: Progress = ignore_progress,
) -> UnpackedProject:
    """Make the project in `folder`, which must not exist, of a packed one.

    Parameters
    ----------
    source : path
        A file that `pack` wrote, perhaps on another computer.
    folder : path
        The new project's folder; the folder that contains it must exist.
    media_from : path, optional
        A folder with the media that were not packed: they are found in it by name, size and fingerprint, and it is
        recorded on this computer as chosen for this project.
    progress : Progress

    Raises
    ------
    BagtagError
        The file is not a packed project, is damaged or crafted, or the project cannot be made; then nothing is left.
    """
    source, folder = Path(source).absolute(), Path(folder).absolute()
    if media_from is not None and not Path(media_from).is_dir():
        raise BagtagError(f"There is no folder {str(media_from)!r}; give the folder that holds the media.")
    check_new_folder(folder)
    with PackedProject(source) as packed:
        hidden = folder.parent / f".{folder.name[:100]}.unpacking-{uuid.uuid4().hex[:8]}"
        check_space(source, packed.size, folder.parent)
        try:
            hidden.mkdir()
            members = packed.members()
            extract_members(packed, members, hidden, progress)
            check_database(hidden, source)
            n_media = _link_media(packed, hidden, folder, members)
            check_new_folder(folder)
            hidden.rename(folder)
        except OSError as error:
            raise BagtagError(
                f"The project could not be unpacked to {str(folder)!r}: {error.strerror or error}. Free some space on "
                "the disk, or choose another folder."
            ) from error
        finally:
            with suppress(OSError):
                shutil.rmtree(hidden)
        flush_folder(folder.parent)
    relinked, missing = _find_media(folder, None if media_from is None else Path(media_from))
    return UnpackedProject(folder, packed.manifest, n_media, relinked, missing)


def check_new_folder(folder: Path) -> None:
    """Raise `BagtagError` unless a project can be made in a new folder of this name."""
    if folder.is_symlink() or folder.exists():
        raise BagtagError(f"{str(folder)!r} already exists; choose the name of a new folder.")
    if not folder.parent.is_dir():
        raise BagtagError(f"There is no folder {str(folder.parent)!r}; create it, or choose another one.")


def extract_members(
    packed: PackedProject, members: Sequence[Member], folder: Path, progress: Progress = ignore_progress
) -> None:
    """Write members to an empty folder."""
    total, done = sum(member.size for member in members), 0

    def advance(n: int) -> None:
        nonlocal done
        done += n
        progress(done // _MEGABYTE, -(-total // _MEGABYTE), {"what": "unpacking"})

    for member in members:
        target = folder.joinpath(*member.name.split("/"))
        target.parent.mkdir(parents=True, exist_ok=True)
        packed.extract(member, target, advance)


def check_database(folder: Path, source: Path) -> None:
    """Raise `BagtagError` unless the database that `source` had is that of a project; an old one is migrated."""
    database = folder / DATABASE
    try:
        restoring.check_backup(database)
        Store.open(folder).close()
        with closing(connect(database)) as connection:
            found = damage.find_damage(connection)
    except BagtagError as error:
        raise type(error)(str(error).replace(str(folder), str(source))) from error
    except (sqlite3.Error, UnicodeDecodeError) as error:
        found = str(error)
    if found is not None:
        raise BagtagError(f"The database of {str(source)!r} is damaged: {found}. Nothing was imported; use a new copy.")


def check_space(source: Path, size: int, folder: Path) -> None:
    """Raise `BagtagError` if the disk of a folder has no space for the `size` bytes that `source` unpacks to."""
    free = shutil.disk_usage(folder).free
    if size + _SPARE_BYTES > free:
        raise BagtagError(
            f"{source.name!r} needs {size // _MEGABYTE:,} MB, and the disk of {str(folder)!r} has "
            f"{free // _MEGABYTE:,} MB left. Free some space, or choose another folder."
        )


def _link_media(packed: PackedProject, hidden: Path, folder: Path, members: Sequence[Member]) -> int:
    """Let the media of the project be the unpacked files, by fingerprint; mark those that are not there as missing."""
    names = [member.name for member in members if member.name.startswith(f"{MEDIA}/")]
    unpacked: dict[tuple[int, str], list[str]] = defaultdict(list)
    for name in names:
        unpacked[fingerprint(hidden / name)].append(name)
    with closing(connect(hidden / DATABASE)) as connection:
        rows = connection.execute("SELECT id, path, size, fingerprint FROM media ORDER BY id").fetchall()
        found = {key: unpacked[size, mark].pop(0) for key, _, size, mark in rows if unpacked.get((size, mark))}
        if len(found) != len(names):
            raise packed.refusal("its media are not those of the project")
        connection.execute("BEGIN IMMEDIATE")
        try:
            # In two steps: the new path of one may be the old path of another.
            connection.executemany("UPDATE media SET path = ? WHERE id = ?", [(f"\0{key}", key) for key in found])
            connection.executemany(
                "UPDATE media SET path = ?, missing = 0 WHERE id = ?", [(name, key) for key, name in found.items()]
            )
        except sqlite3.IntegrityError as error:
            raise packed.refusal("its media are not those of the project") from error
        connection.executemany(
            "UPDATE media SET missing = ? WHERE id = ?",
            [(media_state.MISSING, row[0]) for row in rows if row[0] not in found and not _is_there(folder, row[1])],
        )
        connection.execute("COMMIT")
    return len(names)


def _is_there(folder: Path, stored: str) -> bool:
    path = media_files.usable_path(folder, stored)
    with suppress(OSError, ValueError):
        return path is not None and path.is_file()
    return False


def _find_media(folder: Path, media_from: Path | None) -> tuple[list[str], list[str]]:
    """Find the media that were not packed; return the paths found and those still missing."""
    store = Store.open(folder)
    try:
        relinked = [] if media_from is None else media_files.relink(store, media_from)
        columns = (media_table.c.path, media_table.c.size, media_table.c.fingerprint, media_state.STORED)
        with store.read() as connection:
            rows = connection.execute(select(*columns).order_by(media_table.c.id)).all()
        missing = [row.path for row in rows if media_state.check_file(folder, row).state != "present"]
    finally:
        store.close()
    return relinked, missing
