"""Export: the labels as files for Raven, Audacity, spreadsheets and others."""

import streamlit as st

from pages.widgets.app.session import the_project
from pages.widgets.errors import show_errors
from pages.widgets.export_form import choose_export, export_button, export_folder, export_preview, exports_list
from pages.widgets.guidance import empty_state, hint

project = the_project()

with show_errors():
    hint(project, "export", "Everything you confirmed leaves with your name on it; predictions with their probability.")
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
