"""The chunks of a WAV file, which hold its samples, their format, and notes of the recorder."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

UNKNOWN_32 = 0xFFFFFFFF
"""The length of the samples in the header of a file whose recorder did not know it yet, or that states it in `ds64`."""

_LARGEST_FILE = 1 << 50
_MOST_CHUNKS = 10_000


class WavChunk(NamedTuple):
    """One chunk: its name, where its content starts, and how many bytes it has by the header.

    `is_long` says that the length has 64 bits and stands in the chunk `ds64`, as in files of more than 4 GB.
    """

    name: bytes
    start: int
    length: int
    is_long: bool


def is_wav(head: bytes) -> bool:
    """Return whether a file that begins with these 12 bytes is a WAV file, also one of more than 4 GB (RF64, BW64)."""
    return head[:4] in (b"RIFF", b"RF64", b"BW64") and head[8:12] == b"WAVE"


def wav_chunks(file: BinaryIO) -> Iterator[WavChunk]:
    """Yield the chunks of a WAV file in the order of the file; only headers are read, and contents are skipped.

    Samples of unknown length extend to the end of the file: the chunk that has them is the last one.
    """
    file.seek(0)
    may_be_long = file.read(4) in (b"RF64", b"BW64")
    place, long_length, has_long_length = 12, 0, False
    for _ in range(_MOST_CHUNKS):
        file.seek(place)
        header = file.read(8)
        if len(header) < 8:
            return
        name, length = struct.unpack("<4sI", header)
        start = place + 8
        if name == b"ds64" and may_be_long and len(sizes := file.read(16)) == 16:
            long_length, has_long_length = struct.unpack("<Q", sizes[8:])[0], True
        is_long = name == b"data" and length == UNKNOWN_32 and has_long_length
        if is_long:
            length = long_length
        yield WavChunk(name, start, length, is_long)
        is_unknown = name == b"data" and (length == 0 or (length == UNKNOWN_32 and not is_long))
        if is_unknown or length > _LARGEST_FILE:
            return
        place = start + length + length % 2
