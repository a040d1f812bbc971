"""Lists to work through that stay as they are while a person works.

What is finished would drop out of "not finished yet", and new predictions would shuffle "least sure": a list is made
once, when its choice changes or a person asks for a new one, so that next and previous mean what they did.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

import streamlit as st

Item = TypeVar("Item")


def steady_queue(name: str, choice: Hashable, make: Callable[[], Sequence[Item]]) -> list[Item]:
    """The list made for this choice; the one made before while the choice is the same."""
    key = f"queue.{name}"
    kept = st.session_state.get(key)
    if kept is None or kept[0] != choice:
        kept = (choice, list(make()))
        st.session_state[key] = kept
    return kept[1]


def extend_queue(name: str, more: Sequence[Item]) -> None:
    """Put further items at the end of the list."""
    st.session_state[f"queue.{name}"][1].extend(more)


def forget_queue(name: str) -> None:
    """The next run makes a new list."""
    st.session_state.pop(f"queue.{name}", None)
