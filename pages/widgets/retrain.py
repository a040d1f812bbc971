"""Train again from what was corrected, without leaving the review."""

from __future__ import annotations

import streamlit as st

from miml_core.project import Project
from pages.widgets.sure_button import sure_button
from pages.widgets.train_form import start_training
from pages.widgets.words import count


def retrain_button(project: Project) -> None:
    """Starts in the background; the canvas takes the new predictions without moving."""
    run = project.current_run()
    training = any(job.kind == "train" for job in project.jobs(active=True))
    new = run.n_corrections_since + run.n_tags_since if run else 0
    sure_button(
        "Training …" if training else "Retrain",
        lambda: start_training(project),
        icon=":material/model_training:",
        disabled=training,
        type="primary" if new and not training else "secondary",
        help="Learns from everything said so far, in the background: go on reviewing meanwhile.",
        width="stretch",
        key="review.retrain",
    )
    if new:
        st.caption(f"{count(new, 'new answer')} since the model was trained.")
