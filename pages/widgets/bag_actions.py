"""What can be done with the bags selected in a list."""

from __future__ import annotations

import streamlit as st

from miml_core.project import Bag, NeedsConfirmation, Project
from pages.widgets.confirmation import ask, pending_question, settle
from pages.widgets.current_bag import ask_for
from pages.widgets.folding import fold, folding_popover
from pages.widgets.frame import go_to
from pages.widgets.guard import attempt
from pages.widgets.sure_button import sure_button
from pages.widgets.words import count, plain

_REMOVE = "remove-bags"
_UNDO = "library.removed"
_PAGES = {
    "Tag": ("tag", ":material/sell:"),
    "Segment": ("segment", ":material/graphic_eq:"),
    "Review": ("review", ":material/fact_check:"),
}


def bag_actions(project: Project, chosen: list[Bag]) -> None:
    """A row of buttons: open the one bag elsewhere, segment anew or remove several."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="bag-actions"):
        if not chosen:
            _undo_removal(project)
            st.caption("Click a row to open its bag; tick several to find their segments anew or to remove them.")
            return
        if len(chosen) == 1:
            _open(project, chosen[0])
        st.button(
            "Find segments anew" if len(chosen) == 1 else f"Find segments of {count(len(chosen), 'bag')} anew",
            key="library.anew",
            icon=":material/refresh:",
            on_click=attempt,
            args=(project.start_job, "segment", {"bags": [bag.id for bag in chosen], "again": True}),
        )
        if len(chosen) == 1:
            _note(project, chosen[0])
        _remove(project, chosen)
        if len(chosen) == 1:
            st.text(chosen[0].path, width="stretch")
    if len(chosen) == 1 and chosen[0].error:
        st.error(plain(chosen[0].error), icon=":material/error:")


def _open(project: Project, bag: Bag) -> None:
    for label, (page, icon) in _PAGES.items():
        st.button(label, icon=icon, key=f"open.{page}", on_click=_show_on, args=(page, project, bag.id))


def _show_on(page: str, project: Project, bag_id: int) -> None:
    ask_for(project, bag_id)
    go_to(page)


def _note(project: Project, bag: Bag) -> None:
    with folding_popover("Note", "note", icon=":material/sticky_note_2:", type="primary" if bag.note else "secondary"):
        note = st.text_area(
            "Note", bag.note, key=f"note.{bag.id}.{bag.revision}", placeholder="For yourself and others"
        )
        sure_button("Keep", lambda: _keep_note(project, bag, note or ""), key=f"note.keep.{bag.id}")


def _keep_note(project: Project, bag: Bag, note: str) -> None:
    project.set_bag_note(bag.id, note.strip())
    fold("note")


def _remove(project: Project, chosen: list[Bag]) -> None:
    ids = tuple(bag.id for bag in chosen)
    question = pending_question(_REMOVE, project, ids)
    with folding_popover("Remove …", "remove", icon=":material/delete:", type="tertiary"):
        what = f"**{plain(chosen[0].name)}**" if len(chosen) == 1 else count(len(chosen), "bag")
        st.markdown(f"Take {what} out of the project? The files stay where they are, and it can be undone.")
        if question:
            st.warning(plain(question))
        # The key names the bags: a click is always meant for those that stood beside the button.
        sure_button(
            "Remove" if question is None else "Remove all the same",
            lambda: _remove_bags(project, ids, confirm=question is not None),
            key=f"library.remove.{hash(ids)}.{question is not None}",
            type="primary",
        )


def _remove_bags(project: Project, ids: tuple[int, ...], *, confirm: bool) -> None:
    try:
        result = project.remove_bags(ids, confirm=confirm)
    except NeedsConfirmation as question:
        ask(_REMOVE, project, ids, str(question))
        return
    settle(_REMOVE)
    fold("remove")
    st.session_state[_UNDO] = result


def _undo_removal(project: Project) -> None:
    """Offer to take the last removal back until something else is done with the list."""
    result = st.session_state.get(_UNDO)
    if result is None:
        return
    st.caption(plain(f"You {result.sentence}."), width="content")
    st.button(
        "Undo",
        key="library.undo",
        icon=":material/undo:",
        type="tertiary",
        on_click=attempt,
        args=(_bring_back, project, result.history_id),
    )


def _bring_back(project: Project, entry: int) -> None:
    st.session_state.pop(_UNDO, None)
    project.undo_entry(entry)
