"""Apply the model of a run to folders of recordings or pictures."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from miml_core.archive.exporting import export_model
from miml_core.archive.run import ApplyOptions, ApplyProgress, apply_model, model_file
from miml_core.project import Project
from miml_core.project.jobs import archive_targets
from miml_core.project.jobs import queue as job_queue
from miml_core.project.jobs.context import JobContext

_MOST_LISTED = 1000
"""Failures in the job's list; the archive has all of them."""


def run(context: JobContext) -> dict[str, Any]:
    """Apply the model to the folders; a job that is started again continues with the same model."""
    params, project_folder = context.params, context.store.folder
    archive = archive_targets.check_target(project_folder, params["archive"])
    folders = archive_targets.check_recordings(project_folder, params["folders"])
    context.report(0, 0, "looking for files")
    with tempfile.TemporaryDirectory() as place:
        bundle_file = _bundle_file(context, archive, Path(place))
        options = ApplyOptions(
            workers=params.get("workers"),
            site_pattern=params.get("site_pattern") or None,
            remove_missing=params.get("remove_missing", False),
        )
        done = apply_model(bundle_file, folders, archive, options, _Report(context))
    return {"message": f"{done.sentence}; {done.segments:,} new segments", "archive": str(archive), **_numbers(done)}


def _bundle_file(context: JobContext, archive: Path, place: Path) -> Path:
    """Return the bundle that an interrupted job began with, or that of the run, whose id is kept for a restart."""
    earlier = context.params.get("model")
    if earlier is not None and model_file(archive, earlier).is_file():
        return model_file(archive, earlier)
    made = place / "model.bagtag"
    model_id = export_model(Project(context.store, context.annotator), made, context.params.get("run"))
    context.params = {**context.params, "model": model_id}
    with context.store.write() as connection:
        job_queue.change_params(connection, context.job_id, context.params)
    return made


class _Report:
    """Passes the progress on to the job."""

    def __init__(self, context: JobContext) -> None:
        self._context, self._listed = context, 0

    def __call__(self, now: ApplyProgress) -> None:
        for file, reason in now.failures[self._listed : _MOST_LISTED]:
            self._context.fail(file, reason)
        self._listed = len(now.failures)
        self._context.info |= {**_numbers(now), "dashboard": now.dashboard}
        if now.stage == "reading headers":
            self._context.report(now.files, now.of_files, f"reading the headers of {now.of_files:,} files")
        else:
            self._context.report(round(now.seconds), round(now.of_seconds), now.sentence)


def _numbers(now: ApplyProgress) -> dict[str, Any]:
    return {
        "stage": now.stage,
        "files": now.files,
        "of_files": now.of_files,
        "hours": now.seconds / 3600 if now.is_sound else 0.0,
        "of_hours": now.of_seconds / 3600 if now.is_sound else 0.0,
        "segments": now.segments,
        "failed": len(now.failures),
    }
