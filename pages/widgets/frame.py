"""The frame around every page: navigation, which project and who, dialogs, the strip of background work."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from miml_core import BagtagError
from miml_core.project import Project
from miml_core.project.errors import ProjectMoved
from pages.widgets.app.dialogs import show_dialogs
from pages.widgets.app.project_menu import project_menu
from pages.widgets.app.session import asked_page, close_project, current_project
from pages.widgets.birdnet import load_birdnet
from pages.widgets.errors import forget_errors, show_errors
from pages.widgets.follow import follow_server
from pages.widgets.job_strip import job_strip
from pages.widgets.library.add_media import add_media_dialog
from pages.widgets.library.class_editor import class_dialog
from pages.widgets.text import plain

PAGES = {
    "library": ("Library", ":material/library_music:"),
    "segment": ("Segment", ":material/graphic_eq:"),
    "tag": ("Tag", ":material/sell:"),
    "train": ("Train", ":material/model_training:"),
    "review": ("Review", ":material/fact_check:"),
    "wall": ("Wall", ":material/grid_view:"),
    "map": ("Map", ":material/bubble_chart:"),
    "survey": ("Survey", ":material/travel_explore:"),
    "insights": ("Insights", ":material/insights:"),
    "import_labels": ("Import", ":material/upload_file:"),
    "export": ("Export", ":material/ios_share:"),
}

_DRAWN_ONCE = ("segment", "tag", "review", "wall", "map", "insights")
"""Pages that do not follow background work by themselves, besides their canvas."""
_DIALOGS = {"add": add_media_dialog, "classes": class_dialog}
_PAGE = "frame.page"
_PROJECT = "frame.project"
_OF_A_PROJECT = (
    "jobs.",
    "queue.",
    "library.",
    "segment.",
    "segment_settings.",
    "tag.",
    "train.",
    "review.",
    "wall.",
    "map.",
    "survey.",
    "insights.",
    "import.",
    "export.",
    "dialog.",
)
_STYLES = Path(__file__).resolve().parents[2] / "assets" / "app.css"


def frame() -> None:
    """Run the page that is asked for; without an open project there is only the welcome."""
    st.html(_STYLES)
    project = _project_or_reason()
    follow_server()
    if project is None:
        st.session_state.pop(_PAGE, None)
        st.navigation([st.Page("welcome.py", title="Welcome", default=True)], position="hidden").run()
        return
    _forget_other_projects(project)
    load_birdnet(project)
    asked = asked_page()
    is_opening = asked is not None and _PAGE not in st.session_state  # links that are there this early may be lost
    page = st.navigation(_pages(), position="hidden" if is_opening else "top")
    if st.session_state.get(_PAGE) != page.url_path:
        forget_errors()
        st.session_state[_PAGE] = page.url_path
    if asked is not None:
        st.switch_page(f"{asked}.py")
    project_menu(project)
    page.run()
    with show_errors():
        show_dialogs(project, _DIALOGS)
        job_strip(project, drawn_once=page.url_path in _DRAWN_ONCE)


def _forget_other_projects(project: Project) -> None:
    """Forget lists, filters, settings and watched jobs of the project that was open before."""
    folder = str(project.folder)
    if st.session_state.setdefault(_PROJECT, folder) != folder:
        for key in [key for key in st.session_state if str(key).startswith(_OF_A_PROJECT)]:
            del st.session_state[key]
        st.session_state[_PROJECT] = folder


def _project_or_reason() -> Project | None:
    try:
        project = current_project()
        if project is not None:
            _ = project.revision
        return project
    except ProjectMoved as error:  # the tab keeps it: it is shown again when the files are back
        st.error(plain(str(error)), icon=":material/error:")
        return None
    except BagtagError as error:
        close_project()
        st.error(plain(str(error)), icon=":material/error:")
        return None


def _pages() -> list[st.Page]:
    return [
        st.Page(f"{name}.py", title=title, icon=icon, default=name == "library")
        for name, (title, icon) in PAGES.items()
    ]
