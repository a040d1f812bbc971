"""The Streamlit component of the canvas.

A page run passes the browser the project, a token and which queue to work through. Pictures, outlines, sound, the
queue, the side panel and the counters are fetched from the routes of `pages.widgets.routes`, and edits are sent there.
Selecting, editing and moving to another bag therefore never run a page script, and a page run never changes what is on
screen.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Literal

import streamlit as st

from miml_core.project import Project
from pages.widgets.app.open_projects import key_of, open_once
from pages.widgets.app.page_requests import keep_request, latest_request
from pages.widgets.browser_modules import browser_component, ignore_report, module_access
from pages.widgets.routes.auth import LISTEN_TOKEN
from pages.widgets.segment_selections import open_reported_similar

Mode = Literal["review", "segment", "tag", "view", "preview"]

STYLES = ["canvas.css", "side_panel.css", "toolbar.css", "picture.css", "statusbar.css"]
"""Style sheets of the editor, in the order in which they apply."""
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
    request = None if mode == "preview" else latest_request(project, "canvas")
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
    browser_component("bagtag_canvas")(key=key, data=data, on_shown_change=ignore_report, on_similar_change=similar)
    reported = reported_bag(key) if report_bag else None
    return bag_id if reported is None else reported


def reported_bag(key: str) -> int | None:
    """Return the bag that the browser last reported to be on screen; in a callback, it may not have been drawn yet."""
    reported = (st.session_state.get(key) or {}).get("shown")
    return reported if isinstance(reported, int) else None


def request_bag(project: Project, bag_id: int, segment_id: int | None = None) -> None:
    """Make the next canvas open this bag and select the segment, whether or not its queue contains it."""
    keep_request(project, "canvas", bag=bag_id, segment=segment_id)


def canvas_data(
    project: Project,
    bag_id: int | None,
    request: Mapping[str, Any] | None,
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
    """Return what the browser's part of the canvas gets; `request` is the latest one, the rest as for `canvas`."""
    open_once(project.folder)
    return {
        **browser_access(project, "canvas.js", STYLES),
        "name": key,
        "mode": mode,
        "suggests": _suggests(project, mode),
        "bag": bag_id,
        "queue": None if queue is None else dict(queue),
        "request": request,
        "preview": preview,
        "height": height,
        "around": around,
        "sampled": sampled,
        "sureFrom": project.review.sure_from(),
        "autoplay": autoplay,
        "reportBag": report_bag,
    }


def _suggests(project: Project, mode: Mode) -> str:
    """Return where suggestions go: "beside" the sound; "line" if there is only a sentence about them; "" elsewhere."""
    if mode != "tag" or project.kind != "sound":
        return ""
    return "beside" if project.suggestions.available() else "line"


def browser_access(project: Project, entry: str, styles: list[str]) -> dict[str, Any]:
    """Return what the browser needs to load a component and to use the routes of a project.

    Parameters
    ----------
    entry, styles
        The module of `assets/canvas` that shows the component, and its style sheets.
    """
    return {
        **module_access(entry, styles),
        "project": key_of(project.folder),
        "listen": LISTEN_TOKEN,
        "annotator": project.annotator[:80],
    }
