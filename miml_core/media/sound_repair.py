"""Sound files that a recorder did not finish: lost power, full card, copy interrupted.

libsndfile reads a WAV whose header says 0 bytes as empty, and stops with an error near the end of a FLAC that is cut.
Both are given to it as they would be if they had been finished where they end: `RepairedFile` shows the same bytes
with a corrected header. Nothing on disk is changed.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

_UNKNOWN_32, _UNKNOWN_64 = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF
_MOST_CHUNKS = 10_000
_FLAC_SYNC = re.compile(rb"\xff[\xf8\xf9][\x10-\xff]")
_SMALLEST_TAIL, _LARGEST_TAIL = 1 << 16, 1 << 23


@dataclass(frozen=True)
class Repair:
    """What to change in a file's bytes, where it ends, and a sentence for the person."""

    patches: tuple[tuple[int, bytes], ...]
    end: int
    note: str


def find_repair(path: Path) -> Repair | None:
    """Return what an unfinished WAV or FLAC needs; None for a file that is whole, or of another format."""
    facts = path.stat()
    return _find_repair(path, facts.st_size, facts.st_mtime_ns)


@lru_cache(maxsize=4096)
def _find_repair(path: Path, size: int, mtime_ns: int) -> Repair | None:
    with path.open("rb") as file:
        head = file.read(12)
        if head[:4] in (b"RIFF", b"RF64", b"BW64") and head[8:12] == b"WAVE":
            return _repair_wav(file, path, size)
        if head[:4] == b"fLaC":
            return _repair_flac(file, path, size)
    return None


class RepairedFile:
    """A file as it would be with a `Repair` made; what `soundfile` needs of a file object, for reading."""

    def __init__(self, path: Path, repair: Repair) -> None:
        self._file = path.open("rb")
        self._repair = repair
        self._place = 0

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._place, os.SEEK_END: self._repair.end}[whence]
        self._place = max(0, base + offset)
        return self._place

    def tell(self) -> int:
        return self._place

    def read(self, size: int = -1) -> bytes:
        start = self._place
        room = max(0, self._repair.end - start)
        if room == 0:
            return b""
        self._file.seek(start)
        content = bytearray(self._file.read(room if size < 0 else min(size, room)))
        self._place += len(content)
        for place, patch in self._repair.patches:
            first, last = max(place, start), min(place + len(patch), start + len(content))
            if first < last:
                content[first - start : last - start] = patch[first - place : last - place]
        return bytes(content)

    def close(self) -> None:
        self._file.close()


# WAV


def _repair_wav(file: BinaryIO, path: Path, size: int) -> Repair | None:
    """A data chunk of unknown length (0, all ones) reaches to the end of the file; one that is cut gets a note."""
    file.seek(0)
    is_rf64 = file.read(4) in (b"RF64", b"BW64")
    ds64, rate_of_bytes, data = 0, 0, None
    for name, place, length in _riff_chunks(file):
        if name == b"fmt ":
            rate_of_bytes = struct.unpack("<I", file.read(12)[8:12].ljust(4, b"\0"))[0]
        elif name == b"ds64":
            ds64 = place
        elif name == b"data":
            data = place, length
            break
    if data is None or data[0] >= size:
        return None
    start, length = data
    is_long = is_rf64 and ds64 > 0 and length == _UNKNOWN_32
    if is_long:
        file.seek(ds64 + 8)
        length = struct.unpack("<Q", file.read(8).ljust(8, b"\0"))[0]
    held = size - start
    if length == 0 or length == (_UNKNOWN_64 if is_long else _UNKNOWN_32):
        note = (
            f"{path.name} does not say how long it is, as when a recorder loses power; it was read to its end"
            f"{_seconds(held, rate_of_bytes)}."
        )
    elif length > held + 1:  # one byte may fill up an odd length
        note = (
            f"{path.name} is cut short: {held:,} of the {length:,} bytes of sound that its header promises are there"
            f"{_seconds(held, rate_of_bytes)}. They were read; copy the file again if you have it whole."
        )
    else:
        return None
    if is_long:
        return Repair(((ds64, struct.pack("<QQQ", size - 8, held, 0)),), size, note)
    sizes = [struct.pack("<I", min(number, _UNKNOWN_32)) for number in (size - 8, held)]
    return Repair(((4, sizes[0]), (start - 4, sizes[1])), size, note)


def _riff_chunks(file: BinaryIO) -> Iterator[tuple[bytes, int, int]]:
    """(name, place of its content, length) of the chunks up to the samples."""
    place = 12
    for _ in range(_MOST_CHUNKS):
        file.seek(place)
        header = file.read(8)
        if len(header) < 8:
            return
        name, length = struct.unpack("<4sI", header)
        yield name, place + 8, length
        place += 8 + length + length % 2  # at most 40 TB, which every file system can seek to


def _seconds(held: int, rate_of_bytes: int) -> str:
    return f", {held / rate_of_bytes:.1f} s" if rate_of_bytes else ""


# FLAC


def _repair_flac(file: BinaryIO, path: Path, size: int) -> Repair | None:
    """The file up to the end of its last whole frame, with the length that follows from it."""
    file.seek(4)
    header = file.read(4 + 34)
    if len(header) < 38 or header[0] & 0x7F != 0:
        return None
    info = header[4:]
    packed = int.from_bytes(info[10:18], "big")
    rate, total = packed >> 44, packed & (1 << 36) - 1
    longest_frame = int.from_bytes(info[7:10], "big")
    tail = min(max(4 * longest_frame, _SMALLEST_TAIL), _LARGEST_TAIL) if longest_frame else 1 << 20
    first = max(42, size - tail)
    file.seek(first)
    found = _last_frame_end(file.read(), block=int.from_bytes(info[2:4], "big"))
    if found is None:
        return None
    end, samples = found
    if rate == 0 or samples >= total > 0 or (total > 0 and _is_whole(path, total)):
        return None
    patched = ((18, ((packed >> 36 << 36) | samples).to_bytes(8, "big")),)
    if total == 0:
        note = (
            f"{path.name} does not say how long it is, as when a recorder loses power; it was read to its end, "
            f"{samples / rate:.1f} s."
        )
    else:
        note = (
            f"{path.name} is cut short: it can be read up to {samples / rate:.1f} s of the {total / rate:.1f} s that "
            "its header promises. Copy the file again if you have it whole."
        )
    return Repair(patched, first + end, note)


def _is_whole(path: Path, total: int) -> bool:
    """Ask the decoder when the last frame does not end with the file: a tag or other bytes may follow it."""
    import soundfile

    try:
        with soundfile.SoundFile(os.fsencode(path) if os.name == "posix" else str(path)) as sound:
            sound.seek(total - 1)
            return len(sound.read(1)) == 1
    except (soundfile.LibsndfileError, RuntimeError, OSError):
        return False


def _last_frame_end(tail: bytes, block: int) -> tuple[int, int] | None:
    """(place, sample number) just after the last whole frame in the last bytes of a FLAC file."""
    frames = [frame for match in _FLAC_SYNC.finditer(tail) if (frame := _frame_header(tail, match.start(), block))]
    later: tuple[int, int, int] | None = None
    for place, first, length in reversed(frames):
        end = len(tail) if later is None else later[0]
        if _crc(tail[place:end], 16, 0x8005) == 0 and (later is None or later[1] == first + length):
            return end, first + length
        later = place, first, length
    return None


def _frame_header(tail: bytes, place: int, block: int) -> tuple[int, int, int] | None:
    """(place, first sample, number of samples) of a frame; None where the bytes only look like one."""
    if len(tail) < place + 16:
        return None
    sizes, rates = tail[place + 2] >> 4, tail[place + 2] & 15
    number, used = _coded_number(tail[place + 4 : place + 11])
    at = place + 4 + used
    if used == 0 or sizes == 0 or rates == 15 or tail[place + 3] & 1:
        return None
    if sizes in (6, 7):
        width = sizes - 5
        length = int.from_bytes(tail[at : at + width], "big") + 1
        at += width
    elif sizes == 1:
        length = 192
    else:
        length = 576 << (sizes - 2) if sizes < 6 else 256 << (sizes - 8)
    at += {12: 1, 13: 2, 14: 2}.get(rates, 0)
    if _crc(tail[place : at + 1], 8, 0x07) != 0:
        return None
    is_variable = tail[place + 1] & 1
    return place, number if is_variable else number * block, length


def _coded_number(content: bytes) -> tuple[int, int]:
    """(number, bytes used) of a number coded like a character of UTF-8, of up to 36 bits; 0 bytes: not one."""
    lead = content[0]
    if lead < 0x80:
        return lead, 1
    extra = next((n for n in range(1, 7) if lead >> (6 - n) == (1 << (n + 2)) - 2), 0)
    if extra == 0 or any(byte >> 6 != 2 for byte in content[1 : 1 + extra]):
        return 0, 0
    number = lead & (0x3F >> extra)
    for byte in content[1 : 1 + extra]:
        number = number << 6 | byte & 0x3F
    return number, 1 + extra


def _crc(content: bytes, bits: int, polynomial: int) -> int:
    """FLAC's checksums: 0 for content that ends with its own checksum."""
    table, mask, crc = _crc_table(bits, polynomial), (1 << bits) - 1, 0
    for byte in content:
        crc = (crc << 8 & mask) ^ table[crc >> (bits - 8) ^ byte]
    return crc


@lru_cache(maxsize=2)
def _crc_table(bits: int, polynomial: int) -> tuple[int, ...]:
    top, mask = 1 << (bits - 1), (1 << bits) - 1
    table = []
    for value in range(256):
        crc = value << (bits - 8)
        for _ in range(8):
            crc = (crc << 1 ^ polynomial if crc & top else crc << 1) & mask
        table.append(crc)
    return tuple(table)
