"""Write the demo's files: recordings or pictures, their tags, the list of classes, and the truth."""

from __future__ import annotations

import io
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from miml_core.demo.truth import TrueRegion, Truth
from miml_core.exchange.species_csv import SpeciesRow, write_species
from miml_core.exchange.tags_csv import TagRow, write_tags
from miml_core.progress import Progress, ignore_progress
from miml_core.threads import thread_count

Kind = Literal["sound", "picture"]

COUNT: dict[Kind, int] = {"sound": 60, "picture": 40}
FOLDER: dict[Kind, str] = {"sound": "recordings", "picture": "pictures"}
TAGS_FILE, CLASSES_FILE = "tags.csv", "species.csv"

_ONE_UNTAGGED_IN = 6
"""Every sixth bag has no tags, for the user to try."""


@dataclass(frozen=True)
class _Item:
    """One generated file."""

    name: str
    labels: list[str]
    things: list[TrueRegion]


def make_media(folder: Path, kind: Kind, seed: int, count: int, progress: Progress = ignore_progress) -> list[Path]:
    """Write the demo's files to `folder`, the same bytes for the same seed; return the recordings or pictures.

    The truth is written last: if it exists, the other files are complete.
    """
    place = folder / FOLDER[kind]
    place.mkdir(parents=True, exist_ok=True)
    items: list[_Item] = []
    for item in _make_all(place, kind, seed, count):
        items.append(item)
        progress(len(items), count, {})
    tags = [
        TagRow(f"{FOLDER[kind]}/{item.name}", present=tuple(item.labels), finished=True)
        for number, item in enumerate(items)
        if is_tagged(number)
    ]
    write_tags(tags, folder / TAGS_FILE)
    write_species(class_list(kind), folder / CLASSES_FILE)
    Truth(kind, seed, {item.name: item.things for item in items}).write(folder)
    return [place / item.name for item in items]


def is_tagged(number: int) -> bool:
    """Return whether bag number `number` has tags."""
    return number % _ONE_UNTAGGED_IN != _ONE_UNTAGGED_IN - 1


def class_list(kind: Kind) -> list[SpeciesRow]:
    """Return the classes of the demo."""
    if kind == "sound":
        from miml_core.demo.calls import SPECIES

        return [SpeciesRow(one.name, one.scientific_name, shortcut=one.shortcut) for one in SPECIES]
    from miml_core.demo.textures import SURFACES

    return [SpeciesRow(one.name, shortcut=one.shortcut) for one in SURFACES]


def _make_all(place: Path, kind: Kind, seed: int, count: int) -> Iterator[_Item]:
    make = _make_recording if kind == "sound" else _make_picture
    with ThreadPoolExecutor(thread_count()) as pool:
        yield from pool.map(lambda number: make(place, number, seed), range(count))


def _make_recording(place: Path, number: int, seed: int) -> _Item:
    import soundfile

    from miml_core.demo.calls import RATE
    from miml_core.demo.sounds import make_soundscape

    made = make_soundscape(number, seed)
    file = io.BytesIO()
    soundfile.write(file, made.samples, RATE, subtype="PCM_16", format="WAV")
    (place / made.name).write_bytes(file.getvalue())  # libsndfile does not report a full disk
    return _Item(made.name, made.labels, [TrueRegion(event.label, event.outlines) for event in made.events])


def _make_picture(place: Path, number: int, seed: int) -> _Item:
    from PIL import Image

    from miml_core.demo.pictures import make_scene

    made = make_scene(number, seed)
    Image.fromarray(made.pixels).save(place / made.name, "PNG")
    return _Item(made.name, made.labels, [TrueRegion(label, made.outlines(label)) for label in made.labels])
