"""The numbers beside the canvas, and the button that trains again."""

from __future__ import annotations

from dataclasses import asdict

from starlette.requests import Request
from starlette.responses import Response

from miml_core.project import Project
from pages.widgets.routes.auth import NotAllowed
from pages.widgets.routes.json_response import JSONResponse


def send_counters(request: Request, project: Project) -> Response:
    """Send how much is checked and finished, how often the model was right, and what is new since it was trained."""
    progress = project.progress()
    run = project.runs.current()
    return JSONResponse(
        {
            "bags": progress.n_bags,
            "finished": progress.n_finished,
            "segments": progress.n_segments,
            "checked": progress.n_reviewed,
            "sample": asdict(project.review.sample_accuracy()),
            "all": asdict(project.review.checked_accuracy()),
            "new_labels": 0 if run is None else run.n_corrections_since + run.n_tags_since,
            "training": _is_training(project),
        }
    )


def start_retraining(request: Request, project: Project) -> Response:
    """Train a model like the current one, in the background."""
    if _is_training(project):
        raise NotAllowed(409, "A training is already running; wait until it has ended, or stop it on the Train page.")
    project.jobs.train_again()
    return JSONResponse({"training": True})


def _is_training(project: Project) -> bool:
    return any(job.kind == "train" for job in project.jobs.list(active=True))
