"""Which bags are offered for tagging."""

from __future__ import annotations

import streamlit as st

from miml_core.project import Project
from pages.widgets.app.dialogs import dialog_button
from pages.widgets.choice import choose_one
from pages.widgets.library.bag_list import SORTED

_SHOWN = {"unfinished": "Not finished", "untagged": "Untagged", "all": "All", "tag conflicts": "Conflicts"}


def choose_bags(project: Project) -> tuple[dict[str, str | int], bool]:
    """Show the row of choices; returns the queue of the canvas and whether sounds play when they are opened."""
    shown = {
        one: title for one, title in _SHOWN.items() if one != "tag conflicts" or project.review.count_conflicts()[0]
    }
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="tag-row"):
        show = choose_one("Show", shown, key="tag.show")
        sort = st.selectbox(
            "Sort by",
            list(SORTED),
            format_func=SORTED.__getitem__,
            key="tag.sort",
            persist_state="session",
            label_visibility="collapsed",
            width=200,
        )
        autoplay = False
        if project.kind == "sound":
            autoplay = st.toggle("Autoplay", key="tag.play", persist_state="session", help="Play each sound opened.")
        st.space("stretch")
        dialog_button("Classes", "classes", icon=":material/label:")
    return {"show": show, "sort": sort}, autoplay
