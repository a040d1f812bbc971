"""Run one job in this process; `miml_core/worker.py` is the program."""

from __future__ import annotations

import importlib
import os
import traceback
from collections.abc import Mapping
from pathlib import Path

from miml_core.errors import BagtagError
from miml_core.project.db.store import Store
from miml_core.project.errors import Cancelled
from miml_core.project.jobs import queue as job_queue
from miml_core.project.jobs.context import JobContext
from miml_core.project.jobs.params import check_params
from miml_core.project.learning import training_runs
from miml_core.threads import lower_priority

_HERE = "miml_core.project.jobs.tasks"
TASKS = {
    "import": f"{_HERE}.importing",
    "segment": f"{_HERE}.segmenting",
    "learn-segmenter": f"{_HERE}.learning_segmenter",
    "features": f"{_HERE}.computing_features",
    "train": f"{_HERE}.training",
    "predict": f"{_HERE}.predicting",
    "map": f"{_HERE}.mapping",
    "export": f"{_HERE}.exporting",
    "pack": f"{_HERE}.packing",
}
"""Kind of job -> module with its `run(context)`; those of higher layers are given to `main`."""

_NICE = 5
_MOSTLY_COMPUTES = ("train", "predict", "learn-segmenter", "map", "apply")
"""Jobs that run with a lower priority than the server. A job that stores much does not, because people would wait for
its slow transactions; only the processes that compute for it do."""
_PAUSE_SECONDS = 0.01


def main(folder: str, job_id: int, tasks: Mapping[str, str] = TASKS, *, own_process: bool = False) -> int:
    """Run one job that was claimed for this process, then start the jobs waiting for it.

    Parameters
    ----------
    folder : str
        Of the project.
    job_id : int
    tasks : mapping of str to str
        Kind of job -> module with its `run(context)`.
    own_process : bool
        Whether this process does nothing else, so that its priority may be lowered.
    """
    store = Store.open(Path(folder))
    store.pause_seconds = _PAUSE_SECONDS
    with store.write() as connection:
        wanted = job_queue.begin(connection, job_id, os.getpid())
    if wanted:
        _run(JobContext(store, job_id), tasks, own_process)
    job_queue.update_jobs(store)
    store.close()
    return 0


def _run(context: JobContext, tasks: Mapping[str, str], own_process: bool) -> None:
    context.start()
    if own_process and context.kind in _MOSTLY_COMPUTES:
        lower_priority(_NICE)
    try:
        check_params(context.kind, context.params)
        task = importlib.import_module(tasks[context.kind])
        result = task.run(context)
        _end(context, "done", result.pop("message", "done"), result)
    except Cancelled:
        _end(context, "cancelled", "cancelled", None)
    except BagtagError as error:
        _end(context, "failed", str(error), None)
    except OSError as error:
        hint = "Check the path, its permissions and the free space."
        _end(context, "failed", f"A file could not be read or written: {error}. {hint}", None)
    except Exception as error:  # shown to the person; the traceback is in the log
        traceback.print_exc()
        what = f"{type(error).__name__}: {error}"
        _end(context, "failed", f"an unexpected error: {what}; the job's log has the details", None)


def _end(context: JobContext, state: str, message: str, result: dict[str, object] | None) -> None:
    context.stop()
    context.flush()
    with context.store.write() as connection:
        job_queue.finish(connection, context.job_id, state, message, result)
        if state != "done":
            training_runs.abandon(connection, context.job_id, state, message)
