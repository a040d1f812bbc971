"""Where the recordings of a project were made, by which suggested species are filtered."""

from __future__ import annotations

import streamlit as st

from miml_core.media.recording_place import Place
from miml_core.project import Project
from pages.widgets.errors import attempt

_KEY = "library.place"  # forgotten with what else belongs to a project


def place_field(project: Project) -> None:
    """Draw the field for latitude and longitude; what is no place is refused by a message and not stored."""
    place = project.place
    st.text_input(
        "Place: latitude, longitude",
        "" if place is None else f"{place.latitude:.7g}, {place.longitude:.7g}",
        key=_KEY,
        placeholder="43.61, 3.88",
        help="In degrees, north and east positive. BirdNET then suggests only birds that occur there, at the time of "
        "the year of the recording. A recording that contains its own coordinates uses those.",
        on_change=attempt,
        args=(_take_place, project),
    )


def _take_place(project: Project) -> None:
    text = st.session_state[_KEY].strip()
    project.set_place(Place.parse(text) if text else None)
