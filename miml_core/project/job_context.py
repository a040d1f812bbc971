"""What a job's work sees of the world: report progress, tell, list a failure, and stop when asked.

A thread writes progress and a heartbeat twice a second and reads the cancel flag, so that the work itself only sets
attributes. Work that does not notice within a second that it was cancelled is ended by force: what was committed
stays, what was not never happened.
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

from miml_core.project import jobs, runs
from miml_core.project.errors import Cancelled
from miml_core.project.job_params import STOP_EARLY
from miml_core.project.job_standing import read_dict
from miml_core.project.schema import job_failures, job_log
from miml_core.project.schema import jobs as table
from miml_core.project.store import Store

_BEAT_SECONDS = 0.5
_GRACE_SECONDS = 1.0
_NOT_CURVES = ("phase", "iteration", "alpha")
_MOST_POINTS = 1000


class JobContext:
    """One job, seen from inside its worker."""

    def __init__(self, store: Store, job_id: int) -> None:
        self.store = store
        self.job_id = job_id
        with store.read() as connection:
            found = jobs.row(connection, job_id)
        self.kind: str = found.kind
        self.params: dict[str, Any] = read_dict(found.params) or {}
        self.annotator: str = found.annotator
        self.info: dict[str, Any] = {}
        self._done, self._of, self._message = 0, 0, found.message
        self._cancelled = threading.Event()
        self._enough = threading.Event()
        self._over = threading.Event()
        self._n_failures = 0
        self._phase: float | None = None
        self._since, self._since_done = time.time(), 0
        self._pulse = threading.Thread(target=self._beat_on, daemon=True, name="heartbeat")

    def start(self) -> None:
        self._pulse.start()

    def stop(self) -> None:
        """No more heartbeats after this."""
        self._over.set()
        self._pulse.join()

    def report(self, done: int, of: int, message: str) -> None:
        """How far the work is; raises `Cancelled` when it should stop."""
        if of != self._of:
            self._since, self._since_done = time.time(), int(done)
        self._done, self._of, self._message = int(done), int(of), message
        self.check()

    def check(self) -> None:
        if self._cancelled.is_set():
            raise Cancelled

    @property
    def cancelled(self) -> bool:
        return self._cancelled.is_set()

    @property
    def enough(self) -> bool:
        """A person wants what has been learnt so far, not more."""
        return self._enough.is_set()

    def tell(self, text: str) -> None:
        """A line for the job's log."""
        with self.store.write() as connection:
            connection.execute(insert(job_log).values(job_id=self.job_id, at=time.time(), text=text))

    def fail(self, item: str, reason: str, bag_id: int | None = None) -> None:
        """List something the job could not deal with; the rest goes on."""
        self._n_failures += 1
        with self.store.write() as connection:
            connection.execute(
                insert(job_failures).values(job_id=self.job_id, item=item, reason=reason, bag_id=bag_id)
            )
            if bag_id is not None:
                connection.exec_driver_sql("UPDATE bags SET error = ? WHERE id = ?", (reason, bag_id))

    def fit_progress(self, step: int, of: int, info: Mapping[str, float]) -> bool:
        """The `progress` of a fit: keeps the curves of its last phase, cancels, and answers whether it is enough."""
        if info.get("phase") != self._phase:
            self._phase = info.get("phase")
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
        self.report(step, of, "choosing the strength of regularisation" if self._phase == 0 else "training")
        return self.enough

    def flush(self) -> None:
        """Write progress now."""
        self._beat()

    def _beat_on(self) -> None:
        while not self._over.wait(_BEAT_SECONDS):
            try:
                self._beat()
            except Exception as error:  # a heartbeat that fails once (a full disk) must not end the work
                print(f"heartbeat: {error}", file=sys.stderr, flush=True)
            if self._cancelled.is_set():
                self._end_by_force_unless_over()
                return

    def _beat(self) -> None:
        pace = {"since": self._since, "since_done": self._since_done, "n_failures": self._n_failures}
        info = json.dumps({**dict(self.info), **pace})
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
            self._enough.set()
        if state is None or state.cancel or state.state != "running":
            self._cancelled.set()

    def _end_by_force_unless_over(self) -> None:
        if self._over.wait(_GRACE_SECONDS):
            return
        with self.store.write() as connection:
            jobs.finish(connection, self.job_id, "cancelled", "cancelled")
            runs.abandon(connection, self.job_id, "cancelled", "cancelled")
        if sys.platform != "win32" and os.getpgrp() == os.getpid():
            os.killpg(os.getpgrp(), signal.SIGKILL)
        os._exit(1)
