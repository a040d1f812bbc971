"""Errors on a page: a sentence for what a person can act on, a log entry and an apology for the rest."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import streamlit as st

from miml_core import BagtagError
from pages.widgets.words import plain

_log = logging.getLogger("bagtag.pages")


@contextmanager
def told() -> Iterator[None]:
    """Show what goes wrong inside the block instead of a traceback."""
    try:
        yield
    except BagtagError as error:
        st.error(plain(str(error)), icon=":material/error:")
    except Exception:
        _log.exception("A page failed")
        st.error(
            "Something went wrong that Bagtag did not expect. Your work is stored. The details are in the terminal "
            "where Bagtag was started; reload the page to go on.",
            icon=":material/error:",
        )


def attempt(act: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Do something in a button's callback, where nothing can be drawn: what goes wrong is told in a toast."""
    try:
        return act(*args, **kwargs)
    except BagtagError as error:
        st.toast(plain(str(error)), icon=":material/error:", duration="long")
        return None
