"""Dialogs that stay open while the page behind them is run again.

Streamlit closes a dialog when a run does not call it; a job that ends behind it would do that. So the open dialog's
name is kept, and the frame of the pages calls it again in every run until it is closed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import streamlit as st

from miml_core.project import Project
from pages.widgets.errors import forget_errors

_OPEN = "dialog.open"


def dialog_button(label: str, name: str, *, icon: str, primary: bool = False) -> None:
    """Draw a button that opens the dialog of that name."""
    st.button(
        label,
        key=f"dialog.button.{name}",
        icon=icon,
        type="primary" if primary else "secondary",
        on_click=open_dialog,
        args=(name,),
    )


def open_dialog(name: str) -> None:
    """Open the dialog of that name."""
    forget_errors()
    st.session_state[_OPEN] = name


def close_dialog() -> None:
    """Close the dialog: for its own buttons (followed by a run of the app) and for its dismissal."""
    st.session_state.pop(_OPEN, None)


def show_dialogs(project: Project, dialogs: Mapping[str, Callable[[Project], None]]) -> None:
    """Draw the one of the dialogs, by name, that is open; called once in every run, after the page."""
    if (shown := dialogs.get(st.session_state.get(_OPEN, ""))) is not None:
        shown(project)
