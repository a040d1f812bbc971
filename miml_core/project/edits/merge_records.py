"""What a merge of another annotator's copy takes, adds and lists."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from miml_core.evaluation.agreement import Kappa, cohen_kappa

if TYPE_CHECKING:
    from miml_core.media.grid import Grid

ClassRef = int | str
"""The id of a class of the project (`BACKGROUND` for none of them), or the name of a class to be added."""


@dataclass(frozen=True)
class TakenLabel:
    """A label of the other annotator for a segment of the project."""

    segment_id: int
    bag_id: int
    label: ClassRef
    annotator: str
    at: float
    accepted: bool


@dataclass(frozen=True, eq=False)
class TakenSegment:
    """A segment of the other annotator that the project lacks."""

    bag_id: int
    grid: Grid
    region: bytes
    columns: dict[str, Any]
    """Edges, and tags of another program."""
    label: ClassRef | None
    annotator: str
    at: float
    accepted: bool
    conflicting: bool
    """Whether the bag is tagged as without the class of its label, so that the label is a conflict."""


@dataclass(frozen=True)
class NewConflict:
    """Something that both annotators answered differently."""

    bag_id: int
    segment_id: int | None
    class_ref: ClassRef | None
    """The class of a tag; None for a label."""
    ours: int | None
    ours_by: str
    ours_at: float
    theirs: ClassRef
    theirs_by: str
    theirs_at: float


@dataclass(frozen=True)
class Agreement:
    """Cohen's kappa of what both annotators answered independently."""

    overall: Kappa
    classes: dict[str, Kappa]

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {"overall": self.overall.to_dict(), "classes": {name: k.to_dict() for name, k in self.classes.items()}}


@dataclass
class MergePlan:
    """What a merge will do."""

    source: str
    """The name of the other project."""
    people: list[str]
    """Who worked on it."""
    n_media: int = 0
    n_bags: int = 0
    """Those that both projects have."""
    unknown_media: list[str] = field(default_factory=list)
    """Media of the other project that this one lacks; what was answered about them is left out."""
    n_unknown_bags: int = 0
    new_classes: dict[str, str] = field(default_factory=dict)
    """{name: scientific name}."""
    new_tags: dict[tuple[int, ClassRef], int] = field(default_factory=dict)
    """{(bag, class): 1 or -1}."""
    finished: dict[int, bool] = field(default_factory=dict)
    """{bag whose tagging is finished now: whether the rest is unknown}."""
    notes: dict[int, str] = field(default_factory=dict)
    labels: list[TakenLabel] = field(default_factory=list)
    segments: list[TakenSegment] = field(default_factory=list)
    replaced: list[int] = field(default_factory=list)
    """Ids of detected segments that nobody labelled and that a new segment covers at least half."""
    deleted: dict[int, float | None] = field(default_factory=dict)
    """{id of a segment that only the other deleted, merged or split: when it was labelled here, None if it was not}."""
    n_kept: int = 0
    """Segments that the other deleted and that somebody labelled here since: they stay."""
    conflicts: list[NewConflict] = field(default_factory=list)
    n_known_conflicts: int = 0
    """Conflicts that an earlier merge has listed."""
    n_agreed_tags: int = 0
    n_agreed_labels: int = 0
    tag_agreement: Agreement = Agreement(cohen_kappa([], []), {})
    label_agreement: Agreement = Agreement(cohen_kappa([], []), {})

    @property
    def changes_anything(self) -> bool:
        """Whether the merge would change tags, labels, segments or notes, or list conflicts."""
        return bool(
            self.new_tags
            or self.finished
            or self.notes
            or self.labels
            or self.segments
            or self.deleted
            or self.conflicts
        )

    def changed_bags(self) -> set[int]:
        """Return the bags that the merge changes, or lists conflicts of."""
        found = {bag_id for bag_id, _ in self.new_tags} | set(self.finished) | set(self.notes)
        found |= {label.bag_id for label in self.labels} | {segment.bag_id for segment in self.segments}
        return found | {conflict.bag_id for conflict in self.conflicts}

    def used_classes(self) -> set[ClassRef]:
        """Return the classes of tags, labels and conflicts."""
        found: set[ClassRef | None] = {ref for _, ref in self.new_tags}
        found |= {label.label for label in self.labels} | {segment.label for segment in self.segments}
        found |= {ref for each in self.conflicts for ref in (each.class_ref, each.theirs)}
        return {ref for ref in found if ref is not None}

    def counts(self) -> dict[str, int]:
        """Return the numbers that people want to see."""
        return {
            "media": self.n_media,
            "bags": self.n_bags,
            "unknown_media": len(self.unknown_media),
            "unknown_bags": self.n_unknown_bags,
            "new_classes": len(self.new_classes),
            "new_tags": len(self.new_tags),
            "finished_bags": len(self.finished),
            "new_labels": len(self.labels),
            "new_segments": len(self.segments),
            "replaced_segments": len(self.replaced),
            "deleted_segments": len(self.deleted),
            "kept_segments": self.n_kept,
            "agreed_tags": self.n_agreed_tags,
            "agreed_labels": self.n_agreed_labels,
            "tag_conflicts": sum(each.segment_id is None and each.class_ref is not None for each in self.conflicts),
            "label_conflicts": sum(each.class_ref is None for each in self.conflicts)
            + sum(each.conflicting for each in self.segments),
            "known_conflicts": self.n_known_conflicts,
        }

    def agreement(self) -> dict[str, Any]:
        """Return the agreement as JSON values."""
        return {"tags": self.tag_agreement.to_dict(), "labels": self.label_agreement.to_dict()}
