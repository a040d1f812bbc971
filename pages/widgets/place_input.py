"""A text field for a place on earth."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from miml_core.media.recording_place import Place
from pages.widgets.errors import attempt


def place_input(
    label: str, place: Place | None, store: Callable[[Place | None], None], *, key: str, help: str = ""
) -> None:
    """Draw a field for latitude and longitude.

    `store` is called with what is entered, None for an empty field. A text that is not a place is not stored and shows
    an error.
    """
    st.text_input(
        label,
        "" if place is None else f"{place.latitude:.7g}, {place.longitude:.7g}",
        key=key,
        placeholder="43.61, 3.88",
        help=f"In degrees, north and east positive. {help}".rstrip(),
        on_change=attempt,
        args=(_store_entered, key, store),
    )


def _store_entered(key: str, store: Callable[[Place | None], None]) -> None:
    text = st.session_state[key].strip()
    store(Place.parse(text) if text else None)
