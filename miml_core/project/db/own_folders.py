"""Folders and files that Bagtag writes inside a project.

A project may come from somebody else, and a link in it (`logs` to another folder, `logs/job-5.txt` to a start-up file)
would redirect what Bagtag writes to a path that nobody chose. So everything below a project is written through these
functions, which follow no links.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

from miml_core.errors import BagtagError


def own_folder(project: Path, *names: str) -> Path:
    """Return a folder of the project, made if needed; each of `names` is one level.

    Raises
    ------
    BagtagError
        One of the levels is a link or a file.
    """
    folder = project
    for name in names:
        folder = folder / _plain_name(name)
        if not os.path.lexists(folder):
            folder.mkdir(exist_ok=True)
        if not _is_real_folder(folder):
            raise BagtagError(
                f"{str(folder)!r} is a link or a file, and Bagtag writes only to real folders of a project. Remove it; "
                "Bagtag creates the folder itself."
            )
    return folder


def find_own_folder(project: Path, *names: str) -> Path | None:
    """Return a folder of the project if it exists and no level of it is a link."""
    folder = project
    for name in names:
        folder = folder / _plain_name(name)
        if not _is_real_folder(folder):
            return None
    return folder


def open_new_file(path: Path) -> BinaryIO:
    """Open a new file for writing, replacing any of that name: a link is replaced, never followed."""
    path.unlink(missing_ok=True)
    return path.open("xb")


def is_real_file(path: Path) -> bool:
    """Return whether there is a regular file of this name: no link, no pipe, no device."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def _is_real_folder(path: Path) -> bool:
    try:
        facts = path.lstat()
    except OSError:
        return False
    junction = getattr(facts, "st_reparse_tag", 0) == getattr(stat, "IO_REPARSE_TAG_MOUNT_POINT", -1)
    return stat.S_ISDIR(facts.st_mode) and not junction


def _plain_name(name: str) -> str:
    """Return a name of one level, so that no name read from a database is outside the project."""
    if not name or name in (".", "..") or any(mark in name for mark in "/\\:\0"):
        raise BagtagError(f"{name!r} is not a name of a folder of a project.")
    return name
