"""The report: created in the background, with progress, then saved by a click."""

from __future__ import annotations

from dataclasses import dataclass, field

import streamlit as st

from miml_core.insights import Choice, Detections
from miml_core.insights.report import make_report
from miml_core.project import Project
from pages.widgets.background_work import BackgroundWork
from pages.widgets.errors import show_errors
from pages.widgets.follow import follow_work
from pages.widgets.insights.plots import Sun, file_name
from pages.widgets.text import plain, time_left

_WORK = "insights.report_work"
_WIDTH = 340


@dataclass(kw_only=True)
class _Report(BackgroundWork):
    """A report that is being created."""

    project: Project
    source: Detections
    choice: Choice
    sun: Sun | None
    content: bytes | None = None
    subject: tuple[object, ...] = field(init=False)
    """What it is of: another choice of the person makes it out of date."""

    def __post_init__(self) -> None:
        made_from = (
            self.project.revision if self.source.archive is None else (self.source.archive, self.source.model_id)
        )
        counted = (len(self.source.table), self.source.n_files)
        self.subject = (self.source.name, made_from, *counted, self.choice, self.sun)

    def run(self) -> None:
        """Create the report."""
        place = None if self.sun is None else self.sun.place
        clock = None if self.sun is None else self.sun.utc_offset
        text = make_report(
            self.source, self.choice, project=self.project, place=place, utc_offset=clock, progress=self.report
        )
        self.content = text.encode()


def report_button(project: Project, source: Detections, choice: Choice, sun: Sun | None) -> None:
    """Draw the menu in which a report is created and saved."""
    wanted = _Report(project=project, source=source, choice=choice, sun=sun)
    work: _Report | None = st.session_state.get(_WORK)
    if work is not None and work.subject != wanted.subject:
        work.end()
        st.session_state.pop(_WORK)
    with st.popover("Report", icon=":material/description:", key="insights-report"), st.container(width=_WIDTH):
        st.caption(
            "One HTML file with model, data, effort, calibration, checks and all plots of what is chosen here, for "
            "readers without Bagtag."
        )
        _watch_report(wanted)


@st.fragment
def _watch_report(wanted: _Report) -> None:
    """Show the progress of the report, then the button that saves it."""
    with show_errors():
        work: _Report | None = st.session_state.get(_WORK)
        if work is not None:
            follow_work(work, "report")
        if work is not None and work.content is not None:
            st.download_button(
                f"Save the report ({len(work.content) / 1e6:.1f} MB)",
                data=work.content,
                file_name=f"{file_name(work.source, work.choice, 'report')}.html",
                mime="text/html",
                key="insights.report",
                icon=":material/download:",
                type="primary",
                on_click="ignore",
            )
        elif work is not None and not work.over:
            st.progress(work.share, text=f"Creating the report {time_left(work.seconds_left)}".strip())
            st.button("Stop", key="insights.report.stop", icon=":material/stop:", on_click=work.end)
        else:
            if work is not None and work.problem is not None:
                st.error(plain(work.problem), icon=":material/error:")
            st.button("Create the report", key="insights.report.make", type="primary", on_click=_begin, args=(wanted,))


def _begin(wanted: _Report) -> None:
    """Start creating a report; one that was stopped or failed is created again from the beginning."""
    work = _Report(project=wanted.project, source=wanted.source, choice=wanted.choice, sun=wanted.sun)
    work.subject = wanted.subject  # the project may have changed since its detections were read
    st.session_state[_WORK] = work
    work.start(work.run, failure="The report could not be created")
