"""The queue of background jobs, stored in the database so that every screen shows the same jobs.

A job waits ("queued") until its lane is free, then runs in a detached process of its own. Whoever reads the jobs also
updates them (`update_jobs`): workers that died are reported and waiting jobs are started. Only jobs that the user
started in this installation run (`job_state.py`); others are "stopped" until a person starts or removes them.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from sqlalchemy import Connection, Row, insert, select, update

from miml_core import installation
from miml_core.errors import BagtagError
from miml_core.installation import Worker
from miml_core.project.db import revisions
from miml_core.project.db.schema import job_failures, job_log
from miml_core.project.db.schema import jobs as table
from miml_core.project.db.store import Store, folder_of
from miml_core.project.errors import Gone
from miml_core.project.jobs import launch
from miml_core.project.jobs.job_state import OPEN, is_own, local_state, own_jobs, read_dict, to_job
from miml_core.project.jobs.params import STOP_EARLY, check_params
from miml_core.project.learning import training_runs
from miml_core.project.records import Job, JobFailure

LANES = {
    "import": "files",
    "segment": "files",
    "learn-segmenter": "files",
    "features": "files",
    "train": "model",
    "predict": "model",
    "map": "map",
    "apply": "archive",
    "sample": "files",
    "export": "export",
    "pack": "export",
}
"""One job runs at a time in each lane: one training at a time, but an export need not wait for it."""

_STARTING = "starting"
"""The message of a job whose worker has been launched but has not begun yet."""
_SHORTEST_PAUSE_S, _LONGEST_PAUSE_S = 0.01, 0.1
_PAUSE_RATIO = 0.1
"""Who waits for a job looks at it again after a tenth of the time it has waited for: its end is noticed soon."""


def start(store: Store, kind: str, params: dict[str, Any], annotator: str) -> Job:
    """Queue a job, and launch it if its lane is free."""
    check_params(kind, params)
    with store.write() as connection:
        job_id = _insert(connection, kind, params, annotator)
    update_jobs(store)
    return get_job(store, job_id)


def get_job(store: Store, job_id: int) -> Job:
    """Update the jobs and return one."""
    update_jobs(store)
    return _jobs(store, lambda connection: [row(connection, job_id)])[0]


def list_jobs(store: Store, *, active: bool = False, stopped: bool = False, limit: int) -> list[Job]:
    """Update the jobs and return the latest first: all, or the `active` (queued or running) and the `stopped` ones."""
    update_jobs(store)
    query = select(table).order_by(table.c.id.desc())
    if active or stopped:
        query = query.where(table.c.state.in_(OPEN))
    else:
        query = query.limit(limit)
    found = _jobs(store, lambda connection: connection.execute(query).all())
    if active or stopped:
        found = [job for job in found if (job.active and active) or (job.state == "stopped" and stopped)]
    return found[:limit]


def row(connection: Connection, job_id: int) -> Row[Any]:
    """Return the row of a job; raises `Gone` if there is none."""
    found = connection.execute(select(table).where(table.c.id == job_id)).first()
    if found is None:
        raise Gone(f"Job {job_id} is not in the project; list the jobs again.")
    return found


def cancel(store: Store, job_id: int) -> Job:
    """Ask a job to stop; one that is queued, or whose worker has not begun, is cancelled at once."""
    with store.write() as connection:
        found = row(connection, job_id)
        if local_state(store.folder, found, own_jobs(store.folder)) == "stopped":
            finish(connection, job_id, "cancelled", "removed; it was not started on this computer")
            training_runs.abandon(connection, job_id, "cancelled", "removed")
        elif found.state == "queued" or (found.state == "running" and found.message == _STARTING):
            finish(connection, job_id, "cancelled", "cancelled before it started")
        elif found.state == "running":
            connection.execute(update(table).where(table.c.id == job_id).values(cancel=True))
    return get_job(store, job_id)


def stop_early(store: Store, job_id: int) -> Job:
    """Ask a training to stop and keep what it has learnt so far; one that has not begun is cancelled."""
    with store.write() as connection:
        found = row(connection, job_id)
        if found.kind != "train":
            raise BagtagError("Only a training can be stopped early. Cancel the job: it keeps what it has finished.")
        begun = found.state == "running" and found.message != _STARTING
        if begun:
            change_params(connection, job_id, {**(read_dict(found.params) or {}), STOP_EARLY: True})
    return get_job(store, job_id) if begun else cancel(store, job_id)


def restart(store: Store, job_id: int) -> Job:
    """Start a new job with the same task; what the first one finished is not done again.

    For a job of another computer or copy this is the person's consent: it is closed in the same transaction.
    """
    with store.write() as connection:
        found = row(connection, job_id)
        now = local_state(store.folder, found, own_jobs(store.folder))
        if now not in ("stopped", "ended"):
            raise BagtagError(f"Job {job_id} is still {found.state}; cancel it, or wait until it has ended.")
        params = read_dict(found.params)
        if params is None:
            raise BagtagError(f"The parameters of job {job_id} cannot be read; start it again from its page.")
        params.pop(STOP_EARLY, None)
        check_params(found.kind, params)
        if now == "stopped":
            finish(connection, job_id, "cancelled", "started again on another computer or in another copy")
            training_runs.abandon(connection, job_id, "cancelled", "started again elsewhere")
        again = _insert(connection, found.kind, params, str(found.annotator))
    update_jobs(store)
    return get_job(store, again)


def wait(store: Store, job_id: int, *, timeout: float | None = None, tick: Callable[[Job], None] | None = None) -> Job:
    """Wait until a job has ended."""
    began = time.monotonic()
    deadline = None if timeout is None else began + timeout
    while True:
        job = get_job(store, job_id)
        if tick is not None:
            tick(job)
        if not job.active:
            return job
        if deadline is not None and time.monotonic() > deadline:
            raise BagtagError(f"Job {job_id} ({job.kind}) has not ended after {timeout:g} s: {job.message}.")
        waited = time.monotonic() - began
        time.sleep(min(max(_PAUSE_RATIO * waited, _SHORTEST_PAUSE_S), _LONGEST_PAUSE_S))


def failures(connection: Connection, job_id: int) -> list[JobFailure]:
    """Return what a job failed on, in order."""
    found = connection.execute(select(job_failures).where(job_failures.c.job_id == job_id).order_by(job_failures.c.id))
    return [JobFailure(each.item, each.reason, each.bag_id) for each in found]


def log(store: Store, job_id: int) -> list[str]:
    """Return the log of a job and, if it failed or died, the last lines it printed."""
    with store.read() as connection:
        found = row(connection, job_id)
        logged = connection.execute(select(job_log).where(job_log.c.job_id == job_id).order_by(job_log.c.id)).all()
    lines = [f"{time.strftime('%H:%M:%S', time.localtime(each.at))} {each.text}" for each in logged]
    return lines + (launch.last_output(store.folder, job_id) if found.state in ("failed", "dead") else [])


def update_jobs(store: Store) -> None:
    """Report dead workers, forget ended jobs, and start waiting ones.

    What cannot be written now (the disk is full, the project is read-only) is left for the next call, so that jobs can
    still be listed.
    """
    launch.reap()
    own = own_jobs(store.folder)
    with store.read() as connection:
        open_jobs = connection.execute(select(table).where(table.c.state.in_(OPEN)).order_by(table.c.id)).all()
    now = {job.id: local_state(store.folder, job, own) for job in open_jobs}
    with suppress(BagtagError):
        _forget_ended(store, own.keys() - now.keys())
        for job in open_jobs:
            if now[job.id] == "dead":
                _close(store, job.id, "dead", f"the worker died; its last status: {job.message}")
            elif now[job.id] == "unresponsive" and (worker := own[job.id].worker) is not None:
                launch.kill(worker)
                _close(store, job.id, "cancelled", "cancelled; its worker did not respond and was killed")
        busy = {job.lane for job in open_jobs if now[job.id] == "running"}
        for job in open_jobs:
            if now[job.id] == "queued" and job.lane not in busy:
                busy.add(job.lane)
                _launch(store, job.id)


def claim(connection: Connection, job_id: int) -> bool:
    """Mark a queued job of this installation as running if its lane is free; only one of several callers succeeds."""
    found, folder = row(connection, job_id), folder_of(connection)
    own = own_jobs(folder)
    if local_state(folder, found, own) != "queued":
        return False
    running = connection.execute(select(table).where(table.c.lane == found.lane, table.c.state == "running"))
    if any(local_state(folder, other, own) != "stopped" for other in running):
        return False
    now = time.time()
    connection.execute(
        update(table)
        .where(table.c.id == job_id)
        .values(state="running", started_at=now, heartbeat=now, host=launch.HOST, pid=None, message=_STARTING)
    )
    return True


def change_params(connection: Connection, job_id: int, params: dict[str, Any]) -> None:
    """Change the parameters of a job, for its worker and for a restart."""
    found, folder = row(connection, job_id), folder_of(connection)
    if is_own(found, own_jobs(folder)):
        installation.record_job(folder, job_id, found.kind, params)
    connection.execute(update(table).where(table.c.id == job_id).values(params=json.dumps(params)))


def begin(connection: Connection, job_id: int, pid: int) -> bool:
    """Record that a worker begins; return False if its job was cancelled meanwhile or is not of this installation."""
    found, folder = row(connection, job_id), folder_of(connection)
    if found.state != "running" or found.message != _STARTING or not is_own(found, own_jobs(folder)):
        return False
    _record_worker(connection, job_id, pid)
    values = {"pid": pid, "host": launch.HOST, "heartbeat": time.time(), "message": f"{found.kind} begins"}
    connection.execute(update(table).where(table.c.id == job_id).values(**values))
    return True


def finish(connection: Connection, job_id: int, state: str, message: str, result: dict[str, Any] | None = None) -> None:
    """Store the end of a job: its state, message and result."""
    values: dict[str, Any] = {"state": state, "message": message, "finished_at": time.time()}
    if result is not None:
        values["result"] = json.dumps(result)
    connection.execute(update(table).where(table.c.id == job_id, table.c.state.in_(OPEN)).values(**values))
    revisions.advance(connection, changed_topics=["jobs"])


def _insert(connection: Connection, kind: str, params: dict[str, Any], annotator: str) -> int:
    """Add a job; it is recorded in this installation before the commit, so that no row is ever without its record."""
    done = connection.execute(
        insert(table).values(
            kind=kind,
            lane=LANES[kind],
            params=json.dumps(params),
            state="queued",
            message="waiting",
            created_at=time.time(),
            annotator=annotator,
        )
    )
    assert done.inserted_primary_key is not None
    job_id = int(done.inserted_primary_key[0])
    installation.record_job(folder_of(connection), job_id, kind, params)
    return job_id


def _launch(store: Store, job_id: int) -> None:
    with store.write() as connection:
        claimed = claim(connection, job_id)
    if not claimed:
        return
    try:
        pid = launch.start_worker(store.folder, job_id)
    except (OSError, BagtagError) as error:
        with store.write() as connection:
            finish(connection, job_id, "failed", f"the worker could not be started: {error}")
        return
    with store.write() as connection:
        _record_worker(connection, job_id, pid)
        connection.execute(update(table).where(table.c.id == job_id).values(pid=pid))


def _record_worker(connection: Connection, job_id: int, pid: int) -> None:
    """Record the process of a job; one that has already ended is recorded as not running."""
    worker = launch.process_of(pid) or Worker(launch.HOST, pid, started=-1e9)
    installation.record_worker(folder_of(connection), job_id, worker)


def _close(store: Store, job_id: int, state: str, message: str) -> None:
    """End a job whose worker cannot do it itself."""
    with store.write() as connection:
        if row(connection, job_id).state == "running":
            finish(connection, job_id, state, message)
            training_runs.abandon(connection, job_id, "failed" if state == "dead" else state, message)


def _forget_ended(store: Store, recorded: set[int]) -> None:
    """Forget recorded jobs that have ended; one whose row is not committed yet is kept."""
    if not recorded:
        return
    ended = select(table.c.id).where(table.c.id.in_(recorded), table.c.state.not_in(OPEN))
    with store.read() as connection:
        found = connection.execute(ended).scalars().all()
    for job_id in found:
        installation.forget_job(store.folder, job_id)


def _jobs(store: Store, read: Callable[[Connection], Sequence[Row[Any]]]) -> list[Job]:
    """Return rows as records; a job is recorded before its row is committed and forgotten after it has ended."""
    before = own_jobs(store.folder)
    with store.read() as connection:
        rows = read(connection)
    own = {**before, **own_jobs(store.folder)}
    return [to_job(found, local_state(store.folder, found, own)) for found in rows]
