"""What a project answers about predictions and their review: small frozen records, as in `rows.py`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Prediction:
    """What the current run says of a segment."""

    run_id: int
    probabilities: dict[int, float]
    """Class id (or BACKGROUND) -> probability given the bag's tags and corrections; adds up to 1."""
    top: int
    probability: float
    margin: float
    """Probability of the first minus that of the second."""
    free_top: int
    """What the model would say if it knew no tags."""
    free_probability: float
    contradicts: bool
    """`free_top` is a class that the bag is tagged as not having."""


@dataclass(frozen=True)
class ReviewItem:
    """A segment worth looking at."""

    segment_id: int
    bag_id: int
    score: float
    """What it was ordered by."""


@dataclass(frozen=True)
class SampleAccuracy:
    """Honest accuracy: of a random sample of segments, the share whose prediction a person found right."""

    n: int
    n_right: int
    accuracy: float | None
    low: float
    high: float
    """95 % Wilson interval."""


@dataclass(frozen=True)
class ResegmentPreview:
    """What finding segments anew would do to the work of people."""

    n_bags: int
    n_kept_as_drawn: int
    """Drawn and edited segments: always kept."""
    n_reviewed: int
    n_at_risk: int
    """Reviewed automatic segments whose label is lost unless a new segment overlaps them enough."""
    lost: list[str]
    """Sentences for the bags tried with the new settings; empty when only counted."""


@dataclass(frozen=True)
class TagSuggestion:
    """A tag the current model would give."""

    class_id: int
    probability: float


@dataclass(frozen=True)
class TagReason:
    """The segment that explains best why a bag has a tag, by the current run."""

    class_id: int
    segment_id: int
    probability: float
    """Of the class, given the bag's tags and corrections."""
    concept: int = 1
    n_concepts: int = 1
    """Which sub-concept of the class the segment shows, counted from 1, and of how many; 1 of 1 for most models."""
