"""Draw a sample of an archive's detections into a project."""

from __future__ import annotations

from typing import Any

from miml_core.archive.sample_project import draw_into_project
from miml_core.project.jobs import archive_targets
from miml_core.project.jobs.context import JobContext


def run(context: JobContext) -> dict[str, Any]:
    """Draw the sample into this project, or into another one, which is created if there is none."""
    params, own = context.params, context.store.folder
    archive = archive_targets.check_target(own, params["archive"])
    into = params.get("project")
    target = own if into is None else archive_targets.check_target(own, into)
    context.report(0, 0, "drawing detections")
    found = draw_into_project(
        archive,
        target,
        params["per_class"],
        seed=params.get("seed", 0),
        model_id=params.get("model"),
        annotator=context.annotator,
        progress=context.progress,
    )
    for file, reason in found.failures:
        context.fail(file, reason)
    message = f"{found.detections} detections in {found.bags} clips to review"
    return {"message": message, "project": str(target), "detections": found.detections, "bags": found.bags}
