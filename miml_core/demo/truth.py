"""The true labels of the demo's recordings and pictures, in a file that training does not use."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from miml_core.atomic_files import write_file
from miml_core.errors import BagtagError
from miml_core.segments.outlines import fill

FILE_NAME = "truth.json"

Outline = Sequence[Sequence[tuple[float, float]]]

_CELL = {"sound": (0.005, 50.0), "picture": (1.0, 1.0)}
"""Resolution at which segments and truth are compared: seconds and hertz, or pixels."""

ENOUGH = 0.25
"""A segment with a smaller share inside the true calls or surfaces is background."""


@dataclass(frozen=True)
class TrueRegion:
    """One call of a recording, or one surface of a picture."""

    label: str
    outlines: Outline
    """Rings in seconds and hertz, or in pixels; the union of a call's notes, the even-odd filling of a surface."""

    @cached_property
    def rings(self) -> list[NDArray[np.float64]]:
        return [np.asarray(ring, dtype=float) for ring in self.outlines]

    @cached_property
    def boxes(self) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """Lower and upper corner of each ring."""
        return [(ring.min(axis=0), ring.max(axis=0)) for ring in self.rings]

    def inside(self, place: _Place, union: bool) -> NDArray[np.bool_] | None:
        """Return which cells of a place it covers; None if it covers none."""
        near = [ring for ring, box in zip(self.rings, self.boxes) if place.meets(*box)]
        if not near:
            return None
        masks = [place.mask([ring]) for ring in near] if union else [place.mask(self.rings)]
        return np.asarray(np.logical_or.reduce(masks), dtype=bool)


@dataclass(frozen=True, eq=False)
class _Place:
    """The box of a segment, in cells."""

    first: NDArray[np.float64]
    last: NDArray[np.float64]
    cell: NDArray[np.float64]

    def meets(self, first: NDArray[np.float64], last: NDArray[np.float64]) -> bool:
        return bool((first <= self.last).all() and (last >= self.first).all())

    def mask(self, rings: Sequence[NDArray[np.float64]]) -> NDArray[np.bool_]:
        width, height = np.maximum(np.ceil((self.last - self.first) / self.cell), 1).astype(int)
        return fill([(ring - self.first) / self.cell for ring in rings], height, width)


@dataclass(frozen=True)
class Truth:
    """The true labels of a demo."""

    kind: str
    seed: int
    files: dict[str, list[TrueRegion]]
    """Calls or surfaces by file name, without folders."""

    def write(self, folder: Path) -> Path:
        """Write `truth.json` to the folder."""
        files = {
            name: [{"label": thing.label, "outlines": thing.outlines} for thing in things]
            for name, things in self.files.items()
        }
        content = json.dumps({"kind": self.kind, "seed": self.seed, "files": files})
        return write_file(folder / FILE_NAME, content.encode())

    @classmethod
    def read(cls, folder: Path) -> Truth:
        """Read the truth of the demo in `folder`."""
        path = folder / FILE_NAME
        if not path.is_file():
            raise BagtagError(f"There is no {FILE_NAME} in {str(folder)!r}: it is not a demo.")
        stored = json.loads(path.read_text())
        files = {name: [TrueRegion(**thing) for thing in things] for name, things in stored["files"].items()}
        return cls(stored["kind"], stored["seed"], files)

    def label_of(self, file: str, outline: Outline) -> str | None:
        """Return the label that covers most of a segment, None for background."""
        rings = [np.asarray(ring, dtype=float) for ring in outline]
        corners = np.concatenate(rings)
        place = _Place(corners.min(axis=0), corners.max(axis=0), np.asarray(_CELL[self.kind]))
        segment = place.mask(rings)
        if not segment.any():
            segment[:] = True
        covered = np.zeros_like(segment)
        by_label: dict[str, NDArray[np.bool_]] = {}
        for thing in self.files[file]:
            inside = thing.inside(place, union=self.kind == "sound")
            if inside is not None:
                by_label[thing.label] = by_label.get(thing.label, False) | (inside & segment)
                covered |= inside & segment
        if covered.sum() < ENOUGH * segment.sum():
            return None
        return max(by_label, key=lambda label: int(by_label[label].sum()))
