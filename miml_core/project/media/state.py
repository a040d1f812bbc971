"""Check whether a media file is still the one that was added, by size and fingerprint.

A fingerprint reads three parts of a file. It is kept with the file's size and times, in memory and in the project's
cache folder, so that checking 20 000 unchanged files takes 20 000 calls of `stat`.
"""

from __future__ import annotations

import json
import os
import stat
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from sqlalchemy import Integer, Row, literal, select, type_coerce, update

from miml_core.errors import BagtagError
from miml_core.project.db import cache, revisions
from miml_core.project.db.schema import bags as bags_table
from miml_core.project.db.schema import media as table
from miml_core.project.db.store import Store
from miml_core.project.media.access import blocked_sentence, real_path, usable_path
from miml_core.project.media.fingerprint import fingerprint

FileState = Literal["present", "missing", "changed", "not allowed"]

STORED_STATE = type_coerce(table.c.missing, Integer)
"""As last checked, in the column `missing`: 0 present, 1 missing, 2 changed."""
STORED = STORED_STATE.label("stored_state")
PRESENT, MISSING, CHANGED = 0, 1, 2

_STORED: dict[FileState, int] = {"present": PRESENT, "missing": MISSING, "changed": CHANGED}
_CACHE_FILE = "media-seen.json"
_FRESH_SECONDS = 2.0
"""A file that changed this recently may change again without a change of its times."""

_Times = tuple[int, int, int]
_seen: dict[str, tuple[_Times, str]] = {}
_loaded: set[str] = set()
_lock = threading.Lock()


@dataclass(frozen=True)
class CheckedFile:
    """The state of one medium's file."""

    state: FileState
    path: Path
    size: int = 0
    """Of the present file."""


def check_file(folder: Path, medium: Row[Any], *, quick: bool = False) -> CheckedFile:
    """Check the file of a medium (a row with `path`, `size` and `fingerprint`).

    With `quick` a file of the right size is read only if it was found changed before.
    """
    path = usable_path(folder, medium.path)
    if path is None:
        return CheckedFile("not allowed", real_path(folder, medium.path))
    try:
        facts = path.stat()
    except (OSError, ValueError):
        return CheckedFile("missing", path)
    if not stat.S_ISREG(facts.st_mode):
        return CheckedFile("missing", path)
    if facts.st_size != medium.size:
        return CheckedFile("changed", path, facts.st_size)
    known = _known(path, facts)
    if known is None and (not quick or medium.stored_state == CHANGED):
        known = _read(path, facts)
    if known is not None and known != medium.fingerprint:
        return CheckedFile("changed", path, facts.st_size)
    return CheckedFile("present", path, facts.st_size)


def remember(path: Path, mark: str) -> None:
    """Store a fingerprint that was just computed."""
    with suppress(OSError):
        _store(path, path.stat(), mark)


def file_error(found: CheckedFile, name: str, medium: Row[Any], folder: Path) -> BagtagError | None:
    """Return the error of a bag's file that cannot be used; None if it can."""
    if found.state == "not allowed":
        return BagtagError(blocked_sentence(name, found.path, folder))
    if found.state == "missing":
        return BagtagError(
            f"The file of {name!r} is no longer at {str(found.path)!r}; choose its new folder on the Library page."
        )
    if found.state == "changed":
        return BagtagError(
            f"{changed_sentence(medium.path, medium.size, found.size)} Put the original back, or accept the new file "
            f"on the Library page or with `python -m miml_core check {folder} --accept-changed`."
        )
    return None


def changed_sentence(path: str, old: int, new: int) -> str:
    """Return the sentence that a file has changed; `old` and `new` are its sizes."""
    what = f"size {_megabytes(old)} → {_megabytes(new)}" if old != new else "same size, other content"
    return f"{Path(path).name!r} has changed since it was added ({what})."


def refresh(store: Store, media_ids: list[int] | None = None, *, seconds: float | None = None) -> dict[FileState, int]:
    """Check all files (or some, or for some seconds) and store their states; return the number of each."""
    until = None if seconds is None else time.monotonic() + seconds
    query = select(table.c.id, table.c.path, table.c.size, table.c.fingerprint, STORED)
    if media_ids is not None:
        query = query.where(table.c.id.in_(media_ids))
    with store.read() as connection:
        rows = connection.execute(query).all()
    _load(store)
    before = len(_seen)
    counts: dict[FileState, int] = {"present": 0, "missing": 0, "changed": 0, "not allowed": 0}
    changed: dict[int, int] = {}
    for row in rows:
        if until is not None and time.monotonic() > until:
            break
        state = check_file(store.folder, row).state
        counts[state] += 1
        if state != "not allowed" and _STORED[state] != row.stored_state:
            changed[row.id] = _STORED[state]
    if changed:
        with store.write() as connection:
            for medium_id, number in changed.items():
                stored = {"missing": literal(number, Integer)}
                connection.execute(update(table).where(table.c.id == medium_id).values(**stored))
            of_bags = connection.execute(select(bags_table.c.id, bags_table.c.media_id)).all()
            affected = [bag_id for bag_id, medium_id in of_bags if medium_id in changed]
            revisions.advance(connection, changed_topics=["media"], changed_bags=affected)
    if len(_seen) != before:
        save(store)
    return counts


def save(store: Store) -> None:
    """Write the fingerprints of its files to the project's cache; a failure is ignored."""
    with store.read() as connection:
        paths = {str(real_path(store.folder, path)) for path in connection.execute(select(table.c.path)).scalars()}
    with _lock:
        content = {path: [*times, mark] for path, (times, mark) in _seen.items() if path in paths}
    cache.write(store.folder, _CACHE_FILE, json.dumps(content).encode("ascii"))


def _load(store: Store) -> None:
    with _lock:
        if str(store.folder) in _loaded:
            return
        _loaded.add(str(store.folder))
    with suppress(ValueError, TypeError, AttributeError):
        content = json.loads(cache.read(store.folder, _CACHE_FILE) or b"{}")
        found = {str(path): ((int(a), int(b), int(c)), str(mark)) for path, (a, b, c, mark) in content.items()}
        with _lock:
            _seen.update({path: value for path, value in found.items() if path not in _seen})


def _times(facts: os.stat_result) -> _Times:
    return facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns


def _known(path: Path, facts: os.stat_result) -> str | None:
    found = _seen.get(str(path))
    return found[1] if found is not None and found[0] == _times(facts) else None


def _read(path: Path, facts: os.stat_result) -> str | None:
    """Compute the fingerprint; None for a file that cannot be read, which opening it will report."""
    try:
        mark = fingerprint(path)[1]
    except OSError:
        return None
    _store(path, facts, mark)
    return mark


def _store(path: Path, facts: os.stat_result, mark: str) -> None:
    if time.time() - max(facts.st_mtime, facts.st_ctime) > _FRESH_SECONDS:
        with _lock:
            _seen[str(path)] = _times(facts), mark


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 100_000 else f"{size:,} bytes"
