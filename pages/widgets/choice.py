"""A choice between a few things, as a row of buttons."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import streamlit as st

Option = TypeVar("Option", bound=str)


def choose_one(label: str, titles: Mapping[Option, str], *, key: str) -> Option:
    """Draw the buttons and return what is chosen, at first the first one; it is kept while the tab is open.

    A choice that is no longer offered is forgotten.
    """
    if st.session_state.get(key) not in titles:
        st.session_state.pop(key, None)
    chosen: Option = st.segmented_control(
        label,
        list(titles),
        default=next(iter(titles)),
        required=True,
        format_func=lambda one: titles[one],
        key=key,
        persist_state="session",
        label_visibility="collapsed",
    )
    return chosen
