"""Insights: when, where and what was detected, beside how much was recorded."""

import streamlit as st

from miml_core.insights.effort import cells_text
from miml_core.insights.sun import clock_text
from miml_core.project import Project
from pages.widgets.app.session import the_project
from pages.widgets.errors import show_errors
from pages.widgets.guidance import empty_state, hint
from pages.widgets.insights.checks import show_checks
from pages.widgets.insights.filters import choose_detections
from pages.widgets.insights.listing import list_cell
from pages.widgets.insights.plots import choose_picture_format, choose_plot, choose_rates, draw_plot
from pages.widgets.insights.report import report_button
from pages.widgets.insights.source import choose_source
from pages.widgets.insights.sun import choose_sun, sun_text
from pages.widgets.text import count, plain, thousands


@st.fragment
@show_errors()
def insights(project: Project) -> None:
    """Show the plots of a source; a change runs only this."""
    row = st.container(horizontal=True, vertical_alignment="center", gap="small")
    source = choose_source(project, row)
    if source is None:
        return
    if not source.n_files or not len(source.effort_table):
        if source.archive is not None:
            empty_state(
                "The archive is empty",
                "No recording of it has been processed yet: apply a model to it first.",
                icon="database",
            )
        else:
            empty_state(
                "There is nothing to count yet",
                "Tag some bags and train a model: what it detects is shown here by time and place, beside how much was "
                "recorded.",
                icon="insights",
                page="train.py",
                link="Train a model",
            )
        return
    choice = choose_detections(project, source)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="insights-plots"):
        plot = choose_plot(source)
        choose_rates(plot, source)
        sun = choose_sun(project, source) if plot == "activity" else None
    with row:
        st.space("stretch")
        choose_picture_format()
        report_button(project, source, choice, sun)
    draw_plot(plot, source, choice, sun, lambda cell: list_cell(project, source, cell))
    checks = st.empty()  # always there, so that nothing of another source stays below
    if source.archive is not None:
        with checks.container():
            show_checks(project, source, choice)
    kind = "recording" if source.is_sound else "picture"
    sentences = [clock_text(source), sun_text(sun), *map(plain, source.notes)]
    if source.n_files_without_time:
        sentences.append(
            f"{thousands(source.n_files_without_time)} of {count(source.n_files, kind)} "
            f"{'has' if source.n_files_without_time == 1 else 'have'} no time: counted by class, site and probability, "
            "but not by date and hour."
        )
    st.caption(" ".join(one for one in sentences if one))


with show_errors():
    project = the_project()
    is_sound = project.kind == "sound"
    look = "hear" if is_sound else "see"
    hint(project, "insights", f"{cells_text(is_sound)} Click a cell to {look} what is in it.")
    insights(project)
