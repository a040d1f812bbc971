"""Media files: left where they are, known by path, size and fingerprint, found again when moved."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

from sqlalchemy import Connection, insert, select, update

from miml_core.errors import BagtagError
from miml_core.project import bags, revisions, settings
from miml_core.project.fingerprint import fingerprint
from miml_core.project.rows import Medium
from miml_core.project.schema import bags as bags_table
from miml_core.project.schema import media as table
from miml_core.project.store import DATABASE, Store, folder_of

_MADE_BY_US = ("cache", "runs", "logs", "backups")
"""Folders of a project that hold no media of a person."""

Remainder = Literal["keep", "drop", "merge"]


@dataclass(frozen=True)
class FileFacts:
    """What is read from a file before it is added: its row, and the rows of its bags."""

    medium: dict[str, Any]
    bags: list[dict[str, Any]]


def read_file(
    folder: Path, path: Path, kind: str, *, bag_length: float | None, overlap: float, remainder: Remainder
) -> FileFacts:
    """Read the headers of a sound or picture file; nothing is stored yet."""
    path = path.absolute()
    _check_name(path)
    try:
        size, mark = fingerprint(path)
    except OSError as error:
        raise BagtagError(f"{path.name!r} cannot be read: {error.strerror or error}.") from error
    medium: dict[str, Any] = {"path": stored_path(folder, path), "size": size, "fingerprint": mark, "missing": False}
    if kind == "picture":
        from miml_core.media.image import image_info

        picture = image_info(path)
        taken = picture.taken_at.isoformat()
        medium |= {"width": picture.width, "height": picture.height}
        medium |= {"recorded_at": taken, "recorded_from": picture.taken_from}
        return FileFacts(medium, [{"name": path.name, "start": 0.0, "end": 0.0, "recorded_at": taken}])
    from miml_core.media.audio import audio_info, cut_windows

    sound = audio_info(path)
    medium |= {
        "duration": sound.duration,
        "rate": sound.rate,
        "channels": sound.channels,
        "recorded_at": sound.recorded_at.isoformat(),
        "recorded_from": sound.recorded_from,
    }
    windows = cut_windows(sound.duration, bag_length or sound.duration, overlap, remainder)
    return FileFacts(
        medium,
        [
            {
                "name": path.name if len(windows) == 1 else f"{path.name} {_clock(start)}-{_clock(end)}",
                "start": start,
                "end": end,
                "recorded_at": (sound.recorded_at + timedelta(seconds=start)).isoformat(),
            }
            for start, end in windows
        ],
    )


def check_windows(bag_length: float | None, overlap: float) -> None:
    """Refuse lengths into which no recording can be cut."""
    if bag_length is not None and not 0 < bag_length < math.inf:
        raise BagtagError(f"A bag must be longer than 0 s, not {bag_length:g} s long.")
    if not 0 <= overlap < (bag_length or math.inf):
        raise BagtagError(f"The overlap must be shorter than the bag, and not {overlap:g} s long.")


def store_file(connection: Connection, facts: FileFacts) -> list[int]:
    """Add a file and its bags; answers the new bags, none when the file is already there.

    A file that was there and has moved is found again by this: its bags now belong to the file in its new place.
    """
    medium = facts.medium
    twin = connection.execute(
        select(table).where(table.c.fingerprint == medium["fingerprint"], table.c.size == medium["size"])
    ).first()
    if twin is not None:
        if twin.path != medium["path"] and not real_path(folder_of(connection), twin.path).is_file():
            _point_to(connection, twin.id, medium["path"])
        return []
    changed = connection.execute(select(table).where(table.c.path == medium["path"])).first()
    if changed is not None:
        raise BagtagError(f"{medium['path']!r} is already in the project, but the file has changed since it was added.")
    if medium.get("rate"):
        settings.suit_first_recording(connection, medium["rate"])
    done = connection.execute(insert(table).values(**medium))
    assert done.inserted_primary_key is not None
    revision = revisions.advance(connection, changed_topics=["media"])
    made = []
    for bag in facts.bags:
        added = connection.execute(
            insert(bags_table).values(media_id=done.inserted_primary_key[0], revision=revision, **bag)
        )
        assert added.inserted_primary_key is not None
        made.append(int(added.inserted_primary_key[0]))
    return made


def add_files(
    connection: Connection,
    folder: Path,
    paths: Sequence[str | Path],
    *,
    bag_length: float | None,
    overlap: float,
    remainder: Remainder,
) -> list[int]:
    """Add files now; answers the new bags' ids."""
    check_windows(bag_length, overlap)
    kind = settings.kind(connection)
    made: list[int] = []
    for path in paths:
        facts = read_file(folder, Path(path), kind, bag_length=bag_length, overlap=overlap, remainder=remainder)
        made += store_file(connection, facts)
    return made


def all_media(connection: Connection) -> list[Medium]:
    rows = connection.execute(select(table).order_by(table.c.id)).mappings()
    return [Medium(**{**row, "missing": bool(row["missing"])}) for row in rows]


def path_of_bag(connection: Connection, folder: Path, bag_id: int) -> Path:
    """Where the bag's file is; a sentence when it is not there."""
    bag = bags.row(connection, bag_id)
    stored = connection.execute(select(table.c.path).where(table.c.id == bag.media_id)).scalar_one()
    path = real_path(folder, stored)
    if not path.is_file():
        raise BagtagError(f"The file of {bag.name!r} is not at {str(path)!r} any more; show Bagtag its new folder.")
    return path


def stored_path(folder: Path, path: Path) -> str:
    """Relative to the project when the file lies in it or beside it, so that both can move together; else absolute."""
    for base in (folder, folder.parent):
        if base in path.parents and base != base.parent:
            return Path(os.path.relpath(path, folder)).as_posix()
    return path.as_posix()


def real_path(folder: Path, stored: str) -> Path:
    return Path(os.path.normpath(folder / stored))


def find_files(paths: Sequence[str | Path], kind: str, *, recursive: bool = True) -> Iterator[Path]:
    """Files of the project's kind among files and folders, in a stable order; hidden ones are left out."""
    suffixes = _suffixes(kind)
    for given in paths:
        path = Path(given)
        if path.is_dir():
            for folder, names, files in os.walk(path):
                ours = _MADE_BY_US if DATABASE in files else ()
                kept = sorted(name for name in names if not name.startswith(".") and name not in ours)
                names[:] = kept if recursive else []
                for name in sorted(files):
                    if not name.startswith(".") and name.lower().endswith(suffixes):
                        yield Path(folder) / name
        else:
            yield path


def refresh_missing(store: Store) -> int:
    """Look for every file and remember which are missing; answers how many."""
    with store.read() as connection:
        rows = connection.execute(select(table.c.id, table.c.path, table.c.missing)).all()
    seen = {row.id: not real_path(store.folder, row.path).is_file() for row in rows}
    changed = [row.id for row in rows if seen[row.id] != bool(row.missing)]
    if changed:
        with store.write() as connection:
            for medium_id in changed:
                connection.execute(update(table).where(table.c.id == medium_id).values(missing=seen[medium_id]))
            affected = connection.execute(select(bags_table.c.id).where(bags_table.c.media_id.in_(changed))).scalars()
            revisions.advance(connection, changed_topics=["media"], changed_bags=list(affected))
    return sum(seen.values())


def relink(store: Store, folder: Path) -> list[str]:
    """Find missing files below `folder`, first by name, then by size; only equal fingerprints count."""
    if not folder.is_dir():
        raise BagtagError(f"There is no folder {str(folder)!r}.")
    refresh_missing(store)
    with store.read() as connection:
        kind = settings.kind(connection)
        missing = connection.execute(select(table).where(table.c.missing)).all()
    sizes = {row.size for row in missing}
    candidates = [path for path in find_files([folder], kind) if path.stat().st_size in sizes]
    found: list[str] = []
    for row in missing:
        name = Path(row.path).name
        for path in sorted(candidates, key=lambda path: path.name != name):
            if path.stat().st_size == row.size and fingerprint(path) == (row.size, row.fingerprint):
                with store.write() as connection:
                    _point_to(connection, row.id, stored_path(store.folder, path.absolute()))
                found.append(str(path))
                break
    return found


def _point_to(connection: Connection, medium_id: int, path: str) -> None:
    connection.execute(update(table).where(table.c.id == medium_id).values(path=path, missing=False))
    affected = connection.execute(select(bags_table.c.id).where(bags_table.c.media_id == medium_id)).scalars()
    revisions.advance(connection, changed_topics=["media"], changed_bags=list(affected))


def _suffixes(kind: str) -> tuple[str, ...]:
    if kind == "picture":
        from miml_core.media.image import PICTURE_SUFFIXES

        return PICTURE_SUFFIXES
    from miml_core.media.audio import SOUND_SUFFIXES

    return SOUND_SUFFIXES


def _check_name(path: Path) -> None:
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise BagtagError(f"The name of {path.name!a} is not valid text; rename the file to add it.") from None


def _clock(seconds: float) -> str:
    minutes, rest = divmod(seconds, 60)
    return f"{int(minutes):02d}:{rest:02.0f}" if rest == round(rest) else f"{int(minutes):02d}:{rest:06.3f}"
