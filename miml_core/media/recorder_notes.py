"""Read the chunks of a WAV file that hold notes of the recorder: time, place and settings.

Only headers are read, never samples.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

from miml_core.media.wav_chunks import is_wav, wav_chunks

_NOTES = frozenset((b"guan", b"wamd", b"LIST"))
"""GUANO, Wildlife Acoustics, and the comment in which AudioMoth writes."""

_LARGEST_TEXT_CHUNK = 1 << 20


def recorder_notes(path: str | Path) -> list[tuple[bytes, bytes]]:
    """Return name and content of the chunks with notes of the recorder; none if the file is not a WAV file."""
    notes = []
    with Path(path).open("rb") as file:
        if is_wav(file.read(12)):
            for chunk in wav_chunks(file):
                if chunk.name in _NOTES and chunk.length <= _LARGEST_TEXT_CHUNK:
                    file.seek(chunk.start)
                    notes.append((chunk.name, file.read(chunk.length)))
    return notes


def guano_fields(content: bytes) -> Iterator[tuple[str, str]]:
    """Yield the fields of a GUANO chunk.

    With the package guano, reading the time of a recording takes 2.6 times as long, which matters when a card with
    thousands of files is imported.

    Examples
    --------
    >>> list(guano_fields(b"Make: Bagtag\\nLoc Position:48.1 -3.5\\0"))
    [('Make', 'Bagtag'), ('Loc Position', '48.1 -3.5')]
    """
    for line in content.decode("utf-8", errors="replace").splitlines():
        key, _, value = line.partition(":")
        yield key.strip(), value.strip(" \t\0")


def wamd_entries(content: bytes) -> Iterator[tuple[int, str]]:
    """Yield the entries of a chunk of Wildlife Acoustics; an entry is u16 kind, u32 size, value."""
    place = 0
    while place + 6 <= len(content):
        kind, size = struct.unpack_from("<HI", content, place)
        yield kind, content[place + 6 : place + 6 + size].decode("ascii", errors="replace")
        place += 6 + size
