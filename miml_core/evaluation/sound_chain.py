"""Measure all steps from recordings to labels learnt from tags only, and the error that each step adds.

Recordings are cut by our segmenter and tagged with the labels of their events; ORed-LR learns from the tags, as the app
does it by default, and labels the segments given the tags (transductive). A segment's truth is the label with which it
shares most time; none, or 'Unknown', is background. Also measured are the most common tag of each bag (the baseline),
ORed-LR without a background class and with the papers' features only, and with one step at a time replaced by the
truth.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miml_core.bags import BACKGROUND, UNKNOWN, BagSet
from miml_core.evaluation.metrics import calibration_error
from miml_core.evaluation.sound_sets import Event
from miml_core.evaluation.sound_transfer import n_tasks, transfer_figures
from miml_core.features.acoustic import sound_feature_names
from miml_core.instances import InstanceSettings, describe_regions, sound_instances
from miml_core.media.audio import audio_info, read_audio
from miml_core.posterior import DEFAULT_LEAK
from miml_core.segments.regions import Region

Array = NDArray[np.float64]
Labels = NDArray[np.int64]

UNKNOWN_LABEL = "Unknown"
SUPERVISED_FOLDS = 3


@dataclass(frozen=True, eq=False)
class SegmentedRecording:
    """One recording with its segments and events.

    Attributes
    ----------
    times : (n, 2)
        Start and end of its segments, seconds.
    X : (n, d)
        Their extended features; the papers' come first.
    events, event_X
        Its true events, and the features of each over the full band.
    embedding : (n, e) or None
        BirdNET's embedding of its segments, if BirdNET is installed and supports the recording's sample rate.
    clip_scores : (6522,) or None
        BirdNET's scores of the recording.
    """

    times: Array
    X: Array
    events: Sequence[Event]
    event_X: Array
    embedding: NDArray[np.float32] | None = None
    clip_scores: NDArray[np.float32] | None = None


def segment_recording(path: Path, events: Sequence[Event], embedding: bool = True) -> SegmentedRecording:
    """Return the segments, features and events of a recording; BirdNET's embedding, if it is installed, is optional."""
    info = audio_info(path)
    settings = InstanceSettings.for_rate(info.rate)
    found = sound_instances(path, 0.0, info.duration, settings)
    grid = found.grid
    edges = np.array([region.box for region in found.regions], dtype=np.float64).reshape(-1, 4)
    stripes = []
    for event in events:
        left = int(np.clip(np.floor(grid.column_at(event.start)), 0, grid.width - 1))
        right = int(np.clip(np.ceil(grid.column_at(event.end)), left + 1, grid.width))
        stripes.append(Region(0, left, np.ones((grid.height, right - left), dtype=bool)))
    times = np.column_stack([grid.x_at(edges[:, 1]), grid.x_at(edges[:, 3])])
    event_X = describe_regions(path, 0.0, info.duration, grid, stripes, settings)
    birdnet = _birdnet(path, times) if embedding else (None, None)
    return SegmentedRecording(times, found.X, events, event_X, *birdnet)


def _birdnet(path: Path, times: Array) -> tuple[NDArray[np.float32] | None, NDArray[np.float32] | None]:
    """Return BirdNET's embedding of segments and its scores of the recording; None if it cannot be used."""
    from miml_core.features.birdnet import birdnet_status, suitable_rate
    from miml_core.features.birdnet.clip_scores import score_clip
    from miml_core.features.birdnet.embedding import birdnet_timeline, pool_frames

    samples, rate = read_audio(path)
    if not birdnet_status().installed or not suitable_rate(rate):
        return None, None
    frame_times, frames = birdnet_timeline(samples, rate)
    return pool_frames(frame_times, frames, times), score_clip(path, 0.0, len(samples) / rate)


def chain_figures(
    recordings: Sequence[SegmentedRecording],
    species: dict[str, tuple[str, str]],
    jobs: int = 1,
    step: Callable[[], None] = lambda: None,
    folds: int = 10,
) -> dict[str, Any]:
    """Return the accuracy of labels learnt from tags only, also with the truth in place of each step.

    `species` has the (scientific, English) names of labels; new clips are held out in `folds` parts.
    """
    from joblib import Parallel, delayed

    classes = sorted({event.label for one in recordings for event in one.events} - {UNKNOWN_LABEL})
    with_segments = [one for one in recordings if len(one.X)]
    if not classes or not with_segments:
        for _ in range(n_fits(folds)):
            step()
        return {"not_measured": "no recording with a named event has segments"}
    ours = make_bags(with_segments, classes, [one.X for one in with_segments])
    truth = np.concatenate([segment_truth(one.times, one.events, classes) for one in with_segments])
    n_paper = len(sound_feature_names("paper"))
    paper = ours.replace(X=np.ascontiguousarray(ours.X[:, :n_paper]))
    cut = make_bags(recordings, classes, [one.event_X for one in recordings])
    cut_truth = np.concatenate([_event_truth(one.events, classes) for one in recordings])
    labelled = ours.replace(X=np.eye(len(classes) + 1)[truth][:, :-1])
    tasks = [
        delayed(_accuracy)(paper, truth),
        delayed(_accuracy)(ours, truth),
        delayed(_accuracy)(paper, truth, background=False),
        delayed(_accuracy)(ours, truth, background=False),
        delayed(_accuracy)(cut, cut_truth),
        delayed(_accuracy)(labelled, truth),
        delayed(_supervised)(ours, truth),
    ]
    found, errors = [], []
    for accuracy, error in Parallel(n_jobs=jobs, return_as="generator")(tasks):
        found.append(round(accuracy, 4))
        errors.append(round(error, 4))
        step()
    names = ("paper", "extended", "paper_without_background", "extended_without_background")
    swaps = dict(zip(("segments", "features", "model"), found[4:]))
    return {
        "classes": len(classes),
        "background_share": round(float((truth == BACKGROUND).mean()), 4),
        "accuracy": {"majority_tag": round(float((truth == _majority(ours)).mean()), 4), **dict(zip(names, found))},
        "calibration_error": dict(zip(names, errors)),
        "with_truth_for": swaps,
        "costs_most": max(swaps, key=lambda part: swaps[part]),
        "features": transfer_figures(with_segments, ours, truth, species, jobs, step, folds),
    }


def n_fits(folds: int) -> int:
    """Return the number of fits of `chain_figures`."""
    return 7 + n_tasks(folds)


def segment_truth(times: Array, events: Sequence[Event], classes: list[str]) -> Labels:
    """Return the class with which each segment shares most time, or `BACKGROUND`."""
    truth = np.full(len(times), BACKGROUND)
    for i, (start, end) in enumerate(times):
        shared: Counter[str] = Counter()
        for event in events:
            shared[event.label] += max(0.0, min(end, event.end) - max(start, event.start))
        label, most = shared.most_common(1)[0] if shared else (UNKNOWN_LABEL, 0.0)
        if most > 0 and label != UNKNOWN_LABEL:
            truth[i] = classes.index(label)
    return truth


def _event_truth(events: Sequence[Event], classes: list[str]) -> Labels:
    return np.array([BACKGROUND if event.label == UNKNOWN_LABEL else classes.index(event.label) for event in events])


def make_bags(recordings: Sequence[SegmentedRecording], classes: list[str], X: Sequence[Array]) -> BagSet:
    """Return one bag per recording, tagged with the labels of its events."""
    tags = np.full((len(recordings), len(classes)), -1)
    for bag, one in enumerate(recordings):
        for event in one.events:
            if event.label != UNKNOWN_LABEL:
                tags[bag, classes.index(event.label)] = 1
    offsets = np.concatenate([[0], np.cumsum([len(rows) for rows in X])])
    return BagSet(np.concatenate(X), offsets, tags, classes)


def _accuracy(bags: BagSet, truth: Labels, *, background: bool = True) -> tuple[float, float]:
    """Return the share of correct segments, and the expected calibration error.

    Without a background class, a bag without tags is all background, and the calibration error is that of the segments
    with a class.
    """
    from miml_core.models.ored_lr import ORedLR

    tagged = np.ones(bags.n_bags, dtype=bool) if background else np.asarray((bags.tags > 0).any(axis=1))
    model = ORedLR(background=background, leak=DEFAULT_LEAK).fit(bags[tagged])
    predicted = np.full(len(truth), BACKGROUND)
    probabilities, rows = model.annotate(bags[tagged]), tagged[bags.bag_of]
    predicted[rows] = _named(probabilities, bags.n_classes)
    columns = np.where(truth[rows] == BACKGROUND, bags.n_classes if background else UNKNOWN, truth[rows])
    return float((truth == predicted).mean()), calibration_error(columns, probabilities)


def _supervised(bags: BagSet, truth: Labels) -> tuple[float, float]:
    """Return the accuracy of a model that is trained on the true labels of other recordings, in folds; no error."""
    from miml_core.evaluation.benchmark import bag_folds
    from miml_core.models.ored_lr import ORedLR

    tags = bags.tags.copy()
    named = np.flatnonzero(truth >= 0)
    tags[bags.bag_of[named], truth[named]] = 1
    labelled = bags.replace(tags=tags, labels=truth)
    predicted = np.full(len(truth), BACKGROUND)
    for train, test in bag_folds(bags.n_bags, SUPERVISED_FOLDS, seed=0):
        model = ORedLR(background=True, leak=DEFAULT_LEAK).fit(labelled[train])
        predicted[bags.rows_of(test)] = _named(model.annotate(bags[test]), bags.n_classes)
    return float((truth == predicted).mean()), float("nan")


def _majority(bags: BagSet) -> Labels:
    """Return, for each segment, the most frequent of its bag's tags, or background."""
    scores = np.where(bags.tags > 0, (bags.tags > 0).sum(axis=0), 0)
    best = np.where(scores.any(axis=1), scores.argmax(axis=1), BACKGROUND)
    return np.asarray(best[bags.bag_of])


def _named(probabilities: Array, n_classes: int) -> Labels:
    best = probabilities.argmax(axis=1)
    return np.where(best == n_classes, BACKGROUND, best)
