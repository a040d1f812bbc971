"""Which project this browser tab has open, who is working in it, and which page comes next.

The tab's address names the project, so that a reload or a restart of the server finds it again.
"""

from __future__ import annotations

import getpass
from pathlib import Path

import streamlit as st

from miml_core import BagtagError
from miml_core.atomic_files import atomic_writer
from miml_core.project import Project
from pages.widgets.app.open_projects import key_of, open_once, project_by_key
from pages.widgets.app.recent_projects import known_projects, remember
from pages.widgets.folders.paths import home_folder
from pages.widgets.folders.reachable import call_with_timeout

_FOLDER = "session.folder"
_ANNOTATOR = "session.annotator"
_ADDRESS = "project"
_PAGE = "session.page"
_OPEN_SECONDS = 5.0
"""How long the disk of a project may take to respond when a person opens it."""


def open_project(folder: str | Path) -> Project:
    """Open a project in this tab; raises `BagtagError` when it cannot be."""
    folder = Path(folder)
    try:
        call_with_timeout(folder, folder.stat, _OPEN_SECONDS)
        open_once(folder, again=True)
    except OSError as error:
        raise BagtagError(
            f"{str(folder)!r} cannot be opened: {error.strerror or error}. Check its disk and permissions."
        ) from error
    remember(folder)
    st.session_state[_FOLDER] = str(folder)
    st.query_params[_ADDRESS] = key_of(folder)
    return the_project()


def close_project() -> None:
    """Go back to the start page; other tabs keep the project."""
    st.session_state.pop(_FOLDER, None)
    st.query_params.pop(_ADDRESS, None)


def current_project() -> Project | None:
    """Return the tab's project; None when none is open."""
    folder = st.session_state.get(_FOLDER) or _folder_in_address()
    if folder is None:
        return None
    project = Project(open_once(Path(folder)).store, annotator())
    st.session_state[_FOLDER] = folder
    st.query_params[_ADDRESS] = key_of(Path(folder))
    return project


def the_project() -> Project:
    """Return the tab's project, for pages that are only shown when there is one."""
    project = current_project()
    if project is None:
        raise BagtagError("No project is open: go back to the start page and open one.")
    return project


def go_to(page: str) -> None:
    """Show this page in the next run of the app."""
    st.session_state[_PAGE] = page


def asked_page() -> str | None:
    """Return the page that `go_to` named since the last run, once."""
    page: str | None = st.session_state.pop(_PAGE, None)
    return page


def annotator() -> str:
    """Return who is working: the name last entered, else that of the account."""
    return st.session_state.get(_ANNOTATOR) or _remembered_name() or _account_name()


def set_annotator(name: str) -> None:
    """Record edits under another name from now on."""
    name = " ".join(name.split())[:80]
    st.session_state[_ANNOTATOR] = name
    try:
        home_folder().mkdir(parents=True, exist_ok=True)
        with atomic_writer(_name_file()) as file:
            file.write(name.encode())
    except OSError:
        return


def _folder_in_address() -> str | None:
    key = st.query_params.get(_ADDRESS)
    if not key:
        return None
    if (opened := project_by_key(key)) is not None:  # also one whose folder is gone: the page shows that
        return str(opened.folder)
    return next((str(folder) for folder in known_projects() if key_of(folder) == key), None)


def _name_file() -> Path:
    return home_folder() / "annotator.txt"


def _remembered_name() -> str:
    try:
        return _name_file().read_text(encoding="utf-8").strip()[:80]
    except (OSError, UnicodeDecodeError):
        return ""


def _account_name() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "annotator"
