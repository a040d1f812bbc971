"""Export: the labels as files for Raven, Audacity, spreadsheets and others."""

import streamlit as st

from pages.widgets.empty import empty
from pages.widgets.export_form import choose_export, export_button, export_folder, export_preview
from pages.widgets.exports_list import exports_list
from pages.widgets.guard import told
from pages.widgets.hints import hint
from pages.widgets.session import the_project

project = the_project()

with told():
    hint(project, "export", "Everything you confirmed leaves with your name on it; predictions with their probability.")
    form, rows = st.columns([2, 3], gap="large")
    with form, told():
        choice = choose_export(project)
        folder = export_folder(project)
    with rows, told():
        some = export_preview(project, choice)
        if not some:
            empty(
                "No segment fits this choice yet",
                "Confirm some in Review, or export predictions as well.",
                icon="ios_share",
                page="review.py",
                link="Review",
            )
    with form, told():
        export_button(project, disabled=not (some and folder))
    with rows, told():
        exports_list(project)
