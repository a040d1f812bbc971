"""The dialog that adds recordings or pictures: from a folder, or dropped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import streamlit as st

from miml_core.project import Project
from pages.widgets.dialogs import close_dialog
from pages.widgets.folder_chooser import folder_chooser
from pages.widgets.guard import told
from pages.widgets.media_files import count_media, keep_dropped, suffixes
from pages.widgets.sure_button import sure_button
from pages.widgets.words import count

WORDS = {"sound": ("sound file", "recordings"), "picture": ("picture", "pictures")}


@st.dialog("Add files", width="medium", on_dismiss=close_dialog)
def add_media_dialog(project: Project) -> None:
    """From a folder of this computer (the files stay where they are), or dropped (copied into the project)."""
    way = st.segmented_control(
        "From",
        ["A folder", "Drop files"],
        default="A folder",
        required=True,
        key="add.way",
        label_visibility="collapsed",
    )
    with told():
        paths = _folder(project) if way == "A folder" else _drop(project)
        cutting = bag_length(project.kind, key="add")
        segment = st.toggle("Find segments at once", value=True, key="add.segment")
        sure_button(
            "Add",
            lambda: _add(project, paths, cutting, segment=segment),
            key="add.start",
            type="primary",
            icon=":material/add:",
            disabled=not paths,
        )


def _add(project: Project, paths: list[Any], cutting: dict[str, Any], *, segment: bool) -> None:
    start_import(project, _copied(project, paths), cutting, segment=segment)
    close_dialog()


def bag_length(kind: str, *, key: str) -> dict[str, Any]:
    """How long recordings are cut into bags, as parameters of the import."""
    if kind != "sound":
        return {}
    seconds = st.number_input(
        "Bag length (seconds)",
        min_value=0.5,
        max_value=86400.0,
        value=10.0,
        step=1.0,
        format="%g",
        placeholder="whole files",
        key=f"{key}.seconds",
        help="A bag is what gets one set of tags. Ten seconds suit birds: short enough to hear all of it, long enough "
        "that tagging goes fast. Longer recordings are cut; leave it empty to keep files whole.",
    )
    return {} if seconds is None else {"bag_length": float(seconds)}


def start_import(project: Project, paths: list[Path], cutting: dict[str, Any], *, segment: bool) -> None:
    """Queue the import, and the finding of segments after it."""
    project.start_job("import", {"paths": [str(path) for path in paths], "recursive": True, **cutting})
    if segment:
        project.start_job("segment", {})


def found_in(folder: Path, kind: str) -> int:
    """Say how many files of a kind are in a folder; answers the number."""
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


def _folder(project: Project) -> list[Path]:
    folder = folder_chooser("Folder", key="add.folder", project_folder=project.folder)
    return [folder] if folder is not None and found_in(folder, project.kind) else []


def _drop(project: Project) -> list[Any]:
    _, nouns = WORDS[project.kind]
    return st.file_uploader(
        f"Drop {nouns} here",
        type=[suffix.lstrip(".") for suffix in suffixes(project.kind)],
        accept_multiple_files=True,
        key="add.drop",
        help="They are copied into the project's folder.",
    )


def _copied(project: Project, chosen: list[Any]) -> list[Path]:
    """Folders stay where they are; dropped files get a place in the project."""
    if all(isinstance(one, Path) for one in chosen):
        return chosen
    return keep_dropped(chosen, project.folder)
