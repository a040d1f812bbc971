"""Questions that belong to exactly one thing.

"Remove these bags?" is asked of certain bags of a certain project. It is kept with what it was asked for, and lapses as
soon as anything else is selected, so that a click can never confirm another thing than the one named on the screen.
"""

from __future__ import annotations

from collections.abc import Hashable

import streamlit as st

from miml_core.project import Project


def ask(name: str, project: Project, subject: Hashable, question: str) -> None:
    """Keep a question about `subject` until it is dismissed or something else is selected."""
    st.session_state[_key(name)] = (str(project.folder), subject, question)


def pending_question(name: str, project: Project, subject: Hashable) -> str | None:
    """Return the question if it was asked of just this subject of this project; any other one lapses."""
    kept = st.session_state.get(_key(name))
    if kept is None:
        return None
    folder, asked_of, question = kept
    if (folder, asked_of) != (str(project.folder), subject):
        dismiss_question(name)
        return None
    return str(question)


def dismiss_question(name: str) -> None:
    """Forget the question: it was answered, or no longer matters."""
    st.session_state.pop(_key(name), None)


def _key(name: str) -> str:
    return f"confirmation.{name}"
