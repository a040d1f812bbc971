"""Find the time of a recording: in its metadata, its file name, or the time of the file.

Only headers are read, never samples.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

from miml_core.media.recorder_notes import guano_fields, recorder_notes, wamd_entries

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


def recording_time(path: str | Path, notes: Sequence[tuple[bytes, bytes]] | None = None) -> tuple[datetime, str]:
    """Return the time at which a recording was made, and its source.

    Sources, in this order: the GUANO chunk ("GUANO"), the chunk of Wildlife Acoustics recorders or AudioMoth's comment
    ("recorder"), date and time in the file name ("file name"), the time of the file ("file time"). The time has a zone
    if the source states one; otherwise it is the recorder's local time. `notes` are those of `recorder_notes`, if they
    have been read already.
    """
    path = Path(path)
    found = _time_in_notes(recorder_notes(path) if notes is None else notes)
    if found is not None:
        return found
    named = time_in_name(path.name)
    if named is not None:
        return named, "file name"
    return datetime.fromtimestamp(path.stat().st_mtime), "file time"


def recorder_clock(moment: datetime, source: str) -> datetime | None:
    """Return the time of a recording or picture, if it is that of the recorder's clock; a file time may be of a copy.

    >>> recorder_clock(datetime(2024, 5, 1), "GUANO"), recorder_clock(datetime(2024, 5, 1), "file time")
    (datetime.datetime(2024, 5, 1, 0, 0), None)
    """
    return None if source == "file time" else moment


def utc_offset_minutes(moment: datetime) -> int | None:
    """Return how far a clock is ahead of UTC; None if the time has no zone."""
    offset = moment.utcoffset()
    return None if offset is None else round(offset.total_seconds() / 60)


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


def _time_in_notes(notes: Sequence[tuple[bytes, bytes]]) -> tuple[datetime, str] | None:
    readers = {b"guan": (_guano_time, "GUANO"), b"wamd": (_wamd_time, "recorder"), b"LIST": (_comment_time, "recorder")}
    found: dict[str, datetime] = {}
    for name, content in notes:
        read, source = readers[name]
        moment = read(content)
        if moment is not None:
            found.setdefault(source, moment)
    for source in ("GUANO", "recorder"):
        if source in found:
            return found[source], source
    return None


def _guano_time(content: bytes) -> datetime | None:
    for key, value in guano_fields(content):
        if key == "Timestamp":
            match = _DATE_TIME.search(value)
            return _from_match(match) if match else None
    return None


def _wamd_time(content: bytes) -> datetime | None:
    for kind, value in wamd_entries(content):
        if kind == 5:
            match = _DATE_TIME.search(value)
            return _from_match(match) if match else None
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
