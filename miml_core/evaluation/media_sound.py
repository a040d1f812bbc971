"""From sound files to labelled segments, measured on recordings of known truth.

Recordings are cut by our segmenter with the defaults for their sample rate. Where boxes are known: how many a segment
overlaps, and how many segments overlap a box. Where events are known in time: how many are found, how many segments are
right, and the whole chain: bags tagged with the events' labels, annotated by ORed-LR from those tags alone. A segment's
truth is the label with which it shares most time; none, or 'Unknown', is background. Beside the chain stand the
tag that most bags have (the baseline), and the same with the truth put in the place of a part, which tells what
the part costs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miml_core.bags import BACKGROUND, BagSet
from miml_core.evaluation.sound_sets import Box, BoxSet, Event, EventSet, find_box_sets, find_event_sets
from miml_core.instances import InstanceSettings, describe_regions, sound_instances
from miml_core.media.audio import audio_info
from miml_core.segments.regions import Region

Progress = Callable[[int, int, dict[str, float]], Any]
Array = NDArray[np.float64]

UNKNOWN_LABEL = "Unknown"
FOUND_SHARE = 0.3
RIGHT_SHARE = 0.5
SAME_BOX = 0.3
LEAK = 0.01
FOLDS = 5


def measure_sound(data_dir: str | Path, progress: Progress | None = None, jobs: int = 1) -> dict[str, dict[str, Any]]:
    """Figures for every set of recordings under `data_dir`/audio, by name; {} when there is none.

    `jobs` is the number of processes that read recordings (-1: one a core).
    """
    event_sets, box_sets = find_event_sets(Path(data_dir)), find_box_sets(Path(data_dir))
    total = sum(len(one.events) for one in event_sets) + sum(len(one.boxes) for one in box_sets)
    done = 0

    def step() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, total, {})

    figures: dict[str, dict[str, Any]] = {one.name: _measure_boxes(one, step, jobs) for one in box_sets}
    return figures | {one.name: _measure_events(one, step, jobs) for one in event_sets}


# boxes


def _measure_boxes(recordings: BoxSet, step: Callable[[], None], jobs: int) -> dict[str, Any]:
    paths = list(recordings.boxes)
    n_boxes = n_same = n_touched = n_segments = n_right = 0
    for path, segments in zip(paths, _in_parallel(_segment_boxes, paths, step, jobs)):
        truth = np.array(recordings.boxes[path])
        middle = (segments[:, 0] + segments[:, 2]) / 2
        looked_at = recordings.looked_at.get(path) or [(0.0, np.inf)]
        segments = segments[np.any([(middle >= start) & (middle <= end) for start, end in looked_at], axis=0)]
        overlap = box_overlap(truth, segments)
        n_boxes, n_segments = n_boxes + len(truth), n_segments + len(segments)
        n_same += int((overlap.max(axis=1, initial=0) >= SAME_BOX).sum())
        n_touched += int((overlap.max(axis=1, initial=0) > 0).sum())
        n_right += int((overlap.max(axis=0, initial=0) >= SAME_BOX).sum())
    return {
        "recordings": len(paths),
        "boxes": n_boxes,
        "segments": n_segments,
        "boxes_overlapped_by_0.3": n_same / n_boxes,
        "boxes_touched": n_touched / n_boxes,
        "precision": n_right / max(1, n_segments),
    }


def box_overlap(first: Array, second: Array) -> Array:
    """(n, m) intersection over union of boxes (start, low, end, high)."""
    if not len(second):
        return np.zeros((len(first), 0))
    shared = np.maximum(
        np.minimum(first[:, None, 2:], second[None, :, 2:]) - np.maximum(first[:, None, :2], second[None, :, :2]), 0
    ).prod(axis=2)
    area = [(boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1]) for boxes in (first, second)]
    return shared / (area[0][:, None] + area[1][None] - shared)


def _segment_boxes(path: Path) -> Array:
    info = audio_info(path)
    found = sound_instances(path, 0.0, info.duration, InstanceSettings.for_rate(info.rate))
    grid = found.grid
    boxes: list[Box] = []
    for top, left, bottom, right in (region.box for region in found.regions):
        boxes.append((float(grid.x_at(left)), float(grid.y_at(bottom)), float(grid.x_at(right)), float(grid.y_at(top))))
    return np.array(boxes).reshape(-1, 4)


# events


@dataclass(frozen=True)
class Heard:
    """One recording as the chain sees it: when its segments are, and their numbers."""

    times: Array
    X: Array
    paper_X: Array
    event_X: Array
    """Features of the true events, each cut out over the whole band."""


def _hear(path: Path, events: Sequence[Event]) -> Heard:
    info = audio_info(path)
    settings = InstanceSettings.for_rate(info.rate)
    found = sound_instances(path, 0.0, info.duration, settings)
    grid = found.grid
    boxes = [region.box for region in found.regions]
    times = np.array([(float(grid.x_at(box[1])), float(grid.x_at(box[3]))) for box in boxes]).reshape(-1, 2)
    plain = replace(settings, feature_set="paper")
    paper = describe_regions(path, 0.0, info.duration, grid, found.regions, plain)
    stripes = []
    for event in events:
        left = int(np.clip(np.floor(grid.column_at(event.start)), 0, grid.width - 1))
        right = int(np.clip(np.ceil(grid.column_at(event.end)), left + 1, grid.width))
        stripes.append(Region(0, left, np.ones((grid.height, right - left), bool)))
    return Heard(times, found.X, paper, describe_regions(path, 0.0, info.duration, grid, stripes, settings))


def _measure_events(recordings: EventSet, step: Callable[[], None], jobs: int) -> dict[str, Any]:
    paths = [path for path, events in recordings.events.items() if events]
    events = [recordings.events[path] for path in paths]
    heard = _in_parallel(_hear, paths, step, jobs, events)
    found, right = _found(heard, events)
    recall, precision = float(np.mean(found)), float(np.mean(right)) if len(right) else 0.0
    return {
        "recordings": len(paths),
        "events": len(found),
        "segments": len(right),
        "event_recall": recall,
        "segment_precision": precision,
        "f1": 2 * recall * precision / max(recall + precision, 1e-12),
        "chain": _chain(heard, events),
    }


def _found(heard: list[Heard], events: list[list[Event]]) -> tuple[list[bool], list[bool]]:
    """Which events are covered for 30 % of their time, and which segments lie for half of theirs inside events."""
    found, right = [], []
    for one, truth in zip(heard, events):
        spans = np.array([(event.start, event.end) for event in truth])
        found += [_covered(span, one.times) >= FOUND_SHARE for span in spans]
        right += [_covered(span, spans) >= RIGHT_SHARE for span in one.times]
    return found, right


def _covered(span: Array, others: Array) -> float:
    """Share of a span of time that the union of others covers."""
    inside = np.clip(others, span[0], span[1])
    inside = inside[np.argsort(inside[:, 0])] if len(inside) else inside
    covered, until = 0.0, span[0]
    for start, end in inside:
        covered += max(0.0, end - max(start, until))
        until = max(until, end)
    return covered / max(span[1] - span[0], 1e-9)


def segment_truth(times: Array, events: Sequence[Event], classes: list[str]) -> NDArray[np.int64]:
    """Of each segment the class with which it shares most time; `BACKGROUND` for none of them."""
    truth = np.full(len(times), BACKGROUND)
    for i, (start, end) in enumerate(times):
        shared: Counter[str] = Counter()
        for event in events:
            shared[event.label] += max(0.0, min(end, event.end) - max(start, event.start))
        label, most = shared.most_common(1)[0]
        if most > 0 and label != UNKNOWN_LABEL:
            truth[i] = classes.index(label)
    return truth


def _chain(heard: list[Heard], events: list[list[Event]]) -> dict[str, Any]:
    """Accuracy of the labels that tags alone lead to, and what each part costs."""
    classes = sorted({event.label for truth in events for event in truth} - {UNKNOWN_LABEL})
    ours = _bags(heard, events, classes, [one.X for one in heard])
    truth = np.concatenate([segment_truth(one.times, some, classes) for one, some in zip(heard, events)])
    paper = ours.replace(X=np.concatenate([one.paper_X for one in heard if len(one.X)]))
    known = [np.array([classes.index(e.label) if e.label in classes else BACKGROUND for e in some]) for some in events]
    cut = _bags(heard, events, classes, [one.event_X for one in heard])
    return {
        "classes": len(classes),
        "majority_tag": _score(truth, _majority(ours)),
        "ored_lr": _annotated(ours, truth),
        "ored_lr_no_background": _annotated(ours, truth, background=False),
        "ored_lr_papers_features": _annotated(paper, truth),
        "true_segments": _annotated(cut, np.concatenate(known)),
        "model_told_the_truth": _supervised(ours, truth),
    }


def _bags(heard: list[Heard], events: list[list[Event]], classes: list[str], X: list[Array]) -> BagSet:
    """Bags with at least one segment, tagged with the labels of their events."""
    some = [i for i, rows in enumerate(X) if len(rows)]
    tags = np.full((len(some), len(classes)), -1)
    for place, i in enumerate(some):
        for event in events[i]:
            if event.label in classes:
                tags[place, classes.index(event.label)] = 1
    offsets = np.concatenate([[0], np.cumsum([len(X[i]) for i in some])])
    return BagSet(np.concatenate([X[i] for i in some]), offsets, tags, classes)


def _annotated(bags: BagSet, truth: NDArray[np.int64], *, background: bool = True) -> float:
    """Without a background class, bags that have no tag are left out, and all of them counts as background."""
    from miml_core.models.ored_lr import ORedLR

    model = ORedLR(background=background, leak=LEAK)
    if background:
        return _score(truth, _named(model.fit(bags).annotate(bags)))
    tagged = np.asarray((bags.tags > 0).any(axis=1))
    predicted = np.full(len(truth), BACKGROUND)
    predicted[tagged[bags.bag_of]] = model.fit(bags[tagged]).annotate(bags[tagged]).argmax(axis=1)
    return _score(truth, predicted)


def _supervised(bags: BagSet, truth: NDArray[np.int64]) -> float:
    """The same features and tags with a model that was told the truth of other recordings, in folds."""
    from miml_core.evaluation.benchmark import bag_folds
    from miml_core.models.ored_lr import ORedLR

    predicted = np.full(len(truth), BACKGROUND)
    tags = bags.tags.copy()
    named = np.flatnonzero(truth >= 0)
    tags[bags.bag_of[named], truth[named]] = 1
    for train, test in bag_folds(bags.n_bags, FOLDS, seed=0):
        told = bags.replace(tags=tags, labels=truth)[train]
        model = ORedLR(background=True, leak=LEAK).fit(told)
        answers = _named(model.annotate(bags[test]))
        predicted[np.concatenate([np.arange(bags.n_segments)[bags.rows(int(bag))] for bag in test])] = answers
    return _score(truth, predicted)


def _majority(bags: BagSet) -> NDArray[np.int64]:
    """For each segment the commonest of its bag's tags; background where there is none."""
    frequency = (bags.tags > 0).sum(axis=0)
    scores = np.where(bags.tags > 0, frequency, 0)
    best = np.where(scores.any(axis=1), scores.argmax(axis=1), BACKGROUND)
    return best[bags.bag_of]


def _named(probabilities: Array) -> NDArray[np.int64]:
    best = probabilities.argmax(axis=1)
    return np.where(best == probabilities.shape[1] - 1, BACKGROUND, best)


def _score(truth: NDArray[np.int64], predicted: NDArray[np.int64]) -> float:
    return 100 * float((truth == predicted).mean())


def _in_parallel(
    work: Callable[..., Any], paths: list[Path], step: Callable[[], None], jobs: int, *more: list[Any]
) -> list[Any]:
    from joblib import Parallel, delayed

    results = []
    for result in Parallel(n_jobs=jobs, return_as="generator")(delayed(work)(*args) for args in zip(paths, *more)):
        results.append(result)
        step()
    return results
