"""Which bag a person is looking at: the same on every page of one project, and in the address of the page."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from miml_core.project import Gone, Project

_KEY = "bag.current"


def show_bag(project: Project, bag_id: int) -> None:
    """Look at this bag from now on."""
    st.session_state[_KEY] = (str(project.folder), bag_id)


def current_bag(project: Project, among: Sequence[int] | None = None) -> int | None:
    """The bag to show: the one last looked at if it is still there, else the first of `among` (or of the project)."""
    folder, bag_id = st.session_state.get(_KEY, (None, None))
    if folder == str(project.folder) and bag_id is not None and _exists(project, bag_id):
        return int(bag_id)
    first = among[0] if among else None
    if first is None:
        page = project.list_bags(limit=1)
        first = page.bags[0].id if page.bags else None
    if first is not None:
        show_bag(project, first)
    return first


def _exists(project: Project, bag_id: int) -> bool:
    try:
        project.bag(bag_id)
    except Gone:
        return False
    return True
