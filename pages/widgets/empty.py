"""What a page shows when there is nothing to show yet: what to do next."""

from __future__ import annotations

import streamlit as st


def empty(title: str, advice: str, *, icon: str, page: str | None = None, link: str | None = None) -> None:
    """A quiet box in the middle of the page; with `page` it has a link there."""
    with st.container(border=True, horizontal_alignment="center", gap="small", key=f"empty-{icon}"):
        st.space("small")
        st.markdown(f"### :material/{icon}: {title}", width="content")
        st.markdown(advice, width="content")
        if page is not None:
            st.page_link(page, label=link, icon=":material/arrow_forward:")
        st.space("small")
