"""The state of a job on this computer.

A project may come from somebody else, be a copy, or be on a drive that several computers share. A job is our own only
if this installation recorded that its user started it, in the project at this path, with exactly the kind and the
parameters of the row. Only such a job is ever run, and only its process is examined; the row of another job is changed
only when a person starts or removes it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from sqlalchemy import Row

from miml_core import installation
from miml_core.errors import BagtagError
from miml_core.installation import OwnJob
from miml_core.project.jobs import launch
from miml_core.project.records import Job

OPEN = ("queued", "running")

LocalState = Literal["queued", "running", "unresponsive", "dead", "stopped", "ended"]
"""Queued by this installation; running, on any computer; cancelled, but its worker does not respond; our own, and its
worker has died; queued or without a heartbeat on another computer, so that a person has to start or remove it; ended.
"""

_QUEUED_ELSEWHERE = "queued on another computer or by another copy of this project"
_SILENT_ELSEWHERE = "started on another computer or by another copy of this project, and has not reported since"


def own_jobs(folder: Path) -> Mapping[int, OwnJob]:
    """Return the jobs that this installation started; none while the record cannot be read, so that nothing is run."""
    try:
        return installation.own_jobs(folder)
    except BagtagError:
        return {}


def is_own(row: Row[Any], own: Mapping[int, OwnJob]) -> bool:
    """Return whether the user of this installation started exactly this job."""
    mine, params = own.get(row.id), read_dict(row.params)
    return mine is not None and params is not None and mine.is_same(row.kind, params)


def local_state(folder: Path, row: Row[Any], own: Mapping[int, OwnJob]) -> LocalState:
    """Return the state of a job; that its heartbeat has stopped is found after several calls."""
    if row.state not in OPEN:
        return "ended"
    silent = row.state == "running" and launch.is_silent(folder, row.id, row.heartbeat)
    if not is_own(row, own):
        return "stopped" if silent or row.state == "queued" else "running"
    if row.state == "queued":
        return "queued"
    worker = own[row.id].worker
    if worker is None:
        return "dead" if silent else "running"
    if worker.host != launch.HOST:
        return "stopped" if silent else "running"
    if not launch.is_alive(worker):
        return "dead"
    return "unresponsive" if silent and row.cancel else "running"


def to_job(row: Row[Any], now: LocalState) -> Job:
    """Return the record of a job; values of a wrong type, in a damaged or crafted row, are left out."""
    info = read_dict(row.info) or {}
    state, message = str(row.state), str(row.message)
    if now == "stopped":
        state, message = "stopped", _QUEUED_ELSEWHERE if row.state == "queued" else _SILENT_ELSEWHERE
    return Job(
        id=row.id,
        kind=str(row.kind),
        params=read_dict(row.params) or {},
        state=state,
        done=int(_number(row.done)),
        of=int(_number(row.total)),
        message=message,
        seconds_left=_seconds_left(row, info) if state == "running" else None,
        created_at=_number(row.created_at),
        started_at=_number_or_none(row.started_at),
        finished_at=_number_or_none(row.finished_at),
        heartbeat=_number_or_none(row.heartbeat),
        cancelling=bool(row.cancel) and state == "running",
        n_failures=int(_number(info.get("n_failures"))),
        result=read_dict(row.result) or {},
        info=info,
        annotator=str(row.annotator),
    )


def read_dict(text: Any) -> dict[str, Any] | None:
    """Return the object that a JSON text describes; None for anything else."""
    try:
        found = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _seconds_left(row: Row[Any], info: dict[str, Any]) -> float | None:
    """Estimate the seconds left from the speed since this part of the job began."""
    done, total = _number(row.done) - _number(info.get("since_done")), _number(row.total)
    if done <= 0 or not total or not _number(info.get("since")):
        return None
    return (time.time() - _number(info["since"])) / done * max(0.0, total - _number(row.done))


def _number(value: Any) -> float:
    return _number_or_none(value) or 0.0


def _number_or_none(value: Any) -> float | None:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e15:
        return float(value)
    return None
