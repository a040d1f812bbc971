"""Counts of an archive beside the estimates from its checked sample."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from miml_core.archive.estimate_tables import count_text, share_text
from miml_core.insights import Choice, Detections
from miml_core.insights.checks import checked_counts, sample_of
from miml_core.project import Project
from pages.widgets.text import THIN_SPACE


def show_checks(project: Project, source: Detections, choice: Choice) -> None:
    """Draw the table of corrected counts, if the project has a sample of the archive."""
    estimates = sample_of(project, source)
    if estimates is None:
        st.caption(
            "Counts are those of the model. Draw a sample of the archive into a project (`bagtag sample`, or the "
            "Survey page) and check it: then precision and corrected counts are shown here."
        )
        return
    st.markdown("**Checked sample of the archive**")
    rows = [
        {
            "class": one.class_name,
            "counted": one.counted,
            "precision": share_text(one.precision),
            "threshold": one.threshold,
            "correct": count_text(one.right, THIN_SPACE),
            "of_class": count_text(one.of_class, THIN_SPACE),
            "checked": f"{one.answered} of {one.drawn}",
        }
        for one in checked_counts(source, estimates, choice.threshold)
        if choice.class_name in (None, one.class_name)
    ]
    config = st.column_config
    columns = {
        "class": config.TextColumn("Class"),
        "counted": config.NumberColumn("Counted", help="Detections at the chosen probability, in the whole archive"),
        "precision": config.TextColumn(
            "Precision", help="Share of the detections that is correct, with its 95 % interval"
        ),
        "threshold": config.NumberColumn(
            "Threshold", format="%.2f", help="Lowest probability for which the precision is estimated"
        ),
        "correct": config.TextColumn(
            "Correct", help="Corrected count: correct detections of at least this probability"
        ),
        "of_class": config.TextColumn(
            "Estimated total of the class",
            help="Detections that are of this class, whatever the predicted class and probability",
        ),
        "checked": config.TextColumn("Checked", help="Sampled detections that were reviewed"),
    }
    st.dataframe(
        pd.DataFrame(rows, columns=list(columns)),
        hide_index=True,
        column_config=columns,
        height=min(38 + 35 * len(rows), 360),
        key="insights.checks",
        alt="Counts and precision of each class by the checked sample",
    )
