"""Running the page once more, without overtaking a person who is about to leave it."""

from __future__ import annotations

from contextlib import suppress
from typing import Literal

import streamlit as st
from streamlit.errors import StreamlitAPIException


def run_again(scope: Literal["app", "fragment"] = "app") -> None:
    """End this run and start the next; `scope="fragment"` runs only the dialog or fragment, where that is possible.

    Streamlit joins requests that wait, and of two the later names the page: `st.rerun()` right after a click on
    another page lost that click. Looking at the session's state first lets a request that waits go before.
    """
    st.session_state.get("run_again")
    if scope == "fragment":
        with suppress(StreamlitAPIException):
            st.rerun(scope="fragment")
    st.rerun()
