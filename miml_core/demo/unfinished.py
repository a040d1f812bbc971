"""Mark demos that are incomplete with a file in their folder.

The marker is the first file that is written and the last that is removed. A process that creates a demo holds the lock
of the marker, so that two processes never create the same one.
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


def is_unfinished(folder: Path) -> bool:
    """Return whether the folder has an incomplete demo, or one that is being created."""
    return os.path.lexists(folder / MARKER)


@contextmanager
def hold_unfinished(folder: Path) -> Iterator[None]:
    """Lock a folder while a demo is created in it; the marker stays if the block raises.

    Raises
    ------
    BagtagError
        Another process is creating a demo there, the folder cannot be written, or it has other files.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not is_unfinished(folder) and not (folder / FILE_NAME).is_file():
            _refuse_other_files(folder)
        with hold_lock(folder / MARKER):
            yield
        (folder / MARKER).unlink(missing_ok=True)
    except Locked as error:
        raise Locked(
            f"Another Bagtag process is creating a demo in {str(folder)!r}; wait until it is ready."
        ) from error
    except OSError as error:
        raise BagtagError(f"The demo could not be created in {str(folder)!r}: {error.strerror or error}.") from error


def remove_unfinished(folder: Path) -> None:
    """Remove the files of an incomplete demo from a folder with a marker; other files are kept."""
    if folder.is_symlink() or not is_unfinished(folder):
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
        raise BagtagError(f"{str(folder)!r} contains other files ({others[0]!r}); choose an empty or a new folder.")


def _other_files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name != MARKER and not path.name.startswith("."))
