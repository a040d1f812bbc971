"""Dialogs that stay open while the page behind them is run again.

Streamlit closes a dialog when a run does not call it; a job that ends behind it would do that. So the open dialog's
name is kept, and the frame of the pages calls it again in every run until it is closed.
"""

from __future__ import annotations

from collections.abc import Callable

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
    forget_errors()
    st.session_state[_OPEN] = name


def close_dialog() -> None:
    """Close the dialog: for its own buttons (followed by a run of the app) and for its dismissal."""
    st.session_state.pop(_OPEN, None)


def show_dialogs(project: Project) -> None:
    """Draw the dialog that is open, if any; called once in every run, after the page."""
    from pages.widgets.library.add_media import add_media_dialog
    from pages.widgets.library.class_editor import class_dialog

    dialogs: dict[str, Callable[[Project], None]] = {"add": add_media_dialog, "classes": class_dialog}
    name = st.session_state.get(_OPEN)
    if name in dialogs:
        dialogs[name](project)
