"""How much is checked, and how often the model was right."""

from __future__ import annotations

import streamlit as st

from miml_core.project import Project, SampleAccuracy
from pages.widgets.text import percent, thousands


def accuracy_panel(project: Project) -> None:
    """Done-count and accuracy with its interval: from the random sample if there is one, else from what was checked."""
    progress = project.progress()
    with st.container(horizontal=True, gap="medium"):
        st.metric("Checked", f"{thousands(progress.n_reviewed)} of {thousands(progress.n_segments)}", width="content")
        sample, checked = project.sample_accuracy(), project.checked_accuracy()
        if sample.n:
            st.metric("Accuracy", _share(sample), help=_honest(sample), width="content")
        elif checked.n:
            st.metric("Right so far", _share(checked), help=_pessimistic(checked), width="content")
    if sample.n:
        st.caption(f"{_interval(sample)} (95 %), from a random sample of {sample.n}.")
    elif not checked.n:
        st.caption("Nothing is checked yet of what this run says.")
    else:
        st.caption(f"{_interval(checked)} (95 %), of {checked.n} checked. The random sample gives an honest figure.")


def _share(figure: SampleAccuracy) -> str:
    return "–" if figure.accuracy is None else percent(figure.accuracy)


def _interval(figure: SampleAccuracy) -> str:
    return f"{percent(figure.low)} to {percent(figure.high)}"


def _honest(figure: SampleAccuracy) -> str:
    return f"{figure.n_right} of {figure.n} segments drawn by chance were predicted right by the current run."


def _pessimistic(figure: SampleAccuracy) -> str:
    return (
        f"{figure.n_right} of the {figure.n} segments checked since the current run were predicted right. "
        "Doubtful segments are offered first, so this is lower than the truth."
    )
