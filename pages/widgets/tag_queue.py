"""Which bags are offered for tagging, one after another."""

from __future__ import annotations

import streamlit as st

from miml_core.project import Project
from pages.widgets.app.dialogs import dialog_button
from pages.widgets.current_bag import asked_bag
from pages.widgets.library.bag_list import SORTED, BagChoice
from pages.widgets.steady_queue import forget_queue, steady_queue

_SHOWN = {"unfinished": "Not finished", "untagged": "Untagged", "all": "All"}
_NAME = "tag"


def choose_bags(project: Project) -> tuple[list[int], bool]:
    """The row that says which bags come, in which order; answers their ids and whether to play on arrival."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="tag-row"):
        show = st.segmented_control(
            "Tag",
            list(_SHOWN),
            default="unfinished",
            required=True,
            format_func=_SHOWN.__getitem__,
            key="tag.show",
            persist_state="session",
            label_visibility="collapsed",
        )
        sort = st.selectbox(
            "Sort by",
            list(SORTED),
            format_func=lambda one: f"Sort by {SORTED[one].lower()}",
            key="tag.sort",
            persist_state="session",
            label_visibility="collapsed",
            width=200,
        )
        st.button(
            "New list",
            icon=":material/refresh:",
            type="tertiary",
            help="Finished bags stay in the list until you ask for a new one, so that you can go back.",
            on_click=forget_queue,
            args=(_NAME,),
        )
        play = False
        if project.kind == "sound":
            play = st.toggle("Play on arrival", key="tag.play", persist_state="session")
        st.space("stretch")
        dialog_button("Classes", "classes", icon=":material/label:")
    choice = BagChoice(show=show, sort=sort)
    ids = steady_queue(_NAME, (str(project.folder), choice), lambda: project.bag_ids(**choice.to_dict()))
    asked = asked_bag(project)
    if asked is not None and asked not in ids:
        ids.insert(0, asked)
    return ids, play
