"""Read recordings with known truth, in the layouts of the benchmark data.

* events: a folder with `events.csv` (file, start_s, duration_s, label) and the recordings in it or below; names of
  labels may be in a table `species.csv` beside it (class name, Scientific_name, English_name);
* boxes: a folder with recordings and an annotation project in whombat's AOEF JSON, or recordings each with an Audacity
  label file of the same name that has frequencies.
"""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from miml_core.errors import BagtagError

SUFFIXES = (".wav", ".flac", ".ogg", ".mp3", ".aiff", ".aif")
Box = tuple[float, float, float, float]
"""Start (s), low (Hz), end (s), high (Hz)."""


@dataclass(frozen=True)
class Event:
    """A span of time in which something is heard."""

    start: float
    end: float
    label: str


@dataclass(frozen=True)
class EventSet:
    """Recordings whose events are known in time, and the (scientific, English) names of labels."""

    name: str
    events: dict[Path, list[Event]]
    species: dict[str, tuple[str, str]]


@dataclass(frozen=True)
class BoxSet:
    """Recordings whose calls are known in time and frequency, within the annotated time ranges."""

    name: str
    boxes: dict[Path, list[Box]]
    looked_at: dict[Path, list[tuple[float, float]]]


def find_event_sets(data_dir: Path) -> list[EventSet]:
    """Return every set with the events layout below `data_dir`/audio."""
    return [_read_events(path) for path in sorted((data_dir / "audio").rglob("events.csv"))]


def find_box_sets(data_dir: Path) -> list[BoxSet]:
    """Return every set with the boxes layout below `data_dir`/audio."""
    folders = sorted(path for path in (data_dir / "audio").glob("*") if path.is_dir())
    found = [_read_aoef(folder) for folder in folders] + [_read_audacity(folder) for folder in folders]
    return [one for one in found if one is not None and one.boxes]


def _read_events(table: Path) -> EventSet:
    recordings = {path.stem: path for path in _recordings(table.parent)}
    events: dict[Path, list[Event]] = {path: [] for path in recordings.values()}
    with table.open(newline="", encoding="utf-8-sig") as file:
        for number, row in enumerate(csv.DictReader(file), start=2):
            try:
                path = recordings.get(Path(row["file"]).stem)
                start = float(row["start_s"])
                event = Event(start, start + float(row["duration_s"]), row["label"])
            except (KeyError, TypeError, ValueError) as error:
                raise BagtagError(
                    f"{table}, line {number}: needs file, start_s, duration_s and label ({error})."
                ) from error
            if path is not None:
                events[path].append(event)
    return EventSet(table.parent.name, events, _read_species(table.with_name("species.csv")))


def _read_species(table: Path) -> dict[str, tuple[str, str]]:
    if not table.is_file():
        return {}
    with table.open(newline="", encoding="utf-8-sig") as file:
        rows = [{(key or "").lower(): value or "" for key, value in row.items()} for row in csv.DictReader(file)]
    return {row.get("class name", ""): (row.get("scientific_name", ""), row.get("english_name", "")) for row in rows}


def _read_aoef(folder: Path) -> BoxSet | None:
    """Return the file with the most boxes, if a folder has several views of one project."""
    recordings = {path.name: path for path in _recordings(folder)}
    best: BoxSet | None = None
    for path in sorted(folder.glob("*.json")):
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise BagtagError(f"{path} is not JSON ({error}).") from error
        data = content.get("data", {}) if isinstance(content, dict) else {}
        if not data.get("sound_events") or not data.get("recordings"):
            continue
        names = {one["uuid"]: Path(one["path"]).name for one in data["recordings"]}
        boxes: dict[Path, list[Box]] = defaultdict(list)
        looked_at: dict[Path, list[tuple[float, float]]] = defaultdict(list)
        for clip in data.get("clips") or []:
            if names.get(clip["recording"]) in recordings:
                looked_at[recordings[names[clip["recording"]]]].append((clip["start_time"], clip["end_time"]))
        for event in data["sound_events"]:
            name, shape = names.get(event["recording"]), event.get("geometry") or {}
            if name in recordings and shape.get("type") == "BoundingBox":
                boxes[recordings[name]].append(tuple(shape["coordinates"]))
        if best is None or sum(map(len, boxes.values())) > sum(map(len, best.boxes.values())):
            best = BoxSet(folder.name, dict(boxes), dict(looked_at))
    return best


def _read_audacity(folder: Path) -> BoxSet:
    boxes = {}
    for path in _recordings(folder):
        labels = path.with_suffix(".txt")
        if labels.is_file() and (found := _audacity_boxes(labels)):
            boxes[path] = found
    return BoxSet(folder.name, boxes, {})


def _audacity_boxes(path: Path) -> list[Box]:
    boxes: list[Box] = []
    times: tuple[float, float] | None = None
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        cells = line.split("\t")
        try:
            if line.startswith("\\") and times is not None:
                boxes.append((times[0], float(cells[1]), times[1], float(cells[2])))
            elif len(cells) >= 2:
                times = float(cells[0]), float(cells[1])
        except ValueError:
            continue
    return boxes


def _recordings(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES)
