"""What can be done with the bags selected in a list."""

from __future__ import annotations

import streamlit as st

from miml_core.project import Bag, NeedsConfirmation, Project
from pages.widgets.current_bag import ask_for
from pages.widgets.guard import attempt
from pages.widgets.words import count, plain

_PAGES = {
    "Tag": ("pages/tag.py", ":material/sell:"),
    "Segment": ("pages/segment.py", ":material/graphic_eq:"),
    "Review": ("pages/review.py", ":material/fact_check:"),
}


def bag_actions(project: Project, chosen: list[Bag]) -> None:
    """A row of buttons: open the one bag elsewhere, segment anew or remove several."""
    if not chosen:
        st.caption("Select a row to open its bag; select several to remove them or to find their segments anew.")
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        for label, (page, icon) in _PAGES.items():
            if len(chosen) == 1 and st.button(label, icon=icon, key=f"open.{label}"):
                ask_for(project, chosen[0].id)
                st.switch_page(page)
        ids = [bag.id for bag in chosen]
        st.button(
            f"Find segments of {count(len(chosen), 'bag')} anew",
            icon=":material/refresh:",
            on_click=attempt,
            args=(project.start_job, "segment", {"bags": ids, "again": True}),
        )
        _remove(project, chosen)
    if len(chosen) == 1:
        _about(project, chosen[0])


def _remove(project: Project, chosen: list[Bag]) -> None:
    with st.popover("Remove …", icon=":material/delete:", type="tertiary"):
        st.markdown(f"Take {count(len(chosen), 'bag')} out of the project? The files stay where they are.")
        asked = st.session_state.get("library.ask")
        if asked:
            st.warning(plain(asked))
        if st.button("Remove", type="primary", key="library.remove"):
            try:
                project.remove_bags([bag.id for bag in chosen], confirm=bool(asked))
                st.session_state.pop("library.ask", None)
            except NeedsConfirmation as question:
                st.session_state["library.ask"] = str(question)
            st.rerun()


def _about(project: Project, bag: Bag) -> None:
    """What does not fit into the table: the path, the error, the note."""
    st.text(bag.path)
    if bag.error:
        st.error(plain(bag.error), icon=":material/error:")
    note = st.text_input("Note", bag.note, key=f"note.{bag.id}.{bag.revision}", placeholder="For yourself and others")
    if note is not None and note != bag.note:
        attempt(project.set_bag_note, bag.id, note)
