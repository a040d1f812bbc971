"""Measure sound segments on recordings with known truth, and all steps from files to labels.

Recordings are cut by our segmenter with the defaults for their sample rate. Where boxes are known: how many a segment
overlaps, how many segments overlap a box, and how many are inside one (boxes may be drawn around whole songs). Where
events are known in time: how many are found (30 % of their time covered), how many segments are right (half of their
time inside events), and the labels learnt from tags only (`sound_chain.py`). All figures are shares from 0 to 1.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miml_core.errors import BagtagError
from miml_core.evaluation.sound_chain import SegmentedRecording, chain_figures, n_fits, segment_recording
from miml_core.evaluation.sound_sets import BoxSet, EventSet, find_box_sets, find_event_sets
from miml_core.instances import InstanceSettings, find_segments
from miml_core.media.audio import audio_info
from miml_core.media.spectrogram import read_spectrogram
from miml_core.progress import Progress

Step = Callable[[], None]
"""Counts a recording or a fit; `measure_sound` reports the count as `Progress`."""
Array = NDArray[np.float64]

FOUND_SHARE = 0.3
RIGHT_SHARE = 0.5
SAME_BOX = 0.3


def measure_sound(
    data_dir: str | Path, progress: Progress | None = None, jobs: int = 1, folds: int = 10
) -> dict[str, dict[str, Any]]:
    """Return figures for every set of recordings under `data_dir`/audio, by name; {} if there is none.

    `jobs` is the number of processes that read recordings and fit models (-1: one per core), `folds` into how many
    parts recordings are divided, each of which is new to a model once.
    """
    event_sets, box_sets = find_event_sets(Path(data_dir)), find_box_sets(Path(data_dir))
    total = sum(len(one.events) + n_fits(folds) for one in event_sets) + sum(len(one.boxes) for one in box_sets)
    done = 0

    def step() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, total, {})

    figures = {one.name: box_figures(one, jobs, step) for one in box_sets}
    for one in event_sets:
        figures[one.name] = figures.get(one.name, {}) | _event_figures(one, jobs, step, folds)
    return figures


def box_figures(recordings: BoxSet, jobs: int = 1, step: Step = lambda: None) -> dict[str, Any]:
    """Return how well segments and boxes overlap, within the annotated time ranges."""
    n_boxes = n_same = n_touched = n_segments = n_right = n_inside = n_read = 0
    paths, skipped = list(recordings.boxes), []
    for path, segments in zip(paths, in_parallel(segment_boxes, paths, jobs=jobs)):
        step()
        if isinstance(segments, str):
            skipped.append(f"{path.name}: {segments}")
            continue
        n_read += 1
        truth = np.array(recordings.boxes[path])
        middle = (segments[:, 0] + segments[:, 2]) / 2
        looked_at = recordings.looked_at.get(path) or [(0.0, np.inf)]
        segments = segments[np.any([(middle >= start) & (middle <= end) for start, end in looked_at], axis=0)]
        overlap = box_overlap(truth, segments)
        n_boxes, n_segments = n_boxes + len(truth), n_segments + len(segments)
        n_same += int((overlap.max(axis=1, initial=0) >= SAME_BOX).sum())
        n_touched += int((overlap.max(axis=1, initial=0) > 0).sum())
        n_right += int((overlap.max(axis=0, initial=0) >= SAME_BOX).sum())
        n_inside += int((box_shared(segments, truth).max(axis=1, initial=0) >= RIGHT_SHARE).sum())
    return {
        "recordings": n_read,
        "skipped": skipped,
        "boxes": n_boxes,
        "segments": n_segments,
        "boxes_overlapped_by_0.3": round(n_same / max(1, n_boxes), 4),
        "boxes_touched": round(n_touched / max(1, n_boxes), 4),
        "precision": round(n_right / max(1, n_segments), 4),
        "segments_inside_boxes": round(n_inside / max(1, n_segments), 4),
    }


def box_overlap(first: Array, second: Array) -> Array:
    """Return the (n, m) intersection over union of boxes (start, low, end, high)."""
    shared = _shared_area(first, second)
    return np.asarray(shared / np.maximum(_area(first)[:, None] + _area(second)[None] - shared, 1e-12))


def box_shared(first: Array, second: Array) -> Array:
    """Return the (n, m) share of each first box that is inside each second one."""
    return np.asarray(_shared_area(first, second) / np.maximum(_area(first)[:, None], 1e-12))


def _shared_area(first: Array, second: Array) -> Array:
    ends = np.minimum(first[:, None, 2:], second[None, :, 2:])
    return np.asarray(np.maximum(ends - np.maximum(first[:, None, :2], second[None, :, :2]), 0).prod(axis=2))


def _area(boxes: Array) -> Array:
    return np.asarray((boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1]))


def segment_boxes(path: Path) -> Array:
    """Return (n, 4) start (s), low (Hz), end and high of the segments of a recording."""
    info = audio_info(path)
    settings = InstanceSettings.for_rate(info.rate)
    spectrogram = read_spectrogram(path, 0.0, info.duration, settings.spectrogram)
    edges = np.array([region.box for region in find_segments(spectrogram, settings)], dtype=np.float64).reshape(-1, 4)
    top, left, bottom, right = edges.T
    grid = spectrogram.grid
    return np.column_stack([grid.x_at(left), grid.y_at(bottom), grid.x_at(right), grid.y_at(top)])


def _event_figures(recordings: EventSet, jobs: int, step: Step, folds: int) -> dict[str, Any]:
    started = time.perf_counter()
    recordings_read: list[SegmentedRecording] = []
    skipped = []
    some = [(path, events) for path, events in recordings.events.items() if events]
    for _ in range(len(recordings.events) - len(some)):
        step()
    for (path, _), found in zip(some, in_parallel(segment_recording, *zip(*some), jobs=jobs) if some else ()):
        step()
        if isinstance(found, str):
            skipped.append(f"{path.name}: {found}")
        else:
            recordings_read.append(found)
    figures: dict[str, Any] = {"recordings": len(recordings_read), "without_events": len(recordings.events) - len(some)}
    figures["skipped"] = skipped
    if recordings_read:
        figures |= time_agreement([one.times for one in recordings_read], [one.events for one in recordings_read])
        figures |= chain_figures(recordings_read, recordings.species, jobs, step, folds)
    return figures | {"seconds": round(time.perf_counter() - started, 1)}


def time_agreement(times: list[Array], events: list[Any]) -> dict[str, Any]:
    """Return how well the segments, (n, 2) start and end per recording, and the events of recordings agree in time."""
    found: list[bool] = []
    right: list[bool] = []
    for mine, theirs in zip(times, events):
        spans = np.array([(event.start, event.end) for event in theirs]).reshape(-1, 2)
        found += (covered(spans, mine) >= FOUND_SHARE).tolist()
        right += (covered(mine, spans) >= RIGHT_SHARE).tolist()
    recall, precision = (float(np.mean(share)) if share else 0.0 for share in (found, right))
    return {
        "events": len(found),
        "segments": len(right),
        "event_recall": round(recall, 4),
        "segment_precision": round(precision, 4),
        "f1": round(2 * recall * precision / max(recall + precision, 1e-12), 4),
    }


def covered(spans: Array, others: Array) -> Array:
    """Return the (n,) share of each span (start, end) that the union of other spans covers."""
    union: list[list[float]] = []
    for start, end in others[np.argsort(others[:, 0])]:
        if union and start <= union[-1][1]:
            union[-1][1] = max(union[-1][1], end)
        else:
            union.append([start, end])
    apart = np.array(union).reshape(-1, 2)
    shared = np.minimum(spans[:, None, 1], apart[None, :, 1]) - np.maximum(spans[:, None, 0], apart[None, :, 0])
    return np.asarray(np.maximum(shared, 0).sum(axis=1) / np.maximum(spans[:, 1] - spans[:, 0], 1e-9))


def in_parallel(work: Callable[..., Any], *arguments: Any, jobs: int) -> Iterator[Any]:
    """Return the result of `work` for each recording, in order, or the message of its error."""
    from joblib import Parallel, delayed

    tasks = (delayed(_or_reason)(work, *each) for each in zip(*arguments))
    yield from Parallel(n_jobs=jobs, return_as="generator")(tasks)


def _or_reason(work: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return work(*arguments)
    except BagtagError as error:
        return str(error)
