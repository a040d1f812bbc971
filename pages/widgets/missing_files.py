"""Files that are not where they were, and how to find them again."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from miml_core.project import Project
from pages.widgets.folder_chooser import folder_chooser
from pages.widgets.sure_button import sure_button
from pages.widgets.words import count


def missing_files(project: Project) -> None:
    """Nothing while all files are there; else a sentence and a way to look for them elsewhere."""
    missing = project.progress().n_missing
    if not missing:
        return
    with st.container(border=True):
        were = "it was" if missing == 1 else "they were"
        st.markdown(
            f":orange[:material/link_off:] **{count(missing, 'file')} not where {were}.** "
            "Your tags and segments are safe. If the folder was moved or a disk is not connected, say where to look."
        )
        folder = folder_chooser("Look in", key="missing.folder", project_folder=project.folder)
        with st.container(horizontal=True):
            sure_button(
                "Look again where they were", project.refresh_missing, key="missing.look", icon=":material/refresh:"
            )
            sure_button(
                "Find them in this folder",
                lambda: _relink(project, folder),
                key="missing.relink",
                icon=":material/travel_explore:",
                disabled=folder is None,
            )


def _relink(project: Project, folder: Path | None) -> None:
    found = project.relink(folder) if folder else []
    st.toast(f"Found {count(len(found), 'file')} again.")
