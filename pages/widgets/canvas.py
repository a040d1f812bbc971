"""The canvas: a bag's picture and segments, drawn, heard and edited in the browser.

The component itself carries only names and a token; picture, outlines and sound come, and edits go, by the routes of
`pages.widgets.routes`. A page run therefore never moves what a person is looking at, and a slow page never holds up
an edit. The person may walk on to other bags (N and P) without the page: `CanvasState` says where they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import streamlit as st

from miml_core.project import Project
from pages.widgets.app.open_projects import key_of, open_once
from pages.widgets.routes.assets import files, version
from pages.widgets.routes.doors import LISTEN_TOKEN, TOKEN

Mode = Literal["review", "segment", "tag", "view", "preview"]
Item = int | tuple[int, int | None]
"""A bag, or a segment of a bag."""

RESERVED_KEYS = frozenset("0/?+-=adelmnpsuxzrc ")
"""Keys that are the canvas's or Streamlit's own: no shortcut of a class."""

_AROUND = 20
"""How many items of the queue to either side the browser knows."""


@dataclass(frozen=True)
class CanvasState:
    """Where the person is.

    Attributes
    ----------
    bag_id, segment_id
        What is on screen and selected; `segment_id` is None when nothing or something just drawn is.
    stored : int
        The number of this tab's edits that are stored: it changes after every edit.
    revision : int
        The project's revision the canvas has drawn.
    """

    bag_id: int
    segment_id: int | None
    stored: int
    revision: int


def canvas(
    project: Project,
    bag_id: int,
    *,
    mode: Mode = "review",
    queue: Sequence[Item] | None = None,
    more: bool = False,
    segment_id: int | None = None,
    preview: str | None = None,
    height: int = 420,
    around: int = 0,
    sampled: bool = False,
    autoplay: bool = False,
    key: str = "canvas",
) -> CanvasState:
    """Show a bag.

    Parameters
    ----------
    bag_id, segment_id
        What the page wants on screen (and selected). It is brought there when the page changes its wish, not on
        every run: echoing the state's own `bag_id` and `segment_id` is no new wish.
    mode
        "review": labels, acceptance and shapes. "segment": shapes and labels. "tag": keys and chips tag the bag.
        "view": nothing can be changed. "preview": the segments of `preview` (see `routes.previews.keep_preview`).
    queue
        What N and P go through, in order: bags, or (bag, segment) pairs.
    more
        The page will put further items at the end of the queue: its length is shown as "100+".
    height, around
        The least height of the picture, in pixels (buttons and legend come on top), and how much of the window the
        page needs besides: on a higher window the picture grows. 0 keeps it at its least.
    sampled
        The queue is the random sample for honest accuracy.
    autoplay
        Play each sound on arrival.
    key
        One a page: the name of the component's state.
    """
    open_once(project.folder)
    item, wish = _wish(key, bag_id, segment_id)
    data = {
        "base": _base(),
        "assets": version(),
        "project": key_of(project.folder),
        "token": TOKEN,
        "listen": LISTEN_TOKEN,
        "annotator": project.annotator[:80],
        "mode": mode,
        "bag": item[0],
        "segment": item[1],
        "wish": wish,
        "queue": _around(queue, _now(key).get("item") or list(item), more=more),
        "preview": preview,
        "height": height,
        "around": around,
        "sampled": sampled,
        "autoplay": autoplay,
    }
    _component()(key=key, data=data, on_now_change=_ignore, on_knock_change=_ignore)
    return _state(key, project, item)


def _ignore() -> None:
    """The state is read where it is needed; Streamlit only wants to know its names."""


@cache
def _component() -> Any:
    return st.components.v2.component("bagtag_canvas", js=files()["loader.js"].decode())


def _now(key: str) -> dict[str, Any]:
    """What the browser last told."""
    told = st.session_state.get(key) or {}
    return told.get("now") or {}


def _state(key: str, project: Project, item: tuple[int, int | None]) -> CanvasState:
    now = _now(key)
    if not now or now.get("bag") is None:
        state = CanvasState(item[0], item[1], 0, project.revision)
    else:
        state = CanvasState(now["bag"], now.get("segment"), now["stored"], now["revision"])
    st.session_state[f"{key}.answered"] = (state.bag_id, state.segment_id)
    return state


def _wish(key: str, bag_id: int, segment_id: int | None) -> tuple[tuple[int, int | None], int]:
    """What the canvas is asked to show, and the number of this wish.

    A page that passes on what the canvas told it in the run before wishes nothing new, however far the person has
    gone since; only what the canvas did not say itself counts. After a restart of the server the browser still knows
    the number of the last wish, and stays where it is.
    """
    asked = (bag_id, segment_id)
    now = _now(key)
    last: dict[str, Any] = st.session_state.get(f"{key}.wish") or {"asked": asked, "number": now.get("wish") or 1}
    told = st.session_state.get(f"{key}.answered")
    echo = bool(now) and told is not None and asked[0] == told[0] and asked[1] in (None, told[1])
    wishes = asked != last["asked"] and not echo
    shown = last.get("shown", asked) if now and not wishes else asked
    number = last["number"] + int(wishes)
    st.session_state[f"{key}.wish"] = {"asked": asked, "shown": shown, "number": number}
    return shown, number


def _around(queue: Sequence[Item] | None, here: Sequence[int | None], *, more: bool = False) -> dict[str, Any]:
    """The part of the queue around an item that the browser needs to go on without the page."""
    if not queue:
        return {}
    items = [(item, None) if isinstance(item, int) else (item[0], item[1]) for item in queue]
    wanted = (here[0], here[1] if len(here) > 1 else None)
    place = next((i for i, item in enumerate(items) if item == wanted), None)
    if place is None:
        place = next((i for i, item in enumerate(items) if item[0] == wanted[0]), 0)
    first = max(0, place - _AROUND)
    around = items[first : place + _AROUND + 1]
    return {"items": around, "first": first, "index": place, "total": len(items), "more": more}


def _base() -> str:
    path = str(st.get_option("server.baseUrlPath") or "").strip("/")
    return f"/{path}" if path else ""
