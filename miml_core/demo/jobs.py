"""Run the jobs of a demo's project to their end."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Literal

from miml_core.errors import BagtagError
from miml_core.progress import Progress
from miml_core.project import Job, Project

ANNOTATOR = "demo"
_CANCEL_SECONDS = 10.0


def run_job(project: Project, kind: Literal["segment", "train"], params: dict[str, Any], progress: Progress) -> None:
    """Run a job, or wait for the one that an earlier process started; it is cancelled if `progress` raises."""

    def report(job: Job) -> None:
        progress(job.done, job.of, {"what": job.message})

    left = next((job for job in project.jobs.list(active=True) if job.kind == kind), None)
    if left is not None and project.jobs.wait(left.id, tick=report).state == "done":
        return  # started by a process that was killed; its worker continued
    job = project.jobs.start(kind, params, annotator=ANNOTATOR)
    try:
        job = project.jobs.wait(job.id, tick=report)
    except BaseException:
        project.jobs.cancel(job.id)
        with suppress(BagtagError):
            project.jobs.wait(job.id, timeout=_CANCEL_SECONDS)
        raise
    if job.state != "done":
        raise BagtagError(f"The demo in {str(project.folder)!r} is not complete: {job.message}.")
