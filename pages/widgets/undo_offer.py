"""Offer to take back what was just done by one button, beside the sentence that says so."""

from __future__ import annotations

import streamlit as st

from miml_core.project import Project
from miml_core.project.records import EditResult
from pages.widgets.errors import attempt


def keep_for_undo(key: str, project: Project, result: EditResult) -> None:
    """Remember an edit, which `offer_undo` with the same key offers to take back."""
    st.session_state[key] = (str(project.folder), result)


def kept_for_undo(key: str, project: Project) -> EditResult | None:
    """Return the edit that can be taken back; None if there is none, or if it belongs to another project."""
    folder, result = st.session_state.get(key, (None, None))
    return result if folder == str(project.folder) else None


def offer_undo(key: str, project: Project, result: EditResult, sentence: str) -> None:
    """Show a sentence (Markdown) and a button that takes the edit back."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(f":material/check_circle: {sentence}", width="content")
        st.button(
            "Undo",
            key=f"{key}.undo",
            icon=":material/undo:",
            type="tertiary",
            on_click=attempt,
            args=(_take_back, key, project, result.history_id),
        )


def _take_back(key: str, project: Project, entry: int) -> None:
    if st.session_state.pop(key, None) is not None:  # Streamlit may run the callback of one click twice
        project.edits.undo_entry(entry)
