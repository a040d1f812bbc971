"""The detections of a cell as a list to hear or see."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from miml_core import BagtagError
from miml_core.insights import Choice, Detections
from miml_core.insights.listing import ListedDetection, count_detections, find_recording, most_probable, read_listed
from miml_core.project import Project
from miml_core.project.media import access
from pages.widgets.app.session import go_to
from pages.widgets.canvas import request_bag
from pages.widgets.errors import attempt
from pages.widgets.folders.folder_chooser import chosen_folder, folder_chooser
from pages.widgets.segment_selections import keep_selection, open_wall
from pages.widgets.text import class_names, count, plain

_MOST = 200
_AROUND = 0.5
"""Seconds heard before and after a detection."""
_LONGEST = 30.0
_FOLDER = "insights.recordings"


def list_cell(project: Project, source: Detections, choice: Choice) -> None:
    """List the detections of a cell, the most probable first; a selected one is heard and shown."""
    total = count_detections(source, choice)
    ids = most_probable(source, choice, _MOST)
    with st.container(border=True, key="insights-list"):
        more = f", the {_MOST} most probable" if total > _MOST else ""
        st.markdown(f"**{plain(_title(choice))}**: {count(total, 'detection')}{more}")
        if source.archive is None:
            _list_of_project(project, _title(choice), ids)
        else:
            _list_of_archive(project, source, source.archive, ids)


def _title(choice: Choice) -> str:
    parts = [choice.class_name or "All classes"]
    if choice.first_day is not None:
        days = {choice.first_day, choice.last_day}
        parts.append(" to ".join(sorted(str(day) for day in days)))
    if choice.hour_of_day is not None:
        parts.append(f"{choice.hour_of_day:02d}:00 to {choice.hour_of_day + 1:02d}:00")
    if choice.sites is not None and len(choice.sites) == 1:
        parts.append(choice.sites[0])
    return ", ".join(parts)


def _list_of_project(project: Project, title: str, ids: list[int]) -> None:
    names = class_names(project.classes.list())
    items = project.review.wall_items(ids)
    rows = []
    for one in items:
        label = one.label if one.label is not None else one.guesses[0][0] if one.guesses else None
        probability = dict(one.guesses).get(label) if label is not None else None
        how = "by eye" if one.label is not None and one.checked_by == "eye" else ""
        rows.append((names.get(label, "") if label is not None else "", probability, how, one.bag, one.left))
    place = _table(*_columns(rows, ("class", "probability", "checked"), project.kind))
    chosen = None if place is None else items[place]
    with st.container(horizontal=True, gap="small"):
        st.button(
            "Show on the wall",
            key="insights.wall",
            icon=":material/grid_view:",
            disabled=not ids,
            on_click=attempt,
            args=(_show_on_wall, project, title, ids),
        )
        st.button(
            "Open in Review",
            key="insights.review",
            icon=":material/fact_check:",
            disabled=chosen is None,
            on_click=attempt,
            args=(_open_in_review, project, 0 if chosen is None else chosen.bag_id),
        )
    if chosen is None:
        return
    path, bag = project.media.path(chosen.bag_id), project.bags.get(chosen.bag_id)
    box = (chosen.left, chosen.right, chosen.low, chosen.high)
    _present(path, project.kind, box, (bag.start, bag.end))


def _list_of_archive(project: Project, source: Detections, archive: Path, ids: list[int]) -> None:
    items = read_listed(source, ids)
    rows = [
        (one.class_name, one.probability, "" if one.time is None else str(one.time)[:19], one.site, one.file, one.start)
        for one in items
    ]
    place = _table(*_columns(rows, ("class", "probability", "time", "site"), source.kind))
    if place is None:
        return
    chosen: ListedDetection = items[place]
    try:
        path = find_recording(archive, chosen.file)
    except BagtagError as error:
        kind = "recording" if source.is_sound else "picture"
        st.warning(plain(str(error)), icon=":material/folder_off:")
        folder_chooser(f"Folder of the {kind}s", key=_FOLDER, project_folder=project.folder)
        st.button(
            "Use this folder",
            key="insights.allow",
            on_click=attempt,
            args=(_allow, project, archive),
            help=f"Allows Bagtag on this computer to read the {kind}s of this archive there.",
        )
        return
    box = (chosen.start, chosen.end, chosen.low, chosen.high)
    _present(path, source.kind, box, (chosen.clip_start, chosen.clip_end))


def _columns(
    rows: list[tuple[Any, ...]], first: tuple[str, ...], kind: str
) -> tuple[list[tuple[Any, ...]], tuple[str, ...]]:
    """Return rows and their columns, the last ones of which are the file and the second; a picture has no second."""
    if kind == "sound":
        return rows, (*first, "recording", "at_s")
    return [row[:-1] for row in rows], (*first, "picture")


def _table(rows: list[tuple[Any, ...]], columns: tuple[str, ...]) -> int | None:
    """Draw the rows; return the place of the selected one."""
    config = st.column_config
    titles = {
        "class": config.TextColumn("Class"),
        "probability": config.NumberColumn("Probability", format="%.2f", width="small"),
        "checked": config.TextColumn("Checked", width="small"),
        "time": config.TextColumn("Time"),
        "site": config.TextColumn("Site"),
        "recording": config.TextColumn("Recording"),
        "picture": config.TextColumn("Picture"),
        "at_s": config.NumberColumn("Start (s)", format="%.1f", width="small"),
    }
    event: Any = st.dataframe(
        pd.DataFrame(rows, columns=list(columns)),
        hide_index=True,
        height=min(38 + 35 * len(rows), 290),
        column_config=titles,
        on_select="rerun",
        selection_mode="single-row",
        key=f"insights.list.{hash(tuple(rows))}",  # a selected row of another list is another detection
        alt="Detections of the cell, the most probable first",
    )
    chosen = [place for place in event["selection"]["rows"] if place < len(rows)]
    if not chosen:
        st.caption(f"Select a row to {'see' if 'picture' in columns else 'hear'} it." if rows else "No detections.")
    return chosen[0] if chosen else None


def _present(path: Path, kind: str, box: tuple[float, float, float, float], clip: tuple[float, float]) -> None:
    """Play and draw a detection of a recording, or show the part of a picture."""
    left, right, low, high = box
    if kind == "picture":
        from miml_core.media.image import open_image

        picture = open_image(path, max_side=1600)
        scale = picture.grid.width / max(picture.grid.right - picture.grid.left, 1e-9)
        rows, columns = (slice(max(0, int(a * scale) - 8), int(b * scale) + 8) for a, b in ((low, high), (left, right)))
        st.image(picture.pixels[rows, columns], width=360)
        return
    from miml_core.media.audio import audio_info
    from miml_core.media.playback import clip_wav
    from miml_core.media.rendering import render_png
    from miml_core.media.spectrogram import SpectrogramSettings, read_spectrogram

    start, end = max(left - _AROUND, clip[0], 0.0), min(right + _AROUND, clip[1], left + _LONGEST)
    info = audio_info(path)
    end = min(end, info.duration)
    settings = SpectrogramSettings.for_rate(info.rate)
    st.image(render_png(read_spectrogram(path, start, end, settings), settings), width=480)
    st.audio(clip_wav(path, start, end), format="audio/wav", autoplay=True)


def _allow(project: Project, archive: Path) -> None:
    access.allow_folder(archive, chosen_folder(_FOLDER, project.folder))


def _show_on_wall(project: Project, title: str, ids: list[int]) -> None:
    open_wall(project, {"selection": keep_selection(project, title, ids)})
    st.rerun()  # the button is part of a fragment, and another page is a run of the whole app


def _open_in_review(project: Project, bag_id: int) -> None:
    request_bag(project, bag_id)
    go_to("review")
    st.rerun()
