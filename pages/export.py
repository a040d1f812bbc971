"""Export: the labels as files for Raven, Audacity, spreadsheets and others, or the whole project as one file."""

import streamlit as st

from miml_core.project import Project
from pages.widgets.app.session import the_project
from pages.widgets.choice import choose_one
from pages.widgets.errors import show_errors
from pages.widgets.exchange.export_form import (
    FOLDER,
    choose_export,
    export_button,
    export_folder,
    export_preview,
    exports_list,
)
from pages.widgets.exchange.pack_form import choose_packing, pack_button
from pages.widgets.guidance import empty_state, hint

WHAT = {"labels": "Labels", "project": "The whole project"}


def export_labels(project: Project) -> None:
    """Draw the export of segments with their labels, in the formats of other programs."""
    form, rows = st.columns([2, 3], gap="large")
    with form, show_errors():
        choice = choose_export(project)
        folder = export_folder(project)
    with rows, show_errors():
        some = export_preview(project, choice)
        if not some:
            empty_state(
                "No segment matches this choice yet",
                "Confirm some in Review, or export predictions as well.",
                icon="ios_share",
                page="review.py",
                link="Review",
            )
    with form, show_errors():
        export_button(project, disabled=not (some and folder))
    with rows, show_errors():
        exports_list(project)


def pack_project(project: Project) -> None:
    """Draw the packing of everything, to be opened elsewhere."""
    form, made = st.columns([2, 3], gap="large")
    with form, show_errors():
        choose_packing(project)
        folder = export_folder(project)
        pack_button(project, disabled=folder is None, folder_key=FOLDER)
    with made, show_errors():
        exports_list(project)


project = the_project()

with show_errors():
    hint(project, "export", "Labels you confirmed are exported with your name, predictions with their probability.")
    if choose_one("Export", WHAT, key="export.which") == "project":
        pack_project(project)
    else:
        export_labels(project)
