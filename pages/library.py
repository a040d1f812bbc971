"""The library: what is in the project, how far each bag is, and what to do next."""

import streamlit as st

from miml_core.project import Bag
from pages.widgets.app.dialogs import dialog_button
from pages.widgets.app.session import the_project
from pages.widgets.errors import show_errors
from pages.widgets.follow import follow
from pages.widgets.guidance import empty_state, hint
from pages.widgets.library.add_media import NOUNS
from pages.widgets.library.bag_actions import bag_actions
from pages.widgets.library.bag_list import bag_filters, bag_table, paging, progress_row
from pages.widgets.library.missing_files import check_files_of_page, missing_files
from pages.widgets.table_selection import selected_ids, selection_arguments

_TABLE = "library.table"

project = the_project()
noun, nouns = NOUNS[project.kind]


@st.fragment
@show_errors()
def library_bags() -> None:
    """Draw filters and the table of bags, kept up to date; each part has its own place, so that none moves another."""
    follow(project, "library-bags", at_least_every=10.0)  # files may be moved or changed
    notices, filters, actions, table = st.container(), st.container(), st.container(), st.container()
    listed: list[Bag] = []
    chosen: list[Bag] = []
    if project.progress().n_bags == 0:
        with table:
            empty_state(
                f"This project has no {nouns} yet",
                f"Add a folder of {noun}s: they stay where they are. Or drop some files: they are copied into the "
                "project.",
                icon="library_add",
            )
    else:
        with filters:
            page = paging(project, bag_filters(project))
        check_files_of_page(project, page)
        listed = page.bags
        with table:
            if listed:
                chosen = bag_table(project, page, key=_TABLE)
            else:
                empty_state("No bag matches this search", "Change the search or the filter above.", icon="search_off")
    if not listed:
        selection_arguments(_TABLE, [])  # a table that is drawn later begins without a selection
    with actions:  # always: a note or a removal that is open stays, also when its bag leaves the list
        bag_actions(project, chosen, lambda: selected_ids(_TABLE), listed=[bag.id for bag in listed])
    with notices:
        missing_files(project)


with show_errors():
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        progress_row(project)
        with st.container(horizontal=True, width="content"):
            dialog_button(f"Add {nouns}", "add", icon=":material/add:", primary=not project.progress().n_bags)
            dialog_button("Classes", "classes", icon=":material/label:")
    hint(
        project,
        "library",
        f"Every {'recording' if project.kind == 'sound' else 'picture'} here is a bag: its tags list what "
        f"{'can be heard' if project.kind == 'sound' else 'can be seen'} in it, not where. "
        "Select a row to open it on another page.",
    )
    library_bags()
