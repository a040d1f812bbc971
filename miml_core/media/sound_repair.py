"""Read sound files that a recorder did not finish because of lost power, a full card or an interrupted copy.

libsndfile treats a WAV whose header states 0 bytes as empty, and fails near the end of a truncated FLAC. `RepairedFile`
presents the same bytes with a header that matches the actual end. Nothing on disk is changed.
"""

from __future__ import annotations

import os
import re
import struct
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

from miml_core.media.wav_chunks import UNKNOWN_32, is_wav, wav_chunks

_UNKNOWN_64 = 0xFFFFFFFFFFFFFFFF
_FLAC_SYNC = re.compile(rb"\xff[\xf8\xf9][\x10-\xff]")
_SMALLEST_TAIL, _LARGEST_TAIL = 1 << 16, 1 << 23


@dataclass(frozen=True)
class Repair:
    """Bytes to change in a file, its end, and a message for the user."""

    patches: tuple[tuple[int, bytes], ...]
    end: int
    note: str


def find_repair(path: Path) -> Repair | None:
    """Return the repair of an unfinished WAV or FLAC; None for a complete file, or one of another format."""
    facts = path.stat()
    return _find_repair(path, facts.st_size, facts.st_mtime_ns)


@lru_cache(maxsize=4096)
def _find_repair(path: Path, size: int, mtime_ns: int) -> Repair | None:
    with path.open("rb") as file:
        head = file.read(12)
        if is_wav(head):
            return _repair_wav(file, path, size)
        if head[:4] == b"fLaC":
            return _repair_flac(file, path, size)
    return None


class RepairedFile:
    """A file with a `Repair` applied, as a read-only file object for soundfile."""

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
        left = max(0, self._repair.end - start)
        if left == 0:
            return b""
        self._file.seek(start)
        content = bytearray(self._file.read(left if size < 0 else min(size, left)))
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
    """Extend a data chunk of unknown length (0, or all ones) to the end of the file; note a truncated one."""
    ds64, rate_of_bytes, data = 0, 0, None
    for chunk in wav_chunks(file):
        if chunk.name == b"fmt ":
            file.seek(chunk.start)
            rate_of_bytes = struct.unpack("<I", file.read(12)[8:12].ljust(4, b"\0"))[0]
        elif chunk.name == b"ds64":
            ds64 = chunk.start
        elif chunk.name == b"data":
            data = chunk
            break
    if data is None or data.start >= size:
        return None
    _, start, length, is_long = data
    held = size - start
    if length == 0 or length == (_UNKNOWN_64 if is_long else UNKNOWN_32):
        note = (
            f"{path.name} does not state its length, as when a recorder loses power; it was read to its end"
            f"{_seconds(held, rate_of_bytes)}."
        )
    elif length > held + 1:  # one byte may fill up an odd length
        note = (
            f"{path.name} is truncated: it contains {held:,} of the {length:,} bytes of sound that its header states"
            f"{_seconds(held, rate_of_bytes)}. Copy the file again if you have the complete one."
        )
    else:
        return None
    if is_long:
        return Repair(((ds64, struct.pack("<QQQ", size - 8, held, 0)),), size, note)
    sizes = [struct.pack("<I", min(number, UNKNOWN_32)) for number in (size - 8, held)]
    return Repair(((4, sizes[0]), (start - 4, sizes[1])), size, note)


def _seconds(held: int, rate_of_bytes: int) -> str:
    return f", {held / rate_of_bytes:.1f} s" if rate_of_bytes else ""


# FLAC


def _repair_flac(file: BinaryIO, path: Path, size: int) -> Repair | None:
    """End the file after its last complete frame, and state the length up to there."""
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
            f"{path.name} does not state its length, as when a recorder loses power; it was read to its end, "
            f"{samples / rate:.1f} s."
        )
    else:
        note = (
            f"{path.name} is truncated: it can be read up to {samples / rate:.1f} s of the {total / rate:.1f} s that "
            "its header states. Copy the file again if you have the complete one."
        )
    return Repair(patched, first + end, note)


def _is_whole(path: Path, total: int) -> bool:
    """Return whether the decoder reads the last sample: a tag or other bytes may follow the last frame."""
    import soundfile

    try:
        with soundfile.SoundFile(os.fsencode(path) if os.name == "posix" else str(path)) as sound:
            sound.seek(total - 1)
            return len(sound.read(1)) == 1
    except (soundfile.LibsndfileError, RuntimeError, OSError):
        return False


def _last_frame_end(tail: bytes, block: int) -> tuple[int, int] | None:
    """Return (position, sample number) just after the last complete frame in the last bytes of a FLAC file."""
    frames = [frame for match in _FLAC_SYNC.finditer(tail) if (frame := _frame_header(tail, match.start(), block))]
    later: tuple[int, int, int] | None = None
    for place, first, length in reversed(frames):
        end = len(tail) if later is None else later[0]
        if _crc(tail[place:end], 16, 0x8005) == 0 and (later is None or later[1] == first + length):
            return end, first + length
        later = place, first, length
    return None


def _frame_header(tail: bytes, place: int, block: int) -> tuple[int, int, int] | None:
    """Return (position, first sample, number of samples) of a frame; None if the bytes only look like one."""
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
    """Return (number, bytes used) of a number of up to 36 bits in the coding of UTF-8; 0 bytes if it is none."""
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
    """Return a checksum of FLAC, which is 0 for content that ends with its own checksum."""
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
