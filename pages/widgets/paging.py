"""One page of a long list of bags, and the row to turn pages with."""

from __future__ import annotations

import streamlit as st

from miml_core.project import BagPage, Project
from pages.widgets.bag_filters import BagChoice
from pages.widgets.words import count

PER_PAGE = 25


def paging(project: Project, choice: BagChoice, *, key: str = "library") -> BagPage:
    """The bags of the page that is turned to; a changed search begins at the first page."""
    asked = st.session_state.get(f"{key}.page", 1)
    if st.session_state.get(f"{key}.choice") != choice:
        st.session_state[f"{key}.choice"] = choice
        asked = 1
    page = _load(project, choice, asked)
    n_pages = max(1, -(-page.total // PER_PAGE))
    if asked > n_pages:
        asked = n_pages
        page = _load(project, choice, asked)
    st.session_state[f"{key}.page"] = asked
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.caption(count(page.total, "bag"), width="content")
        if n_pages > 1:
            st.pagination(n_pages, key=f"{key}.page", max_visible_pages=7)
    return page


def _load(project: Project, choice: BagChoice, number: int) -> BagPage:
    return project.list_bags(**choice.to_dict(), offset=PER_PAGE * (number - 1), limit=PER_PAGE)
