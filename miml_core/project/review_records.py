"""Records of predictions and their review; see `records.py`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from miml_core.media.recording_place import Place


@dataclass(frozen=True)
class Prediction:
    """The current run's prediction for a segment."""

    run_id: int
    probabilities: dict[int, float]
    """Class id (or BACKGROUND) -> probability given the bag's tags and corrections; adds up to 1."""
    top: int
    probability: float
    margin: float
    """Probability of the first minus that of the second."""
    free_top: int
    """The likeliest class without knowing the tags."""
    free_probability: float
    contradicts: bool
    """Whether `free_top` is a class that the bag is tagged as not having."""


@dataclass(frozen=True)
class ReviewItem:
    """A segment to review."""

    segment_id: int
    bag_id: int
    score: float
    """The number that the queue is sorted by."""


@dataclass(frozen=True)
class Conflict:
    """What two annotators answered differently, and nobody has decided yet."""

    id: int
    bag_id: int
    bag: str
    """Name of the bag."""
    segment_id: int | None
    """None for a tag."""
    number: int | None
    """Of the segment in its bag."""
    class_id: int | None
    """The class of a tag; None for a label."""
    ours: int | None
    """The label that the segment has, or 1 or -1 for a tag."""
    ours_by: str
    theirs: int
    theirs_by: str
    theirs_at: float


@dataclass(frozen=True)
class Merge:
    """A copy of another annotator that was merged into the project."""

    id: int
    at: float
    annotator: str
    source: str
    """The name of the copy."""
    people: list[str]
    counts: dict[str, int]
    agreement: dict[str, Any]
    """Of tags and of labels before the merge: {"tags" or "labels": {"overall": kappa, "classes": {name: kappa}}}."""


@dataclass(frozen=True)
class SampleAccuracy:
    """Unbiased accuracy: of a random sample of segments, the share whose prediction a person found right."""

    n: int
    n_right: int
    accuracy: float | None
    low: float
    high: float
    """95 % Wilson interval."""


@dataclass(frozen=True)
class ResegmentPreview:
    """What detecting segments again would do to the work of people."""

    n_bags: int
    n_kept_as_drawn: int
    """Drawn and edited segments: always kept."""
    n_reviewed: int
    n_at_risk: int
    """Reviewed automatic segments whose label is lost unless a new segment overlaps them enough."""
    lost: list[str]
    """The labels lost in the bags that were tried with the new settings; empty if only counted."""


@dataclass(frozen=True)
class TagSuggestion:
    """A tag suggested by the current model."""

    class_id: int
    probability: float


@dataclass(frozen=True)
class Suggestion:
    """A tag that is suggested for a bag: a class, or a species that is no class of the project yet."""

    class_id: int | None
    """None for a species that is no class yet."""
    name: str
    scientific_name: str
    by_run: float | None = None
    """Probability by the current run; None if that does not know the class or the bag."""
    by_birdnet: float | None = None
    """BirdNET's score; None if it is low, or the class is no species of BirdNET."""
    run_id: int | None = None

    @property
    def probability(self) -> float:
        """That of the run, which was trained on the project's own tags, or else BirdNET's score."""
        if self.by_run is not None:
            return self.by_run
        return 0.0 if self.by_birdnet is None else self.by_birdnet

    @property
    def source(self) -> str:
        """What suggests it: "BirdNET", "run 3" or "run 3 + BirdNET".

        >>> Suggestion(7, "Wren", "", by_run=0.9, by_birdnet=0.4, run_id=3).source
        'run 3 + BirdNET'
        """
        run = [] if self.run_id is None else [f"run {self.run_id}"]
        return " + ".join([*run, *([] if self.by_birdnet is None else ["BirdNET"])])


@dataclass(frozen=True)
class BagSuggestions:
    """The suggested tags of a bag, the likeliest first."""

    items: list[Suggestion] = field(default_factory=list)
    analysed: bool = False
    """Whether BirdNET has analysed the bag."""
    problem: str = ""
    """If it has not, although it is a sound: why, in one sentence."""
    place: Place | None = None
    """Where the bag was recorded: species that do not occur there are left out."""
    week: int | None = None
    """BirdNET's week (1 to 48) of the recording, if place and date are known."""


@dataclass(frozen=True)
class TagReason:
    """The segment that explains a tag of a bag best, by the current run."""

    class_id: int
    segment_id: int
    probability: float
    """Of the class, given the bag's tags and corrections."""
    concept: int = 1
    n_concepts: int = 1
    """Which sub-concept of the class the segment shows, counted from 1, and of how many; 1 of 1 for most models."""


@dataclass(frozen=True)
class WallItem:
    """A segment on the wall."""

    segment_id: int
    bag_id: int
    bag: str
    """Name of the bag."""
    number: int
    """Its number in the bag."""
    left: float
    right: float
    low: float
    high: float
    """Its box, as in `Segment`."""
    revision: int
    """Changes with its outline and its label."""
    label: int | None
    accepted: bool
    checked_by: str | None
    """"eye" or "threshold"; None without a label."""
    guesses: list[tuple[int, float]]
    """The current run's likeliest labels with their probabilities, the likeliest first."""


@dataclass(frozen=True)
class WallClass:
    """How many segments of a class a wall can show."""

    label: int
    """Class id or `BACKGROUND`."""
    n_open: int
    """Surely predicted as it, and without a label."""
    n_unsure: int
    """Of which it is the best guess, below the threshold of a sure prediction, and without a label."""
    n_checked: int
    """Labelled as it by a person who saw the segment."""
    n_threshold: int
    """Accepted as it by a threshold."""
