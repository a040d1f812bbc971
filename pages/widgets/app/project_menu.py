"""The menu of the open project: its folder, the annotator's name, its place, the way back to the start page."""

from __future__ import annotations

import streamlit as st

from miml_core.project import Project
from pages.widgets.app.session import annotator, close_project, set_annotator
from pages.widgets.place_input import place_input
from pages.widgets.text import plain

_NAME = "frame.name"
_PLACE = "library.place"  # forgotten with what else belongs to a project


def project_menu(project: Project) -> None:
    """Draw the menu."""
    with st.popover(plain(project.name), icon=":material/folder_open:", type="tertiary", key="project-menu"):
        st.text(str(project.folder))
        st.text_input(
            "Your name", annotator(), key=_NAME, help="Stored with your tags and corrections.", on_change=_set_name
        )
        if project.kind == "sound":
            place_input(
                "Place: latitude, longitude",
                project.place,
                project.set_place,
                key=_PLACE,
                help="BirdNET then suggests only birds that occur there, at the time of the year of the recording. A "
                "recording that contains its own coordinates uses those.",
            )
        st.button("Open another project", key="frame.close", icon=":material/logout:", on_click=close_project)


def _set_name() -> None:
    if name := st.session_state[_NAME].strip():
        set_annotator(name)
