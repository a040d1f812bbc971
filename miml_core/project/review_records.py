"""Records of predictions and their review; see `records.py`."""

from __future__ import annotations

from dataclasses import dataclass


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
class TagReason:
    """The segment that explains a tag of a bag best, by the current run."""

    class_id: int
    segment_id: int
    probability: float
    """Of the class, given the bag's tags and corrections."""
    concept: int = 1
    n_concepts: int = 1
    """Which sub-concept of the class the segment shows, counted from 1, and of how many; 1 of 1 for most models."""
