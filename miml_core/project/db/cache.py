"""Files that can be computed again, in the folder `cache` of a project.

A project may come from somebody else, so nothing is read or written through a link, and what is read is
checked before use. A file that cannot be written is not an error: it is computed again when it is needed.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from miml_core.atomic_files import atomic_writer
from miml_core.errors import BagtagError
from miml_core.project.db.own_folders import find_own_folder, is_real_file, own_folder

FOLDER = "cache"
_MOST_BYTES = 64 * 2**20


def read(project: Path, name: str, *subfolders: str) -> bytes | None:
    """Return the content of a cached file; None if there is none."""
    folder = find_own_folder(project, FOLDER, *subfolders)
    if folder is None or not is_real_file(folder / name):
        return None
    try:
        with (folder / name).open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except OSError:
        return None
    return content if len(content) <= _MOST_BYTES else None


def write(project: Path, name: str, content: bytes, *subfolders: str) -> bool:
    """Write a file to the cache; return whether that succeeded."""
    try:
        folder = own_folder(project, FOLDER, *subfolders)
        with atomic_writer(folder / name, durable=False) as file:
            file.write(content)
    except (OSError, BagtagError):
        return False
    return True


def drop_oldest(project: Path, most: int, *subfolders: str) -> None:
    """Delete the oldest files of a folder of the cache beyond the `most` newest."""
    folder = find_own_folder(project, FOLDER, *subfolders)
    if folder is None:
        return
    with suppress(OSError):
        for path in sorted(folder.iterdir(), key=lambda path: path.lstat().st_mtime, reverse=True)[most:]:
            path.unlink(missing_ok=True)


def drop_oldest_bytes(project: Path, most: int, *subfolders: str) -> None:
    """Delete the oldest files of a folder of the cache until the others have at most `most` bytes together."""
    folder = find_own_folder(project, FOLDER, *subfolders)
    if folder is None:
        return
    found: list[tuple[float, int, Path]] = []
    with suppress(OSError):
        for path in folder.iterdir():
            with suppress(OSError):  # another process deleted it
                facts = path.lstat()
                found.append((facts.st_mtime, facts.st_size, path))
    total = 0
    for _, size, path in sorted(found, reverse=True):
        total += size
        if total > most:
            with suppress(OSError):
                path.unlink(missing_ok=True)
