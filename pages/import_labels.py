"""Import labels that were made in other programs: choose files, look at what will happen, then one edit."""

import streamlit as st

from pages.widgets.app.session import the_project
from pages.widgets.errors import show_errors
from pages.widgets.guidance import empty_state, hint
from pages.widgets.import_form import choose_columns, choose_labels, choose_options, import_button, undo_button
from pages.widgets.import_preview import class_table, file_table, preview, problem_tables, summary

project = the_project()

with show_errors():
    hint(project, "import", "Labels of Raven, BirdNET, whombat, Label Studio and others find their recordings by name.")
    form, shown = st.columns([2, 3], gap="large")
    with form, show_errors():
        table = choose_labels(project)
        options = choose_options(project)
    if table is None:
        with shown:
            undo_button(project)
            empty_state(
                "No labels chosen yet",
                "Drop selection tables, result files, JSON or XML of other programs, or a zip archive of many.",
                icon="upload_file",
            )
    else:
        with form, show_errors():
            choose_columns()
        with shown, show_errors():
            places = [st.container() for _ in range(4)]
            with places[1]:
                classes = class_table(project, table)
            plan = preview(project, table, options, classes)
            with places[0]:
                summary(plan)
            with places[2]:
                problem_tables(plan)
            with places[3]:
                file_table(plan)
        with form, show_errors():
            import_button(project, plan)
