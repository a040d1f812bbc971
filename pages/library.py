"""The library: what is in the project, how far each bag is, and what to do next."""

import streamlit as st

from pages.widgets.add_media import WORDS, add_media_dialog
from pages.widgets.bag_actions import bag_actions
from pages.widgets.bag_filters import bag_filters
from pages.widgets.bag_table import bag_table
from pages.widgets.class_editor import class_dialog
from pages.widgets.empty import empty
from pages.widgets.guard import told
from pages.widgets.hints import hint
from pages.widgets.missing_files import missing_files
from pages.widgets.paging import paging
from pages.widgets.progress_row import progress_row
from pages.widgets.session import the_project

project = the_project()
noun, nouns = WORDS[project.kind]


@st.fragment
def table() -> None:
    choice = bag_filters(project)
    page = paging(project, choice)
    if not page.bags:
        empty("No bag fits this search", "Change the search or the filter above.", icon="search_off")
        return
    chosen, complete = bag_table(project, page, key="library.table")
    bag_actions(project, chosen)
    if not complete:
        st.rerun(scope="fragment")


with told():
    progress_row(project)
    with st.container(horizontal=True):
        if st.button(
            f"Add {nouns}", icon=":material/add:", type="primary" if not project.progress().n_bags else "secondary"
        ):
            add_media_dialog(project)
        if st.button("Classes", icon=":material/label:"):
            class_dialog(project)
    hint(project, "library", "Every recording here is a bag. Its tags say what can be heard in it, not where.")
    missing_files(project)
    if project.progress().n_bags == 0:
        empty(
            f"This project has no {nouns} yet",
            f"Add a folder of {noun}s: they stay where they are. Or drop some files: they are copied into the project.",
            icon="library_add",
        )
    else:
        table()
