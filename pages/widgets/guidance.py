"""What guides a person: hints for the first steps, and what to do next where a page has nothing to show."""

from __future__ import annotations

import streamlit as st

from miml_core.project import Project
from pages.widgets.errors import attempt

_PREFERENCE = "hints"


def enable_hints(project: Project) -> None:
    """Switch the hints on in a project: the demo has them."""
    project.set_preference(_PREFERENCE, {"on": True, "read": []})


def hint(project: Project, name: str, text: str) -> None:
    """Show a hint of a guided project until it has been read; its place stays, so that nothing below it moves."""
    place = st.container()
    state = project.get_preference(_PREFERENCE) or {}
    if not state.get("on") or name in state.get("read", []):
        return
    with place, st.container(key=f"hint-{name}", horizontal=True, wrap=False, vertical_alignment="center", border=True):
        st.markdown(f":material/lightbulb: {text}", width="stretch")
        st.button("Got it", key=f"hint.{name}", type="tertiary", on_click=attempt, args=(_read, project, name))
        st.button("Turn off hints", key=f"hint.{name}.off", type="tertiary", on_click=attempt, args=(_off, project))


def _read(project: Project, name: str) -> None:
    state = project.get_preference(_PREFERENCE) or {}
    project.set_preference(_PREFERENCE, {**state, "read": [*state.get("read", []), name]})


def _off(project: Project) -> None:
    project.set_preference(_PREFERENCE, {"on": False, "read": []})


def empty_state(title: str, advice: str, *, icon: str, page: str | None = None, link: str | None = None) -> None:
    """Draw a quiet box in the middle of the page; with `page` it has a link there."""
    with st.container(border=True, horizontal_alignment="center", gap="small", key=f"empty-{icon}"):
        st.space("small")
        st.markdown(f"### :material/{icon}: {title}", width="content")
        st.markdown(advice, width="content")
        if page is not None:
            st.page_link(page, label=link, icon=":material/arrow_forward:")
        st.space("small")
