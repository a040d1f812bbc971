"""How far the project is, in one row."""

from __future__ import annotations

import streamlit as st

from miml_core.project import Project
from pages.widgets.guard import told
from pages.widgets.words import percent, thousands

_SECONDS = 2.0


@st.fragment(run_every=_SECONDS)
def progress_row(project: Project) -> None:
    """Bags, tagged, segments, checked, kept up to date."""
    with told():
        _progress_row(project)


def _progress_row(project: Project) -> None:
    progress = project.progress()
    with st.container(horizontal=True, gap="medium", key="progress-row"):
        st.metric("Bags", thousands(progress.n_bags), width="content")
        _share("Tagging finished", progress.n_finished, progress.n_bags)
        _share("Segmented", progress.n_segmented, progress.n_bags)
        st.metric("Segments", thousands(progress.n_segments), width="content")
        _share("Checked", progress.n_reviewed, progress.n_segments)


def _share(label: str, n: int, of: int) -> None:
    """A count with its share; the share alone would hide how much work it was."""
    value = thousands(n) if not n or not of else f"{thousands(n)} :small[:gray[{percent(n / of)}]]"
    st.metric(label, value, width="content")
