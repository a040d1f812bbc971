"""Identify a file after it was moved: by its size and a hash of its beginning, middle and end."""

from __future__ import annotations

import hashlib
from pathlib import Path

_CHUNK = 1 << 16


def fingerprint(path: Path) -> tuple[int, str]:
    """Return (size in bytes, hash); it takes the same time for any length of the file."""
    digest = hashlib.blake2b(digest_size=16)
    with path.open("rb") as file:
        size = file.seek(0, 2)
        digest.update(size.to_bytes(8, "little"))
        for start in sorted({0, max(0, size // 2 - _CHUNK // 2), max(0, size - _CHUNK)}):
            file.seek(start)
            digest.update(file.read(_CHUNK))
    return size, digest.hexdigest()
