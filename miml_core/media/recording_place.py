"""Find the place of a recording in the notes of its recorder."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from miml_core.errors import BagtagError
from miml_core.media.recorder_notes import guano_fields, recorder_notes, wamd_entries

_NUMBER = r"([+-]?\d+(?:\.\d*)?|[+-]?\.\d+)"
_PAIR = re.compile(rf"\s*\(?\s*{_NUMBER}\s*°?\s*([NS]?)\s*[,;\s]\s*{_NUMBER}\s*°?\s*([EW]?)\s*\)?\s*", re.IGNORECASE)
_WAMD_PLACE = re.compile(rf"WGS[^,]*,\s*{_NUMBER}\s*,\s*(?:([NS])\s*,)?\s*{_NUMBER}\s*(?:,\s*([EW])\b)?", re.IGNORECASE)
_WAMD_PLACE_ENTRY = 6


@dataclass(frozen=True)
class Place:
    """A place on earth, in degrees of WGS 84.

    Parameters
    ----------
    latitude : float
        -90 to 90, north positive.
    longitude : float
        -180 to 180, east positive.

    Raises
    ------
    BagtagError
        There is no such place.

    Examples
    --------
    >>> Place(43.6119, -3.8772)
    Place(latitude=43.6119, longitude=-3.8772)
    >>> str(Place(43.6119, -3.8772))
    '43.6119° N, 3.8772° W'
    """

    latitude: float
    longitude: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.latitude) and -90 <= self.latitude <= 90):
            raise BagtagError(f"{self.latitude:g} is not a latitude; give degrees from -90 to 90, north positive.")
        if not (math.isfinite(self.longitude) and -180 <= self.longitude <= 180):
            raise BagtagError(f"{self.longitude:g} is not a longitude; give degrees from -180 to 180, east positive.")

    def __str__(self) -> str:
        north, east = "S" if self.latitude < 0 else "N", "W" if self.longitude < 0 else "E"
        return f"{abs(self.latitude):.6g}° {north}, {abs(self.longitude):.7g}° {east}"

    @classmethod
    def parse(cls, text: str) -> Place:
        """Read latitude and longitude as people and maps write them: two numbers in degrees.

        Raises
        ------
        BagtagError
            The text is something else.

        Examples
        --------
        >>> Place.parse("43.61, -3.88") == Place.parse("43.61° N 3.88° W") == Place(43.61, -3.88)
        True
        """
        match = _PAIR.fullmatch(text)
        if match is None:
            raise BagtagError(
                f"{text[:60]!r} is not a place; give latitude and longitude in degrees, such as 43.61, 3.88."
            )
        return cls(_signed(match[1], match[2]), _signed(match[3], match[4]))


def recording_place(path: str | Path, notes: Sequence[tuple[bytes, bytes]] | None = None) -> Place | None:
    """Return the place that a recorder with GPS wrote into a recording, or None.

    Read are GUANO's `Loc Position` (also of AudioMoths) and the chunk of Wildlife Acoustics recorders. Numbers that are
    no place are ignored, and so is 0, 0, which recorders write before they have found their place.

    Parameters
    ----------
    path : path
    notes : list of (name, content), optional
        Of `recorder_notes`, if they have been read already.
    """
    for wanted, read in ((b"guan", _guano_place), (b"wamd", _wamd_place)):
        for name, content in recorder_notes(path) if notes is None else notes:
            found = read(content) if name == wanted else None
            if found is not None and (found.latitude, found.longitude) != (0.0, 0.0):
                return found
    return None


def _guano_place(content: bytes) -> Place | None:
    for key, value in guano_fields(content):
        if key == "Loc Position":
            try:
                return Place.parse(value)
            except BagtagError:
                return None
    return None


def _wamd_place(content: bytes) -> Place | None:
    for kind, value in wamd_entries(content):
        match = _WAMD_PLACE.match(value.strip()) if kind == _WAMD_PLACE_ENTRY else None
        if match is not None:
            try:
                return Place(_signed(match[1], match[2]), _signed(match[3], match[4]))
            except BagtagError:
                return None
    return None


def _signed(number: str, direction: str | None) -> float:
    return -float(number) if (direction or "").upper() in ("S", "W") else float(number)
