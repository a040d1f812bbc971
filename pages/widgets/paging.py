"""One page of a long list of bags, and the row to turn pages with."""

from __future__ import annotations

import streamlit as st

from miml_core.project import BagPage, Project
from pages.widgets.bag_filters import BagChoice
from pages.widgets.words import count

PER_PAGE = 25


def paging(project: Project, choice: BagChoice, *, key: str = "library") -> BagPage:
    """The bags of the page that is turned to; a changed search, or a list that got shorter, begins at the first."""
    total = project.list_bags(**choice.to_dict(), limit=1).total
    n_pages = max(1, -(-total // PER_PAGE))
    if st.session_state.get(f"{key}.choice") != choice or st.session_state.get(f"{key}.page", 1) > n_pages:
        st.session_state[f"{key}.choice"] = choice
        st.session_state.pop(f"{key}.page", None)
    number = 1
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        st.caption(count(total, "bag"), width="content")
        if n_pages > 1:
            number = st.pagination(n_pages, key=f"{key}.page", max_visible_pages=7, width=420, persist_state="session")
    return project.list_bags(**choice.to_dict(), offset=PER_PAGE * (number - 1), limit=PER_PAGE)
