"""The Streamlit component of the wall. Like the canvas, it fetches and stores through the routes, not by page runs."""

from __future__ import annotations

from functools import partial

from miml_core.project import Project
from pages.widgets.app.open_projects import open_once
from pages.widgets.app.page_requests import latest_request
from pages.widgets.browser_modules import browser_component
from pages.widgets.canvas.component import STYLES, browser_access
from pages.widgets.segment_selections import open_reported_similar


def wall(project: Project, *, around: int = 92, key: str = "wall.grid") -> None:
    """Show the wall: what `open_wall` asked for last, else what the browser showed last.

    Parameters
    ----------
    around
        How much of the window, in pixels, is not for the wall: the navigation above it, the margin below.
    """
    open_once(project.folder)
    data = {
        **browser_access(project, "wall.js", [*STYLES, "wall.css"]),
        "kind": project.kind,
        "around": around,
        "sureFrom": project.review.sure_from(),
        "request": latest_request(project, "wall"),
    }
    similar = partial(open_reported_similar, project, key)
    browser_component("bagtag_wall")(key=key, data=data, on_similar_change=similar)
