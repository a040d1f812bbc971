"""What a page asks another one to show: a bag on the canvas, a list of segments on the wall.

Page runs repeat a request, because a run that is interrupted may never reach the browser; the browser follows each `id`
once.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Any

import streamlit as st

from miml_core.project import Project


@dataclass(frozen=True)
class PageRequest:
    """A request, the folder of its project, and what the browser gets of it."""

    id: str
    folder: str
    fields: dict[str, Any]


def keep_request(project: Project, kind: str, **fields: Any) -> None:
    """Make the next page with a component of this kind, "canvas" or "wall", follow a request."""
    st.session_state[_key(kind)] = PageRequest(secrets.token_hex(8), str(project.folder), fields)


def latest_request(project: Project, kind: str) -> dict[str, Any] | None:
    """Return the fields of the latest request for this project, and its `id`."""
    request: PageRequest | None = st.session_state.get(_key(kind))
    if request is None or request.folder != str(project.folder):
        return None
    return {"id": request.id, **request.fields}


def _key(kind: str) -> str:
    return f"{kind}.request"
