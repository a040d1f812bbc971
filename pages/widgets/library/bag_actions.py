"""What can be done with the bags selected in a list."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

import streamlit as st

from miml_core import BagtagError
from miml_core.project import Bag, NeedsConfirmation, Project
from miml_core.project.errors import Gone
from pages.widgets.app.session import go_to
from pages.widgets.canvas import request_bag
from pages.widgets.confirmation import ask, dismiss_question, pending_question
from pages.widgets.errors import attempt
from pages.widgets.text import count, plain
from pages.widgets.undo_offer import keep_for_undo, kept_for_undo, offer_undo

_REMOVE = "remove-bags"
_REMOVED = "library.removed"
_DRAWN_FOR = "library.actions"
_NOTE_OPEN = "library.note.open"
_REMOVE_OPEN = "library.remove.open"
_PAGES = {
    "Tag": ("tag", ":material/sell:"),
    "Segment": ("segment", ":material/graphic_eq:"),
    "Review": ("review", ":material/fact_check:"),
}


def bag_actions(
    project: Project, chosen: list[Bag], selected: Callable[[], list[int]], *, listed: Sequence[int]
) -> None:
    """Draw a row of buttons: open one bag on another page, detect segments again, remove bags.

    Parameters
    ----------
    project
        The open project.
    chosen
        The bags that are selected in the list.
    selected
        Returns the ids that are selected at the moment of a click, which may not be drawn yet.
    listed
        The ids of the bags in the list.
    """
    drawn = sorted(bag.id for bag in chosen)

    def check_selection() -> None:
        """Raise `BagtagError` if other bags are selected at the moment of a click than when its button was drawn."""
        if sorted(selected()) != drawn:
            raise BagtagError("The selection has changed, so nothing was done. Select the bags again.")

    chosen = _kept_while_open(project, chosen, listed)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="bag-actions"):
        if not chosen:
            dismiss_question(_REMOVE)
            if (removal := kept_for_undo(_REMOVED, project)) is not None:
                offer_undo(_REMOVED, project, removal, plain(f"You {removal.sentence}."))
            if listed:
                st.caption(
                    "Click a row to open its bag; tick several to detect their segments again or to remove them."
                )
            return
        if len(chosen) == 1:
            _open(project, chosen[0], check_selection)
        _detect_again(project, chosen, check_selection)
        if len(chosen) == 1:
            _note(project, chosen[0])
        _remove(project, chosen, check_selection)
        if len(chosen) == 1:
            st.text(chosen[0].path, width="stretch")
    if len(chosen) == 1 and chosen[0].error:
        st.error(plain(chosen[0].error), icon=":material/error:")


def _kept_while_open(project: Project, chosen: list[Bag], listed: Sequence[int]) -> list[Bag]:
    """Return the selected bags, by id; while a note or a removal is open, those it was opened for.

    They may leave the list meanwhile, and so the selection, because another annotator finishes one, say. A selection
    that changed in any other way is the person's, and ends this.
    """
    by_id = {bag.id: bag for bag in sorted(chosen, key=lambda bag: bag.id)}
    now = list(by_id)
    folder, opened_for, before = st.session_state.get(_DRAWN_FOR, ("", [], []))
    is_open = st.session_state.get(_NOTE_OPEN) or st.session_state.get(_REMOVE_OPEN)
    same_selection = folder == str(project.folder) and now == [bag_id for bag_id in before if bag_id in listed]
    if not (is_open and same_selection):
        opened_for = now
    st.session_state[_DRAWN_FOR] = (str(project.folder), opened_for, now)
    kept = []
    for bag_id in opened_for:
        with suppress(Gone):
            kept.append(by_id.get(bag_id) or project.bags.get(bag_id))
    return kept


def _open(project: Project, bag: Bag, check_selection: Callable[[], None]) -> None:
    for label, (page, icon) in _PAGES.items():
        key = f"open.{page}.{bag.id}"
        st.button(label, icon=icon, key=key, on_click=attempt, args=(_show_on, page, project, bag.id, check_selection))


def _show_on(page: str, project: Project, bag_id: int, check_selection: Callable[[], None]) -> None:
    check_selection()
    request_bag(project, bag_id)
    go_to(page)
    st.rerun()  # the buttons are part of a fragment, and another page is a run of the whole app


def _detect_again(project: Project, chosen: list[Bag], check_selection: Callable[[], None]) -> None:
    ids = tuple(bag.id for bag in chosen)
    st.button(
        "Detect segments again" if len(ids) == 1 else f"Detect segments of {count(len(ids), 'bag')} again",
        key=f"library.segment.{hash(ids)}",
        icon=":material/refresh:",
        on_click=attempt,
        args=(_start_detection, project, ids, check_selection),
    )


def _start_detection(project: Project, ids: tuple[int, ...], check_selection: Callable[[], None]) -> None:
    check_selection()
    project.jobs.start("segment", {"bags": list(ids), "again": True})


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


def _remove(project: Project, chosen: list[Bag], check_selection: Callable[[], None]) -> None:
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
            args=(_remove_bags, project, ids, check_selection, question is not None),
        )


def _remove_bags(project: Project, ids: tuple[int, ...], check_selection: Callable[[], None], confirm: bool) -> None:
    try:
        check_selection()
    except BagtagError:
        dismiss_question(_REMOVE)
        raise
    try:
        result = project.edits.remove_bags(ids, confirm=confirm)
    except NeedsConfirmation as question:
        ask(_REMOVE, project, ids, str(question))
        return
    dismiss_question(_REMOVE)
    st.session_state[_REMOVE_OPEN] = False
    keep_for_undo(_REMOVED, project, result)
