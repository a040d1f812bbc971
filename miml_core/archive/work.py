"""The work on one task, in any process: segments, features, predictions, and their result on disk."""

from __future__ import annotations

import ctypes
import logging
import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from miml_core.archive.bundle import ModelBundle, read_bundle_cached
from miml_core.archive.plan import Stretch, Task
from miml_core.archive.recordings import is_temporary, reason_of
from miml_core.archive.results import is_done, schema, table_of, write_result
from miml_core.errors import BagtagError

if TYPE_CHECKING:
    import pyarrow as pa

    from miml_core.instances import Instances

_log = logging.getLogger("bagtag.archive")

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_LARGEST_IN_HEAP, _KEPT_BYTES = 32 * 2**20, 256 * 2**20
"""Arrays up to the first are taken from memory that was freed before; more than the second is returned."""


@dataclass(frozen=True)
class TaskReport:
    """What a task did."""

    files: int
    """Files that it completed."""
    seconds: float
    segments: int
    failures: list[tuple[str, str]]
    """(file, reason)"""


Tables = dict[str, Any]
"""A `pyarrow.Table` per name of a table."""


def do_task(task: Task, archive: str, bundle_file: str) -> TaskReport:
    """Do a task and store its result, unless that is stored already."""
    prepare_process()
    if is_done(Path(archive), task):  # by a worker that was thought to be lost
        return TaskReport(sum(one.is_end for one in task.stretches), task.seconds, 0, [])
    bundle = read_bundle_cached(Path(bundle_file))
    parts = [do_stretch(stretch, bundle_file) for stretch in task.stretches]
    return store_parts(task, parts, Path(archive), bundle)


def do_stretch(stretch: Stretch, bundle_file: str) -> Tables:
    """Return the rows of a stretch by table; a clip that cannot be processed ends it, and is a failure."""
    prepare_process()
    bundle = read_bundle_cached(Path(bundle_file))
    recording, path = stretch.recording, Path(stretch.recording.path)
    windows = _windows(stretch, bundle)
    segments = schema("segments").empty_table()
    rows: dict[str, list[dict[str, Any]]] = {"clips": [], "failures": []}
    if recording.problem:
        rows["failures"].append(_failure(stretch, 0.0, recording.problem, recording.again))
    done: list[tuple[float, float, Instances]] = []
    try:
        if windows:
            _check_unchanged(stretch)
        for start, end in windows:
            done.append((start, end, bundle.instances(path, start, end)))
    except Exception as error:
        rows["failures"].append(_failure_of(error, stretch, windows[len(done)][0] if windows else 0.0))
    try:
        segments, rows["clips"] = _predicted(stretch, done, bundle)
    except Exception as error:
        rows["failures"].append(_failure_of(error, stretch, 0.0))
    return {"segments": segments, **{name: table_of(name, found, bundle.id) for name, found in rows.items()}}


def store_parts(task: Task, parts: list[Tables], archive: Path, bundle: ModelBundle) -> TaskReport:
    """Store the rows of all stretches of a task as its result."""
    import pyarrow as pa

    tables = {
        name: pa.concat_tables([schema(name).empty_table(), *(part[name] for part in parts)])
        for name in ("segments", "clips", "failures")
    }
    write_result(archive, task, tables, [one.name for one in bundle.classes])
    failures = tables["failures"].select(["file", "reason"]).to_pylist()
    return TaskReport(
        files=sum(one.is_end for one in task.stretches),
        seconds=task.seconds,
        segments=len(tables["segments"]),
        failures=[(one["file"], one["reason"]) for one in failures],
    )


def failed_part(stretch: Stretch, reason: str, model_id: str) -> Tables:
    """Return the rows of a stretch that ended the process that worked on it."""
    rows = [_failure(stretch, 0.0, reason, True)]
    return {
        name: table_of(name, rows if name == "failures" else [], model_id) for name in ("segments", "clips", "failures")
    }


def _windows(stretch: Stretch, bundle: ModelBundle) -> list[tuple[float, float]]:
    from miml_core.media.audio import cut_windows

    if stretch.recording.problem:
        return []
    if bundle.kind == "picture":
        return [(0.0, 0.0)]
    return cut_windows(stretch.recording.duration, bundle.clip_seconds)[stretch.first : stretch.last]


def _check_unchanged(stretch: Stretch) -> None:
    """Raise if the file is no longer the one of the plan; its result is made the next time."""
    from miml_core.project.media.fingerprint import fingerprint

    path = Path(stretch.recording.path)
    if fingerprint(path) != (stretch.recording.size, stretch.recording.fingerprint):
        raise BagtagError(
            f"{path.name} was changed while the model was applied; start the command or job again."
        ) from OSError("changed")


def _predicted(
    stretch: Stretch, clips: list[tuple[float, float, Instances]], bundle: ModelBundle
) -> tuple[pa.Table, list[dict[str, Any]]]:
    """Return the table of segments and the rows of clips."""
    tags, probabilities = _predict(bundle, [found.X for _, _, found in clips])
    rows = [
        {
            "file": stretch.recording.file,
            "start": start,
            "end": end,
            "tags": clip_tags,
            "segments": len(found.regions),
            "time": _time(stretch, start),
            "utc_offset": stretch.recording.utc_offset,
        }
        for (start, end, found), clip_tags in zip(clips, tags)
    ]
    return _segment_table(stretch, clips, probabilities, bundle), rows


def _segment_table(
    stretch: Stretch,
    clips: list[tuple[float, float, Instances]],
    probabilities: list[NDArray[np.float32]],
    bundle: ModelBundle,
) -> pa.Table:
    """Return the segments of all clips, column by column: a row at a time takes a fifth of all the work."""
    import pyarrow as pa

    filled = [(*clip, each) for clip, each in zip(clips, probabilities) if len(each)]
    if not filled:
        return schema("segments").empty_table()
    sizes = [len(each) for *_, each in filled]
    boxes = np.concatenate([_boxes(found) for _, _, found, _ in filled])
    likely = np.concatenate([each for *_, each in filled])
    best, second = _best_two(likely)
    n, row = len(boxes), np.arange(len(boxes))
    names = pa.array([*(one.name for one in bundle.classes), None], pa.string())
    columns = {
        "file": pa.repeat(stretch.recording.file, n),
        "start": boxes[:, 0],
        "end": boxes[:, 1],
        "low": boxes[:, 2].astype(np.float32),
        "high": boxes[:, 3].astype(np.float32),
        "class": names.take(pa.array(best)),
        "probability": likely[row, best],
        "second": pa.nulls(n, pa.string()) if second is None else names.take(pa.array(second)),
        "second_probability": pa.nulls(n, pa.float32()) if second is None else likely[row, second],
        "clip_start": np.repeat([start for start, *_ in filled], sizes),
        "clip_end": np.repeat([end for _, end, *_ in filled], sizes),
        "time": _times(stretch, boxes[:, 0]),
        "model": pa.repeat(bundle.id, n),
    }
    return pa.table(columns, schema=schema("segments"))


def _predict(
    bundle: ModelBundle, blocks: list[NDArray[np.float64]]
) -> tuple[list[NDArray[np.float32]], list[NDArray[np.float32]]]:
    """Return for each clip its (C,) tag probabilities, which are 0 without segments, and those of its segments."""
    from miml_core.bags import BagSet

    n_classes = len(bundle.classes)
    tags = [np.zeros(n_classes, dtype=np.float32) for _ in blocks]
    free = [np.empty((0, n_classes), dtype=np.float32) for _ in blocks]
    filled = [k for k, X in enumerate(blocks) if len(X)]
    if not filled:
        return tags, free
    offsets = np.cumsum([0, *(len(blocks[k]) for k in filled)])
    X = np.concatenate([blocks[k] for k in filled]).astype(np.float32)  # as a project stores them
    bags = BagSet(X, offsets, np.zeros((len(filled), n_classes), np.int8), bundle.model.classes_)
    tag_probabilities = bundle.model.predict_tags(bags).astype(np.float32)
    probabilities = bundle.model.predict_proba(bags.X).astype(np.float32)
    for place, k in enumerate(filled):
        tags[k] = tag_probabilities[place]
        free[k] = probabilities[offsets[place] : offsets[place + 1]]
    return tags, free


def _best_two(probabilities: NDArray[np.float32]) -> tuple[NDArray[np.int64], NDArray[np.int64] | None]:
    order = np.argsort(-probabilities, axis=1, kind="stable")
    return order[:, 0], order[:, 1] if order.shape[1] > 1 else None


def _boxes(found: Instances) -> NDArray[np.float64]:
    """Return (n, 4): left, right, low and high of each segment, in real units."""
    edges = np.array([region.box for region in found.regions], dtype=float).reshape(-1, 4)
    top, left, bottom, right = edges.T
    y = np.sort(np.column_stack([found.grid.y_at(top), found.grid.y_at(bottom)]), axis=1)
    return np.column_stack([found.grid.x_at(left), found.grid.x_at(right), y])


def _time(stretch: Stretch, seconds: float) -> datetime | None:
    """Return the time at which something in a recording was; a picture's time is that of all its segments."""
    recording = stretch.recording
    if not recording.recorded_at:
        return None
    return datetime.fromisoformat(recording.recorded_at) + timedelta(seconds=seconds if recording.duration else 0.0)


def _times(stretch: Stretch, seconds: NDArray[np.float64]) -> pa.Array:
    """Return the times of many places of a recording, null if the time of the recording is not known."""
    import pyarrow as pa

    first = _time(stretch, 0.0)
    if first is None:
        return pa.nulls(len(seconds), pa.timestamp("ms"))
    microseconds = pa.scalar(first, pa.timestamp("us")).value + np.zeros(len(seconds), dtype=np.int64)
    if stretch.recording.duration:
        microseconds += np.rint(seconds * 1e6).astype(np.int64)
    return pa.array(microseconds // 1000, pa.timestamp("ms"))


def _failure_of(error: Exception, stretch: Stretch, start: float) -> dict[str, Any]:
    """Return the row of an error, and log its traceback if it is unexpected."""
    if not isinstance(error, BagtagError):
        _log.error("%s could not be processed from %s s on", stretch.recording.path, start, exc_info=error)
    return _failure(stretch, start, reason_of(stretch.recording.path, error), is_temporary(error))


def _failure(stretch: Stretch, start: float, reason: str, again: bool) -> dict[str, Any]:
    return {"file": stretch.recording.file, "start": start, "end": None, "reason": reason, "again": again}


@cache
def prepare_process() -> None:
    """Compute in one thread from now on, as there is one process per core, and keep freed memory for the next clip.

    Dask starts workers with MALLOC_TRIM_THRESHOLD_=65536 (`distributed.nanny.pre-spawn-environ` in its configuration),
    with which glibc returns the memory of every array to the system: page faults then took two thirds of the time.
    """
    from threadpoolctl import threadpool_limits

    os.environ["BAGTAG_THREADS"] = "1"
    threadpool_limits(1)
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # another library than glibc
            libc = ctypes.CDLL(None)
            libc.mallopt(_M_MMAP_THRESHOLD, _LARGEST_IN_HEAP)
            libc.mallopt(_M_TRIM_THRESHOLD, _KEPT_BYTES)
