"""SegmentRow: what every format writes and reads, one segment in real units."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from miml_core.errors import BagtagError

Kind = Literal["sound", "picture"]
Speaker = Literal["person", "model", ""]
Status = Literal["confirmed", "predicted", "background", "unlabelled"]
Ring = tuple[tuple[float, float], ...]
"""A closed line of (x, y) corners; the last corner is joined to the first and not repeated."""


@dataclass(frozen=True)
class SegmentRow:
    """One segment, and what was said of it.

    `status` is *confirmed* when a person gave or accepted the label, *predicted* when only a model did,
    *background* when the segment is none of the classes (`said_by` tells according to whom) and *unlabelled* when
    nobody spoke of it. The label of the last two is empty.
    """

    file: str
    """The recording or the picture: its path as the project shows it, with forward slashes."""
    kind: Kind = "sound"
    bag: str = ""
    """What the bag is called: the file itself, or one window of a long recording."""
    segment: int | None = None
    """The number the project gave the segment."""

    start_s: float | None = None
    """Seconds from the start of the recording, not of the bag; so is `end_s`."""
    end_s: float | None = None
    low_hz: float | None = None
    high_hz: float | None = None

    box: tuple[float, float, float, float] | None = None
    """Of a picture: (left, top, right, bottom) in pixels of the original, the last two just outside."""
    outline: tuple[Ring, ...] = ()
    """Outer lines and holes, filled by the even-odd rule: (seconds, hertz), or original pixels of a picture."""
    width: int | None = None
    """Of the whole original picture, in pixels; so is `height`."""
    height: int | None = None

    label: str = ""
    scientific_name: str = ""
    probability: float | None = None
    said_by: Speaker = ""
    who: str = ""
    """The annotator's name, or the model's."""
    status: Status = "unlabelled"
    run: str = ""
    """The name of the training run that a model's word comes from."""
    recorded_at: str = ""
    """When the recording began or the picture was taken, ISO 8601."""

    def __post_init__(self) -> None:
        if not self.file:
            raise BagtagError(f"Segment {self.segment} does not say which file it belongs to.")
        if self.label and self.status in ("background", "unlabelled"):
            raise BagtagError(f"Segment {self.segment} of {self.file!r} is {self.status}, yet labelled {self.label!r}.")


def by_file(rows: Iterable[SegmentRow]) -> list[tuple[str, list[SegmentRow]]]:
    """The rows of each file, files in alphabetical order, segments in the order given."""
    ordered = sorted(rows, key=lambda row: row.file)
    return [(file, list(group)) for file, group in groupby(ordered, key=lambda row: row.file)]
