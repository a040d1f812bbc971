"""Write a project to one zip file, while it may be in use: database, runs, segmenters and, if asked for, the media.

The database is a snapshot made by SQLite. Media are stored as they are, because sounds and pictures hardly compress;
those that are missing, have changed or may not be used on this computer are listed and left out. The file appears
complete or not at all.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import stat
import time
import uuid
import zipfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from sqlalchemy import Row, select

from miml_core import __version__
from miml_core.atomic_files import Check, atomic_writer
from miml_core.errors import BagtagError
from miml_core.exchange.names import name_beside, normalised_name
from miml_core.media.regular_files import check_regular_file
from miml_core.progress import Progress, ignore_progress
from miml_core.project.db import backups, damage
from miml_core.project.db.database_file import DATABASE
from miml_core.project.db.interrupts import interrupted_by
from miml_core.project.db.own_folders import find_own_folder, is_real_file
from miml_core.project.db.schema import media as media_table
from miml_core.project.db.sqlite_errors import damaged_sentence
from miml_core.project.db.store import Store
from miml_core.project.media import state as media_state
from miml_core.project.media.files import media_suffixes
from miml_core.project.packing.checked_zip import CHUNK
from miml_core.project.packing.manifest import MANIFEST, MEDIA, Manifest, Member, is_member_name

SUFFIX = ".zip"

_MEGABYTE = 10**6
_LARGE = 2**31
"""Bytes; the sizes of larger members are written as Zip64."""
_COUNTED = {"media": "media", "bags": "bags", "tags": "tags", "labels": "verdicts", "runs": "runs"}


@dataclass(frozen=True)
class LeftOut:
    """A media file that was not packed, and why."""

    name: str
    reason: str


@dataclass(frozen=True)
class PackedFile:
    """A packed project."""

    path: Path
    size: int
    manifest: Manifest
    left_out: list[LeftOut]

    @property
    def n_media(self) -> int:
        """Number of media files in it."""
        return sum(member.name.startswith(f"{MEDIA}/") for member in self.manifest.members)


@dataclass(frozen=True)
class _Source:
    name: str
    path: Path
    size: int


def pack(
    store: Store,
    target: Path,
    *,
    media: bool = False,
    progress: Progress = ignore_progress,
    check: Check | None = None,
    job_id: int | None = None,
) -> PackedFile:
    """Write a project to a zip file.

    Parameters
    ----------
    store : Store
    target : Path
        Its folder must exist.
    media : bool
        Whether the recordings or pictures are packed too.
    progress : Progress
    check : callable, optional
        Called with `target` before it is written, and again before the file is put in place.
    job_id : int, optional
        The job that packs: it is left out, because it would never end in the packed project.

    Raises
    ------
    BagtagError
        The database is damaged, a file changed while it was packed, or the target cannot be written.
    """
    if check is not None:
        check(target)
    snapshot = backups.make_folder(store.folder) / f".pack-{uuid.uuid4().hex[:12]}.partial"  # `prune` removes old ones
    try:
        store.copy_to(snapshot, progress=progress)
        facts = _prepare(snapshot, store.folder, job_id, lambda: progress(0, 0, {"what": "checking the database"}))
        own = _own_files(store.folder, snapshot, facts.runs)
        found, left_out = _media_files(store, facts.media, facts.kind) if media else ([], [])
        members = _write(target, [*own, *found], facts, progress, check)
    except OSError as error:
        raise BagtagError(
            f"The project could not be packed to {str(target)!r}: {error.strerror or error}. Free some space on the "
            "disk, or choose another folder."
        ) from error
    finally:
        with suppress(OSError):
            snapshot.unlink(missing_ok=True)
    return PackedFile(target, target.stat().st_size, members, left_out)


@dataclass(frozen=True)
class _Facts:
    name: str
    kind: str
    counts: dict[str, int]
    runs: list[int]
    media: list[int]


def _prepare(snapshot: Path, folder: Path, job_id: int | None, check: Callable[[], object]) -> _Facts:
    """Check the snapshot, remove the packing job from it, and return the facts for the manifest."""
    with closing(sqlite3.connect(snapshot, isolation_level=None)) as connection:
        connection.execute("PRAGMA trusted_schema = OFF")
        with interrupted_by(connection, check):
            damaged = damage.find_damage(connection)
            check()
        if damaged is not None:
            raise BagtagError(damaged_sentence(folder, damaged))
        if job_id is not None:
            for table, column in (("job_log", "job_id"), ("job_failures", "job_id"), ("jobs", "id")):
                connection.execute(f"DELETE FROM {table} WHERE {column} = ?", (job_id,))
        known = {key: json.loads(value) for key, value in connection.execute("SELECT key, value FROM meta")}
        counts = {what: _count(connection, table) for what, table in _COUNTED.items()}
        counts["segments"] = _count(connection, "segments WHERE alive")
        runs = [run_id for (run_id,) in connection.execute("SELECT id FROM runs ORDER BY id")]
        media_ids = [medium_id for (medium_id,) in connection.execute("SELECT id FROM media ORDER BY id")]
    return _Facts(str(known.get("name", "")), str(known["kind"]), counts, runs, media_ids)


def _count(connection: sqlite3.Connection, table: str) -> int:
    return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def _own_files(folder: Path, snapshot: Path, runs: Sequence[int]) -> list[_Source]:
    """Return the database, the models of the runs and the segmenters; nothing behind a link."""
    found = [_Source(DATABASE, snapshot, snapshot.stat().st_size)]
    for run_id in runs:
        if (place := find_own_folder(folder, "runs", str(run_id))) is not None:
            found += _real_file(f"runs/{run_id}/model.npz", place / "model.npz")
    if (place := find_own_folder(folder, "segmenters")) is not None:
        for path in sorted(place.iterdir()):
            found += _real_file(f"segmenters/{path.name}", path)
    return found


def _real_file(name: str, path: Path) -> list[_Source]:
    is_ours = is_member_name(name, ()) and is_real_file(path)
    return [_Source(name, path, path.stat().st_size)] if is_ours else []


def _media_files(store: Store, media_ids: Sequence[int], kind: str) -> tuple[list[_Source], list[LeftOut]]:
    """Return the media that can be packed, under names of their own, and those that cannot."""
    wanted = set(media_ids)
    with store.read() as connection:
        columns = (media_table.c.id, media_table.c.path, media_table.c.size, media_table.c.fingerprint)
        rows = connection.execute(select(*columns, media_state.STORED).order_by(media_table.c.id)).all()
    rows = [row for row in rows if row.id in wanted]
    present: list[tuple[Row[tuple[int, str, int, str]], Path]] = []
    left_out = []
    suffixes = media_suffixes(kind)
    for row in rows:
        found = media_state.check_file(store.folder, row)
        name = PurePosixPath(row.path).name
        refused = media_state.file_error(found, name, row, store.folder)
        if refused is not None:
            left_out.append(LeftOut(row.path, str(refused)))
        elif not name.lower().endswith(suffixes):
            reason = f"{name!r} does not have the extension of a {kind} file; rename it and add it again."
            left_out.append(LeftOut(row.path, reason))
        else:
            present.append((row, found.path))
    packed = {row.id for row, _ in present}
    names = _Names(row.path for row in rows if row.id not in packed)
    base = _common_folder([path for _, path in present])
    found_files = [_Source(names.new(path, base, suffixes), path, row.size) for row, path in present]
    return found_files, left_out


class _Names:
    """Names of media in the file: their paths below the folder that contains them all, each different from all others.

    `taken` are paths in the database that stay as they are.
    """

    def __init__(self, taken: Iterable[str]) -> None:
        self._files = {normalised_name(path) for path in taken}
        self._folders: dict[str, str] = {}

    def new(self, path: Path, base: Path | None, suffixes: tuple[str, ...]) -> str:
        below = path.relative_to(base).as_posix() if base is not None else path.name
        name = PurePosixPath(MEDIA, name_beside(below, ""))
        if not is_member_name(str(name), suffixes):
            name = PurePosixPath(MEDIA, f"file{path.suffix}")
        number, chosen = 1, name
        while not self._take(chosen):
            number += 1
            chosen = (PurePosixPath(MEDIA) if number > 2 else name.parent) / f"{name.stem}-{number}{name.suffix}"
        return str(chosen)

    def _take(self, name: PurePosixPath) -> bool:
        folders = {normalised_name(str(folder)): str(folder) for folder in list(name.parents)[:-1]}
        own = normalised_name(str(name))
        if own in self._files or own in self._folders or any(each in self._files for each in folders):
            return False
        if any(self._folders.get(key, folder) != folder for key, folder in folders.items()):
            return False
        self._files.add(own)
        self._folders |= folders
        return True


def _common_folder(paths: Sequence[Path]) -> Path | None:
    """Return the folder that contains all files; None if there is none (on several drives)."""
    try:
        return Path(os.path.commonpath([path.parent for path in paths])) if paths else None
    except ValueError:
        return None


def _write(
    target: Path, sources: Sequence[_Source], facts: _Facts, progress: Progress, check: Check | None
) -> Manifest:
    total, done = sum(source.size for source in sources), 0
    members = []

    def advance(n: int, name: str) -> None:
        nonlocal done
        done += n
        progress(done // _MEGABYTE, -(-total // _MEGABYTE), {"what": f"packing {name}"})

    with atomic_writer(target) as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as packed:
            for source in sources:
                members.append(_add(packed, source, advance))
            at = datetime.now(UTC).astimezone().isoformat(timespec="seconds")
            manifest = Manifest(facts.name, facts.kind, at, __version__, facts.counts, tuple(members))
            packed.writestr(MANIFEST, manifest.to_json())
        if check is not None:
            check(target)
    return manifest


def _add(packed: zipfile.ZipFile, source: _Source, advance: Callable[[int, str], None]) -> Member:
    check_regular_file(source.path)
    digest, n = hashlib.sha256(), 0
    entry: str | zipfile.ZipInfo = source.name
    if source.name.startswith(f"{MEDIA}/"):
        entry = zipfile.ZipInfo(source.name, _date(source.path))
        entry.external_attr = (stat.S_IFREG | 0o644) << 16
    shown = PurePosixPath(source.name).name
    with source.path.open("rb") as content, packed.open(entry, "w", force_zip64=source.size >= _LARGE) as member:
        while chunk := content.read(CHUNK):
            n += len(chunk)
            if n > source.size:
                break
            digest.update(chunk)
            member.write(chunk)
            advance(len(chunk), shown)
    if n != source.size:
        raise BagtagError(f"{str(source.path)!r} changed while it was packed; pack the project again.")
    return Member(source.name, n, digest.hexdigest())


def _date(path: Path) -> tuple[int, int, int, int, int, int]:
    """Return when a file was changed, within the years that a zip file can hold."""
    moment = time.localtime(path.stat().st_mtime)[:6]
    return (min(max(moment[0], 1980), 2107), *moment[1:])
