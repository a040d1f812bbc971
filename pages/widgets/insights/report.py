"""The report: made by a thread of the server, with progress, then saved by a click."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field

import streamlit as st

from miml_core import BagtagError
from miml_core.insights import Choice, Detections
from miml_core.insights.report import make_report
from miml_core.project import Project
from pages.widgets.errors import show_errors
from pages.widgets.insights.plots import Sun, file_name
from pages.widgets.start.background_work import BackgroundWork
from pages.widgets.text import plain, time_left

_WORK = "insights.report_work"
_WIDTH = 340
_log = logging.getLogger("bagtag.pages")


class _Stopped(Exception):
    """The person does not want to wait."""


@dataclass(kw_only=True)
class _Report(BackgroundWork):
    """A report in the making."""

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
        """Make it; what fails is kept as a sentence."""
        place = None if self.sun is None else self.sun.place
        clock = None if self.sun is None else self.sun.utc_offset
        try:
            text = make_report(
                self.source, self.choice, project=self.project, place=place, utc_offset=clock, progress=self._progress
            )
            self.content = text.encode()
        except _Stopped:
            pass
        except BagtagError as error:
            self.problem = str(error)
        except Exception:
            _log.exception("A report could not be made")
            self.problem = "The report could not be made; the details are in the terminal where Bagtag was started."
        finally:
            self.over = True

    def _progress(self, step: int, of: int, info: Mapping[str, float]) -> None:
        self.share = step / of if of else 1.0
        if self.stop:
            raise _Stopped


def report_button(project: Project, source: Detections, choice: Choice, sun: Sun | None) -> None:
    """Draw the menu in which a report is made and saved."""
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


@st.fragment(run_every=0.5)
def _watch_report(wanted: _Report) -> None:
    """Show how far the report is, then the button that saves it."""
    with show_errors():
        work: _Report | None = st.session_state.get(_WORK)
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
            st.progress(work.share, text=f"Making the report {time_left(work.seconds_left)}".strip())
            st.button("Stop", key="insights.report.stop", icon=":material/stop:", on_click=work.end)
        else:
            if work is not None and work.problem is not None:
                st.error(plain(work.problem), icon=":material/error:")
            st.button("Make the report", key="insights.report.make", type="primary", on_click=_begin, args=(wanted,))


def _begin(wanted: _Report) -> None:
    """Make a report; one that was stopped or failed is made again from the beginning."""
    work = _Report(project=wanted.project, source=wanted.source, choice=wanted.choice, sun=wanted.sun)
    work.subject = wanted.subject  # the project may have changed since its detections were read
    st.session_state[_WORK] = work
    threading.Thread(target=work.run, name="make report", daemon=True).start()
