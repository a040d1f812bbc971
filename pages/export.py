"""Export: the labels as files for Raven, Audacity, spreadsheets and others."""

import streamlit as st

from pages.widgets.empty import empty
from pages.widgets.export_form import choose_export, export_preview, export_target, start_export
from pages.widgets.exports_list import exports_list
from pages.widgets.guard import told
from pages.widgets.hints import hint
from pages.widgets.session import the_project
from pages.widgets.sure_button import sure_button

project = the_project()

with told():
    hint(project, "export", "Everything you confirmed leaves with your name on it; predictions with their probability.")
    form, rows = st.columns([2, 3], gap="large")
    with form, told():
        choice = choose_export(project)
        target = export_target(project, choice)
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
        sure_button(
            "Export",
            lambda: start_export(project, choice, target),
            key="export.start",
            type="primary",
            icon=":material/ios_share:",
            disabled=not (some and target),
        )
    with rows, told():
        exports_list(project)
