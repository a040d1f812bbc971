"""Counts of an archive beside what its checked sample says."""

from __future__ import annotations

import math

import pandas as pd
import streamlit as st

from miml_core.archive.sampling import Estimate
from miml_core.insights import Choice, Detections
from miml_core.insights.checks import checked_counts, sample_of
from miml_core.project import Project
from pages.widgets.text import thousands


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
            "precision": _share(one.precision),
            "from": one.threshold,
            "right": _count(one.right),
            "of_class": _count(one.of_class),
            "checked": f"{one.answered} of {one.drawn}",
        }
        for one in checked_counts(source, estimates, choice.threshold)
        if choice.class_name in (None, one.class_name)
    ]
    config = st.column_config
    columns = {
        "class": config.TextColumn("Class"),
        "counted": config.NumberColumn("Counted", help="Detections at the chosen probability, in the whole archive"),
        "precision": config.TextColumn("Precision", help="Share that is right, with its 95 % interval"),
        "from": config.NumberColumn("From", format="%.2f", help="Probability from which on the precision is estimated"),
        "right": config.TextColumn("Right", help="Corrected count: detections from there on that are right"),
        "of_class": config.TextColumn(
            "Really of the class", help="Of all detections, whatever the model calls them and however probable"
        ),
        "checked": config.TextColumn("Checked", help="Detections of the sample that were answered"),
    }
    st.dataframe(
        pd.DataFrame(rows, columns=list(columns)),
        hide_index=True,
        column_config=columns,
        height=min(38 + 35 * len(rows), 360),
        key="insights.checks",
        alt="Counts and precision of each class by the checked sample",
    )


def _share(found: Estimate) -> str:
    if math.isnan(found.value):
        return "no answers"
    return f"{100 * found.value:.0f} % ({100 * found.low:.0f} – {100 * found.high:.0f})"


def _count(found: Estimate) -> str:
    if math.isnan(found.value):
        return "no answers"
    low, high = (thousands(round(value)) for value in (found.low, found.high))
    return f"{thousands(round(found.value))} ({low} – {high})"
