"""Choose the folders of a survey and where the results go, and start the job."""

from __future__ import annotations

import os
from pathlib import Path

import streamlit as st

from miml_core import BagtagError
from miml_core.project import Project
from pages.widgets.errors import action_button, attempt
from pages.widgets.folders.folder_chooser import chosen_folder, folder_chooser
from pages.widgets.folders.paths import allowed_path, allowed_roots, new_folder_below
from pages.widgets.survey.apply_progress import active_job, archives_of
from pages.widgets.text import plain

_FOLDERS = "survey.folders"
_FOLDER = "survey.folder"
_ARCHIVE = "survey.archive"
_PARENT = "survey.parent"
_NAME = "survey.name"
_NEW = ""
"""The choice of a new archive."""


def apply_form(project: Project, *, disabled: bool) -> None:
    """Draw the form."""
    what = "pictures" if project.kind == "picture" else "recordings"
    _folders(project, what)
    with st.container(key="survey-results"):
        _archive(project)
    _options(project)
    chosen = _chosen_folders()
    with st.container(key="survey-missing"):
        if not chosen:
            st.caption(f"Add a folder of {what} first.")
    action_button(
        "Apply the model",
        _start,
        project,
        key="survey.start",
        type="primary",
        icon=":material/play_arrow:",
        disabled=disabled or not chosen,
    )


def _folders(project: Project, what: str) -> None:
    """Draw the chosen folders, each with a way to leave it out, and the chooser of another one."""
    with st.container(key="survey-folders"):  # what is below keeps its place
        for number, folder in enumerate(_chosen_folders()):
            with st.container(horizontal=True, vertical_alignment="center", key=f"survey-folder-{number}"):
                st.markdown(f":material/folder: {plain(folder)}", width="stretch")
                st.button(
                    "Remove",
                    key=f"survey.remove.{number}",
                    icon=":material/close:",
                    type="tertiary",
                    on_click=_remove,
                    args=(folder,),
                )
    folder_chooser(f"Folder of {what}", key=_FOLDER, project_folder=project.folder)
    st.button("Add this folder", key="survey.add", icon=":material/add:", on_click=attempt, args=(_add, project))


def _archive(project: Project) -> None:
    """Draw the choice of an archive: one that exists, which continues, or a new one."""
    known = [str(one) for one in archives_of(project)]
    if known:
        st.selectbox(
            "Results",
            [*known, _NEW],
            key=_ARCHIVE,
            format_func=lambda one: one or "A new folder of results",
            help="Results that the archive already contains are kept, not computed again.",
        )
    if not known or st.session_state.get(_ARCHIVE) == _NEW:
        folder_chooser("Save results in", key=_PARENT, start=project.folder.parent, project_folder=project.folder)
        st.text_input("Name of the results folder", _free_name(project), key=_NAME)


def _options(project: Project) -> None:
    with st.expander("Options", icon=":material/tune:", key="survey-options"):
        st.number_input(
            "Processes",
            1,
            256,
            os.cpu_count() or 1,
            key="survey.workers",
            help="One per core is fastest; use fewer to keep the computer responsive.",
        )
        st.text_input(
            "Site in the path (regular expression)",
            key="survey.site",
            placeholder="(?P<site>S\\d+)_",
            help="By default the site is the first folder below the chosen one.",
        )
        st.toggle(
            "Remove results of missing files",
            key="survey.remove_missing",
            help="If this is off, the job stops when files are missing, because a drive may not be connected.",
        )


def _start(project: Project) -> None:
    """Start the job with what the form holds now: the click may overtake the run that would draw it."""
    folders = [str(allowed_path(one, allowed_roots(project.folder))) for one in _chosen_folders()]
    if not folders:
        raise BagtagError("No folder is chosen; add one first.")
    if active_job(project) is not None:
        raise BagtagError("A model is being applied already; wait until it has ended, or stop it.")
    current = project.runs.current()
    params = {
        "folders": folders,
        "archive": str(_chosen_archive(project)),
        "run": None if current is None else current.id,
        "workers": int(st.session_state.get("survey.workers") or os.cpu_count() or 1),
        "site_pattern": st.session_state.get("survey.site", "").strip() or None,
        "remove_missing": bool(st.session_state.get("survey.remove_missing", False)),
    }
    project.jobs.start("apply", params)


def _chosen_archive(project: Project) -> Path:
    known = {str(one): one for one in archives_of(project)}
    chosen = st.session_state.get(_ARCHIVE, _NEW)
    if chosen in known:
        return known[chosen]
    parent = chosen_folder(_PARENT, project.folder)
    return new_folder_below(parent, st.session_state.get(_NAME) or "", allowed_roots(project.folder))


def _free_name(project: Project) -> str:
    taken = {one.name for one in archives_of(project)}
    names = ["archive", *(f"archive-{number}" for number in range(2, 1000))]
    return next(name for name in names if name not in taken and not (project.folder.parent / name).exists())


def _chosen_folders() -> list[str]:
    return list(st.session_state.get(_FOLDERS, []))


def _add(project: Project) -> None:
    folder = str(chosen_folder(_FOLDER, project.folder))
    st.session_state[_FOLDERS] = list(dict.fromkeys([*_chosen_folders(), folder]))


def _remove(folder: str) -> None:
    st.session_state[_FOLDERS] = [one for one in _chosen_folders() if one != folder]
