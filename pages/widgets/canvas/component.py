"""The Streamlit component of the canvas.

A page run passes the browser the project, a token and which queue to work through. Pictures, outlines, sound, the
queue, the side panel and the counters are fetched from the routes of `pages.widgets.routes`, and edits are sent there.
Selecting, editing and moving to another bag therefore never run a page script, and a page run never changes what is on
screen.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from typing import Any, Literal

import streamlit as st

from miml_core.project import Project
from pages.widgets.app.open_projects import key_of, open_once
from pages.widgets.canvas.requested_bag import BagRequest, requested_bag
from pages.widgets.routes.assets import files, version
from pages.widgets.routes.auth import LISTEN_TOKEN, TOKEN
from pages.widgets.similar import open_reported_similar

Mode = Literal["review", "segment", "tag", "view", "preview"]

RESERVED_KEYS = frozenset("0/?+-=adeflmnpsuxzrc ")
"""Keys of the canvas and of Streamlit, which no class may have as its shortcut."""


def canvas(
    project: Project,
    bag_id: int | None = None,
    *,
    mode: Mode = "review",
    queue: Mapping[str, str | int] | None = None,
    preview: str | None = None,
    height: int = 420,
    around: int = 0,
    sampled: bool = False,
    autoplay: bool = False,
    report_bag: bool = False,
    key: str = "canvas",
) -> int | None:
    """Show a bag, or a queue of bags or segments.

    Parameters
    ----------
    bag_id
        The bag to open when the browser has no position in the queue yet; without a queue, the only bag.
    mode
        "review": labels, acceptance and shapes. "segment": shapes and labels. "tag": keys and chips tag the bag.
        "view": nothing can be changed. "preview": the segments of `preview` (see `routes.previews.keep_preview`).
    queue
        The list that N and P step through: the query of `GET /bagtag/{project}/queue`. The browser keeps the list and
        the position in it until the query changes or the person asks for a new list.
    height, around
        The least height of the picture, in pixels (buttons and legend come on top), and how much of the window the
        page needs besides: in a taller window the picture grows. 0 keeps it at its least.
    sampled
        The queue is the random sample that accuracy is estimated from.
    autoplay
        Play each sound when it is opened.
    report_bag
        Run the page (or the fragment around the canvas) when another bag is opened.
    key
        The name of the component's state, unique on the page.

    Returns
    -------
    int or None
        The bag on screen as last reported by the browser; `bag_id` before that and without `report_bag`.
    """
    request = None if mode == "preview" else requested_bag(project)
    data = canvas_data(
        project,
        bag_id,
        request,
        mode=mode,
        queue=queue,
        preview=preview,
        height=height,
        around=around,
        sampled=sampled,
        autoplay=autoplay,
        report_bag=report_bag,
        key=key,
    )
    similar = partial(open_reported_similar, project, key)
    _component()(key=key, data=data, on_shown_change=_ignore, on_rerun_change=_ignore, on_similar_change=similar)
    reported = (st.session_state.get(key) or {}).get("shown") if report_bag else None
    return reported if isinstance(reported, int) else bag_id


def canvas_data(
    project: Project,
    bag_id: int | None,
    request: BagRequest | None,
    *,
    mode: Mode,
    queue: Mapping[str, str | int] | None,
    preview: str | None = None,
    height: int = 420,
    around: int = 0,
    sampled: bool = False,
    autoplay: bool = False,
    report_bag: bool = False,
    key: str = "canvas",
) -> dict[str, Any]:
    """Return what the browser's part of the canvas gets; the parameters are those of `canvas`."""
    open_once(project.folder)
    return {
        **access(project),
        "name": key,
        "mode": mode,
        "suggests": _suggests(project, mode),
        "bag": bag_id,
        "queue": None if queue is None else dict(queue),
        "request": _request(request),
        "preview": preview,
        "height": height,
        "around": around,
        "sampled": sampled,
        "sureFrom": project.review.sure_from(),
        "autoplay": autoplay,
        "reportBag": report_bag,
    }


def _ignore() -> None:
    """Do nothing: Streamlit only needs a callback to learn the names of the component's state."""


def _suggests(project: Project, mode: Mode) -> str:
    """Return where suggestions go: "beside" the sound; "line" if there is only a sentence about them; "" elsewhere."""
    if mode != "tag" or project.kind != "sound":
        return ""
    return "beside" if project.suggestions.available() else "line"


@cache
def _component() -> Any:
    return st.components.v2.component("bagtag_canvas", js=files()["loader.js"].decode())


def _request(request: BagRequest | None) -> dict[str, Any] | None:
    return None if request is None else {"id": request.id, "bag": request.bag_id, "segment": request.segment_id}


def access(project: Project) -> dict[str, str]:
    """Return what the browser needs to fetch and store by the routes of a project."""
    return {
        "base": _base_path(),
        "assets": version(),
        "project": key_of(project.folder),
        "token": TOKEN,
        "listen": LISTEN_TOKEN,
        "annotator": project.annotator[:80],
    }


def _base_path() -> str:
    """Return the path below which the app is served; empty, or with a slash in front."""
    path = str(st.get_option("server.baseUrlPath") or "").strip("/")
    return f"/{path}" if path else ""
