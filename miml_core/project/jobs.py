"""Jobs: work in the background, kept in the database so that any screen, now or later, finds it again.

A job waits ("queued") until its lane is free, then runs in a detached process of its own. Whoever looks at the jobs
also looks after them: finds workers that died, collects the remains of finished ones, and starts what waits.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection, Row, insert, select, update

from miml_core.errors import BagtagError
from miml_core.project import launch, revisions, runs
from miml_core.project.errors import Gone
from miml_core.project.rows import Job, JobFailure
from miml_core.project.schema import job_failures, job_log
from miml_core.project.schema import jobs as table
from miml_core.project.store import Store

LANES = {
    "import": "files",
    "segment": "files",
    "learn-segmenter": "files",
    "features": "files",
    "train": "model",
    "predict": "model",
    "export": "export",
}
"""One job at a time in each lane: one training at a time, but an export need not wait for it."""

STOP_EARLY = "stop_early"
"""Set in the parameters of a running training that is to end with what it has."""

_STARTING = "starting"
"""The message of a job whose worker has been launched but has not said anything yet."""


def start(store: Store, kind: str, params: dict[str, Any], annotator: str) -> Job:
    """Queue a job, and launch it if its lane is free."""
    if kind not in LANES:
        raise BagtagError(f"There is no job called {kind!r}; there are {', '.join(LANES)}.")
    with store.write() as connection:
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
    look_after(store)
    return one(store, job_id)


def one(store: Store, job_id: int) -> Job:
    """A job as it is now."""
    look_after(store)
    with store.read() as connection:
        return _job(row(connection, job_id))


def listing(store: Store, *, active: bool, limit: int) -> list[Job]:
    """The latest first."""
    look_after(store)
    query = select(table).order_by(table.c.id.desc()).limit(limit)
    if active:
        query = query.where(table.c.state.in_(["queued", "running"]))
    with store.read() as connection:
        return [_job(found) for found in connection.execute(query)]


def row(connection: Connection, job_id: int) -> Row[Any]:
    found = connection.execute(select(table).where(table.c.id == job_id)).first()
    if found is None:
        raise Gone(f"There is no job number {job_id}.")
    return found


def cancel(store: Store, job_id: int) -> Job:
    """Ask a job to stop; one that waits, or whose worker is still being loaded, never starts."""
    with store.write() as connection:
        found = row(connection, job_id)
        if found.state == "queued" or (found.state == "running" and found.message == _STARTING):
            finish(connection, job_id, "cancelled", "cancelled before it started")
        elif found.state == "running":
            connection.execute(update(table).where(table.c.id == job_id).values(cancel=True))
    return one(store, job_id)


def stop_early(store: Store, job_id: int) -> Job:
    """Ask a training to end with what it has learnt so far; one that has not begun has nothing to keep."""
    with store.write() as connection:
        found = row(connection, job_id)
        if found.kind != "train":
            raise BagtagError("Only a training can be ended with what it has so far; other work keeps it anyhow.")
        if found.state == "running" and found.message != _STARTING:
            change_params(connection, job_id, {**json.loads(found.params), STOP_EARLY: True})
            return _job(row(connection, job_id))
    return cancel(store, job_id)


def restart(store: Store, job_id: int) -> Job:
    """The same task again, as a new job; what the first one finished is not done twice."""
    with store.read() as connection:
        found = row(connection, job_id)
    if found.state in ("queued", "running"):
        raise BagtagError(f"Job {job_id} is still {found.state}.")
    params = {key: value for key, value in json.loads(found.params).items() if key != STOP_EARLY}
    return start(store, found.kind, params, found.annotator)


def wait(
    store: Store, job_id: int, *, timeout: float | None = None, tick: Callable[[Job], None] | None = None
) -> Job:
    """Wait until a job is over."""
    deadline = None if timeout is None else time.monotonic() + timeout
    while True:
        job = one(store, job_id)
        if tick is not None:
            tick(job)
        if not job.active:
            return job
        if deadline is not None and time.monotonic() > deadline:
            raise BagtagError(f"Job {job_id} ({job.kind}) is not over after {timeout:g} s: {job.message}.")
        time.sleep(0.1)


def failures(connection: Connection, job_id: int) -> list[JobFailure]:
    found = connection.execute(
        select(job_failures).where(job_failures.c.job_id == job_id).order_by(job_failures.c.id)
    )
    return [JobFailure(each.item, each.reason, each.bag_id) for each in found]


def log(store: Store, job_id: int) -> list[str]:
    """What the job told; then, if it ended badly, the last lines it printed."""
    with store.read() as connection:
        found = row(connection, job_id)
        told = connection.execute(select(job_log).where(job_log.c.job_id == job_id).order_by(job_log.c.id)).all()
    lines = [f"{time.strftime('%H:%M:%S', time.localtime(each.at))} {each.text}" for each in told]
    return lines + (launch.last_output(store.folder, job_id) if found.state in ("failed", "dead") else [])


def look_after(store: Store) -> None:
    """Report dead workers, collect finished ones, start what waits."""
    launch.reap()
    with store.read() as connection:
        open_jobs = connection.execute(select(table).where(table.c.state.in_(["queued", "running"]))).all()
    dead = [job for job in open_jobs if job.state == "running" and launch.is_dead(job)]
    for job in dead:
        with store.write() as connection:
            if row(connection, job.id).state == "running":
                message = f"the worker died; its last words: {job.message}"
                finish(connection, job.id, "dead", message)
                runs.abandon(connection, job.id, "failed", message)
    busy = {job.lane for job in open_jobs if job.state == "running"} - {job.lane for job in dead}
    for job in sorted(open_jobs, key=lambda job: job.id):
        if job.state == "queued" and job.lane not in busy:
            busy.add(job.lane)
            _launch(store, job.id)


def claim(connection: Connection, job_id: int) -> bool:
    """Take a queued job if its lane is free; only one of several callers succeeds."""
    found = row(connection, job_id)
    if found.state != "queued":
        return False
    running = select(table.c.id).where(table.c.lane == found.lane, table.c.state == "running")
    if connection.execute(running).first() is not None:
        return False
    now = time.time()
    connection.execute(
        update(table)
        .where(table.c.id == job_id)
        .values(state="running", started_at=now, heartbeat=now, host=launch.HOST, pid=None, message=_STARTING)
    )
    return True


def change_params(connection: Connection, job_id: int, params: dict[str, Any]) -> None:
    """What the job is to do from here on, for itself and for whoever runs it again."""
    connection.execute(update(table).where(table.c.id == job_id).values(params=json.dumps(params)))


def begin(connection: Connection, job_id: int, pid: int) -> bool:
    """A worker is there; False when its job was cancelled while it was being loaded."""
    found = row(connection, job_id)
    if found.state != "running":
        return False
    values = {"pid": pid, "host": launch.HOST, "heartbeat": time.time(), "message": f"{found.kind} begins"}
    connection.execute(update(table).where(table.c.id == job_id).values(**values))
    return True


def finish(connection: Connection, job_id: int, state: str, message: str, result: dict[str, Any] | None = None) -> None:
    """The end of a job, one way or the other."""
    values: dict[str, Any] = {"state": state, "message": message, "finished_at": time.time()}
    if result is not None:
        values["result"] = json.dumps(result)
    still_open = table.c.state.in_(["queued", "running"])
    connection.execute(update(table).where(table.c.id == job_id, still_open).values(**values))
    revisions.advance(connection, changed_topics=["jobs"])


def _launch(store: Store, job_id: int) -> None:
    with store.write() as connection:
        claimed = claim(connection, job_id)
    if not claimed:
        return
    try:
        pid = launch.start_worker(store.folder, job_id)
    except OSError as error:
        with store.write() as connection:
            finish(connection, job_id, "failed", f"the worker could not be started: {error}")
        return
    with store.write() as connection:
        connection.execute(update(table).where(table.c.id == job_id).values(pid=pid))


def _seconds_left(found: Row[Any], info: dict[str, Any]) -> float | None:
    """From the pace since this part of the work began."""
    done = found.done - info.get("since_done", 0)
    if found.state != "running" or done <= 0 or not found.total:
        return None
    return float((time.time() - info["since"]) / done * max(0, found.total - found.done))


def _job(found: Row[Any]) -> Job:
    info = json.loads(found.info)
    return Job(
        id=found.id,
        kind=found.kind,
        params=json.loads(found.params),
        state=found.state,
        done=found.done,
        of=found.total,
        message=found.message,
        seconds_left=_seconds_left(found, info),
        created_at=found.created_at,
        started_at=found.started_at,
        finished_at=found.finished_at,
        heartbeat=found.heartbeat,
        cancelling=bool(found.cancel) and found.state == "running",
        n_failures=info.get("n_failures", 0),
        result=json.loads(found.result),
        info=info,
        annotator=found.annotator,
    )
