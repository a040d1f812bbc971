"""What a project answers with: small frozen records, made of plain values only.

Class ids are positive numbers that never change and are never used again; `BACKGROUND` (-2) stands for "none of the
classes" wherever a label is meant, and None for "nobody has said". Times of day are seconds since 1970 (UTC).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from miml_core.project.review_rows import Prediction

Ring = list[tuple[float, float]]
"""A closed line in real units, (seconds, hertz) or original pixels; several fill by the even-odd rule (holes)."""


@dataclass(frozen=True)
class Class:
    """One kind of thing a person can tag."""

    id: int
    name: str
    colour: str
    shortcut: str
    scientific_name: str
    note: str
    n_bags: int = 0
    """How many bags are tagged as having it."""
    n_segments: int = 0
    """How many segments a person gave this label."""


@dataclass(frozen=True)
class Medium:
    """One file on disk."""

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
    """The file is not where it was."""
    tags: dict[int, int]
    """Class id -> +1 present or -1 absent, as said by a person; a class not in it is unknown (absent if `closed`)."""
    finished: bool
    rest_unknown: bool
    """Finished with "not sure about the rest": what is not tagged is unknown instead of absent."""
    n_segments: int
    n_reviewed: int
    """How many of its segments a person has corrected or accepted."""
    segmented: bool
    """Its segments were found with the settings as they are now."""
    error: str | None
    """Why the last job could not deal with this bag."""
    revision: int
    thumbnail_key: str
    """Changes when the thumbnail does."""
    doubt: float | None
    """1 - the least sure prediction of its unreviewed segments; None when nothing is predicted."""
    note: str = ""
    changed: bool = False
    """The file is another one than was added."""
    not_allowed: bool = False
    """The file lies in a folder that was not chosen on this computer, and was not looked at."""

    @property
    def duration(self) -> float:
        return self.end - self.start

    @property
    def closed(self) -> bool:
        """Finished and complete: what is not tagged is absent."""
        return self.finished and not self.rest_unknown


@dataclass(frozen=True)
class BagPage:
    """Some rows of a list of bags."""

    bags: list[Bag]
    total: int
    """How many bags the search and filter leave, on all pages."""
    revision: int


@dataclass(frozen=True)
class Progress:
    """How far a project is, counted in bags and segments."""

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
    """Files that are others than were added, as last seen."""


@dataclass(frozen=True)
class Segment:
    """One region of a bag, in real units."""

    id: int
    bag_id: int
    number: int
    """What people call it: "segment 12" of its bag."""
    outline: list[Ring]
    left: float
    right: float
    low: float
    high: float
    """Its box: seconds and hertz, or original pixels (there `low` is the upper edge, y running downwards)."""
    origin: str
    """"automatic", "learned", "drawn" or "edited"."""
    label: int | None
    """What a person said: a class id, BACKGROUND or None."""
    accepted: bool
    """The person confirmed the prediction instead of changing it."""
    annotator: str | None
    prediction: Prediction | None
    revision: int

    @property
    def reviewed(self) -> bool:
        return self.label is not None


@dataclass(frozen=True)
class SegmentRange:
    """Segments of a bag in a range of time."""

    first: float
    last: float
    total: int
    """How many touch the range."""
    detail: str
    """"outlines"; "boxes" (too many for outlines: only the edges are there); "none" (too many to list)."""
    segments: list[Segment]


@dataclass(frozen=True)
class SegmentSummary:
    """Segments of a bag in numbers."""

    n_segments: int
    n_checked: int
    labels: dict[int, int]
    """Label -> segments that a person gave it, or that the current run gives it with at least one half."""
    density: list[int]
    """How many there are in each of some equal parts of the bag."""


@dataclass(frozen=True)
class HistoryEntry:
    """One act of a person."""

    id: int
    at: float
    annotator: str
    act: str
    kind: str
    """"act", "undo", "redo" or "note" (something that cannot be undone)."""
    bag_id: int | None
    sentence: str
    undone: bool


@dataclass(frozen=True)
class EditResult:
    """What an act did."""

    revision: int
    """The project's revision after it."""
    sentence: str
    bag_id: int | None = None
    created: list[int] = field(default_factory=list)
    """Ids of segments or classes it made."""
    touched: list[int] = field(default_factory=list)
    """Ids of the segments it changed, made or removed."""
    repeated: bool = False
    """This edit was already stored; nothing was done."""
    overtook: list[str] = field(default_factory=list)
    """Sentences of other people's acts on the same things that this person had not seen yet; this act won."""
    history_id: int | None = None
    bags: list[int] = field(default_factory=list)
    """Ids of the bags that look different now."""


@dataclass(frozen=True)
class News:
    """What changed since a revision."""

    revision: int
    bags: list[int]
    topics: list[str]
    """Among "classes", "settings", "runs", "media"."""


@dataclass(frozen=True)
class Run:
    """One training and what it gave."""

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
    """Segments corrected or accepted after the run started: how old the run is."""
    n_tags_since: int
    """Bags whose tags changed after the run started."""


@dataclass(frozen=True)
class JobFailure:
    """One file or bag that a job could not deal with."""

    item: str
    reason: str
    bag_id: int | None = None


@dataclass(frozen=True)
class Job:
    """Work in the background."""

    id: int
    kind: str
    """"import", "segment", "learn-segmenter", "features", "train", "predict" or "export"."""
    params: dict[str, Any]
    state: str
    """"queued", "running", "done", "failed", "cancelled", "dead" or "stopped": queued or begun on another computer or
    by another copy of the project, and waiting for a person to start it here (`restart_job`) or to remove it
    (`cancel_job`)."""
    done: int
    of: int
    message: str
    seconds_left: float | None
    """Estimated from the pace so far; None when not known."""
    created_at: float
    started_at: float | None
    finished_at: float | None
    heartbeat: float | None
    cancelling: bool
    n_failures: int
    result: dict[str, Any]
    info: dict[str, Any]
    """Live numbers of the work, the curves of a training for example."""
    annotator: str

    @property
    def active(self) -> bool:
        return self.state in ("queued", "running")

    @property
    def share(self) -> float:
        """Between 0 and 1, for a progress bar."""
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
    """What became of a table of tags."""

    n_bags: int
    n_new_classes: int
    left_out: list[str]
    """Lines that could not be used, each with its reason."""
