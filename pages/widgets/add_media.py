"""The dialog that adds recordings or pictures: from a folder, or dropped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import streamlit as st

from miml_core.project import Project
from pages.widgets.dialogs import close_dialog
from pages.widgets.folder_chooser import chosen_folder, folder_chooser
from pages.widgets.guard import action_button, told
from pages.widgets.media_files import count_media, keep_dropped, suffixes
from pages.widgets.words import count

_FOLDER = "A folder"
WORDS = {"sound": ("sound file", "recordings"), "picture": ("picture", "pictures")}


@st.dialog("Add files", width="medium", on_dismiss=close_dialog)
def add_media_dialog(project: Project) -> None:
    """From a folder of this computer (the files stay where they are), or dropped (copied into the project)."""
    way = st.segmented_control(
        "From",
        [_FOLDER, "Drop files"],
        default=_FOLDER,
        required=True,
        key="add.way",
        label_visibility="collapsed",
    )
    with told():
        found = _folder(project) if way == _FOLDER else bool(_drop(project))
        bag_length(project.kind, key="add")
        st.toggle("Find segments at once", value=True, key="add.segment")
        action_button(
            "Add",
            _add,
            project,
            key="add.start",
            type="primary",
            icon=":material/add:",
            disabled=not found,
        )


def _add(project: Project) -> None:
    """Add what the dialog holds now: folders stay where they are, dropped files are copied into the project."""
    if st.session_state["add.way"] == _FOLDER:
        paths = [chosen_folder("add.folder", project.folder)]
    else:
        paths = keep_dropped(st.session_state["add.drop"], project.folder)
    start_import(project, paths, entered_bag_length("add"), segment=st.session_state["add.segment"])
    close_dialog()
    st.rerun()  # without the dialog


def bag_length(kind: str, *, key: str) -> None:
    """Ask how long the pieces are that recordings are cut into; pictures are not cut."""
    if kind == "sound":
        st.number_input(
            "Bag length (seconds)",
            min_value=0.5,
            max_value=86400.0,
            value=10.0,
            step=1.0,
            format="%g",
            placeholder="whole files",
            key=f"{key}.seconds",
            help="A bag is what gets one set of tags. Ten seconds suit birds: short enough to hear all of it, long "
            "enough that tagging goes fast. Longer recordings are cut; leave it empty to keep files whole.",
        )


def entered_bag_length(key: str) -> dict[str, Any]:
    """Return what `bag_length` holds, as parameters of the import."""
    seconds = st.session_state.get(f"{key}.seconds")
    return {} if seconds is None else {"bag_length": float(seconds)}


def start_import(project: Project, paths: list[Path], cutting: dict[str, Any], *, segment: bool) -> None:
    """Queue the import, and the finding of segments after it."""
    project.start_job("import", {"paths": [str(path) for path in paths], "recursive": True, **cutting})
    if segment:
        project.start_job("segment", {})


def found_in(folder: Path, kind: str) -> int:
    """Say how many files of a kind are in a folder; returns the number."""
    counts, complete = count_media(folder)
    noun, _ = WORDS[kind]
    found = counts[kind]
    if found:
        st.caption(f"{'At least ' if not complete else ''}{count(found, noun)} in this folder and those below.")
    elif complete:
        st.caption(f":orange[There is no {noun} in this folder or below it.]")
    else:
        st.caption("This is a large folder; its files are counted while they are added.")
    return found if complete else max(found, 1)


def _folder(project: Project) -> bool:
    folder = folder_chooser("Folder", key="add.folder", project_folder=project.folder)
    return folder is not None and found_in(folder, project.kind) > 0


def _drop(project: Project) -> list[Any]:
    _, nouns = WORDS[project.kind]
    return st.file_uploader(
        f"Drop {nouns} here",
        type=[suffix.lstrip(".") for suffix in suffixes(project.kind)],
        accept_multiple_files=True,
        key="add.drop",
        help="They are copied into the project's folder.",
    )
