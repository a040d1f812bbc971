"""What a row of the table of jobs means on this computer.

A project may come from somebody else, be a copy, or lie on a drive that several computers share. A job is ours only if
this installation recorded that its user asked for it, in the project at this place, with exactly the kind and the
parameters that the row has. Only such a job is ever started, and only its process is looked at; a row that is not ours
is never rewritten merely because somebody looks at it.
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
from miml_core.project import launch
from miml_core.project.rows import Job

OPEN = ("queued", "running")

Standing = Literal["waits", "works", "hangs", "died", "elsewhere", "over"]
"""Of a job here: ours and queued; at work, here or elsewhere; cancelled but its worker does not react; ours, and its
worker has gone; queued or fallen silent somewhere else, so that nothing happens to it until a person says what should;
ended."""

_QUEUED_ELSEWHERE = "queued on another computer or by another copy of this project"
_SILENT_ELSEWHERE = "begun on another computer or by another copy of this project, which has not been heard of since"


def own_jobs(folder: Path) -> Mapping[int, OwnJob]:
    """The jobs asked for here; none while that cannot be read, so that nothing is started by mistake."""
    try:
        return installation.own_jobs(folder)
    except BagtagError:
        return {}


def is_own(row: Row[Any], own: Mapping[int, OwnJob]) -> bool:
    """Return whether this installation's user asked for just this job."""
    mine, params = own.get(row.id), read_dict(row.params)
    return mine is not None and params is not None and mine.is_same(row.kind, params)


def standing(folder: Path, row: Row[Any], own: Mapping[int, OwnJob]) -> Standing:
    """Return what is to be thought of a job now; it takes some looks to find that a heartbeat has stopped."""
    if row.state not in OPEN:
        return "over"
    silent = row.state == "running" and launch.is_silent(folder, row.id, row.heartbeat)
    if not is_own(row, own):
        return "elsewhere" if silent or row.state == "queued" else "works"
    if row.state == "queued":
        return "waits"
    worker = own[row.id].worker
    if worker is None:
        return "died" if silent else "works"
    if worker.host != launch.HOST:
        return "elsewhere" if silent else "works"
    if not launch.is_alive(worker):
        return "died"
    return "hangs" if silent and row.cancel else "works"


def to_job(row: Row[Any], now: Standing) -> Job:
    """Return the record of a job; what a damaged or crafted row has of the wrong type is left out."""
    info = read_dict(row.info) or {}
    state, message = str(row.state), str(row.message)
    if now == "elsewhere":
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
    """Return names and values kept as JSON, or None when it is anything else."""
    try:
        found = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _seconds_left(row: Row[Any], info: dict[str, Any]) -> float | None:
    """From the pace since this part of the work began."""
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
