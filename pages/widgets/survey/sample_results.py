"""Estimates for an archive from the answers to a sample: precision, thresholds, corrected counts."""

from __future__ import annotations

import streamlit as st

from miml_core.archive.estimate_tables import count_text, counts_csv, precision_csv, share_text
from miml_core.archive.sample_project import read_estimates
from miml_core.archive.sampling import ClassEstimates
from miml_core.project import Project
from miml_core.project.queries.review_queue import ARCHIVE_SAMPLE
from pages.widgets.charts import precision_chart
from pages.widgets.errors import attempt, show_errors
from pages.widgets.survey.sample_form import request_review
from pages.widgets.text import THIN_SPACE, count, percent, plain, thousands


def has_sample(project: Project) -> bool:
    """Return whether the project has a sample of an archive."""
    return project.get_preference(ARCHIVE_SAMPLE) is not None


@st.fragment
@show_errors()
def sample_results(project: Project) -> None:
    """Show the progress of the check, and the estimates from the answers so far."""
    found = read_estimates(project)
    answered, drawn = sum(one.answered for one in found), sum(one.drawn for one in found)
    record = project.get_preference(ARCHIVE_SAMPLE)
    st.caption(f"Of {plain(str(record['archive']))}, model {plain(str(record['model']))}, seed {record['seed']}.")
    with st.container(horizontal=True, vertical_alignment="center", key="survey-checked"):
        st.progress(answered / max(drawn, 1), text=f"{thousands(answered)} of {count(drawn, 'detection')} checked")
        st.button(
            "Open in Review",
            key="survey.check",
            icon=":material/fact_check:",
            type="primary" if answered < drawn else "secondary",
            on_click=attempt,
            args=(_open_review,),
        )
    if not answered:
        st.info("Check some detections: the results appear here.", icon=":material/info:")
        return
    with st.container():  # what is below keeps its place
        if answered < drawn:
            st.caption("Detections that are not checked yet count as if they had not been drawn.")
    wanted = st.number_input(
        "Target precision",
        0.5,
        0.999,
        0.9,
        0.01,
        key="survey.precision",
        width=180,
        help="The threshold is the lowest one at which the lower end of the interval is at least this.",
    )
    st.dataframe(
        [_row(one, wanted) for one in found],
        hide_index=True,
        column_config={
            "Correct": st.column_config.TextColumn(help="Correct detections of the class in the whole archive"),
            "Estimated total of the class": st.column_config.TextColumn(
                help="Detections that are of this class, those that the model calls another one included"
            ),
        },
        alt="Precision and corrected counts of each class",
    )
    _thresholds(found)
    _downloads(found, wanted)
    st.caption(
        "Values in brackets are 95 % intervals of a stratified sample: Jeffreys intervals of the strata, combined "
        "(Yan and Su 2010)."
    )


def _thresholds(found: list[ClassEstimates]) -> None:
    names = [one.class_name for one in found if one.answered]
    name = st.selectbox("Precision by threshold of", names, key="survey.class", width=260)
    shown = next((one for one in found if one.class_name == name), None)
    if shown is None:
        return
    chart, table = st.columns([3, 2], gap="medium")
    with chart:
        precision_chart(shown, key="survey.chart")
    with table:
        rows = [
            {"Threshold": low, "Detections": thousands(n), "Precision": share_text(precision)}
            for low, n, precision in shown.thresholds
        ]
        st.dataframe(rows, hide_index=True, alt="Precision by threshold")


def _downloads(found: list[ClassEstimates], wanted: float) -> None:
    with st.container(horizontal=True, key="survey-downloads"):
        for label, name, text in (
            ("Counts as CSV", "counts.csv", counts_csv(found, wanted)),
            ("Precision as CSV", "precision.csv", precision_csv(found)),
        ):
            st.download_button(
                label, text, name, "text/csv", icon=":material/download:", key=f"survey.{name}", on_click="ignore"
            )


def _open_review() -> None:
    request_review()
    st.rerun()  # the click runs only the results again


def _row(one: ClassEstimates, wanted: float) -> dict[str, object]:
    lowest = one.threshold_for(wanted)
    threshold = "" if not one.answered else "none" if lowest is None else f"{lowest:g}"
    return {
        "Class": one.class_name,
        "Detections": thousands(one.detections),
        "Checked": f"{one.answered} of {one.drawn}",
        "Precision": share_text(one.thresholds[0][2]),
        f"Threshold for {percent(wanted)}": threshold,
        "Correct": count_text(one.correct, THIN_SPACE),
        "Estimated total of the class": count_text(one.of_class, THIN_SPACE),
    }
