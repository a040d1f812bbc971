"""The library's table: one page of bags with thumbnails, tags and progress."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pandas as pd
import streamlit as st

from miml_core.project import Bag, BagPage, Class, Project
from pages.widgets.picked import ROWS_OR_A_CELL, picked_rows
from pages.widgets.table_rows import keep_selection
from pages.widgets.thumbnails import HEIGHT, WIDTH, thumbnails
from pages.widgets.words import length_of_time

MOST_COLOURED = 200
"""Above this many classes the table's tags stay grey: every coloured option is sent to the browser."""


def bag_table(project: Project, page: BagPage, *, key: str) -> list[Bag]:
    """Draw the table; returns the bags selected in it."""
    pictures = thumbnails(project, page.bags)
    classes = project.classes()
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
        **keep_selection(key, [bag.id for bag in page.bags]),
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
    """The one thing to know about a bag, the most pressing first."""
    if bag.missing:
        return "File is missing"
    if bag.changed:
        return "File has changed"
    if bag.not_allowed:
        return "Folder not allowed yet"
    if bag.error:
        return f"Error: {bag.error}"
    if not bag.segmented:
        return "Segments out of date" if bag.n_segments else "Segments to be found"
    if bag.finished and not bag.n_segments:
        return "Tagged, no segment found"
    if not bag.finished:
        return "Tagging begun" if bag.tags else "To be tagged"
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
        "length": config.TextColumn("Length", width=84),
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
        "state": config.TextColumn("State", width=170),
    }
