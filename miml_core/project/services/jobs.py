"""The background jobs of a project."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any, Literal

from miml_core.project.jobs import archive_targets, export_targets, queue
from miml_core.project.jobs.params import check_params
from miml_core.project.queries import runs
from miml_core.project.queries.prediction_blocks import IMPORTED
from miml_core.project.records import Job, JobFailure
from miml_core.project.services.service import Service

JobKind = Literal[
    "import", "segment", "learn-segmenter", "features", "train", "predict", "map", "apply", "sample", "export", "pack"
]


class Jobs(Service):
    """`project.jobs`.

    Examples
    --------
    >>> from miml_core.demo.example import example_project
    >>> with example_project() as project:
    ...     table = project.folder / "exports" / "labels.csv"
    ...     job = project.jobs.start("export", {"format": "csv", "what": "all", "path": str(table)})
    ...     done = project.jobs.wait(job.id, timeout=120)
    ...     n_lines = len(table.read_text().splitlines())
    >>> done.state, done.n_failures, n_lines
    ('done', 0, 5)
    """

    def start(self, kind: JobKind, params: dict[str, Any] | None = None, *, annotator: str | None = None) -> Job:
        """Queue work for a worker process of its own and start it as soon as its lane is free.

        One job runs at a time in each of these lanes: files (import, segment, learn-segmenter, features, sample),
        model (train, predict), map, archive (apply) and export (export, pack).

        ``import``: ``paths`` (files or folders), ``bag_length``, ``overlap``, ``remainder``, ``recursive``.
        ``segment``: ``bags`` (ids; default: all that are not up to date), ``again`` (also those up to date),
        ``scope`` ("stale", "unreviewed" or "all"), ``processes``.
        ``learn-segmenter``: learns from the segments that people kept and deleted, and changes the settings.
        ``features``: describes segments whose features are missing or out of date.
        ``train``: ``model`` (default "ored-lr"), ``params``, ``seed``, ``warm_start``; predicts at the end.
        ``predict``: ``run`` (default: the current one).
        ``apply``: ``folders`` (of recordings or pictures), ``archive`` (the folder of the results), ``run`` (default:
        the current one), ``workers``, ``site_pattern``, ``remove_missing``. The folders are recorded in this
        installation as chosen for this project.
        ``sample``: ``archive``, ``per_class``, ``seed``, ``model`` (if the archive has several), ``project`` (the
        folder of another project, which is created if there is none; default: this project).
        ``export``: ``format``, ``path``, ``what`` ("confirmed", "predicted", "all"), ``min_probability``, ``bags``. The
        folder of ``path`` is recorded in this installation as chosen for exports of this project.
        ``pack``: ``path`` (a .zip file), ``media`` (whether the media are packed too); recorded in the same way.

        Parameters are checked first (`jobs/params.py`, `jobs/export_targets.py`, `jobs/archive_targets.py`); a
        `BagtagError` names what is wrong.
        """
        params = params or {}
        check_params(kind, params)
        if kind in ("export", "pack"):
            params = export_targets.choose_target(self._store.folder, params)
        elif kind == "apply":
            params = archive_targets.choose_archive(self._store.folder, params)
        elif kind == "sample":
            params = archive_targets.choose_sample(self._store.folder, params)
        return queue.start(self._store, kind, params, self._name_or_own(annotator))

    def train_again(self) -> Job:
        """Queue a training like that of the current run; without a trained one, with the default model."""
        with self._store.read() as connection:
            run = runs.get_current_run(connection)
        is_trained = run is not None and run.model != IMPORTED
        return self.start("train", {"model": run.model, "params": run.params} if run and is_trained else {})

    def list(self, *, active: bool = False, limit: int = 50) -> builtins.list[Job]:
        """Return the latest jobs first; finds dead workers and starts waiting jobs."""
        return queue.list_jobs(self._store, active=active, limit=limit)

    def list_stopped(self, *, limit: int = 50) -> builtins.list[Job]:
        """Return jobs that another computer or another copy of the project queued or began, and that do not run.

        They never start by themselves: `restart` starts one on this computer, `cancel` removes it.
        """
        return queue.list_jobs(self._store, stopped=True, limit=limit)

    def get(self, job_id: int) -> Job:
        """Return one job as it is now; raises `Gone` when there is none."""
        return queue.get_job(self._store, job_id)

    def cancel(self, job_id: int) -> Job:
        """Ask a job to stop; it stops within 2 s and keeps what it finished."""
        return queue.cancel(self._store, job_id)

    def stop_early(self, job_id: int) -> Job:
        """Ask a training to end with what it has learnt so far: its run is kept, marked as stopped early."""
        return queue.stop_early(self._store, job_id)

    def restart(self, job_id: int) -> Job:
        """Start a new job with the task of one that died, failed, was cancelled or is stopped; it continues there."""
        return queue.restart(self._store, job_id)

    def wait(self, job_id: int, *, timeout: float | None = None, tick: Callable[[Job], None] | None = None) -> Job:
        """Wait until a job has ended, calling `tick` a few times per second."""
        return queue.wait(self._store, job_id, timeout=timeout, tick=tick)

    def failures(self, job_id: int) -> builtins.list[JobFailure]:
        """Return what the job failed on, and why."""
        with self._store.read() as connection:
            return queue.failures(connection, job_id)

    def log(self, job_id: int) -> builtins.list[str]:
        """Return the log of the job and, if it died, the last lines it printed."""
        return queue.log(self._store, job_id)
