"""Which media files of a project may be opened on this computer.

A project may come from somebody else, and its database may name any path. A file is used only if it is in the
project's folder, beside it, or below a folder the user chose for this project in this installation. This is decided
by the text of the path and by the links inside those folders: nothing outside is opened, and its size is not read.
"""

from __future__ import annotations

import os
import stat
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from sqlalchemy import select

from miml_core import installation
from miml_core.errors import BagtagError
from miml_core.project.db.schema import media as table
from miml_core.project.db.schema import topics
from miml_core.project.db.store import Store

_MOST_LINKS = 40
_MOST_SHOWN = 5
_MOST_REMEMBERED = 64
_SYSTEM_FOLDERS = ("/etc", "/proc", "/sys", "/dev", "/boot", "/private/etc", "/System")


_blocked: dict[tuple[Any, ...], list[BlockedFolder]] = {}


@dataclass(frozen=True)
class BlockedFolder:
    """A folder with media of a project that was not chosen on this computer."""

    folder: str
    n_files: int
    may_be_allowed: bool
    """False for system folders, which cannot be allowed."""


def real_path(folder: Path, stored: str) -> Path:
    """Return the full path of a stored one, by its text alone."""
    return Path(os.path.normpath(folder / stored))


def full_path(path: Path) -> Path:
    """Return a path that a person gave from the root, without `..`; links behind the last `..` stay as they are.

    >>> full_path(Path("/data/marsh/../dawn/a.wav")).as_posix()
    '/data/dawn/a.wav'
    """
    path = path.absolute()
    if ".." not in path.parts:
        return path
    end = len(path.parts) - path.parts[::-1].index("..")
    return Path(os.path.realpath(Path(*path.parts[:end]))).joinpath(*path.parts[end:])


def usable_path(folder: Path, stored: str) -> Path | None:
    """Return the path of a medium of the project in `folder`; None if its folder was not chosen on this computer."""
    path = real_path(folder, stored)
    return path if is_usable(folder, path) else None


def is_usable(folder: Path, path: Path) -> bool:
    """Return whether a file may be opened; links in its path are followed as long as they stay inside."""
    own = _own_folders(folder)
    return _is_inside(path, own) or _is_inside(path, (*own, *_allowed_folders(folder)))


def allow_folder(folder: Path, media_folder: Path) -> None:
    """Record that the user chose a folder for the media of the project in `folder`."""
    chosen = full_path(media_folder)
    if _is_system(str(chosen)) or (chosen == chosen.parent and sys.platform != "win32"):
        raise BagtagError(f"{str(chosen)!r} is a system folder; choose the folder that holds the media.")
    installation.allow_folder(folder, chosen, "media")
    _read_allowed.cache_clear()


def allow_for_import(folder: Path, paths: list[Path]) -> None:
    """Record the folders of files, and the folders, that the user gave."""
    for path in paths:
        places = [path] if path.is_dir() else [path.parent, Path(os.path.realpath(path)).parent]
        for place in places:
            if not _is_inside(place / "file", _own_folders(folder)):
                allow_folder(folder, place)


def blocked_folders(store: Store) -> list[BlockedFolder]:
    """Return the folders of media that were not chosen on this computer, as few common ones as possible.

    The result is kept until media are added or found again, or another folder is allowed.
    """
    with store.read() as connection:
        changed = connection.execute(select(topics.c.revision).where(topics.c.name == "media")).scalar()
        key = store.path.stat().st_ino, changed, _own_folders(store.folder), _allowed_folders(store.folder)
        if key not in _blocked:
            stored = list(connection.execute(select(table.c.path)).scalars())
            if len(_blocked) >= _MOST_REMEMBERED:
                _blocked.clear()
            _blocked[key] = _find_blocked(store.folder, stored)
    return _blocked[key]


def _find_blocked(folder: Path, stored: list[str]) -> list[BlockedFolder]:
    files: dict[str, int] = {}
    decided: dict[str, bool] = {}
    for path in (real_path(folder, each) for each in stored):
        parent = str(path.parent)
        if parent not in decided:
            decided[parent] = is_usable(folder, path.parent / "file")
        if not decided[parent] or (path.is_symlink() and not is_usable(folder, path)):
            files[parent] = files.get(parent, 0) + 1
    for depth in (4, 3, 2):
        groups: dict[tuple[str, ...], list[str]] = {}
        for parent in files:
            groups.setdefault(Path(parent).parts[:depth], []).append(parent)
        if len(groups) <= _MOST_SHOWN:
            break
    tops = {os.path.commonpath(parents): sum(files[one] for one in parents) for parents in groups.values()}
    return [BlockedFolder(top, count, not _is_system(top)) for top, count in sorted(tops.items())]


def blocked_sentence(name: str, path: Path, project_folder: Path) -> str:
    """Return the sentence that a file may not be used yet, and how to allow it."""
    parent = str(path.parent)
    if _is_system(str(path)):
        return f"The file of {name!r}, {str(path)!r}, is in a system folder, and is not opened."
    return (
        f"The file of {name!r} is in {parent!r}, which was not chosen on this computer. Allow the folder on the "
        f"Library page, or with `python -m miml_core check {project_folder} --allow {parent}`."
    )


def _own_folders(folder: Path) -> tuple[Path, ...]:
    """Return the project's folder and its parent, as written and with links resolved."""
    return _find_own_folders(str(folder))


@lru_cache(maxsize=256)
def _find_own_folders(folder: str) -> tuple[Path, ...]:
    found: list[Path] = []
    for place in (Path(folder), Path(folder).resolve()):
        found += [one for one in (place, place.parent) if one != one.parent and not _is_system(str(one))]
    return tuple(dict.fromkeys(found))


def _allowed_folders(folder: Path) -> tuple[Path, ...]:
    """Return `installation.allowed_folders`, read again only when its file has changed."""
    file = installation.state_folder() / "installation.db"
    try:
        facts = file.stat()
    except OSError:
        return ()
    return _read_allowed(str(folder), str(file), facts.st_mtime_ns, facts.st_size)


@lru_cache(maxsize=256)
def _read_allowed(folder: str, file: str, mtime_ns: int, size: int) -> tuple[Path, ...]:
    return tuple(installation.allowed_folders(Path(folder), "media"))


def _is_inside(path: Path, bases: tuple[Path, ...]) -> bool:
    """Return whether a path is inside: by its folder, which is cached, then by the file, if it is a link itself."""
    if not _folder_is_inside(str(path.parent), bases):
        return False
    target = _link_target(path)
    return True if target is None else _is_below(target, bases)


@lru_cache(maxsize=65_536)
def _folder_is_inside(folder: str, bases: tuple[Path, ...]) -> bool:
    return _is_below(Path(folder), bases)


def _is_below(path: Path, bases: tuple[Path, ...]) -> bool:
    """Return whether a path is below a base; a link on the way is followed from its target.

    The nearest base counts: a link beside the project leads outside it, but is a base itself if a person chose it.
    """
    met: set[Path] = set()
    for _ in range(_MOST_LINKS):
        if path in met:
            return True  # a link that points to itself stays inside, and opens nothing
        met.add(path)
        above = [one for one in bases if path.is_relative_to(one)]
        base = max(above, key=lambda one: len(one.parts), default=None)
        if base is None or _is_system(str(path)):
            return False
        current, rest = base, path.relative_to(base).parts
        for number, part in enumerate(rest):
            current = current / part
            target = _link_target(current)
            if target is not None:
                path = target.joinpath(*rest[number + 1 :])
                break
        else:
            return True
    return False


def _link_target(path: Path) -> Path | None:
    """Return the target of a link, by its text; None for anything else."""
    try:
        if not stat.S_ISLNK(path.lstat().st_mode):
            return None
        return Path(os.path.normpath(path.parent / path.readlink()))
    except (OSError, ValueError):
        return None


def _is_system(path: str) -> bool:
    windows = os.environ.get("SYSTEMROOT") if sys.platform == "win32" else None
    folders = (*_SYSTEM_FOLDERS, windows) if windows else _SYSTEM_FOLDERS
    return any(path == one or path.startswith(one + os.sep) for one in folders)
