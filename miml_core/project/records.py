"""Records that the queries of a project return: small, frozen, of plain values only.

Class ids are positive numbers that never change and are never reused. A label is a class id, `BACKGROUND` (-2, none of
the classes) or None (not labelled). Times are seconds since 1970 (UTC).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from miml_core.media.recording_place import Place
from miml_core.project.job_records import Job as Job
from miml_core.project.job_records import JobFailure as JobFailure
from miml_core.project.job_records import Run as Run
from miml_core.project.review_records import Prediction

Ring = list[tuple[float, float]]
"""A closed line in real units, (seconds, hertz) or original pixels; several fill by the even-odd rule (holes)."""


@dataclass(frozen=True)
class Class:
    """A class that bags are tagged with and segments are labelled with.

    >>> from miml_core.demo.example import example_project
    >>> with example_project() as project:
    ...     wren = project.classes.find("wren")
    >>> wren.id, wren.name, wren.n_bags, wren.n_segments
    (1, 'Wren', 2, 0)
    """

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
    """One media file.

    >>> from miml_core.demo.example import example_project
    >>> with example_project() as project:
    ...     medium = project.media.list()[0]
    >>> medium.path, medium.duration, medium.rate, medium.missing
    ('media/dawn-1.wav', 1.0, 22050, False)
    """

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
    """Where and when a bag was recorded, as far as that is known.

    >>> from miml_core.demo.example import example_project
    >>> with example_project() as project:
    ...     project.set_place(Place(52.5, 13.4))
    ...     location = project.media.location(1)
    >>> location.place.latitude, location.from_file, location.recorded_at  # the time of the file may be that of a copy
    (52.5, False, None)
    """

    place: Place | None
    from_file: bool
    """Whether the place is that of the file; otherwise it is the project's."""
    recorded_at: datetime | None
    """None if only the time of the file is known, which may be that of a copy."""


@dataclass(frozen=True)
class Bag:
    """One clip or picture, as a list shows it.

    >>> from miml_core.demo.example import example_project
    >>> with example_project() as project:
    ...     bag = project.bags.get(1)
    >>> bag.name, bag.tags, bag.duration, bag.closed
    ('dawn-1.wav', {1: 1, 2: 1}, 1.0, True)
    """

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
    """One page of a list of bags.

    >>> from miml_core.demo.example import example_project
    >>> with example_project() as project:
    ...     page = project.bags.list(limit=2)
    >>> [bag.name for bag in page.bags], page.total
    (['dawn-1.wav', 'dawn-2.wav'], 3)
    """

    bags: list[Bag]
    total: int
    """Number of bags on all pages, after search and filter."""
    revision: int


@dataclass(frozen=True)
class ProjectCounts:
    """Counts of bags and segments, in all and done.

    >>> from miml_core.demo.example import example_project
    >>> with example_project() as project:
    ...     done = project.progress()
    >>> done.n_bags, done.n_tagged, done.n_segments, done.n_predicted, done.n_reviewed
    (3, 3, 4, 4, 0)
    """

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
    """One region of a bag, in real units.

    >>> from miml_core.demo.example import example_project
    >>> with example_project() as project:
    ...     segment = project.segments.list(1)[0]
    >>> segment.number, round(segment.left, 1), round(segment.right, 1), segment.origin
    (1, 0.2, 0.4, 'automatic')
    >>> segment.label, segment.prediction.top, segment.reviewed
    (None, 1, False)
    """

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
    """Segments of a bag in a range of time.

    >>> from miml_core.demo.example import example_project
    >>> with example_project() as project:
    ...     found = project.segments.between(1, 0.0, 0.5)
    >>> found.total, found.detail, [segment.id for segment in found.segments]
    (1, 'outlines', [1])
    """

    first: float
    last: float
    total: int
    """Number of segments that touch the range."""
    detail: str
    """"outlines"; "boxes" (too many for outlines: only the edges are there); "none" (too many to list)."""
    segments: list[Segment]


@dataclass(frozen=True)
class SegmentSummary:
    """Counts of the segments of a bag.

    >>> from miml_core.demo.example import example_project
    >>> with example_project() as project:
    ...     found = project.segments.summary(1, 0.0, 1.0, bins=2)
    >>> found.n_segments, found.labels, found.density
    (2, {1: 1, 2: 1}, [1, 1])
    """

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
    """One entry of the history.

    >>> from miml_core.demo.example import example_project
    >>> with example_project() as project:
    ...     done = project.edits.set_label([1], 2)
    ...     entry = project.edits.history()[0]
    >>> entry.annotator, entry.act, entry.sentence, entry.undone
    ('Ann', 'correct', 'segment 1: Wren -> Robin', False)
    """

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
    """What an edit did.

    >>> from miml_core.demo.example import example_project
    >>> with example_project() as project:
    ...     result = project.edits.set_label([1, 2], 1)
    >>> result.sentence, result.touched, result.bags
    ('2 segments -> Wren', [1, 2], [1])
    """

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
    bags_to_predict: list[int] = field(default_factory=list)
    """Ids of those whose predictions depend on the edit."""


@dataclass(frozen=True)
class News:
    """What changed since a revision.

    >>> from miml_core.demo.example import example_project
    >>> with example_project() as project:
    ...     seen = project.revision
    ...     done = project.edits.set_note(2, "windy")
    ...     news = project.news(seen)
    >>> news.bags, news.revision > seen
    ([2], True)
    """

    revision: int
    bags: list[int]
    topics: list[str]
    """Among "classes", "settings", "runs", "media"."""


@dataclass(frozen=True)
class Problem:
    """One finding of `check`.

    >>> from miml_core.demo.example import example_project
    >>> with example_project() as project:
    ...     (project.folder / "media" / "dawn-2.wav").unlink()
    ...     (problem,) = project.check()
    >>> problem.kind, problem.repairable
    ('missing', False)
    """

    kind: str
    sentence: str
    repairable: bool
    repaired: bool = False


@dataclass(frozen=True)
class TagImport:
    """The result of importing a table of tags.

    >>> from miml_core.demo.example import example_project
    >>> with example_project() as project:
    ...     table = project.folder / "tags.csv"
    ...     _ = table.write_text("file,tags\\ndawn-2.wav,Robin; Wren\\nnight.wav,Owl\\n")
    ...     done = project.edits.import_tags(table)
    >>> done.n_bags, done.n_new_classes, len(done.left_out)  # there is no night.wav
    (1, 0, 1)
    """

    n_bags: int
    n_new_classes: int
    left_out: list[str]
    """Why lines could not be used: one sentence per line, or per reason if it has more than three lines."""
    n_left_out: int = 0
