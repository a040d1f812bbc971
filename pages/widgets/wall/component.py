"""The Streamlit component of the wall. Like the canvas, it fetches and stores through the routes, not by page runs."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import streamlit as st

from miml_core.project import Project
from pages.widgets.app.open_projects import open_once
from pages.widgets.canvas.component import access
from pages.widgets.routes.assets import files
from pages.widgets.similar import open_reported_similar
from pages.widgets.wall.selections import requested_wall


def wall(project: Project, *, around: int = 92, key: str = "wall.grid") -> None:
    """Show the wall: what `open_wall` asked for last, else what the browser showed last.

    Parameters
    ----------
    around
        How much of the window, in pixels, is not for the wall: the navigation above it, the margin below.
    """
    open_once(project.folder)
    request = requested_wall(project)
    data = {
        **access(project),
        "kind": project.kind,
        "around": around,
        "sureFrom": project.review.sure_from(),
        "request": None if request is None else {"id": request.id, "query": request.query},
    }
    similar = partial(open_reported_similar, project, key)
    _component()(key=key, data=data, on_rerun_change=_ignore, on_similar_change=similar)


def _ignore() -> None:
    """Do nothing: Streamlit only needs a callback to learn the names of the component's state."""


@cache
def _component() -> Any:
    return st.components.v2.component("bagtag_wall", js=files()["wall_loader.js"].decode())
