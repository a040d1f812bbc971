"""The library: what is in the project, how far each bag is, and what to do next."""

import streamlit as st

from pages.widgets.add_media import WORDS
from pages.widgets.bag_actions import bag_actions
from pages.widgets.bag_filters import bag_filters
from pages.widgets.bag_table import bag_table
from pages.widgets.dialogs import dialog_button
from pages.widgets.empty import empty
from pages.widgets.guard import told
from pages.widgets.hints import hint
from pages.widgets.missing_files import look_at_files, missing_files
from pages.widgets.paging import paging
from pages.widgets.progress_row import progress_row
from pages.widgets.session import the_project
from pages.widgets.table_rows import selected_ids

project = the_project()
noun, nouns = WORDS[project.kind]


@st.fragment(run_every=2.0)
@told()
def library_bags() -> None:
    """Filters and the table of bags, kept up to date. Each part has a place of its own, so that none moves another."""
    notices, filters, actions, table = st.container(), st.container(), st.container(), st.container()
    if project.progress().n_bags == 0:
        with table:
            empty(
                f"This project has no {nouns} yet",
                f"Add a folder of {noun}s: they stay where they are. Or drop some files: they are copied into the "
                "project.",
                icon="library_add",
            )
    else:
        with filters:
            page = paging(project, bag_filters(project))
        look_at_files(project, page)
        with table:
            if page.bags:
                chosen = bag_table(project, page, key="library.table")
                with actions:
                    bag_actions(project, chosen, lambda: selected_ids("library.table"))
            else:
                empty("No bag fits this search", "Change the search or the filter above.", icon="search_off")
    with notices:
        missing_files(project)


with told():
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        progress_row(project)
        with st.container(horizontal=True, width="content"):
            dialog_button(f"Add {nouns}", "add", icon=":material/add:", primary=not project.progress().n_bags)
            dialog_button("Classes", "classes", icon=":material/label:")
    hint(
        project,
        "library",
        f"Every {'recording' if project.kind == 'sound' else 'picture'} here is a bag: one set of tags says what "
        f"{'can be heard' if project.kind == 'sound' else 'can be seen'} in it, not where. "
        "Select a row to open it on another page.",
    )
    library_bags()
