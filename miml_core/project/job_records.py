"""Records of the background jobs of a project, and of the runs that trainings made; times as in `records.py`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Run:
    """One training and its results.

    >>> from miml_core.demo.example import example_project
    >>> with example_project() as project:
    ...     run = project.runs.current()
    >>> run.model, run.params, run.state, run.classes, run.n_corrections_since
    ('ored-lr', {'alpha': 0.1}, 'done', [1, 2], 0)
    """

    id: int
    model: str
    params: dict[str, Any]
    seed: int
    state: str
    """"training", "done", "failed" or "cancelled"."""
    current: bool
    started_at: float
    seconds: float | None
    scores: dict[str, float]
    curves: dict[str, list[float]]
    classes: list[int]
    """Class ids in the order of the model's columns."""
    background: bool
    feature_key: str
    n_bags: int
    n_segments: int
    n_corrections: int
    annotator: str
    message: str
    n_corrections_since: int
    """Segments corrected or accepted after the run started."""
    n_tags_since: int
    """Bags whose tags changed after the run started."""


@dataclass(frozen=True)
class JobFailure:
    """One file or bag that a job failed on.

    >>> failure = JobFailure("media/dawn-2.wav", "The file is missing.", bag_id=2)
    >>> failure.bag_id
    2
    """

    item: str
    reason: str
    bag_id: int | None = None


@dataclass(frozen=True)
class Job:
    """A background job.

    >>> job = Job(
    ...     id=1, kind="segment", params={}, state="running", done=30, of=120, message="", seconds_left=9.0,
    ...     created_at=0.0, started_at=1.0, finished_at=None, heartbeat=4.0, cancelling=False, n_failures=0, result={},
    ...     info={}, annotator="Ann",
    ... )
    >>> job.active, job.share
    (True, 0.25)
    """

    id: int
    kind: str
    """"import", "segment", "learn-segmenter", "features", "train", "predict", "map",
    "apply", "sample", "export" or "pack"."""
    params: dict[str, Any]
    state: str
    """"queued", "running", "done", "failed", "cancelled", "dead" or "stopped": queued or begun on another computer or
    by another copy of the project; a person may start it on this computer (`jobs.restart`) or remove it
    (`jobs.cancel`)."""
    done: int
    of: int
    message: str
    seconds_left: float | None
    """Estimated from the speed so far; None if unknown."""
    created_at: float
    started_at: float | None
    finished_at: float | None
    heartbeat: float | None
    cancelling: bool
    n_failures: int
    result: dict[str, Any]
    info: dict[str, Any]
    """Numbers of the running job, for example the curves of a training."""
    annotator: str

    @property
    def active(self) -> bool:
        return self.state in ("queued", "running")

    @property
    def share(self) -> float:
        """The share done, between 0 and 1, for a progress bar."""
        return min(1.0, self.done / self.of) if self.of else 0.0
