"""Demos that are being made, or whose making was interrupted: told from other folders by a marker file.

The marker is the first thing written and the last thing removed. While a process makes the demo it holds the marker's
lock, so that two processes never make the same one.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from miml_core.demo.media import CLASSES_FILE, FOLDER, TAGS_FILE
from miml_core.demo.truth import FILE_NAME
from miml_core.errors import BagtagError
from miml_core.file_lock import Locked, hold_lock

MARKER = "demo-unfinished"
_OWN_FOLDERS = {*FOLDER.values(), "cache", "logs", "runs", "backups"}
_OWN_FILES = {TAGS_FILE, CLASSES_FILE, FILE_NAME}


def is_half_made(folder: Path) -> bool:
    """Return whether the folder holds a demo that was not made to its end (or still is being made)."""
    return os.path.lexists(folder / MARKER)


@contextmanager
def making(folder: Path) -> Iterator[None]:
    """Hold a folder while a demo is made in it; the marker stays when the block does not end well.

    Raises
    ------
    BagtagError
        Somebody else is making a demo there, it cannot be written, or it holds files that are no demo's.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not is_half_made(folder) and not (folder / FILE_NAME).is_file():
            _refuse_other_files(folder)
        with hold_lock(folder / MARKER):
            yield
        (folder / MARKER).unlink(missing_ok=True)
    except Locked as error:
        raise Locked(f"Another Bagtag is making a demo in {str(folder)!r}; wait until it is ready.") from error
    except OSError as error:
        raise BagtagError(f"The demo could not be made in {str(folder)!r}: {error.strerror or error}.") from error


def remove_half_made(folder: Path) -> None:
    """Remove what the making of a demo left in a folder; nothing where there is no marker, and no file of others."""
    if folder.is_symlink() or not is_half_made(folder):
        return
    for path in folder.iterdir():
        if path.is_symlink():
            continue
        if path.is_dir() and path.name in _OWN_FOLDERS:
            shutil.rmtree(path, ignore_errors=True)
        elif path.is_file() and (path.name in _OWN_FILES or path.name.startswith("project.db")):
            with suppress(OSError):
                path.unlink()
    with suppress(OSError):
        if not _other_files(folder):
            (folder / MARKER).unlink()
            folder.rmdir()


def _refuse_other_files(folder: Path) -> None:
    others = _other_files(folder)
    if others:
        raise BagtagError(f"{str(folder)!r} holds other files ({others[0]!r}); choose an empty or a new folder.")


def _other_files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name != MARKER and not path.name.startswith("."))
