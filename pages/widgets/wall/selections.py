"""Lists of segments that a page makes and the wall shows: a lasso of the map, the segments most like one.

They are kept by the server while it runs, the latest ones; the browser is given a token. A wall of a class needs no
list: its query names the class.
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
from pages.widgets.app.session import go_to

_MOST = 64
_REQUEST = "wall.request"
_kept: OrderedDict[tuple[str, str], Selection] = OrderedDict()
_lock = threading.Lock()


@dataclass(frozen=True)
class Selection:
    """An ordered list of segments with a title, such as "Like segment 12 of clip.wav" or "Lasso: 214 segments"."""

    title: str
    segment_ids: tuple[int, ...]


@dataclass(frozen=True)
class WallRequest:
    """What the wall is to show next. Page runs repeat it; the browser follows each `id` once."""

    id: str
    folder: str
    query: dict[str, Any]


def keep_selection(project: Project, title: str, segment_ids: Sequence[int]) -> str:
    """Keep a list of segments for the wall; returns the token for `open_wall(project, {"selection": token})`."""
    if not segment_ids:
        raise BagtagError("There is no segment to show; select at least one.")
    token = secrets.token_urlsafe(12)
    with _lock:
        _kept[str(project.folder), token] = Selection(title, tuple(int(one) for one in segment_ids))
        while len(_kept) > _MOST:
            _kept.popitem(last=False)
    return token


def find_selection(project: Project, token: str) -> Selection | None:
    """Return a kept list; None if the server was restarted, or has let it go."""
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
    request_wall(project, query)
    go_to("wall")


def request_wall(project: Project, query: Mapping[str, Any]) -> None:
    """Make the wall show this, when it is next on screen."""
    st.session_state[_REQUEST] = WallRequest(secrets.token_hex(8), str(project.folder), dict(query))


def requested_wall(project: Project) -> WallRequest | None:
    """Return the latest request for this project."""
    request: WallRequest | None = st.session_state.get(_REQUEST)
    return request if request is not None and request.folder == str(project.folder) else None
