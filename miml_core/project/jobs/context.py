"""`JobContext`: what a task uses to report progress, write to the log, list failures and stop when asked.

A thread writes progress and a heartbeat twice per second and reads the cancel flag, so that the task itself only sets
attributes. A worker whose task does not stop within a second of being cancelled is killed: what was committed stays,
what was not is discarded.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Mapping
from typing import Any

from sqlalchemy import insert, select, update

from miml_core.project.db.schema import job_failures, job_log
from miml_core.project.db.schema import jobs as table
from miml_core.project.db.store import Store
from miml_core.project.errors import Cancelled
from miml_core.project.jobs import queue as job_queue
from miml_core.project.jobs.job_state import read_dict
from miml_core.project.jobs.params import STOP_EARLY
from miml_core.project.learning import training_runs

_BEAT_SECONDS = 0.5
_GRACE_SECONDS = 1.0
_NOT_CURVES = ("phase", "choosing", "iteration", "alpha")
_MOST_POINTS = 1000


class JobContext:
    """One job, as its task sees it."""

    def __init__(self, store: Store, job_id: int) -> None:
        self.store = store
        self.job_id = job_id
        with store.read() as connection:
            found = job_queue.row(connection, job_id)
        self.kind: str = found.kind
        self.params: dict[str, Any] = read_dict(found.params) or {}
        self.annotator: str = found.annotator
        self.info: dict[str, Any] = {}
        self._done, self._of, self._message = 0, 0, found.message
        self._cancelled = threading.Event()
        self._stop_early = threading.Event()
        self._ended = threading.Event()
        self._n_failures = 0
        self._phase: tuple[float | None, bool] = (None, False)
        self._since, self._since_done = time.time(), 0
        self._heartbeat = threading.Thread(target=self._beat_until_ended, daemon=True, name="heartbeat")

    def start(self) -> None:
        """Start the heartbeat."""
        self._heartbeat.start()

    def stop(self) -> None:
        """Stop the heartbeat."""
        self._ended.set()
        self._heartbeat.join()

    def report(self, done: int, of: int, message: str) -> None:
        """Store how far the task is; raises `Cancelled` if a person cancelled the job."""
        if of != self._of:
            self._since, self._since_done = time.time(), int(done)
        self._done, self._of, self._message = int(done), int(of), message
        self.check()

    def progress(self, step: int, of: int, info: Mapping[str, Any]) -> None:
        """Report the progress of a computation; a `Progress`."""
        self.report(step, of, info.get("what", self._message))

    def check(self) -> None:
        """Raise `Cancelled` if a person cancelled the job."""
        if self._cancelled.is_set():
            raise Cancelled

    @property
    def stop_early(self) -> bool:
        """Whether a person wants to stop and keep what has been learnt so far."""
        return self._stop_early.is_set()

    def log(self, text: str) -> None:
        """Add a line to the job's log."""
        with self.store.write() as connection:
            connection.execute(insert(job_log).values(job_id=self.job_id, at=time.time(), text=text))

    def fail(self, item: str, reason: str, bag_id: int | None = None) -> None:
        """List a file or bag that the job failed on; the job continues with the rest."""
        self._n_failures += 1
        with self.store.write() as connection:
            connection.execute(insert(job_failures).values(job_id=self.job_id, item=item, reason=reason, bag_id=bag_id))
            if bag_id is not None:
                connection.exec_driver_sql("UPDATE bags SET error = ? WHERE id = ?", (reason, bag_id))

    def fit_progress(self, step: int, of: int, info: Mapping[str, float]) -> bool:
        """Report the progress of a fit and keep the curves of its last phase; return whether to stop early."""
        if info.get("calibrating"):  # after the fit, by fits to parts of the bags: the curves stay those of the fit
            self.report(step, of, "calibrating probabilities")
            return self.stop_early
        phase = info.get("phase"), bool(info.get("choosing"))
        if phase != self._phase:
            self._phase = phase
            self.info["curves"] = {}
        curves = self.info.setdefault("curves", {})
        for name, value in info.items():
            if name in _NOT_CURVES:
                self.info[name] = float(value)
                continue
            curve = curves.setdefault(name, [])
            curve.append(float(value))
            if len(curve) > _MOST_POINTS:
                del curve[1::2]
        self.report(step, of, "choosing parameters" if info.get("choosing") else "training")
        return self.stop_early

    def flush(self) -> None:
        """Store the progress now."""
        self._beat()

    def _beat_until_ended(self) -> None:
        while not self._ended.wait(_BEAT_SECONDS):
            try:
                self._beat()
            except Exception as error:  # a heartbeat that fails once (a full disk) must not end the job
                print(f"heartbeat: {error}", file=sys.stderr, flush=True)
            if self._cancelled.is_set():
                self._exit_unless_ended()
                return

    def _beat(self) -> None:
        speed = {"since": self._since, "since_done": self._since_done, "n_failures": self._n_failures}
        info = json.dumps({**dict(self.info), **speed})
        with self.store.write() as connection:
            connection.execute(
                update(table)
                .where(table.c.id == self.job_id, table.c.state == "running")
                .values(heartbeat=time.time(), done=self._done, total=self._of, message=self._message, info=info)
            )
            state = connection.execute(
                select(table.c.cancel, table.c.state, table.c.params).where(table.c.id == self.job_id)
            ).first()
        if state is not None and (read_dict(state.params) or {}).get(STOP_EARLY):
            self._stop_early.set()
        if state is None or state.cancel or state.state != "running":
            self._cancelled.set()

    def _exit_unless_ended(self) -> None:
        """End this process and those it started, unless the task ends by itself soon."""
        if self._ended.wait(_GRACE_SECONDS):
            return
        with self.store.write() as connection:
            job_queue.finish(connection, self.job_id, "cancelled", "cancelled")
            training_runs.abandon(connection, self.job_id, "cancelled", "cancelled")
        if sys.platform != "win32" and os.getpgrp() == os.getpid():
            os.killpg(os.getpgrp(), signal.SIGKILL)
        os._exit(1)
