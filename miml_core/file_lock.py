"""A lock between processes that is released when its process ends, in whatever way."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from miml_core.errors import BagtagError


class Locked(BagtagError):
    """Another process, or another thread of this one, holds the lock."""


@contextmanager
def hold_lock(path: Path) -> Iterator[None]:
    """Hold the lock of a file, which is created if needed and not removed; raises `Locked` if it is held already."""
    with path.open("a+b") as file:
        try:
            _lock(file)
        except OSError as error:
            raise Locked(f"{str(path)!r} is in use by another Bagtag process; wait until it has ended.") from error
        yield


if sys.platform == "win32":
    import msvcrt

    def _lock(file: IO[bytes]) -> None:
        file.seek(0)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(file: IO[bytes]) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
