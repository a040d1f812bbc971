"""The library's list of bags: how far the project is, search and filters, pages, and the table."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import pandas as pd
import streamlit as st

from miml_core.project import Bag, BagPage, Class, Project
from pages.widgets.errors import show_errors
from pages.widgets.follow import follow
from pages.widgets.library.thumbnails import HEIGHT, WIDTH, thumbnails
from pages.widgets.table_selection import ROWS_OR_A_CELL, picked_rows, selection_arguments
from pages.widgets.text import count, length_of_time, percent, thousands

MOST_COLOURED = 200
"""Above this many classes the table's tags stay grey: every coloured option is sent to the browser."""
SHOWN = {
    "all": "All",
    "untagged": "Untagged",
    "unfinished": "Tagging unfinished",
    "finished": "Tagging finished",
    "unreviewed": "Has unchecked segments",
    "unsegmented": "Not segmented yet",
    "empty": "No segments detected",
    "error": "Has an error",
    "missing": "File is missing",
    "changed file": "File has changed",
    "conflicts": "Has conflicting answers",
}
SORTED = {
    "added": "Date added",
    "name": "Name",
    "time": "Recording time",
    "duration": "Duration",
    "progress": "Progress",
    "changed": "Last change",
    "doubt": "Most uncertain",
}
PER_PAGE = 25


def bag_table(project: Project, page: BagPage, *, key: str) -> list[Bag]:
    """Draw the table; return the bags selected in it."""
    pictures, complete = thumbnails(project, page.bags)
    if not complete:
        follow(project, "thumbnails", edits=False, at_least_every=1.0)
    classes = project.classes.list()
    names = {one.id: one.name for one in classes}
    sound = project.kind == "sound"
    rows = [_row(bag, names, pictures, sound=sound) for bag in page.bags]
    chosen = st.dataframe(
        pd.DataFrame(rows),
        hide_index=True,
        row_height=HEIGHT + 8,
        height=min(56 * len(rows) + 38, 394),
        column_config=_columns(classes, sound=sound),
        on_select="rerun",
        selection_mode=ROWS_OR_A_CELL,
        placeholder="",
        alt="The bags of this project",
        **selection_arguments(key, [bag.id for bag in page.bags]),
    )
    return [page.bags[place] for place in picked_rows(chosen, len(page.bags))]


def _row(bag: Bag, names: dict[int, str], pictures: dict[int, str], *, sound: bool) -> dict[str, Any]:
    row = {
        "picture": pictures.get(bag.id),
        "name": bag.name,
        "length": length_of_time(bag.duration),
        "time": _moment(bag.recorded_at),
        "tags": [names.get(one, "?") for one, value in bag.tags.items() if value > 0],
        "reviewed": 100 * bag.n_reviewed / bag.n_segments if bag.n_segments else None,
        "segments": bag.n_segments if bag.segmented or bag.n_segments else None,
        "state": state_of(bag),
    }
    if not sound:
        del row["length"]
    return row


def state_of(bag: Bag) -> str:
    """Return the status of a bag: the first of these that holds."""
    if bag.missing:
        return "File is missing"
    if bag.changed:
        return "File has changed"
    if bag.not_allowed:
        return "Folder not allowed yet"
    if bag.error:
        return f"Error: {bag.error}"
    if not bag.segmented:
        return "Segments out of date" if bag.n_segments else "Not segmented"
    if bag.finished and not bag.n_segments:
        return "Tagged, no segments"
    if not bag.finished:
        return "Tagging started" if bag.tags else "Untagged"
    if bag.n_reviewed >= bag.n_segments:
        return "Reviewed"
    return "Tagged"


def _moment(recorded_at: str | None) -> datetime | None:
    return datetime.fromisoformat(recorded_at).replace(tzinfo=None) if recorded_at else None


def _columns(classes: list[Class], *, sound: bool) -> dict[str, Any]:
    config = st.column_config
    coloured = len(classes) <= MOST_COLOURED
    return {
        "picture": config.ImageColumn("", width=WIDTH, pinned=True),
        "name": config.TextColumn("Recording" if sound else "Picture", width=250),
        "length": config.TextColumn("Duration", width=84),
        "time": config.DatetimeColumn("Recorded" if sound else "Taken", format="YYYY-MM-DD HH:mm", width=136),
        "tags": config.MultiselectColumn(
            "Tags",
            options=[one.name for one in classes] if coloured else None,
            color=[one.colour for one in classes] if coloured and classes else None,
            width=240,
        ),
        "reviewed": config.ProgressColumn(
            "Checked",
            help="Segments that a person corrected or accepted",
            format="%d %%",
            min_value=0,
            max_value=100,
            width=96,
        ),
        "segments": config.NumberColumn("Segments", width=84),
        "state": config.TextColumn("Status", width=170),
    }


@st.fragment
def progress_row(project: Project) -> None:
    """Draw the numbers of bags, tags, segments and checks, and keep them up to date."""
    with show_errors():
        follow(project, "progress-row")
        _progress_row(project)


def _progress_row(project: Project) -> None:
    progress = project.progress()
    with st.container(horizontal=True, gap="medium", key="progress-row"):
        st.metric("Bags", thousands(progress.n_bags), width="content")
        _share("Tagging finished", progress.n_finished, progress.n_bags)
        _share("Segmented", progress.n_segmented, progress.n_bags)
        st.metric("Segments", thousands(progress.n_segments), width="content")
        _share("Checked", progress.n_reviewed, progress.n_segments)


def _share(label: str, n: int, of: int) -> None:
    """Draw a count with its share; the share alone would hide how much work it was."""
    value = thousands(n) if not n or not of else f"{thousands(n)} :small[:gray[{percent(n / of)}]]"
    st.metric(label, value, width="content")


@dataclass(frozen=True)
class BagChoice:
    """Which bags, in which order: the arguments of `project.bags.list` and `project.bags.ids`."""

    search: str = ""
    show: str = "all"
    class_id: int | None = None
    sort: str = "added"
    descending: bool = False

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def bag_filters(project: Project, *, key: str = "library") -> BagChoice:
    """Draw search, filters and order; they keep their values while other pages are visited."""
    names = {one.id: one.name for one in project.classes.list()}
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
            "Sort by", list(SORTED), format_func=SORTED.__getitem__, key=f"{key}.sort", persist_state="session"
        )
        descending = st.toggle("Descending", key=f"{key}.descending", persist_state="session")
    return BagChoice(search or "", show, class_id, sort, descending)


def paging(project: Project, choice: BagChoice, *, key: str = "library") -> BagPage:
    """Return the bags of the current page; a changed search, or a shorter list, begins at the first."""
    total = project.bags.list(**choice.to_dict(), limit=1).total
    n_pages = max(1, -(-total // PER_PAGE))
    if st.session_state.get(f"{key}.choice") != choice or st.session_state.get(f"{key}.page", 1) > n_pages:
        st.session_state[f"{key}.choice"] = choice
        st.session_state.pop(f"{key}.page", None)
    number = 1
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        st.caption(count(total, "bag"), width="content")
        if n_pages > 1:
            number = st.pagination(n_pages, key=f"{key}.page", max_visible_pages=7, width=420, persist_state="session")
    return project.bags.list(**choice.to_dict(), offset=PER_PAGE * (number - 1), limit=PER_PAGE)
