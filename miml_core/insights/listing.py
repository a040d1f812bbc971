"""Single detections of a choice, the most probable first, and where their recordings are."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from miml_core import installation
from miml_core.errors import BagtagError
from miml_core.insights.archive_results import ROW_BITS, read_checked
from miml_core.insights.detections import Choice, Detections
from miml_core.project.media import access

_COUNT = "SELECT count(*) AS n FROM detections WHERE {chosen}"
_MOST_PROBABLE = """
    SELECT segment FROM detections WHERE {chosen} ORDER BY checked DESC, probability DESC, segment LIMIT $limit
"""


@dataclass(frozen=True)
class ListedDetection:
    """A detection of an archive; `start` to `clip_end` are seconds of the recording (pictures: pixels)."""

    file: str
    site: str
    start: float
    end: float
    low: float
    high: float
    class_name: str
    probability: float
    time: datetime | None
    clip_start: float
    clip_end: float


def count_detections(source: Detections, choice: Choice) -> int:
    """Return how many detections a choice has."""
    return int(source.count(_COUNT, choice)["n"][0])


def most_probable(source: Detections, choice: Choice, limit: int = 200) -> list[int]:
    """Return the `segment` of the most probable detections of a choice; those that people labelled come first."""
    return [int(one) for one in source.count(_MOST_PROBABLE, choice, limit=limit)["segment"]]


def read_listed(source: Detections, segments: Sequence[int]) -> list[ListedDetection]:
    """Return detections of an archive, in the given order; those whose result was removed meanwhile are left out."""
    if source.archive is None:
        raise BagtagError(f"{source.name!r} is not an archive; choose a folder that `bagtag apply` wrote to.")
    inside = Path(os.path.realpath(source.archive))
    by_result: dict[int, list[int]] = {}
    for segment in segments:
        by_result.setdefault(segment >> ROW_BITS, []).append(segment & (1 << ROW_BITS) - 1)
    found: dict[int, ListedDetection] = {}
    for place, rows in by_result.items():
        result = source.results[place]
        try:
            table = read_checked(inside, result.path(inside, "segments"), "segments")
        except FileNotFoundError:
            continue
        rows = [row for row in rows if row < len(table)]
        for row, values in zip(rows, table.take(rows).to_pylist()):
            found[(place << ROW_BITS) + row] = ListedDetection(
                file=str(values["file"]),
                site=result.site,
                start=values["start"] or 0.0,
                end=values["end"] or 0.0,
                low=values["low"] or 0.0,
                high=values["high"] or 0.0,
                class_name=str(values["class"]),
                probability=values["probability"] or 0.0,
                time=values["time"],
                clip_start=values["clip_start"] or 0.0,
                clip_end=values["clip_end"] or 0.0,
            )
    return [found[segment] for segment in segments if segment in found]


def first_files(source: Detections) -> list[str]:
    """Return the name of a recording of an archive, if it has any."""
    if source.archive is None:
        return []
    inside = Path(os.path.realpath(source.archive))
    for result in source.results[:1]:
        with suppress(OSError):
            clips = read_checked(inside, result.path(inside, "clips"), "clips", ["file"])
            return [str(one) for one in clips["file"].to_pylist()[:1]]
    return []


def find_recording(archive: Path, file: str) -> Path:
    """Return where a recording of an archive is on this computer.

    The archive may be somebody else's: its `folders.json` only proposes a place, and only files below folders that were
    chosen for it here (`bagtag apply`, `access.allow_folder`), or beside it, are used.

    Raises
    ------
    BagtagError
        The recording is not there, or its folder was not chosen on this computer.
    """
    root, _, below = file.partition("/")
    if not below or ".." in below.split("/") or "\0" in file:
        raise BagtagError(f"{file!r} is not the name of a recording; apply the model again.")
    proposed = _proposed_folder(archive, root)
    chosen = installation.allowed_folders(archive, "media")
    folders = [*([proposed] if proposed is not None else []), *(one for one in chosen if one.name == root), *chosen]
    for folder in folders:
        path = Path(os.path.normpath(folder / below))
        if access.is_usable(archive, path) and path.is_file():
            return path
    name = file.rpartition("/")[2]
    if proposed is not None and not access.is_usable(archive, proposed / below):
        raise BagtagError(
            f"The recording {name!r} is in {str(proposed)!r}, which was not chosen on this computer. Choose the folder "
            "of the recordings to hear them."
        )
    raise BagtagError(
        f"The recording {name!r} is not on this computer, or has been moved. Choose the folder of the recordings, "
        f"{root!r}, to hear them."
    )


def _proposed_folder(archive: Path, root: str) -> Path | None:
    try:
        stated = json.loads((archive / "folders.json").read_text(encoding="utf-8"))[root]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if not isinstance(stated, str) or "\0" in stated or not Path(stated).is_absolute():
        return None
    return Path(os.path.normpath(stated))
