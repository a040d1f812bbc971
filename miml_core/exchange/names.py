"""Make file names that every system accepts, and recover the name of the recording from them."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from urllib.parse import unquote

_REFUSED = re.compile('[\x00-\x1f\x7f<>:"|?*%\\\\\udc80-\udcff]')
_NEVER = re.compile("[\x00-\x1f\x7f/\\\\:]")
_AT_THE_END = re.compile(r"[. ]+$")
_APPENDED = re.compile(
    r"(\.BirdNET(\.[A-Za-z]+)*\.(csv|txt)|\.Table\.\d+(\.selections)?\.txt|[._-](labels?|annotations?)\.(csv|txt|json|xml))$",
    re.IGNORECASE,
)
"""What BirdNET-Analyzer, Raven and people append to the name of the recording."""
_RESERVED = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|com[\d¹²³]|lpt[\d¹²³]) *(\.|$)", re.IGNORECASE)


def name_beside(file: str, ending: str) -> str:
    """Return the name of a file about `file`: its relative path with `ending`; unsafe characters become %XX.

    >>> name_beside("a:b/dawn.wav", ".txt")
    'a%3Ab/dawn.wav.txt'
    """
    parts = file.split("/")
    encoded = [_encode(part) if part else "%2F" for part in parts[:-1]] + [_encode(parts[-1])]
    return "/".join(encoded) + ending


def name_from_beside(name: str, ending: str) -> str:
    """Return the file that `name_beside` was called with."""
    if name.lower().endswith(ending.lower()):
        name = name[: -len(ending)]
    return "/".join("" if part == "%2F" else unquote(part, errors="surrogateescape") for part in name.split("/"))


def recording_of(name: str, ending: str) -> str:
    """Return the recording that a file of labels is about: its name without what programs append.

    >>> recording_of("dawn.Table.1.selections.txt", ".selections.txt"), recording_of("dawn.wav.txt", ".txt")
    ('dawn', 'dawn.wav')
    >>> recording_of("site/dawn.BirdNET.results.csv", ".csv")
    'site/dawn'
    """
    bare = _APPENDED.sub("", name)
    return name_from_beside(bare, ending) if bare == name else bare


def safe_part(text: str, most_bytes: int = 120) -> str:
    """Return any text as one part of a path that every system accepts: unsafe characters become %XX.

    A text of more than `most_bytes` bytes is cut, with a checksum of all of it at the end. Accented letters become
    one character each, because some systems do not distinguish the two ways to write them.

    >>> safe_part("Wren/Robin"), safe_part("nul"), len(safe_part("a" * 300))
    ('Wren%2FRobin', '%6Eul', 120)
    """
    encoded = _encode(unicodedata.normalize("NFC", text).replace("/", "\0")).replace("%00", "%2F") or "%20"
    if len(encoded.encode("utf-8")) <= most_bytes:
        return encoded
    mark = "~" + hashlib.sha256(encoded.encode("utf-8")).hexdigest()[:8]
    return encoded.encode("utf-8")[: most_bytes - len(mark)].decode("utf-8", errors="ignore") + mark


def is_safe_name(name: str) -> bool:
    """Return whether a name means the same file on every system.

    Windows removes dots and spaces at the end, opens a device for a name like `nul.csv`, and a hidden stream of the
    file `x` for `x:y.csv`.

    >>> [is_safe_name(name) for name in ("calls.csv", "nul.csv", "project.db.", "x:y.csv")]
    [True, False, False, False]
    """
    return bool(name) and not (_NEVER.search(name) or _AT_THE_END.search(name) or _RESERVED.match(name))


def normalised_name(name: str) -> str:
    """Return one text for all spellings of a name that some file system takes for the same file.

    >>> normalised_name("Cafe\u0301.wav") == normalised_name("CAF\u00c9.WAV")
    True
    """
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def _encode(part: str) -> str:
    part = _REFUSED.sub(lambda found: _percent(found[0]), part)
    part = _AT_THE_END.sub(lambda found: _percent(found[0]), part)
    return _percent(part[0]) + part[1:] if _RESERVED.match(part) or part.startswith(".") else part


def _percent(text: str) -> str:
    return "".join(f"%{byte:02X}" for byte in text.encode("utf-8", errors="surrogateescape"))
