"""Pages that show what others do: another tab, a colleague, a job."""

from __future__ import annotations

import streamlit as st

from miml_core.project import Project
from pages.widgets.guard import told
from pages.widgets.run_again import run_again

_SECONDS = 2.0


def rerun_on_news(project: Project, *, pending: bool = False) -> None:
    """Run the page again when the project has changed since this run (or, with `pending`, in a moment anyhow)."""
    seen = project.revision
    drawn = False

    def look() -> None:
        nonlocal drawn
        with told():
            if drawn and (pending or project.revision != seen):
                run_again()
        drawn = True

    st.fragment(look, run_every=_SECONDS)()
