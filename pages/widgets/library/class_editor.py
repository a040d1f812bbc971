"""The dialog in which classes are named, coloured, given shortcuts, merged, and imported from a species list."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pandas as pd
import streamlit as st

from miml_core import BagtagError
from miml_core.project import Class, NeedsConfirmation, Project
from pages.widgets.app.dialogs import close_dialog
from pages.widgets.canvas import RESERVED_KEYS
from pages.widgets.confirmation import ask, dismiss_question, pending_question
from pages.widgets.errors import action_button, attempt, show_errors
from pages.widgets.table_selection import ROWS_OR_A_CELL, picked_rows, selected_ids, selection_arguments
from pages.widgets.text import count, plain

_REMOVE = "remove-class"
_SPECIES_OPEN = "dialog.species.open"
_NEW = "dialog.class.new"
_TABLE = "dialog.classes"


@st.dialog("Classes", width="large", on_dismiss=close_dialog)
def class_dialog(project: Project) -> None:
    """Draw the list of classes and, beside it, the form that changes the selected ones."""
    with show_errors():
        classes = project.classes.list()
        listed, edited = st.columns([3, 2], gap="medium")
        with listed:
            _new_class(project)
            chosen = _table(classes)
            _species_list(project)
        with edited:
            _editor(project, classes, chosen)


def _new_class(project: Project) -> None:
    with (
        st.form("classes.new", clear_on_submit=True, border=False),
        st.container(horizontal=True, vertical_alignment="bottom"),
    ):
        st.text_input("New class", placeholder="Name of a species, or of anything you tag", max_chars=120, key=_NEW)
        st.form_submit_button("Add", icon=":material/add:", on_click=attempt, args=(_add, project))


def _add(project: Project) -> None:
    if name := st.session_state[_NEW].strip():
        project.edits.add_class(name)


def _table(classes: list[Class]) -> list[Class]:
    if not classes:
        st.info("There are no classes yet. Add one above, import a species list, or create them while tagging.")
        return []
    rows = [
        {
            "colour": _swatch(one.colour),
            "name": one.name,
            "scientific": one.scientific_name,
            "shortcut": one.shortcut,
            "bags": one.n_bags,
            "segments": one.n_segments,
        }
        for one in classes
    ]
    picked = st.dataframe(
        pd.DataFrame(rows),
        hide_index=True,
        height=min(35 * len(rows) + 38, 330),
        on_select="rerun",
        selection_mode=ROWS_OR_A_CELL,
        column_config={
            "colour": st.column_config.ImageColumn("", width=36),
            "name": "Name",
            "scientific": "Scientific name",
            "shortcut": st.column_config.TextColumn("Shortcut", width=76),
            "bags": st.column_config.NumberColumn("Bags", help="Bags tagged as having it", width=60),
            "segments": st.column_config.NumberColumn("Segments", help="Segments a person gave this label", width=80),
        },
        **selection_arguments(_TABLE, [one.id for one in classes]),
    )
    return [classes[place] for place in picked_rows(picked, len(classes))]


def _swatch(colour: str) -> str:
    square = f"<rect width='16' height='16' rx='4' fill='{colour}'/>"
    picture = f"<svg xmlns='http://www.w3.org/2000/svg' width='16' height='16'>{square}</svg>"
    return f"data:image/svg+xml;utf8,{quote(picture)}"


def _species_list(project: Project) -> None:
    with st.popover("Import a species list", icon=":material/upload_file:", key=_SPECIES_OPEN, on_change="rerun"):
        st.caption("A CSV file with the column `name`; optionally `scientific_name`, `colour`, `shortcut` and `note`.")
        file = st.file_uploader("Species list", type=["csv"], key="classes.csv", label_visibility="collapsed")
        action_button(
            "Add these classes",
            _import,
            project,
            file,
            key="classes.import",
            disabled=file is None,
        )


def _import(project: Project, file: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "species.csv"
        path.write_bytes(file.getbuffer())
        result = project.edits.import_classes(path)
    st.toast(plain(result.sentence), icon=":material/check_circle:")
    st.session_state[_SPECIES_OPEN] = False


def _editor(project: Project, classes: list[Class], chosen: list[Class]) -> None:
    if len(chosen) != 1:
        dismiss_question(_REMOVE)
    if not chosen:
        st.caption("Select a class to change it, or several to merge them.")
    elif len(chosen) == 1:
        _one(project, classes, chosen[0])
    else:
        _merge(project, chosen)


def _one(project: Project, classes: list[Class], one: Class) -> None:
    key = f"classes.{one.id}"
    with st.form(key, border=False):
        st.text_input("Name", one.name, max_chars=120, key=f"{key}.name")
        st.text_input("Scientific name", one.scientific_name, max_chars=120, key=f"{key}.scientific_name")
        with st.container(horizontal=True):
            st.color_picker("Colour", one.colour, key=f"{key}.colour")
            st.selectbox(
                "Shortcut",
                ["", *free_keys(classes, one)],
                index=["", *free_keys(classes, one)].index(one.shortcut) if one.shortcut else 0,
                format_func=lambda letter: letter.upper() or "none",
                key=f"{key}.shortcut",
                help="Labels a segment, or toggles the tag, with one key.",
            )
        st.text_input("Note", one.note, max_chars=500, key=f"{key}.note")
        st.form_submit_button(
            "Save", type="primary", icon=":material/check:", on_click=attempt, args=(_save, project, one, key)
        )
    _remove(project, one)


def free_keys(classes: list[Class], one: Class) -> list[str]:
    """Return the keys a class may have: letters and digits that neither the screen nor another class uses."""
    taken = {other.shortcut.lower() for other in classes if other.id != one.id}
    own = {one.shortcut} if one.shortcut else set()
    letters = [letter for letter in "123456789abcdefghijklmnopqrstuvwxyz" if letter not in taken | RESERVED_KEYS]
    return sorted(set(letters) | own)


def _save(project: Project, one: Class, key: str) -> None:
    fields = ("name", "scientific_name", "colour", "shortcut", "note")
    entered = {field: st.session_state[f"{key}.{field}"].strip() for field in fields}
    changes = {field: value for field, value in entered.items() if value != getattr(one, field)}
    if changes:
        project.edits.change_class(one.id, **changes)


def _remove(project: Project, one: Class) -> None:
    question = pending_question(_REMOVE, project, one.id)
    if question is None:
        action_button(
            "Remove",
            _remove_if_unused,
            project,
            one,
            key=f"classes.remove.{one.id}",
            icon=":material/delete:",
            type="tertiary",
        )
        return
    st.warning(plain(question))
    st.button(
        f"Remove {plain(one.name)} and its tags and labels",
        key=f"classes.remove.sure.{one.id}",
        on_click=attempt,
        args=(_remove_anyway, project, one),
    )


def _remove_if_unused(project: Project, one: Class) -> None:
    try:
        project.edits.remove_class(one.id)
    except NeedsConfirmation as question:
        ask(_REMOVE, project, one.id, str(question))


def _remove_anyway(project: Project, one: Class) -> None:
    project.edits.remove_class(one.id, confirm=True)
    dismiss_question(_REMOVE)


def _merge(project: Project, chosen: list[Class]) -> None:
    names = {one.id: one.name for one in chosen}
    st.markdown(f"**Merge {count(len(chosen), 'class', 'classes')}**")
    into = st.selectbox("Merge into", list(names), format_func=names.__getitem__, key="classes.into")
    bags = sum(one.n_bags for one in chosen if one.id != into)
    segments = sum(one.n_segments for one in chosen if one.id != into)
    st.caption(f"Changes {count(bags, 'bag')} and {count(segments, 'segment')}. It can be undone.")
    action_button(
        "Merge",
        _merge_into,
        project,
        list(names),
        key=f"classes.merge.{hash(tuple(names))}",
        type="primary",
        icon=":material/merge:",
    )


def _merge_into(project: Project, ids: list[int]) -> None:
    if selected_ids(_TABLE) != ids:
        raise BagtagError("The selection has changed, so nothing was merged. Select the classes again.")
    into = st.session_state["classes.into"]
    project.edits.merge_classes([one for one in ids if one != into], into)
