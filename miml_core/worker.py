"""The program of a job's process: ``python -m miml_core.worker FOLDER JOB``.

It is above the project and the archive, and gives the one the tasks of the other, by the names of their modules: a
worker imports only the task that it runs.
"""

from __future__ import annotations

import sys

from miml_core.project.jobs import worker

TASKS = {
    **worker.TASKS,
    "apply": "miml_core.archive.jobs.applying",
    "sample": "miml_core.archive.jobs.sampling",
}
"""Kind of job -> module with its `run(context)`."""


def main(folder: str, job_id: int, *, own_process: bool = False) -> int:
    """Run a job of a project."""
    return worker.main(folder, job_id, TASKS, own_process=own_process)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), own_process=True))
