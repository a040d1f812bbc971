"""Import what others did: labels of other programs, or another annotator's copy; look at it first, then one edit."""

import streamlit as st

from miml_core.project import Project
from pages.widgets.app.session import the_project
from pages.widgets.choice import choose_one
from pages.widgets.errors import show_errors
from pages.widgets.exchange.import_form import choose_columns, choose_labels, choose_options, import_button
from pages.widgets.exchange.import_preview import class_table, file_table, preview, problem_tables, summary
from pages.widgets.exchange.merge_form import choose_copy, merge_button
from pages.widgets.exchange.merge_preview import agreement_tables, conflict_list, merge_summary, merges_list
from pages.widgets.guidance import empty_state, hint
from pages.widgets.undo_offer import offer_undo_of_latest

SOURCES = {"labels": "Labels of other programs", "copy": "Another annotator’s copy"}


def import_labels(project: Project) -> None:
    """Draw the import of labels of Raven, BirdNET, whombat, Label Studio and others."""
    form, shown = st.columns([2, 3], gap="large")
    with form, show_errors():
        table = choose_labels(project)
        options = choose_options(project)
    if table is None:
        with shown:
            offer_undo_of_latest(project, "import_labels", "Undo this import", key="import.undo")
            empty_state(
                "No labels chosen yet",
                "Drop selection tables, result files, JSON or XML from other programs, or a zip archive of many.",
                icon="upload_file",
            )
        return
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


def merge_copy(project: Project) -> None:
    """Draw the merge of the work of another annotator on a copy of this project."""
    form, shown = st.columns([2, 3], gap="large")
    plan = None
    with form, show_errors():
        plan = choose_copy(project)
    with shown, show_errors():
        if plan is not None:
            merge_summary(plan)
            agreement_tables(plan.agreement())
        elif not project.review.merges():
            empty_state(
                "No copy chosen yet",
                "Pack this project on the Export page and give it to another annotator, then choose the file you get.",
                icon="group",
            )
    if plan is not None:
        with form, show_errors():
            merge_button(project, plan)
    with shown, show_errors():
        conflict_list(project)
        merges_list(project)


project = the_project()

with show_errors():
    hint(
        project,
        "import",
        "Labels from Raven, BirdNET, whombat, Label Studio and other programs are matched to recordings by file name.",
    )
    if choose_one("Import", SOURCES, key="import.source") == "copy":
        merge_copy(project)
    else:
        import_labels(project)
