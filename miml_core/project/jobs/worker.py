"""The worker process: ``python -m miml_core.project.jobs.worker FOLDER JOB``."""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from pathlib import Path

from miml_core.errors import BagtagError
from miml_core.project.db.store import Store
from miml_core.project.errors import Cancelled
from miml_core.project.jobs import queue as job_queue
from miml_core.project.jobs.context import JobContext
from miml_core.project.jobs.params import check_params
from miml_core.project.learning import training_runs
from miml_core.threads import lower_priority

TASKS = {
    "import": "importing",
    "segment": "segmenting",
    "learn-segmenter": "learning_segmenter",
    "features": "describing",
    "train": "training",
    "predict": "predicting",
    "map": "mapping",
    "export": "writing",
}


_NICE = 5
_MOSTLY_COMPUTES = ("train", "predict", "learn-segmenter", "map")
"""Jobs that run with a lower priority than the server. A job that stores much does not, because people would wait for
its slow transactions; only the processes that compute for it do."""
_PAUSE_SECONDS = 0.01


def main(folder: str, job_id: int) -> int:
    """Run one job that was claimed for this process, then start the jobs waiting for it."""
    store = Store.open(Path(folder))
    store.pause_seconds = _PAUSE_SECONDS
    with store.write() as connection:
        wanted = job_queue.begin(connection, job_id, os.getpid())
    if wanted:
        _run(JobContext(store, job_id))
    job_queue.update_jobs(store)
    store.close()
    return 0


def _run(context: JobContext) -> None:
    context.start()
    if __name__ == "__main__" and context.kind in _MOSTLY_COMPUTES:
        lower_priority(_NICE)
    try:
        check_params(context.kind, context.params)
        task = importlib.import_module(f"miml_core.project.jobs.tasks.{TASKS[context.kind]}")
        result = task.run(context)
        _end(context, "done", result.pop("message", "done"), result)
    except Cancelled:
        _end(context, "cancelled", "cancelled", None)
    except BagtagError as error:
        _end(context, "failed", str(error), None)
    except OSError as error:
        _end(context, "failed", f"A file could not be read or written: {error}.", None)
    except Exception as error:  # shown to the person; the traceback is in the log
        traceback.print_exc()
        _end(context, "failed", f"an unexpected error: {type(error).__name__}: {error}", None)


def _end(context: JobContext, state: str, message: str, result: dict[str, object] | None) -> None:
    context.stop()
    context.flush()
    with context.store.write() as connection:
        job_queue.finish(connection, context.job_id, state, message, result)
        if state != "done":
            training_runs.abandon(connection, context.job_id, state, message)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2])))
