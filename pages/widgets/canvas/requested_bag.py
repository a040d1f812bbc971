"""The bag that another page asks the next canvas to open."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

import streamlit as st

from miml_core.project import Project

_KEY = "canvas.requested_bag"


@dataclass(frozen=True)
class BagRequest:
    """A bag to open, once.

    Page runs repeat the request, because a run that is interrupted may never reach the browser; the browser follows
    each `id` once.
    """

    id: str
    folder: str
    bag_id: int
    segment_id: int | None = None


def request_bag(project: Project, bag_id: int, segment_id: int | None = None) -> None:
    """Make the next canvas open this bag and select the segment, whether or not its queue contains it."""
    st.session_state[_KEY] = BagRequest(secrets.token_hex(8), str(project.folder), bag_id, segment_id)


def requested_bag(project: Project) -> BagRequest | None:
    """Return the latest request for a bag of this project."""
    request: BagRequest | None = st.session_state.get(_KEY)
    return request if request is not None and request.folder == str(project.folder) else None
