"""Lists of segments that a page makes and the wall shows: a lasso of the map, the segments most like one.

The server keeps the latest ones while it runs; the browser is given a token. A wall of a class needs no list: its
query names the class.
"""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from miml_core.errors import BagtagError
from miml_core.project import Project
from pages.widgets.app.page_requests import keep_request
from pages.widgets.app.session import go_to
from pages.widgets.errors import attempt

N_SIMILAR = 200
_MOST = 64
_kept: OrderedDict[tuple[str, str], Selection] = OrderedDict()
_lock = threading.Lock()


@dataclass(frozen=True)
class Selection:
    """An ordered list of segments with a title, such as "Like segment 12 of clip.wav" or "Lasso: 214 segments"."""

    title: str
    segment_ids: tuple[int, ...]


def keep_selection(project: Project, title: str, segment_ids: Sequence[int]) -> str:
    """Keep a list of segments for the wall; return the token for `open_wall(project, {"selection": token})`."""
    if not segment_ids:
        raise BagtagError("There is no segment to show; select at least one.")
    token = secrets.token_urlsafe(12)
    with _lock:
        _kept[str(project.folder), token] = Selection(title, tuple(int(one) for one in segment_ids))
        while len(_kept) > _MOST:
            _kept.popitem(last=False)
    return token


def find_selection(project: Project, token: str) -> Selection | None:
    """Return a kept list; None if the server was restarted, or has dropped it."""
    with _lock:
        return _kept.get((str(project.folder), token))


def open_wall(project: Project, query: Mapping[str, Any]) -> None:
    """Show the wall in the next run of the app.

    Parameters
    ----------
    query
        ``{"selection": token}``, or ``{"predicted": class_id}`` with optional "order" ("doubtful" or "sure") and
        "show" ("open", "unsure", "checked", "threshold" or "all").
    """
    keep_request(project, "wall", query=dict(query))
    go_to("wall")


def open_similar(project: Project, segment_id: int) -> None:
    """Show the wall of the segments most like one; a callback, also of a widget in a fragment."""
    attempt(_open_similar, project, segment_id)


def _open_similar(project: Project, segment_id: int) -> None:
    open_wall(project, {"selection": keep_similar(project, segment_id)})
    st.rerun()  # a fragment runs only itself, and another page is a run of the whole app


def open_reported_similar(project: Project, key: str) -> None:
    """Open the wall of the segments most like the one that a component, the canvas or the wall, reports."""
    segment_id = (st.session_state.get(key) or {}).get("similar")
    if isinstance(segment_id, int):
        open_similar(project, segment_id)


def keep_similar(project: Project, segment_id: int) -> str:
    """Find the segments most like one and keep them for the wall, it first; return the token of the list."""
    found = project.similarity.nearest(segment_id, N_SIMILAR)
    segment = project.segments.get(segment_id)
    title = f"Like segment {segment.number} of {project.bags.get(segment.bag_id).name}"
    return keep_selection(project, title, [segment_id, *(each for each, _ in found)])
