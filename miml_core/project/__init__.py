"""The project on disk: media, tags, labels, segments, models and jobs.

Use it through `Project`. Every edit of a person is one committed transaction and one history entry before the method
returns.
"""

from miml_core.project.errors import CannotUndo, Gone, NeedsConfirmation, ProjectTooNew
from miml_core.project.project import Project
from miml_core.project.records import (
    Bag,
    BagPage,
    Class,
    EditResult,
    HistoryEntry,
    Job,
    JobFailure,
    Medium,
    News,
    Problem,
    ProjectCounts,
    RecordingLocation,
    Run,
    Segment,
    SegmentRange,
    SegmentSummary,
    TagImport,
)
from miml_core.project.review_records import (
    BagSuggestions,
    Prediction,
    ResegmentPreview,
    ReviewItem,
    SampleAccuracy,
    Suggestion,
    TagReason,
    TagSuggestion,
)

__all__ = [
    "Bag",
    "BagPage",
    "BagSuggestions",
    "CannotUndo",
    "Class",
    "EditResult",
    "Gone",
    "HistoryEntry",
    "Job",
    "JobFailure",
    "Medium",
    "NeedsConfirmation",
    "News",
    "Prediction",
    "Problem",
    "Project",
    "ProjectCounts",
    "ProjectTooNew",
    "RecordingLocation",
    "ResegmentPreview",
    "ReviewItem",
    "Run",
    "SampleAccuracy",
    "Segment",
    "SegmentRange",
    "SegmentSummary",
    "Suggestion",
    "TagImport",
    "TagReason",
    "TagSuggestion",
]
