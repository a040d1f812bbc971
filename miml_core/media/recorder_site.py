"""Find the site of a recording or picture in the notes of its recorder or camera."""

from __future__ import annotations

import re
from collections.abc import Sequence

from miml_core.media.recorder_notes import guano_fields
from miml_core.media.recording_place import Place

_GUANO_KEYS = ("site", "site name", "site id", "location name")
_AUDIOMOTH = re.compile(rb"by AudioMoth ([0-9A-F]{16})")


def site_of_place(place: Place | None) -> str:
    """Return the name of a site by its place, to about 100 m; an empty text if there is none.

    Examples
    --------
    >>> site_of_place(Place(43.61194, 3.87722)), site_of_place(None)
    ('43.612, 3.877', '')
    """
    return "" if place is None else f"{place.latitude:.3f}, {place.longitude:.3f}"


def recorder_site(notes: Sequence[tuple[bytes, bytes]]) -> str:
    """Return the site that GUANO states, else the number of the AudioMoth; an empty text if there is neither.

    Parameters
    ----------
    notes : list of (name, content)
        Of `recorder_notes`.

    Examples
    --------
    >>> recorder_site([(b"guan", b"GUANO|Version: 1.0\\nNABat|Site Name: North marsh")])
    'North marsh'
    >>> recorder_site([(b"LIST", b"Recorded at 04:30:00 01/05/2024 (UTC) by AudioMoth 24F319055FDF2F5B at ...")])
    'AudioMoth 24F319055FDF2F5B'
    """
    for name, content in notes:
        if name == b"guan":
            for key, value in guano_fields(content):
                if key.rpartition("|")[2].strip().casefold() in _GUANO_KEYS and value:
                    return value
    for name, content in notes:
        found = _AUDIOMOTH.search(content) if name == b"LIST" else None
        if found is not None:
            return f"AudioMoth {found[1].decode()}"
    return ""
