"""The button that makes a report."""

from __future__ import annotations

import streamlit as st

from miml_core.insights import Choice, Detections
from miml_core.insights.report import make_report
from miml_core.project import Project
from pages.widgets.insights.plots import Sun, file_name


def report_button(project: Project, source: Detections, choice: Choice, sun: Sun | None) -> None:
    """Draw the button; the report is made when it is clicked, beside the page."""

    def make() -> bytes:
        place = None if sun is None else sun.place
        clock = None if sun is None else sun.utc_offset
        return make_report(source, choice, project=project, place=place, utc_offset=clock).encode()

    st.download_button(
        "Report",
        data=make,
        file_name=f"{file_name(source, choice, 'report')}.html",
        mime="text/html",
        key="insights.report",
        icon=":material/description:",
        on_click="ignore",
        help="One HTML file with model, data, effort, calibration, checks and all plots, for readers without Bagtag",
    )
