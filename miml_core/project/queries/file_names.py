"""Find the media file that a table of another program names: by path, name or name without extension."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Connection, select

from miml_core.errors import BagtagError
from miml_core.exchange.names import normalised_name
from miml_core.project.db.schema import media
from miml_core.project.media.access import real_path

NOT_FOUND = "The file is not in the project"
SEVERAL = "Several files of the project have this name; write their paths"


class FoundFile(NamedTuple):
    """The medium of a name, or why there is none."""

    medium: int | None
    how: str
    """How it was found ("path", "name", "name without extension"), or the reason why not."""


class FileFinder:
    """Find media by the names that tables use for them.

    A name is looked up by its path, then by its last part, then without letter case and without extension. Where
    several files share a name, the one that shares most folders with the given path is meant; if several do, none is.

    Parameters
    ----------
    connection, folder
        The database and the folder of the project.
    beside : Path, optional
        The folder that relative paths start from: that of the table.
    pattern : str, optional
        With one ``*``, for names that contain more than that of the recording: ``labels_*_v2`` finds the recording
        ``dawn`` for the name ``labels_dawn_v2``.
    """

    def __init__(
        self, connection: Connection, folder: Path, *, beside: Path | None = None, pattern: str | None = None
    ) -> None:
        self._beside = beside
        self._pattern = None if not pattern else _compile(pattern)
        self._paths = {row.id: str(row.path) for row in connection.execute(select(media.c.id, media.c.path))}
        full = {each: str(real_path(folder, path)) for each, path in self._paths.items()}
        self._levels: list[tuple[str, Callable[[str], str], dict[str, list[int]]]] = [
            ("path", lambda name: name, _index([*self._paths.items(), *full.items()])),
            *((how, key, _index((each, key(path)) for each, path in self._paths.items())) for how, key in _BY_NAME),
        ]
        self._found: dict[str, FoundFile] = {}

    def find(self, name: str) -> FoundFile:
        """Return the medium of a name, or the reason why there is none."""
        if name not in self._found:
            self._found[name] = self._find(name)
        return self._found[name]

    def path(self, medium: int) -> str:
        """Return the stored path of a medium."""
        return self._paths[medium]

    def _find(self, name: str) -> FoundFile:
        written = name.replace("\\", "/")
        wanted = [written] if self._beside is None else [written, str(real_path(self._beside, written))]
        if name != written:
            wanted.append(name)
        if self._pattern is not None:
            last = _name(written)
            found = self._pattern.fullmatch(last) or self._pattern.fullmatch(_without_extension(last))
            wanted = [found[1]] if found else wanted
        for how, key, index in self._levels:
            candidates = next((index[key(each)] for each in wanted if key(each) in index), [])
            if candidates:
                meant = self._nearest(wanted[0], candidates)
                return FoundFile(meant, how) if meant is not None else FoundFile(None, SEVERAL)
        return FoundFile(None, NOT_FOUND)

    def _nearest(self, name: str, candidates: list[int]) -> int | None:
        """Return the candidate that shares most of the last folders with a path; None if several do."""
        if len(candidates) == 1:
            return candidates[0]
        shared = {each: _shared_folders(name, self._paths[each]) for each in candidates}
        most = max(shared.values())
        nearest = [each for each in candidates if shared[each] == most]
        return nearest[0] if len(nearest) == 1 else None


def _index(pairs: Iterable[tuple[int, str]]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = defaultdict(list)
    for medium, key in pairs:
        if key and medium not in found[key]:
            found[key].append(medium)
    return dict(found)


def _name(path: str) -> str:
    return path.rsplit("/", 1)[-1]


def _plain(path: str) -> str:
    return normalised_name(_name(path))


def _stem(path: str) -> str:
    return _without_extension(_plain(path))


def _without_extension(name: str) -> str:
    """Return a name without its last extension; ``.wav`` of ``dawn.wav``, but nothing of ``2024.05.01 dawn``."""
    stem, dot, extension = name.rpartition(".")
    return stem if dot and stem and re.fullmatch(r"\w{1,5}", extension) and not extension.isdigit() else name


def _shared_folders(first: str, second: str) -> int:
    a, b = (path.split("/")[:-1][::-1] for path in (first, second))
    return next((place for place, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))


def _compile(pattern: str) -> re.Pattern[str]:
    if pattern.count("*") != 1:
        raise BagtagError(f"The pattern {pattern!r} needs one *, where the name of the recording is.")
    before, after = pattern.split("*")
    return re.compile(f"{re.escape(before)}(.+){re.escape(after)}", re.DOTALL)


_BY_NAME: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("name", _name),
    ("name, letter case ignored", _plain),
    ("name without extension", _stem),
)
"""Ways to look up a name, the most exact first."""
