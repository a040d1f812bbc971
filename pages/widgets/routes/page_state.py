"""What parts of a page compare to know whether they are up to date: see `pages/widgets/follow.py`."""

from __future__ import annotations

import hashlib
from typing import Any
from weakref import WeakValueDictionary

from starlette.requests import Request
from starlette.responses import Response

from miml_core import kernels
from miml_core.project import Project
from miml_core.project.jobs import repredict
from pages.widgets.background_work import BackgroundWork
from pages.widgets.routes.auth import NotAllowed
from pages.widgets.routes.json_response import JSONResponse

_works: WeakValueDictionary[str, BackgroundWork] = WeakValueDictionary()


def project_state(project: Project) -> dict[str, str]:
    """Return the state of edits, of jobs, and of how far the jobs are. Jobs that wait are started by it."""
    active, stopped = project.jobs.list(active=True), project.jobs.list_stopped()
    compiling = kernels.compilation() if active else None
    steps = [(job.id, job.done, job.of, job.message, job.info) for job in active]
    return {
        "revision": str(project.revision),
        "jobs": _digest([(job.id, job.state, job.cancelling) for job in (*active, *stopped)]),
        "steps": _digest([steps, compiling]),
    }


def work_state(work: BackgroundWork) -> dict[str, str]:
    """Return the state of work in a thread of the server."""
    return {"work": _digest([round(work.share, 2), work.stop, work.over, work.problem])}


def address_of_work(work: BackgroundWork) -> str:
    """Return the address, below that of the routes, at which the browser gets the state of the work."""
    _works[work.number] = work
    return f"work/{work.number}"


def send_project_state(request: Request, project: Project) -> Response:
    """Send the state of a project."""
    state = project_state(project)
    repredict.note_revision(project.store, int(state["revision"]))
    return JSONResponse(state)


def send_work_state(request: Request) -> Response:
    """Send the state of work that a page shows."""
    work = _works.get(request.path_params["work"])
    if work is None:
        raise NotAllowed(404, "This work is no longer known: reload the page.")
    return JSONResponse(work_state(work))


def _digest(value: Any) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()[:16]
