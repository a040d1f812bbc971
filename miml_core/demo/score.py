"""Compare the labels of the demo's model with the truth, which training does not use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from miml_core.bags import BACKGROUND
from miml_core.demo.truth import Truth
from miml_core.project import Bag, Project


@dataclass(frozen=True)
class _Judged:
    """One segment: its true label, its predicted label, and the most common tag; None is background."""

    true: str | None
    predicted: str | None
    majority: str | None


def score_demo(project: Project) -> dict[str, float]:
    """Return the accuracy of the current run on the segments of all tagged bags, and that of the most common tag.

    A segment's truth is the call or surface that covers most of it, or background; its prediction is the most probable
    label given the bag's tags. ``majority_tag`` is the accuracy of labelling every segment with the most common tag of
    its bag. The figures that end in ``_calls`` leave out background segments; ``accuracy_untagged`` is the accuracy in
    bags without tags.
    """
    truth = Truth.read(project.folder)
    names: dict[int, str | None] = {one.id: one.name for one in project.classes.list()} | {BACKGROUND: None}
    bags = project.bags.list(limit=project.progress().n_bags).bags
    common = Counter(class_id for bag in bags for class_id, tag in bag.tags.items() if tag > 0)
    tagged = [one for bag in bags if bag.finished for one in _judge(project, bag, truth, names, common)]
    untagged = [one for bag in bags if not bag.finished for one in _judge(project, bag, truth, names, common)]
    calls = [one for one in tagged if one.true is not None]
    return {
        "segments": len(tagged),
        "calls": len(calls),
        "accuracy": _share(one.predicted == one.true for one in tagged),
        "accuracy_calls": _share(one.predicted == one.true for one in calls),
        "majority_tag": _share(one.majority == one.true for one in tagged),
        "majority_tag_calls": _share(one.majority == one.true for one in calls),
        "accuracy_untagged": _share(one.predicted == one.true for one in untagged),
    }


def _judge(
    project: Project, bag: Bag, truth: Truth, names: dict[int, str | None], common: Counter[int]
) -> Iterator[_Judged]:
    file = PurePosixPath(bag.path).name
    present = [class_id for class_id, tag in bag.tags.items() if tag > 0]
    most_common = names[max(present, key=lambda class_id: (common[class_id], -class_id))] if present else None
    for segment in project.segments.list(bag.id):
        if segment.prediction is not None:
            yield _Judged(truth.label_of(file, segment.outline), names[segment.prediction.top], most_common)


def _share(right: Iterator[bool]) -> float:
    values = list(right)
    return sum(values) / len(values) if values else float("nan")
