"""Records that the queries of a project return: small, frozen, of plain values only.

Class ids are positive numbers that never change and are never reused. A label is a class id, `BACKGROUND` (-2, none of
the classes) or None (not labelled). Times are seconds since 1970 (UTC).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from miml_core.media.recording_place import Place
from miml_core.project.review_records import Prediction

Ring = list[tuple[float, float]]
"""A closed line in real units, (seconds, hertz) or original pixels; several fill by the even-odd rule (holes)."""


@dataclass(frozen=True)
class Class:
    """A class that bags are tagged with and segments are labelled with."""

    id: int
    name: str
    colour: str
    shortcut: str
    scientific_name: str
    note: str
    n_bags: int = 0
    """Number of bags that are tagged as having it."""
    n_segments: int = 0
    """Number of segments that a person labelled with it."""


@dataclass(frozen=True)
class Medium:
    """One media file."""

    id: int
    path: str
    """As it is stored: relative to the project where possible, with forward slashes."""
    size: int
    fingerprint: str
    missing: bool
    duration: float | None
    """Seconds; None for a picture."""
    rate: int | None
    channels: int | None
    width: int | None
    height: int | None
    recorded_at: str | None
    recorded_from: str | None


@dataclass(frozen=True)
class RecordingLocation:
    """Where and when a bag was recorded, as far as that is known."""

    place: Place | None
    from_file: bool
    """Whether the place is that of the file; otherwise it is the project's."""
    recorded_at: datetime | None
    """None if only the time of the file is known, which may be that of a copy."""


@dataclass(frozen=True)
class Bag:
    """One clip or picture, as a list shows it."""

    id: int
    name: str
    media_id: int
    path: str
    start: float
    end: float
    """Seconds of the recording; both 0 for a picture."""
    recorded_at: str | None
    """When this bag starts (ISO 8601), if known."""
    missing: bool
    """Whether the file is missing at its path."""
    tags: dict[int, int]
    """Class id -> +1 present or -1 absent, as tagged by people; a class not in it is unknown (absent if `closed`)."""
    finished: bool
    rest_unknown: bool
    """Whether it was finished with "not sure about the rest": classes without a tag are unknown instead of absent."""
    n_segments: int
    n_reviewed: int
    """Number of its segments that a person corrected or accepted."""
    segmented: bool
    """Whether its segments were detected with the present settings."""
    error: str | None
    """Why the last job failed on this bag."""
    revision: int
    thumbnail_key: str
    """Changes when the thumbnail does."""
    doubt: float | None
    """The larger, the more is gained by tagging or checking it (`review/economy_tagging.py: worth_tagging`)."""
    note: str = ""
    changed: bool = False
    """Whether the file has changed since it was added."""
    not_allowed: bool = False
    """Whether the file is in a folder that was not chosen on this computer; such a file is not opened."""

    @property
    def duration(self) -> float:
        return self.end - self.start

    @property
    def closed(self) -> bool:
        """Whether classes without a tag are absent: finished, and sure about the rest."""
        return self.finished and not self.rest_unknown


@dataclass(frozen=True)
class BagPage:
    """One page of a list of bags."""

    bags: list[Bag]
    total: int
    """Number of bags on all pages, after search and filter."""
    revision: int


@dataclass(frozen=True)
class Progress:
    """Counts of bags and segments, in all and done."""

    n_media: int
    n_missing: int
    n_bags: int
    n_tagged: int
    n_finished: int
    n_segmented: int
    n_errors: int
    n_segments: int
    n_reviewed: int
    n_predicted: int
    n_changed: int = 0
    """Files that have changed since they were added, as last checked."""


@dataclass(frozen=True)
class Segment:
    """One region of a bag, in real units."""

    id: int
    bag_id: int
    number: int
    """Its number on the screen: "segment 12" of its bag."""
    outline: list[Ring]
    left: float
    right: float
    low: float
    high: float
    """Its box: seconds and hertz, or original pixels (there `low` is the upper edge, y running downwards)."""
    origin: str
    """"automatic", "learned", "drawn" or "edited"."""
    label: int | None
    """By a person: a class id, BACKGROUND or None."""
    accepted: bool
    """Whether the person confirmed the prediction instead of changing it."""
    annotator: str | None
    prediction: Prediction | None
    revision: int
    checked_by: str | None = None
    """"eye", or "threshold": the label is a prediction that was accepted by its probability; None without a label."""
    other_tags: str = ""
    """Tags of another program besides the label, with which the segment was imported (`exchange/other_tags.py`)."""

    @property
    def reviewed(self) -> bool:
        """Whether a person who saw the segment gave or accepted its label."""
        return self.label is not None and self.checked_by != "threshold"


@dataclass(frozen=True)
class SegmentRange:
    """Segments of a bag in a range of time."""

    first: float
    last: float
    total: int
    """Number of segments that touch the range."""
    detail: str
    """"outlines"; "boxes" (too many for outlines: only the edges are there); "none" (too many to list)."""
    segments: list[Segment]


@dataclass(frozen=True)
class SegmentSummary:
    """Counts of the segments of a bag."""

    n_segments: int
    n_checked: int
    labels: dict[int, int]
    """Label -> segments that a person gave it, or that the current run gives it for sure (`review.sure_from()`)."""
    n_unsure: int
    """Segments without a person's label whose best guess is not sure."""
    density: list[int]
    """Number of segments in each of some equal parts of the bag."""


@dataclass(frozen=True)
class HistoryEntry:
    """One entry of the history."""

    id: int
    at: float
    annotator: str
    act: str
    """The name of the edit (`Edit.name`); for a note, of what happened."""
    kind: str
    """"act", "undo", "redo" or "note" (something that cannot be undone)."""
    bag_id: int | None
    sentence: str
    undone: bool


@dataclass(frozen=True)
class EditResult:
    """What an edit did."""

    revision: int
    """The project's revision after the edit."""
    sentence: str
    bag_id: int | None = None
    created: list[int] = field(default_factory=list)
    """Ids of segments or classes that it created."""
    touched: list[int] = field(default_factory=list)
    """Ids of the segments it changed, created or removed."""
    repeated: bool = False
    """Whether this edit was already stored, and nothing was done."""
    overtook: list[str] = field(default_factory=list)
    """Edits of other people to the same rows that this person had not seen, and that this edit replaced."""
    history_id: int | None = None
    bags: list[int] = field(default_factory=list)
    """Ids of the bags that changed."""


@dataclass(frozen=True)
class News:
    """What changed since a revision."""

    revision: int
    bags: list[int]
    topics: list[str]
    """Among "classes", "settings", "runs", "media"."""


@dataclass(frozen=True)
class Run:
    """One training and its results."""

    id: int
    model: str
    params: dict[str, Any]
    seed: int
    state: str
    """"training", "done", "failed" or "cancelled"."""
    current: bool
    started_at: float
    seconds: float | None
    scores: dict[str, float]
    curves: dict[str, list[float]]
    classes: list[int]
    """Class ids in the order of the model's columns."""
    background: bool
    feature_key: str
    n_bags: int
    n_segments: int
    n_corrections: int
    annotator: str
    message: str
    n_corrections_since: int
    """Segments corrected or accepted after the run started."""
    n_tags_since: int
    """Bags whose tags changed after the run started."""


@dataclass(frozen=True)
class JobFailure:
    """One file or bag that a job failed on."""

    item: str
    reason: str
    bag_id: int | None = None


@dataclass(frozen=True)
class Job:
    """A background job."""

    id: int
    kind: str
    """"import", "segment", "learn-segmenter", "features", "train", "predict", "map",
    "apply", "sample", "export" or "pack"."""
    params: dict[str, Any]
    state: str
    """"queued", "running", "done", "failed", "cancelled", "dead" or "stopped": queued or begun on another computer or
    by another copy of the project; a person may start it on this computer (`jobs.restart`) or remove it
    (`jobs.cancel`)."""
    done: int
    of: int
    message: str
    seconds_left: float | None
    """Estimated from the speed so far; None if unknown."""
    created_at: float
    started_at: float | None
    finished_at: float | None
    heartbeat: float | None
    cancelling: bool
    n_failures: int
    result: dict[str, Any]
    info: dict[str, Any]
    """Numbers of the running job, for example the curves of a training."""
    annotator: str

    @property
    def active(self) -> bool:
        return self.state in ("queued", "running")

    @property
    def share(self) -> float:
        """The share done, between 0 and 1, for a progress bar."""
        return min(1.0, self.done / self.of) if self.of else 0.0


@dataclass(frozen=True)
class Problem:
    """One finding of `check`."""

    kind: str
    sentence: str
    repairable: bool
    repaired: bool = False


@dataclass(frozen=True)
class TagImport:
    """The result of importing a table of tags."""

    n_bags: int
    n_new_classes: int
    left_out: list[str]
    """Why lines could not be used: one sentence per line, or per reason if it has more than three lines."""
    n_left_out: int = 0
