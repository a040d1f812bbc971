"""SegmentRow: one segment in real units, which every format reads and writes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby
from typing import Literal, get_args

from miml_core.errors import BagtagError

Kind = Literal["sound", "picture"]
LabelSource = Literal["person", "model", ""]
Status = Literal["confirmed", "accepted", "predicted", "background", "unlabelled"]
KNOWN_STATUSES = f"use one of {', '.join(get_args(Status))}, by person or model"
"""End of the error message of a table with another status."""
Ring = tuple[tuple[float, float], ...]
"""A closed line of (x, y) corners; the last corner is joined to the first and not repeated."""


@dataclass(frozen=True)
class SegmentRow:
    """A segment and its label.

    `status` is *confirmed* if a person who saw the segment gave or accepted the label, *accepted* if a person accepted
    a model's label by its probability alone, *predicted* if only a model gave it, *background* if the segment is none
    of the classes (see `said_by` and `checked_by`), and *unlabelled* otherwise. The label is empty for the last two.

    Examples
    --------
    >>> row = SegmentRow("dawn.wav", start_s=1.5, end_s=2.0, label="Wren", status="confirmed", said_by="person")
    >>> row.label, row.end_s - row.start_s, row.kind
    ('Wren', 0.5, 'sound')
    """

    file: str
    """Path of the recording or picture as the project shows it, with forward slashes."""
    kind: Kind = "sound"
    bag: str = ""
    """Name of the bag: the file, or a window of a long recording."""
    segment: int | None = None
    """Number of the segment in the project."""

    start_s: float | None = None
    """Start and, in `end_s`, end in seconds from the start of the recording, not of the bag."""
    end_s: float | None = None
    low_hz: float | None = None
    high_hz: float | None = None

    box: tuple[float, float, float, float] | None = None
    """(left, top, right, bottom) in pixels of the original picture; the last two are just outside."""
    outline: tuple[Ring, ...] = ()
    """Outer rings and holes, filled by the even-odd rule: (seconds, hertz), or pixels of the original picture."""
    width: int | None = None
    """Width and, in `height`, height of the original picture in pixels."""
    height: int | None = None

    duration_s: float | None = field(default=None, compare=False)
    """Length, sample rate and channels of the recording, where they are known."""
    rate: int | None = field(default=None, compare=False)
    channels: int | None = field(default=None, compare=False)

    label: str = ""
    scientific_name: str = ""
    probability: float | None = None
    said_by: LabelSource = ""
    who: str = ""
    """Name of the annotator or of the model."""
    checked_by: str = ""
    """"eye", or "threshold": accepted by its probability alone; empty if it is only predicted."""
    status: Status = "unlabelled"
    run: str = ""
    """Name of the training run of a predicted label."""
    recorded_at: str = ""
    """Start of the recording, or time of the picture, in ISO 8601."""
    other_tags: str = ""
    """Tags of another program besides the label, as text of `other_tags.pack_tags`."""

    def __post_init__(self) -> None:
        if not self.file:
            raise BagtagError(f"Segment {self.segment} has no file.")
        if self.label and self.status in ("background", "unlabelled"):
            raise BagtagError(
                f"Segment {self.segment} of {self.file!r} is {self.status}, but has the label {self.label!r}."
            )


def by_file(rows: Iterable[SegmentRow]) -> list[tuple[str, list[SegmentRow]]]:
    """Return (file, rows) in alphabetical order of the files; rows stay in the given order.

    Examples
    --------
    >>> rows = [SegmentRow("b.wav", segment=1), SegmentRow("a.wav", segment=3), SegmentRow("b.wav", segment=2)]
    >>> [(file, [row.segment for row in of_file]) for file, of_file in by_file(rows)]
    [('a.wav', [3]), ('b.wav', [1, 2])]
    """
    ordered = sorted(rows, key=lambda row: row.file)
    return [(file, list(group)) for file, group in groupby(ordered, key=lambda row: row.file)]
