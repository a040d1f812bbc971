"""What can be done with the bags selected in a list."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from miml_core import BagtagError
from miml_core.project import Bag, NeedsConfirmation, Project
from pages.widgets.app.session import go_to
from pages.widgets.canvas import request_bag
from pages.widgets.confirmation import ask, pending_question, settle
from pages.widgets.errors import attempt
from pages.widgets.text import count, plain

_REMOVE = "remove-bags"
_UNDO = "library.removed"
_NOTE_OPEN = "library.note.open"
_REMOVE_OPEN = "library.remove.open"
_PAGES = {
    "Tag": ("tag", ":material/sell:"),
    "Segment": ("segment", ":material/graphic_eq:"),
    "Review": ("review", ":material/fact_check:"),
}


def bag_actions(project: Project, chosen: list[Bag], selected: Callable[[], list[int]]) -> None:
    """Draw a row of buttons: open one bag on another page, find segments again, remove bags.

    `selected` returns the ids that are selected at the moment of a click, which may not be drawn yet.
    """
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="bag-actions"):
        if not chosen:
            _undo_removal(project)
            st.caption("Click a row to open its bag; tick several to find their segments again or to remove them.")
            return
        if len(chosen) == 1:
            _open(project, chosen[0])
        st.button(
            "Find segments again" if len(chosen) == 1 else f"Find segments of {count(len(chosen), 'bag')} again",
            key="library.segment",
            icon=":material/refresh:",
            on_click=attempt,
            args=(project.jobs.start, "segment", {"bags": [bag.id for bag in chosen], "again": True}),
        )
        if len(chosen) == 1:
            _note(project, chosen[0])
        _remove(project, chosen, selected)
        if len(chosen) == 1:
            st.text(chosen[0].path, width="stretch")
    if len(chosen) == 1 and chosen[0].error:
        st.error(plain(chosen[0].error), icon=":material/error:")


def _open(project: Project, bag: Bag) -> None:
    for label, (page, icon) in _PAGES.items():
        st.button(label, icon=icon, key=f"open.{page}", on_click=_show_on, args=(page, project, bag.id))


def _show_on(page: str, project: Project, bag_id: int) -> None:
    request_bag(project, bag_id)
    go_to(page)
    st.rerun()  # the buttons are part of a fragment, and another page is a run of the whole app


def _note(project: Project, bag: Bag) -> None:
    with st.popover(
        "Note",
        icon=":material/sticky_note_2:",
        type="primary" if bag.note else "secondary",
        key=_NOTE_OPEN,
        on_change="rerun",
    ):
        key = f"library.note.{bag.id}"
        st.text_area("Note", bag.note, key=key, placeholder="For yourself and others")
        st.button("Save", key=f"library.note.save.{bag.id}", on_click=attempt, args=(_save_note, project, bag.id, key))


def _save_note(project: Project, bag_id: int, key: str) -> None:
    project.edits.set_note(bag_id, st.session_state[key].strip())
    st.session_state[_NOTE_OPEN] = False


def _remove(project: Project, chosen: list[Bag], selected: Callable[[], list[int]]) -> None:
    ids = tuple(bag.id for bag in chosen)
    question = pending_question(_REMOVE, project, ids)
    with st.popover("Remove …", icon=":material/delete:", type="tertiary", key=_REMOVE_OPEN, on_change="rerun"):
        what = f"**{plain(chosen[0].name)}**" if len(chosen) == 1 else count(len(chosen), "bag")
        st.markdown(f"Remove {what} from the project? The files stay where they are. You can undo this.")
        if question:
            st.warning(plain(question))
        # The key names the bags: a click is always meant for those that stood beside the button.
        st.button(
            "Remove" if question is None else "Remove anyway",
            key=f"library.remove.{hash(ids)}.{question is not None}",
            type="primary",
            on_click=attempt,
            args=(_remove_bags, project, ids, selected, question is not None),
        )


def _remove_bags(project: Project, ids: tuple[int, ...], selected: Callable[[], list[int]], confirm: bool) -> None:
    if tuple(selected()) != ids:
        settle(_REMOVE)
        raise BagtagError("The selection has changed, so nothing was removed. Select the bags again.")
    try:
        result = project.edits.remove_bags(ids, confirm=confirm)
    except NeedsConfirmation as question:
        ask(_REMOVE, project, ids, str(question))
        return
    settle(_REMOVE)
    st.session_state[_REMOVE_OPEN] = False
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
    project.edits.undo_entry(entry)
