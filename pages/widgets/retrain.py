"""Train again from what was corrected, without leaving the review."""

from __future__ import annotations

import streamlit as st

from miml_core.project import Project
from pages.widgets.errors import attempt, show_errors
from pages.widgets.text import count
from pages.widgets.training.train_form import start_training


@st.fragment(run_every=2.0)
def retrain_button(project: Project) -> None:
    """Start a training in the background; the canvas takes the new predictions without moving."""
    with show_errors():
        run = project.current_run()
        training = any(job.kind == "train" for job in project.jobs(active=True))
        new = run.n_corrections_since + run.n_tags_since if run else 0
        st.button(
            "Training …" if training else "Retrain",
            icon=":material/model_training:",
            disabled=training,
            type="primary" if new and not training else "secondary",
            help="Learns from everything said so far, in the background: go on reviewing meanwhile.",
            width="stretch",
            key="review.retrain",
            on_click=attempt,
            args=(start_training, project),
        )
        if new:
            st.caption(f"{count(new, 'new answer')} since the model was trained.")
