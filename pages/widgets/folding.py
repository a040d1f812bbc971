"""Popovers that close when what they were opened for is done."""

from __future__ import annotations

from typing import Any

import streamlit as st


def folding_popover(label: str, name: str, **look: Any) -> Any:
    """A popover to be closed by `fold(name)`: Streamlit keeps one open as long as it has the same key."""
    return st.popover(label, key=f"{name}-{st.session_state.get(_key(name), 0)}", **look)


def fold(name: str) -> None:
    """Close it in the next run."""
    st.session_state[_key(name)] = st.session_state.get(_key(name), 0) + 1


def _key(name: str) -> str:
    return f"folded.{name}"
