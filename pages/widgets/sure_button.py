"""Buttons whose click is done, whatever else happens at that moment.

`if st.button(...)` acts only when the run of that click gets as far as the button. A second click, a committed text
field or a change of page starts another run before that, and the first click is gone without a word. Here the click is
noted first of all; the next run that draws the button does the act with the values of then. If the person has gone to
another page meanwhile, that page's run does it, with the values last seen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import streamlit as st

from pages.widgets.guard import attempt
from pages.widgets.run_again import run_again

_PRESSED = "sure.pressed"
_ACTS = "sure.acts"
_PAGE = "sure.page"


def sure_button(
    label: str, act: Callable[[], Any], *, key: str, then: Literal["app", "fragment"] = "app", **look: Any
) -> None:
    """A button that does `act` when it is pressed, then runs the page (or the dialog: `then="fragment"`) again."""
    st.session_state.setdefault(_ACTS, {})[key] = (st.session_state.get(_PAGE), act)
    st.button(label, key=key, on_click=_note, args=(key,), **look)
    if _take(key) and not look.get("disabled"):
        act()
        run_again(then)


def do_what_was_pressed(page: str) -> None:
    """At the start of every run: do what was pressed on a page that has been left since."""
    st.session_state[_PAGE] = page
    acts = st.session_state.get(_ACTS, {})
    for key in st.session_state.get(_PRESSED, []):
        where, act = acts.get(key, (page, None))
        if where != page and act is not None and _take(key):
            attempt(act)


def _note(key: str) -> None:
    st.session_state.setdefault(_PRESSED, []).append(key)


def _take(key: str) -> bool:
    pressed = st.session_state.get(_PRESSED, [])
    st.session_state[_PRESSED] = [other for other in pressed if other != key]
    return key in pressed
