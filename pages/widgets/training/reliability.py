"""How far predictions can be trusted: probabilities against checked segments, per class, and what a threshold means."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from miml_core.evaluation.reliability import expected_calibration_error, reliability
from miml_core.project import Project
from miml_core.project.queries.checked_predictions import CheckedPredictions
from miml_core.review.class_quality import Share, class_quality
from miml_core.review.threshold import FEWEST_CHECKED
from pages.widgets.charts import reliability_chart
from pages.widgets.errors import show_errors
from pages.widgets.text import class_names, count, percent
from pages.widgets.training.accept_above import accept_above, chosen_threshold

_ROW_HEIGHT = 35
_MOST_ROWS = 12.5
"""Half a row shows that there are more."""


@st.fragment
@show_errors()
def trust_in_predictions(project: Project) -> None:
    """Draw the reliability of the current run; a change of the threshold runs only this."""
    if project.runs.current() is None:
        return
    checked = project.review.checked_predictions()
    st.subheader("How reliable are the predictions?")
    if not len(checked):
        st.info(
            "No prediction has been checked by eye yet. Check segments in Review, best in the order *Random sample*: "
            "then you see here how often predictions of each probability are correct.",
            icon=":material/info:",
        )
        accept_above(project, checked, in_one_row=True)
        return
    st.markdown(_source(checked))
    diagram, threshold = st.columns([1, 1], gap="large")
    with threshold:
        accept_above(project, checked)
    with diagram:
        _summary(checked)
        reliability_chart(reliability(checked.probability, checked.right), chosen_threshold(), key="train.reliability")
    _class_table(project, checked)


def _source(checked: CheckedPredictions) -> str:
    """Return what the figures are from."""
    n = len(checked)
    which = "of the random sample" if checked.sampled else "that people checked, perhaps mostly uncertain ones"
    sentence = f"From {count(n, 'segment')} {which}"
    if checked.n_of_earlier_runs == n > 1:
        sentence += "; all of them were predicted by earlier runs"
    elif checked.n_of_earlier_runs:
        sentence += f"; {count(checked.n_of_earlier_runs, 'of them was', 'of them were')} predicted by earlier runs"
    if n < FEWEST_CHECKED:
        sentence += f". That is too few for a reliable estimate: check {FEWEST_CHECKED} or more"
    return sentence + "."


def _summary(checked: CheckedPredictions) -> None:
    all_right = Share.of(int(checked.right.sum()), len(checked))
    error = expected_calibration_error(checked.probability, checked.right)
    with st.container(horizontal=True, gap="medium"):
        st.metric(
            "Correct",
            percent(all_right.value or 0.0),
            help=f"95 % interval {percent(all_right.low)} to {percent(all_right.high)}",
            width="content",
        )
        st.metric(
            "Calibration error",
            f"{error:.2f}",
            help="Mean difference between probability and share of correct predictions (expected calibration error); "
            "0 is perfect, above 0.10 the probabilities are unreliable",
            width="content",
        )
        st.metric("Checked", count(len(checked), "segment"), width="content")


def _class_table(project: Project, checked: CheckedPredictions) -> None:
    """Draw precision and recall of every class; click a heading to sort."""
    classes = project.classes.list()
    names = class_names(classes)
    found = class_quality(checked.predicted, checked.labels)
    found.sort(key=lambda one: -one.precision.n - one.recall.n)
    rows = [
        {
            "class": names.get(one.class_id, "?"),
            "precision": _in_percent(one.precision),
            "precision_interval": _interval(one.precision),
            "predicted": one.precision.n,
            "recall": _in_percent(one.recall),
            "recall_interval": _interval(one.recall),
            "labelled": one.recall.n,
        }
        for one in found
    ]
    n_checked = len({one.id for one in classes} & {one.class_id for one in found})
    st.caption(_which_classes(n_checked, len(classes)))
    st.dataframe(
        pd.DataFrame(rows),
        hide_index=True,
        height=int(_ROW_HEIGHT * min(len(rows), _MOST_ROWS)) + 38,
        column_config=_columns(),
        placeholder="",
        key="train.classes",
        alt="Precision and recall of each class",
    )


def _which_classes(n: int, n_all: int) -> str:
    which = (
        "All classes have" if n == n_all else f"{n} of {count(n_all, 'class', 'classes')} {'has' if n == 1 else 'have'}"
    )
    return f"{which} checked segments; those with the most are on top. Click a heading to sort."


def _columns() -> dict[str, Any]:
    config = st.column_config
    share: dict[str, Any] = {"format": "%.0f %%", "min_value": 0, "max_value": 100}
    return {
        "class": config.TextColumn("Class", width="medium"),
        "precision": config.ProgressColumn(
            "Precision", help="Of the checked segments predicted as the class, the share that is of it", **share
        ),
        "precision_interval": config.TextColumn("95 %", width=90),
        "predicted": config.NumberColumn("Predicted", help="Checked segments predicted as the class", width=80),
        "recall": config.ProgressColumn(
            "Recall", help="Of the checked segments of the class, the share predicted as it", **share
        ),
        "recall_interval": config.TextColumn("95 %", width=90),
        "labelled": config.NumberColumn("Labelled", help="Checked segments of the class", width=80),
    }


def _in_percent(share: Share) -> float | None:
    return None if share.value is None else 100 * share.value


def _interval(share: Share) -> str:
    return f"{100 * share.low:.0f} – {100 * share.high:.0f} %" if share.n else ""
