"""Refuse files that are not regular: a named pipe called `x.wav` would block, and a device may never end."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from miml_core.errors import BagtagError

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def check_regular_file(path: Path) -> os.stat_result:
    """Return the `stat` of a regular file; raise `BagtagError` for anything else, without opening it."""
    try:
        facts = path.stat()
    except OSError as error:
        raise BagtagError(_reason(path, error)) from error
    if stat.S_ISREG(facts.st_mode):
        return facts
    kind = next((name for test, name in _KINDS if test(facts.st_mode)), "something else")
    raise BagtagError(f"{path.name} is {kind}, not a file; it was not opened.")


def _reason(path: Path, error: OSError) -> str:
    if error.errno == errno.ELOOP:
        return f"{path.name} is a link that leads back to itself; remove it, or link the file again."
    if isinstance(error, FileNotFoundError) and path.is_symlink():
        return f"{path.name} is a link to {str(path.readlink())!r}, which does not exist; link the file again."
    if isinstance(error, FileNotFoundError):
        return f"{path.name} is missing: there is no file {str(path)!r}. Restore it, or check the path."
    return f"{path.name} cannot be read: {error.strerror or error}. Check {path}."
