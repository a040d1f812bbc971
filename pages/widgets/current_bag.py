"""Which bag a person is looking at: the same on every page of one project."""

from __future__ import annotations

import streamlit as st

from miml_core.project import Project

_LOOKED_AT = "bag.looked_at"
_ASKED = "bag.asked"


def look_at(project: Project, bag_id: int) -> None:
    """Remember where the person is."""
    st.session_state[_LOOKED_AT] = (str(project.folder), bag_id)


def ask_for(project: Project, bag_id: int) -> None:
    """The next page shows this bag, whether or not its list would have it."""
    st.session_state[_ASKED] = (str(project.folder), bag_id)
    look_at(project, bag_id)


def asked_bag(project: Project) -> int | None:
    """The bag asked for, once."""
    folder, bag_id = st.session_state.pop(_ASKED, (None, None))
    return bag_id if folder == str(project.folder) else None


def current_bag(project: Project, among: list[int]) -> int:
    """The bag to show: the one last looked at if the list has it, else the first of the list."""
    folder, bag_id = st.session_state.get(_LOOKED_AT, (None, None))
    return bag_id if folder == str(project.folder) and bag_id in among else among[0]
