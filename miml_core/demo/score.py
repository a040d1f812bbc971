"""How well the demo's model does, against the truth that it never saw."""

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
    """One segment: what it is, and what was said; None stands for background."""

    true: str | None
    said: str | None
    by_majority: str | None


def score_demo(project: Project) -> dict[str, float]:
    """Accuracy of the current run on the segments of all tagged bags, beside that of the commonest tag.

    A segment's truth is the call or surface that fills most of it, background where there is hardly any; what the
    model says is its likeliest label under the bag's tags. ``majority_tag`` is the accuracy of giving every segment
    that tag of its bag which most bags have. The figures ending in ``_calls`` leave out segments that are background;
    ``accuracy_untagged`` is that on the bags without tags.
    """
    truth = Truth.read(project.folder)
    names: dict[int, str | None] = {one.id: one.name for one in project.classes()} | {BACKGROUND: None}
    bags = project.list_bags(limit=project.progress().n_bags).bags
    common = Counter(class_id for bag in bags for class_id, tag in bag.tags.items() if tag > 0)
    tagged = [one for bag in bags if bag.finished for one in _judge(project, bag, truth, names, common)]
    untagged = [one for bag in bags if not bag.finished for one in _judge(project, bag, truth, names, common)]
    calls = [one for one in tagged if one.true is not None]
    return {
        "segments": len(tagged),
        "calls": len(calls),
        "accuracy": _share(one.said == one.true for one in tagged),
        "accuracy_calls": _share(one.said == one.true for one in calls),
        "majority_tag": _share(one.by_majority == one.true for one in tagged),
        "majority_tag_calls": _share(one.by_majority == one.true for one in calls),
        "accuracy_untagged": _share(one.said == one.true for one in untagged),
    }


def _judge(
    project: Project, bag: Bag, truth: Truth, names: dict[int, str | None], common: Counter[int]
) -> Iterator[_Judged]:
    file = PurePosixPath(bag.path).name
    present = [class_id for class_id, tag in bag.tags.items() if tag > 0]
    commonest = names[max(present, key=lambda class_id: (common[class_id], -class_id))] if present else None
    for segment in project.segments(bag.id):
        if segment.prediction is not None:
            yield _Judged(truth.label_of(file, segment.outline), names[segment.prediction.top], commonest)


def _share(right: Iterator[bool]) -> float:
    answers = list(right)
    return sum(answers) / len(answers) if answers else float("nan")
