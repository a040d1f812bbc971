"""Offer to undo an edit, beside the sentence that reports it."""

from __future__ import annotations

import streamlit as st

from miml_core.project import Project
from miml_core.project.records import EditResult, HistoryEntry
from pages.widgets.errors import attempt
from pages.widgets.text import plain, sentence_case


def keep_for_undo(key: str, project: Project, result: EditResult) -> None:
    """Remember an edit, which `offer_undo` with the same key offers to undo."""
    st.session_state[key] = (str(project.folder), result)


def kept_for_undo(key: str, project: Project) -> EditResult | None:
    """Return the edit that can be undone; None if there is none, or if it belongs to another project."""
    folder, result = st.session_state.get(key, (None, None))
    return result if folder == str(project.folder) else None


def offer_undo(key: str, project: Project, result: EditResult, sentence: str) -> None:
    """Show a sentence (Markdown) and a button that undoes the edit."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small", width="content"):
        st.markdown(f":material/check_circle: {sentence}", width="content")
        st.button(
            "Undo",
            key=f"{key}.undo",
            icon=":material/undo:",
            type="tertiary",
            on_click=attempt,
            args=(_undo_kept, key, project, result.history_id),
        )


def _undo_kept(key: str, project: Project, entry: int) -> None:
    if st.session_state.pop(key, None) is not None:  # Streamlit may run the callback of one click twice
        project.edits.undo_entry(entry)


def offer_undo_of_latest(project: Project, act: str, label: str, *, key: str) -> None:
    """Offer to undo the latest edit of the project if it is of this kind, with the sentence of the history."""
    latest = _latest(project, act)
    if latest is None:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(plain(sentence_case(latest.sentence)), width="content")
        st.button(
            label, key=key, icon=":material/undo:", on_click=attempt, args=(_undo_latest, project, act, latest.id)
        )


def _latest(project: Project, act: str) -> HistoryEntry | None:
    latest = next(iter(project.edits.history(limit=1)), None)
    return latest if latest is not None and (latest.act, latest.kind, latest.undone) == (act, "act", False) else None


def _undo_latest(project: Project, act: str, entry: int) -> None:
    latest = _latest(project, act)
    if latest is not None and latest.id == entry:  # not if this is the second run of one click
        project.edits.undo_entry(entry)
