"""Search, filter and sort of a list of bags."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import streamlit as st

from miml_core.project import Project

SHOWN = {
    "all": "All",
    "untagged": "Untagged",
    "unfinished": "Tagging not finished",
    "finished": "Tagging finished",
    "unreviewed": "Has unchecked segments",
    "unsegmented": "Not segmented yet",
    "empty": "No segment found",
    "error": "Has a job error",
    "missing": "File is missing",
    "changed file": "File has changed",
}
SORTED = {
    "added": "as added",
    "name": "by name",
    "time": "by recording time",
    "duration": "by length",
    "progress": "by progress",
    "changed": "by last change",
    "doubt": "by the model's doubt",
}


@dataclass(frozen=True)
class BagChoice:
    """Which bags, in which order: the arguments of `Project.list_bags` and `Project.bag_ids`."""

    search: str = ""
    show: str = "all"
    class_id: int | None = None
    sort: str = "added"
    descending: bool = False

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def bag_filters(project: Project, *, key: str = "library") -> BagChoice:
    """One row of controls; they keep their values while other pages are visited."""
    names = {one.id: one.name for one in project.classes()}
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        search = st.text_input(
            "Search",
            key=f"{key}.search",
            placeholder="Name, note or species",
            icon=":material/search:",
            type="search",
            live=True,
            persist_state="session",
        )
        show = st.selectbox(
            "Show", list(SHOWN), format_func=SHOWN.__getitem__, key=f"{key}.show", persist_state="session"
        )
        class_id = st.selectbox(
            "Tagged with",
            list(names),
            index=None,
            format_func=lambda one: names.get(one, ""),
            key=f"{key}.class",
            placeholder="Any",
            persist_state="session",
        )
        sort = st.selectbox(
            "Sorted", list(SORTED), format_func=SORTED.__getitem__, key=f"{key}.sort", persist_state="session"
        )
        descending = st.toggle("Backwards", key=f"{key}.backwards", persist_state="session")
    return BagChoice(search or "", show, class_id, sort, descending)
