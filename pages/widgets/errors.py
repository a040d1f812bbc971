"""Errors on a page: a sentence for what a person can act on, a log entry and an apology for the rest."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import streamlit as st

from miml_core import BagtagError
from pages.widgets.text import plain

_ERRORS = "error."
_log = logging.getLogger("bagtag.pages")


@contextmanager
def show_errors() -> Iterator[None]:
    """Show what goes wrong inside the block instead of a traceback."""
    try:
        yield
    except BagtagError as error:
        st.error(plain(str(error)), icon=":material/error:")
    except Exception:
        _log.exception("A page failed")
        st.error(
            "An unexpected error occurred. Your work is saved. The details are in the terminal "
            "where Bagtag was started; reload the page to continue.",
            icon=":material/error:",
        )


def attempt(action: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Run an action in a widget's callback, where nothing can be drawn: an error is shown until it is dismissed."""
    try:
        return action(*args, **kwargs)
    except BagtagError as error:
        st.toast(plain(str(error)), icon=":material/error:", duration="infinite")
        return None


def action_button(label: str, action: Callable[..., Any], *args: Any, key: str, **look: Any) -> None:
    """Draw a button that runs an action in its callback; an error is shown below it until the next click or page."""
    with st.container():
        st.button(label, key=key, on_click=_run_action, args=(key, action, args), **look)
        if error := st.session_state.get(f"{_ERRORS}{key}"):
            st.error(plain(error), icon=":material/error:")


def forget_errors() -> None:
    """Forget the errors of earlier clicks: another page or dialog is shown."""
    for key in [key for key in st.session_state if str(key).startswith(_ERRORS)]:
        del st.session_state[key]


def _run_action(key: str, action: Callable[..., Any], args: tuple[Any, ...]) -> None:
    st.session_state.pop(f"{_ERRORS}{key}", None)
    try:
        action(*args)
    except BagtagError as error:
        st.session_state[f"{_ERRORS}{key}"] = str(error)
