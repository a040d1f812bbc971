"""The list of contents of a packed project, and the names that its members may have.

A packed project may come from somebody else. Only the names that `pack` gives are ever unpacked, so that a file in it
can neither leave the folder it is unpacked to nor be anything but a database, a model, a segmenter or a medium.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from typing import Any

from miml_core.errors import BagtagError
from miml_core.exchange.names import is_safe_name
from miml_core.project.db.database_file import DATABASE

MANIFEST = "bagtag-project.json"
MEDIA = "media"
"""The folder of the media in a packed project, and in the project made from it."""
FORMAT = "bagtag-project-1"
MOST_BYTES = 2**26
"""Of the manifest."""

_MOST_MEMBERS = 1_000_000
_LARGEST = 2**53
_LONGEST_NAME = 1000
_LONGEST_PART = 240
"""Bytes; file systems allow 255."""
_MADE_BY_US = re.compile(r"runs/[1-9][0-9]{0,14}/model\.npz|segmenters/[1-9][0-9]{0,14}\.npz")
_HASH = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Member:
    """A file in a packed project."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """What a packed project holds."""

    name: str
    kind: str
    packed_at: str
    """ISO 8601, with the offset from UTC."""
    bagtag: str
    """The version that packed it."""
    counts: dict[str, int]
    """Number of media, bags, segments, tags, labels and runs; for people, not checked."""
    members: tuple[Member, ...]

    def to_json(self) -> bytes:
        """Return the content of the manifest's file."""
        return json.dumps({"format": FORMAT, **asdict(self)}, indent=1, ensure_ascii=False).encode()

    @classmethod
    def from_json(cls, content: bytes) -> Manifest:
        """Read a manifest; raises ValueError for one that `pack` could not have written.

        Raises
        ------
        BagtagError
            A newer Bagtag wrote it.
        """
        try:
            values = json.loads(content)
        except RecursionError:
            raise ValueError("its manifest cannot be read") from None
        if not isinstance(values, dict) or not str(values.get("format")).startswith("bagtag-project-"):
            raise ValueError("its manifest is not that of a packed project")
        if values["format"] != FORMAT:
            raise BagtagError("This project was packed by a newer Bagtag. Update Bagtag to unpack it.")
        texts: dict[str, Any] = {name: values.get(name) for name in ("name", "kind", "packed_at", "bagtag")}
        members, counts = values.get("members"), values.get("counts")
        if not all(isinstance(text, str) and len(text) <= _LONGEST_NAME for text in texts.values()):
            raise ValueError("its manifest is damaged")
        if not isinstance(members, list) or not isinstance(counts, dict) or len(members) > _MOST_MEMBERS:
            raise ValueError("its manifest is damaged")
        whole = {str(name): number for name, number in counts.items() if _is_whole(number)}
        return cls(**texts, counts=whole, members=tuple(_member(each) for each in members))


def is_member_name(name: str, suffixes: tuple[str, ...]) -> bool:
    """Return whether a packed project may hold a file of this name; `suffixes` are those of media, in lower case.

    >>> [is_member_name(name, (".wav",)) for name in ("project.db", "media/site 1/dawn.WAV", "runs/3/model.npz")]
    [True, True, True]
    >>> names = ("../project.db", "/project.db", "media/../x.wav", "media/x.py", "media\\\\x.wav", "project.db-wal")
    >>> any(is_member_name(name, (".wav",)) for name in names)
    False
    """
    if name == DATABASE or _MADE_BY_US.fullmatch(name):
        return True
    parts = name.split("/")
    return (
        len(parts) > 1
        and parts[0] == MEDIA
        and len(name) <= _LONGEST_NAME
        and all(is_safe_name(part) and not part.startswith(".") for part in parts)
        and not any("\ud800" <= letter <= "\udfff" for letter in name)
        and all(len(part.encode()) <= _LONGEST_PART for part in parts)
        and name.lower().endswith(suffixes)
    )


def _member(values: Any) -> Member:
    if not isinstance(values, dict) or set(values) != {"name", "size", "sha256"}:
        raise ValueError("its manifest is damaged")
    name, size, digest = values["name"], values["size"], values["sha256"]
    if not isinstance(name, str) or not _is_whole(size) or not isinstance(digest, str) or not _HASH.fullmatch(digest):
        raise ValueError("its manifest is damaged")
    return Member(name, size, digest)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _LARGEST
