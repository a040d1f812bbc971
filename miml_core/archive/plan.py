"""Divide the work on an archive into tasks of seconds: groups of short files, or stretches of long ones.

The plan follows from the files alone, so that a command that is started again makes the same one. A task has a name
made from what is in it: which stretches of which files, by fingerprint, and the model.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from miml_core.archive.recordings import UNKNOWN, RecordingFile, SitePattern

_LAYOUT = 1
"""Increased if results of the same name would have another content."""
_LONGEST = 2.0
"""Longest task, in usual ones."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Consecutive clips of a file."""

    recording: RecordingFile
    first: int
    last: int
    """Clips `first` to `last - 1`, as `cut_windows` numbers them; both 0 for a file that cannot be used."""
    seconds: float
    is_end: bool
    """Whether it is the last stretch of its file."""


@dataclass(frozen=True, slots=True)
class Task:
    """Stretches of one site and day whose results are stored together."""

    name: str
    site: str
    day: str
    stretches: tuple[Stretch, ...]

    @property
    def seconds(self) -> float:
        """Length of the sound."""
        return sum(stretch.seconds for stretch in self.stretches)


def plan_tasks(
    recordings: Iterable[RecordingFile], *, model_id: str, clip_seconds: float, task_seconds: float, sites: SitePattern
) -> Iterator[Task]:
    """Yield the tasks for files that are in a stable order.

    A group of files ends behind a file by the hash of its name, on average after `task_seconds`: a file that is added
    or removed changes its own group only, and the results of the others stay valid.

    Parameters
    ----------
    recordings : iterable of RecordingFile
    model_id : str
    clip_seconds : float
        0 for pictures, which count as one second each.
    task_seconds : float
    sites : SitePattern

    Examples
    --------
    >>> hour = RecordingFile("a/20240501_233000.wav", "/a", 1, 1, "f", 3600.0, "2024-05-01T23:30:00")
    >>> tasks = plan_tasks([hour], model_id="m", clip_seconds=10.0, task_seconds=1800.0, sites=SitePattern())
    >>> [(task.day, task.stretches[0].first, task.stretches[0].last) for task in tasks]
    [('2024-05-01', 0, 180), ('2024-05-02', 180, 360)]
    """
    waiting: dict[tuple[str, str], list[Stretch]] = {}
    for recording in recordings:
        site = sites.of(recording)
        for day, stretch in _stretches(recording, clip_seconds, task_seconds):
            group = waiting.setdefault((site, day), [])
            group.append(stretch)
            seconds = sum(one.seconds for one in group)
            if seconds >= _LONGEST * task_seconds or _draw(recording.file) < stretch.seconds / task_seconds:
                yield _task(site, day, waiting.pop((site, day)), model_id)
    for (site, day), group in waiting.items():
        yield _task(site, day, group, model_id)


def _stretches(recording: RecordingFile, clip_seconds: float, task_seconds: float) -> Iterator[tuple[str, Stretch]]:
    """Yield the day and clips of each stretch of a file: no longer than a task, and within a day."""
    from miml_core.media.audio import cut_windows

    day = recording.day_at(0.0)
    if recording.problem:
        yield day, Stretch(recording, 0, 0, 0.0, True)
    elif not clip_seconds:
        yield day, Stretch(recording, 0, 1, 1.0, True)
    else:
        windows = cut_windows(recording.duration, clip_seconds)
        per_task = max(1, round(task_seconds / clip_seconds))
        has_day = day != UNKNOWN
        days = [recording.day_at(start) if has_day else day for start, _ in windows]
        pieces = [(days[k], k // per_task) for k in range(len(windows))]
        for (day, _), places in groupby(range(len(windows)), key=pieces.__getitem__):
            clips = list(places)
            first, last = clips[0], clips[-1] + 1
            seconds = windows[last - 1][1] - windows[first][0]
            yield day, Stretch(recording, first, last, seconds, last == len(windows))


def _draw(file: str) -> float:
    """Return a number from 0 to 1 that looks random and depends on the name only."""
    return int.from_bytes(hashlib.blake2b(file.encode(), digest_size=8).digest()) / 2**64


def _task(site: str, day: str, stretches: list[Stretch], model_id: str) -> Task:
    content: list[Any] = [_LAYOUT, model_id, site, day]
    for one in stretches:
        content.append([one.recording.file, one.recording.size, one.recording.fingerprint, one.first, one.last])
        content.append([one.recording.recorded_at, one.recording.utc_offset, one.recording.problem])
    digest = hashlib.blake2b(json.dumps(content).encode(), digest_size=10).hexdigest()
    return Task(f"{model_id}-{digest}", site, day, tuple(stretches))
