"""The source of the insights: the open project, or an archive, read in the background if it is large."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from miml_core import BagtagError
from miml_core.archive.reading import models_of
from miml_core.insights import Detections, open_source
from miml_core.insights.archive_source import unread_results
from miml_core.project import Project
from miml_core.project.queries.review_queue import ARCHIVE_SAMPLE
from pages.widgets.app.session import go_to
from pages.widgets.background_work import BackgroundWork, Stopped
from pages.widgets.errors import attempt, show_errors
from pages.widgets.folders.folder_chooser import chosen_folder, folder_chooser
from pages.widgets.folders.paths import allowed_roots, existing_folder, home_folder
from pages.widgets.follow import follow_work
from pages.widgets.text import plain, time_left

PREFERENCE = "insights"
_SOURCE, _FOLDER, _MODEL = "insights.source", "insights.folder", "insights.model"
_READ_AT_ONCE = 400
"""Results that are read while the page waits: less than a second."""
_FRESH_SECONDS = 20.0
"""An archive is looked at again after that time: a command may be writing to it."""


@dataclass(kw_only=True)
class _Reading(BackgroundWork):
    """An archive that is being read, or was."""

    source: Detections | None = None


@dataclass
class _Kept:
    lock: threading.Lock = field(default_factory=threading.Lock)
    projects: dict[str, tuple[int, Detections]] = field(default_factory=dict)
    archives: dict[tuple[str, str], tuple[float, Detections]] = field(default_factory=dict)
    readings: dict[tuple[str, str], _Reading] = field(default_factory=dict)


@st.cache_resource
def _kept() -> _Kept:
    return _Kept()


def preferences(project: Project) -> dict[str, object]:
    """Return what the page remembers in the project; it may have been written by anybody."""
    stored = project.get_preference(PREFERENCE)
    return stored if isinstance(stored, dict) else {}


def remember(project: Project, **values: object) -> None:
    """Store what the page is to remember."""
    project.set_preference(PREFERENCE, {**preferences(project), **values})


def choose_source(project: Project, row: DeltaGenerator) -> Detections | None:
    """Draw the choice of the source in a row; return it, or None (and show why) while there is none."""
    archive = remembered_archive(project)
    with row:
        chosen = st.segmented_control(
            "Source",
            ["project", "archive"],
            default="archive" if preferences(project).get("source") == "archive" else "project",
            required=True,
            format_func={"project": "This project", "archive": "An archive"}.__getitem__,
            key=_SOURCE,
            label_visibility="collapsed",
            on_change=_remember_source,
            args=(project,),
        )
        if chosen == "archive":
            label = "Choose an archive" if archive is None else archive.name
            with st.popover(plain(label), icon=":material/database:", key="insights-archive"):
                _archive_form(project, archive)
    if chosen == "project":
        return _project_source(project)
    if archive is None:
        st.info(
            "Choose the folder that `bagtag apply` or the Survey page wrote its results to.", icon=":material/database:"
        )
        return None
    return _archive_source(archive, _choose_model(archive))


def _archive_form(project: Project, archive: Path | None) -> None:
    st.caption("The folder that `bagtag apply` or the Survey page wrote its results to.")
    start = archive or home_folder()
    folder_chooser("Archive", key=_FOLDER, start=start if start.is_dir() else None, project_folder=project.folder)
    st.button(
        "Use this archive", key="insights.use", type="primary", on_click=attempt, args=(_use_archive, project)
    )  # fmt: skip


def _use_archive(project: Project) -> None:
    folder = chosen_folder(_FOLDER, project.folder)
    models_of(folder)  # refuses a folder that is not an archive
    remember(project, archive=str(folder), source="archive")
    st.session_state.pop(_MODEL, None)


def _remember_source(project: Project) -> None:
    attempt(remember, project, source=st.session_state[_SOURCE])


def remembered_archive(project: Project) -> Path | None:
    """Return the archive that was last used, or of which the project has a sample, if it may be used here."""
    sample = project.get_preference(ARCHIVE_SAMPLE)
    known = [preferences(project).get("archive"), sample.get("archive") if isinstance(sample, dict) else None]
    for path in known:
        if isinstance(path, str) and path:
            try:
                return existing_folder(path, allowed_roots(project.folder))
            except BagtagError:
                continue
    return None


def show_archive(project: Project, archive: Path) -> None:
    """Open the Insights page with an archive."""
    remember(project, archive=str(archive), source="archive")
    st.session_state[_SOURCE] = "archive"
    st.session_state.pop(_MODEL, None)
    go_to("insights")


def _choose_model(archive: Path) -> str:
    models = models_of(archive)
    if len(models) == 1:
        return models[0]
    if st.session_state.get(_MODEL) not in models:
        st.session_state.pop(_MODEL, None)
    chosen: str = st.selectbox("Model", models, key=_MODEL, help="Several models were applied to this archive.")
    return chosen


def _project_source(project: Project) -> Detections:
    kept, key, revision = _kept(), str(project.folder), project.revision
    with kept.lock:
        found = kept.projects.get(key)
    if found is None or found[0] != revision:
        found = (revision, open_source(project=project))
        with kept.lock:
            kept.projects = {**dict(list(kept.projects.items())[-3:]), key: found}
    return found[1]


def _archive_source(archive: Path, model_id: str) -> Detections | None:
    kept, key = _kept(), (os.path.realpath(archive), model_id)
    with kept.lock:
        found = kept.archives.get(key)
        reading = kept.readings.get(key)
    if found is not None and time.monotonic() - found[0] < _FRESH_SECONDS:
        return found[1]
    if reading is not None and not reading.over:
        _reading_progress(key)
        return None
    if reading is not None and reading.source is not None:
        with kept.lock:
            kept.readings.pop(key, None)
        return _keep(key, reading.source)
    if reading is not None and reading.problem:
        with kept.lock:
            kept.readings.pop(key, None)
        raise BagtagError(reading.problem)
    if unread_results(archive, model_id) <= _READ_AT_ONCE:
        return _keep(key, open_source(archive=archive, model_id=model_id))
    _start_reading(archive, key)
    _reading_progress(key)
    return None


def _keep(key: tuple[str, str], source: Detections) -> Detections:
    kept = _kept()
    with kept.lock:
        kept.archives = {**dict(list(kept.archives.items())[-3:]), key: (time.monotonic(), source)}
    return source


def _start_reading(archive: Path, key: tuple[str, str]) -> None:
    kept, reading = _kept(), _Reading()
    with kept.lock:
        if key in kept.readings:
            return
        kept.readings[key] = reading

    def read() -> None:
        try:
            reading.source = open_source(archive=archive, model_id=key[1], progress=reading.report)
        except Stopped:
            with kept.lock:
                kept.readings.pop(key, None)
            raise

    reading.start(read, failure="The archive could not be read")


@st.fragment
@show_errors()
def _reading_progress(key: tuple[str, str]) -> None:
    """Show how far the reading of an archive is, and the way to it once it is done."""
    reading = _kept().readings.get(key)
    if reading is not None:
        follow_work(reading, "reading")
    if reading is None or reading.over:
        st.button(
            "Show the archive",
            key="insights.show",
            icon=":material/visibility:",
            type="primary",
            on_click=_show_archive,
        )
        return
    st.progress(
        reading.share, text=f"Reading the archive (only the first time) {time_left(reading.seconds_left)}".strip()
    )
    st.button("Stop", key="insights.stop", icon=":material/stop:", on_click=reading.end)


def _show_archive() -> None:
    st.rerun()  # the button is part of a fragment, and the plots are outside it
