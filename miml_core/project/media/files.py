"""Media files: left where they are, identified by path, size and fingerprint, found again when moved."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from sqlalchemy import Connection, insert, select, update

from miml_core.errors import BagtagError, printable
from miml_core.media.audio import SOUND_SUFFIXES, audio_info, cut_windows
from miml_core.media.image import PICTURE_SUFFIXES, image_info
from miml_core.media.recording_place import Place, recording_place
from miml_core.media.recording_time import recorder_clock
from miml_core.media.regular_files import check_regular_file
from miml_core.project.db import revisions, settings
from miml_core.project.db.rows import bag_row
from miml_core.project.db.schema import bags as bags_table
from miml_core.project.db.schema import media as table
from miml_core.project.db.store import DATABASE, Store, folder_of
from miml_core.project.media import state as media_state
from miml_core.project.media.access import allow_for_import, blocked_sentence, full_path, is_usable
from miml_core.project.media.access import real_path as real_path
from miml_core.project.media.access import usable_path as usable_path
from miml_core.project.media.fingerprint import fingerprint
from miml_core.project.media.state import STORED
from miml_core.project.records import Medium, RecordingLocation

_MADE_BY_US = ("cache", "runs", "logs", "backups")
"""Folders of a project without media."""

SHORTEST_BAG = 0.1
"""Seconds."""

Remainder = Literal["keep", "drop", "merge"]


@dataclass(frozen=True)
class FileFacts:
    """What is read from a file before it is added: its row, and the rows of its bags."""

    medium: dict[str, Any]
    bags: list[dict[str, Any]]
    note: str = ""
    """A note for the person about a readable file that differs from its header."""


@dataclass(frozen=True)
class BagFile:
    """The file of a bag, with its size and fingerprint."""

    path: Path
    fingerprint: str


def read_file(
    folder: Path, path: Path, kind: str, *, bag_length: float | None, overlap: float, remainder: Remainder
) -> FileFacts:
    """Read the headers of a sound or picture file; nothing is stored yet."""
    path = full_path(path)
    _check_name(folder, path)
    if not is_usable(folder, path):
        raise BagtagError(blocked_sentence(path.name, Path(os.path.realpath(path)), folder) + " Then add it again.")
    check_regular_file(path)
    try:
        size, mark = fingerprint(path)
    except OSError as error:
        raise BagtagError(
            f"{path.name!r} cannot be read: {error.strerror or error}. Check the file and its permissions."
        ) from error
    media_state.remember(path, mark)
    medium: dict[str, Any] = {"path": stored_path(folder, path), "size": size, "fingerprint": mark, "missing": False}
    if kind == "picture":
        picture = image_info(path)
        taken = picture.taken_at.isoformat()
        medium |= {"width": picture.width, "height": picture.height}
        medium |= {"recorded_at": taken, "recorded_from": picture.taken_from}
        return FileFacts(medium, [{"name": path.name, "start": 0.0, "end": 0.0, "recorded_at": taken}])
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
                "name": path.name if len(windows) == 1 else f"{path.name} {minutes_text(start)}-{minutes_text(end)}",
                "start": start,
                "end": end,
                "recorded_at": (sound.recorded_at + timedelta(seconds=start)).isoformat(),
            }
            for start, end in windows
        ],
        sound.note,
    )


def check_windows(bag_length: float | None, overlap: float) -> None:
    """Raise `BagtagError` for lengths into which no recording can be cut."""
    if bag_length is not None and not SHORTEST_BAG <= bag_length < math.inf:
        raise BagtagError(f"A bag must be at least {SHORTEST_BAG:g} s long, not {bag_length:g} s; choose a longer one.")
    if not 0 <= overlap < (bag_length or math.inf):
        raise BagtagError(
            f"The overlap must be 0 s or more and shorter than the bag, not {overlap:g} s; choose another."
        )


def store_file(connection: Connection, facts: FileFacts) -> list[int]:
    """Add a file and its bags; return the ids of the new bags, none if the file is already in the project.

    If it is a file of the project that was moved, its bags get the new path.
    """
    medium = facts.medium
    twin = connection.execute(
        select(table, STORED).where(table.c.fingerprint == medium["fingerprint"], table.c.size == medium["size"])
    ).first()
    if twin is not None:
        if twin.path != medium["path"] and media_state.check_file(folder_of(connection), twin).state != "present":
            _set_path(connection, twin.id, medium["path"])
        return []
    changed = connection.execute(select(table).where(table.c.path == medium["path"])).first()
    if changed is not None:
        raise BagtagError(
            f"{media_state.changed_sentence(changed.path, changed.size, medium['size'])} Put the original back, or "
            "accept the new file on the Library page or with `python -m miml_core check`, option `--accept-changed`."
        )
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
    """Add files now; return the ids of the new bags."""
    check_windows(bag_length, overlap)
    kind = settings.kind(connection)
    allow_for_import(folder, [full_path(Path(path)) for path in paths])
    made: list[int] = []
    for path in paths:
        facts = read_file(folder, Path(path), kind, bag_length=bag_length, overlap=overlap, remainder=remainder)
        made += store_file(connection, facts)
    return made


def all_media(connection: Connection) -> list[Medium]:
    """Return all files, as last checked."""
    rows = connection.execute(select(table).order_by(table.c.id)).mappings()
    return [Medium(**{**row, "missing": bool(row["missing"])}) for row in rows]


def path_of_bag(connection: Connection, folder: Path, bag_id: int) -> Path:
    """Return the path of the bag's file; raises `BagtagError` if it is missing, has changed or may not be used."""
    return file_of_bag(connection, folder, bag_id).path


def file_of_bag(connection: Connection, folder: Path, bag_id: int) -> BagFile:
    """Return the bag's file, which is the one that was added; raises as `path_of_bag` does."""
    bag = bag_row(connection, bag_id)
    medium = connection.execute(select(table, STORED).where(table.c.id == bag.media_id)).one()
    found = media_state.check_file(folder, medium)
    refused = media_state.file_error(found, bag.name, medium, folder)
    if refused is not None:
        raise refused
    return BagFile(found.path, medium.fingerprint)


def location_of_bag(connection: Connection, folder: Path, bag_id: int) -> RecordingLocation:
    """Return where and when a bag was recorded; the place in a file that cannot be used does not count."""
    bag = bag_row(connection, bag_id)
    source = connection.execute(select(table.c.recorded_from).where(table.c.id == bag.media_id)).scalar()
    recorded_at = None
    with suppress(TypeError, ValueError):  # not known, or no time in a project that Bagtag did not write
        recorded_at = recorder_clock(datetime.fromisoformat(bag.recorded_at), source or "")
    place = None
    with suppress(BagtagError, OSError):
        path = path_of_bag(connection, folder, bag_id)
        place = recording_place(path) if settings.kind(connection) == "sound" else _picture_place(path)
    return RecordingLocation(
        place=settings.place(connection) if place is None else place,
        from_file=place is not None,
        recorded_at=recorded_at,
    )


def _picture_place(path: Path) -> Place | None:
    return image_info(path).place


def check_same_file(connection: Connection, folder: Path, bag_id: int, used: BagFile) -> None:
    """Raise `BagtagError` if a bag's file was replaced while it was read."""
    if file_of_bag(connection, folder, bag_id).fingerprint != used.fingerprint:
        raise BagtagError(f"{used.path.name!r} was replaced while it was read; run the job again.")


def stored_path(folder: Path, path: Path) -> str:
    """Return a path relative to the project if it is in it or beside it, so that both can be moved; else absolute."""
    for base in (folder, folder.parent):
        if base in path.parents and base != base.parent:
            return Path(os.path.relpath(path, folder)).as_posix()
    return path.as_posix()


def find_files(
    paths: Sequence[str | Path],
    kind: str,
    *,
    recursive: bool = True,
    on_error: Callable[[OSError], None] | None = None,
) -> Iterator[Path]:
    """Yield files of the project's kind among files and folders, in a stable order, without hidden ones.

    `on_error` is called for folders that cannot be read; they are left out.
    """
    suffixes = media_suffixes(kind)
    for given in paths:
        path = Path(given)
        if path.is_dir():
            for folder, names, files in os.walk(path, onerror=on_error):
                ours = _MADE_BY_US if DATABASE in files else ()
                kept = sorted(name for name in names if not name.startswith(".") and name not in ours)
                names[:] = kept if recursive else []
                for name in sorted(files):
                    if not name.startswith(".") and name.lower().endswith(suffixes):
                        yield Path(folder) / name
        else:
            yield path


def relink(store: Store, folder: Path) -> list[str]:
    """Find missing and changed files below `folder`, first by name, then by size; only equal fingerprints count."""
    if not folder.is_dir():
        raise BagtagError(f"There is no folder {str(folder)!r}; choose another one.")
    folder = full_path(folder)
    allow_for_import(store.folder, [folder])
    media_state.refresh(store)
    with store.read() as connection:
        kind = settings.kind(connection)
        rows = connection.execute(select(table, STORED)).all()
    # Files of another computer may be named by a folder that was never chosen here: they are neither missing nor there.
    lost = [row for row in rows if row.stored_state != media_state.PRESENT or not usable_path(store.folder, row.path)]
    sizes = {row.size for row in lost}
    candidates = []
    for path in find_files([folder], kind):
        if path.is_file() and is_usable(store.folder, path) and path.stat().st_size in sizes:
            candidates.append(path)
    found: dict[int, Path] = {}
    for row in lost:
        name = Path(row.path).name
        for path in sorted(candidates, key=lambda path: path.name != name):
            if path.stat().st_size == row.size and fingerprint(path) == (row.size, row.fingerprint):
                _check_name(store.folder, path)
                found[row.id] = path
                break
    return [str(found[medium_id]) for medium_id in _set_paths(store, found)]


def _set_paths(store: Store, found: Mapping[int, Path]) -> list[int]:
    """Store new paths; return the media that have one, without those whose new path is that of a medium not found."""
    wanted = {medium_id: stored_path(store.folder, path) for medium_id, path in found.items()}
    with store.write() as connection:
        present = {path: medium_id for medium_id, path in connection.execute(select(table.c.id, table.c.path)).all()}
        while taken := [one for one, path in wanted.items() if present.get(path, one) not in wanted]:
            for one in taken:
                del wanted[one]
        # In two steps: files that were renamed may have each other's names.
        for medium_id in wanted:
            connection.execute(update(table).where(table.c.id == medium_id).values(path=f"\0{medium_id}"))
        for medium_id, path in wanted.items():
            _set_path(connection, medium_id, path)
    return list(wanted)


def _set_path(connection: Connection, medium_id: int, path: str) -> None:
    connection.execute(update(table).where(table.c.id == medium_id).values(path=path, missing=False))
    affected = connection.execute(select(bags_table.c.id).where(bags_table.c.media_id == medium_id)).scalars()
    revisions.advance(connection, changed_topics=["media"], changed_bags=list(affected))


def media_suffixes(kind: str) -> tuple[str, ...]:
    """Return the endings of names of sounds or pictures, in lower case."""
    if kind == "picture":
        return PICTURE_SUFFIXES
    return SOUND_SUFFIXES


def _check_name(folder: Path, path: Path) -> None:
    """Raise `BagtagError` for a name that is not valid UTF-8: paths are stored as text."""
    stored = stored_path(folder, path)
    if printable(stored) != stored:
        what = "file" if printable(path.name) != path.name else "folder"
        raise BagtagError(f"The name of {printable(path)!r} is not valid text (UTF-8); rename the {what} to add it.")


def minutes_text(seconds: float) -> str:
    """Return seconds as minutes and seconds.

    >>> minutes_text(65), minutes_text(0.5)
    ('01:05', '00:00.500')
    """
    minutes, rest = divmod(seconds, 60)
    return f"{int(minutes):02d}:{rest:02.0f}" if rest == round(rest) else f"{int(minutes):02d}:{rest:06.3f}"
