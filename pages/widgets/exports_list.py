"""The exports made so far, to be downloaded."""

from __future__ import annotations

import streamlit as st

from miml_core.project import Project
from miml_core.project.exports_made import ExportMade
from pages.widgets.guard import told
from pages.widgets.words import count, when

_MOST = 5
_LARGEST = 500 * 1024**2


@st.fragment(run_every=2.0)
@told()
def exports_list(project: Project) -> None:
    """Show the latest exports that this installation wrote, with a download button each."""
    made = project.exports_made(limit=_MOST)
    ours = [one for one in made if one.files]
    if not made:
        return
    st.markdown("**Made so far**")
    for one in ours:
        with st.container(horizontal=True, vertical_alignment="center", key=f"export-{one.job_id}"):
            _download(one)
    if len(ours) < len(made):
        st.caption(
            f"{count(len(made) - len(ours), 'export')} not listed: written on another computer, or before the project "
            "was moved."
        )


def _download(one: ExportMade) -> None:
    missing = f"; segments of {count(one.missing, 'bag')} were missing or of earlier settings" if one.missing else ""
    st.text(f"{one.title}, {when(one.finished_at)}{missing}\n{one.target}", width="stretch")
    if not one.is_there():
        st.caption("no longer there", width="content")
    elif one.size > _LARGEST:
        st.caption("large: take it from its folder", width="content")
    else:
        st.download_button(
            "Download",
            one.content,
            file_name=one.file_name,
            icon=":material/download:",
            key=f"download.{one.job_id}",
            on_click="ignore",
        )
