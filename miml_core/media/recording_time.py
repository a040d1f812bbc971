"""Find the time of a recording: in its metadata, its file name, or the time of the file.

Only headers are read, never samples.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

_DATE_TIME = re.compile(
    r"(?<!\d)(?P<year>(?:19|20)\d\d)(?P<date_mark>[-._]?)(?P<month>\d\d)(?P=date_mark)(?P<day>\d\d)"
    r"[ _T$-]+(?P<hour>\d\d)(?P<time_mark>[-.:_]?)(?P<minute>\d\d)(?P=time_mark)(?P<second>\d\d)(?!\d)"
    r"(?:\.\d+)?(?P<zone>Z|[+-]\d\d:?\d\d)?"
)
_AUDIOMOTH_HEX = re.compile(r"[0-9A-F]{8}", re.IGNORECASE)
_AUDIOMOTH_COMMENT = re.compile(
    r"Recorded at (\d\d):(\d\d):(\d\d)(?:\.\d+)? (\d\d)/(\d\d)/(\d{4}) \(UTC([+-]\d+)?(?::(\d\d))?\)"
)
_FIRST_RECORDERS = datetime(2015, 1, 1, tzinfo=UTC)
_LARGEST_TEXT_CHUNK = 1 << 20
_LARGEST_FILE = 1 << 50
_MOST_CHUNKS = 10_000


def recording_time(path: str | Path) -> tuple[datetime, str]:
    """Return the time at which a recording was made, and its source.

    Sources, in this order: the GUANO chunk ("GUANO"), the chunk of Wildlife Acoustics recorders or AudioMoth's comment
    ("recorder"), date and time in the file name ("file name"), the time of the file ("file time"). The time has a zone
    if the source states one; otherwise it is the recorder's local time.
    """
    path = Path(path)
    found = _time_in_chunks(path)
    if found is not None:
        return found
    named = time_in_name(path.name)
    if named is not None:
        return named, "file name"
    return datetime.fromtimestamp(path.stat().st_mtime), "file time"


def time_in_name(name: str) -> datetime | None:
    """Return the date and time in a recorder's file name, or None.

    Known are AudioMoth (`20190401_070000.WAV` and the older `5A8B3C40.WAV`, seconds since 1970 in hexadecimal),
    Song Meter (`SITE_20190401_070000.wav`), and forms like ISO 8601 with or without separators and zone.

    Examples
    --------
    >>> time_in_name("MARSH_20190401_070000.wav").isoformat()
    '2019-04-01T07:00:00'
    """
    stem = name.rsplit(".", 1)[0] if "." in name else name
    match = _DATE_TIME.search(stem)
    if match is not None:
        return _from_match(match)
    if _AUDIOMOTH_HEX.fullmatch(stem):
        moment = datetime.fromtimestamp(int(stem, 16), tz=UTC)
        if _FIRST_RECORDERS <= moment <= datetime.now(UTC) + timedelta(days=1):
            return moment
    return None


def _from_match(match: re.Match[str]) -> datetime | None:
    try:
        moment = datetime(*(int(match[part]) for part in ("year", "month", "day", "hour", "minute", "second")))  # type: ignore[arg-type]
    except ValueError:
        return None
    zone = match["zone"]
    if zone is None:
        return moment
    if zone == "Z":
        return moment.replace(tzinfo=UTC)
    digits = zone[1:].replace(":", "")
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    if offset >= timedelta(days=1):
        return moment
    return moment.replace(tzinfo=timezone(-offset if zone[0] == "-" else offset))


def _time_in_chunks(path: Path) -> tuple[datetime, str] | None:
    readers = {b"guan": (_guano_time, "GUANO"), b"wamd": (_wamd_time, "recorder"), b"LIST": (_comment_time, "recorder")}
    found: dict[str, datetime] = {}
    for name, content in _riff_chunks(path, set(readers)):
        read, source = readers[name]
        moment = read(content)
        if moment is not None:
            found.setdefault(source, moment)
    for source in ("GUANO", "recorder"):
        if source in found:
            return found[source], source
    return None


def _riff_chunks(path: Path, wanted: set[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """Yield the wanted chunks of a WAV file; the others, such as the samples, are skipped."""
    with path.open("rb") as file:
        head = file.read(12)
        if head[:4] not in (b"RIFF", b"RF64") or head[8:12] != b"WAVE":
            return
        large_data_size = 0
        for _ in range(_MOST_CHUNKS):
            if len(header := file.read(8)) < 8:
                return
            name, size = header[:4], struct.unpack("<I", header[4:])[0]
            if name == b"data" and size == 0xFFFFFFFF:
                size = large_data_size
            if name == b"data" and not 0 < size < _LARGEST_FILE:
                return  # of unknown length: the samples extend to the end of the file
            if (name in wanted or name == b"ds64") and size <= _LARGEST_TEXT_CHUNK:
                content = file.read(size)
                if name == b"ds64" and len(content) >= 16:
                    large_data_size = struct.unpack("<Q", content[8:16])[0]
                elif name in wanted:
                    yield name, content
                file.seek(size % 2, 1)
            else:
                file.seek(size + size % 2, 1)


def _guano_time(content: bytes) -> datetime | None:
    """Return the time in a GUANO chunk.

    With the package guano, reading the time of a recording takes 2.6 times as long, which matters when a card with
    thousands of files is imported.
    """
    for line in content.decode("utf-8", errors="replace").splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "Timestamp":
            match = _DATE_TIME.search(value)
            return _from_match(match) if match else None
    return None


def _wamd_time(content: bytes) -> datetime | None:
    """Return the time in entry 5 of the chunk of Wildlife Acoustics; an entry is u16 kind, u32 size, value."""
    place = 0
    while place + 6 <= len(content):
        kind, size = struct.unpack_from("<HI", content, place)
        if kind == 5:
            match = _DATE_TIME.search(content[place + 6 : place + 6 + size].decode("ascii", errors="replace"))
            return _from_match(match) if match else None
        place += 6 + size
    return None


def _comment_time(content: bytes) -> datetime | None:
    match = _AUDIOMOTH_COMMENT.search(content.decode("ascii", errors="replace"))
    if match is None:
        return None
    hour, minute, second, day, month, year = (int(match[k]) for k in range(1, 7))
    hours, minutes = int(match[7] or 0), int(match[8] or 0)
    offset = timedelta(hours=hours, minutes=-minutes if hours < 0 else minutes)
    try:
        return datetime(year, month, day, hour, minute, second, tzinfo=timezone(offset))
    except ValueError:
        return None
