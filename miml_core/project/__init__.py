"""The project on disk: what people and jobs made, kept so that nothing is ever lost.

`Project` is the one door. Every act of a person is one committed transaction and one entry of the history before the
method returns.
"""

from miml_core.project.errors import CannotUndo, Gone, NeedsConfirmation, ProjectTooNew
from miml_core.project.project import Project
from miml_core.project.review_rows import (
    Prediction,
    ResegmentPreview,
    ReviewItem,
    SampleAccuracy,
    TagReason,
    TagSuggestion,
)
from miml_core.project.rows import (
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
    Progress,
    Run,
    Segment,
    SegmentRange,
    SegmentSummary,
    TagImport,
)

__all__ = [
    "Bag",
    "BagPage",
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
    "Progress",
    "Project",
    "ProjectTooNew",
    "ResegmentPreview",
    "ReviewItem",
    "Run",
    "SampleAccuracy",
    "Segment",
    "SegmentRange",
    "SegmentSummary",
    "TagImport",
    "TagReason",
    "TagSuggestion",
]
