"""Choose a model and start a training."""

from __future__ import annotations

from typing import Any

import streamlit as st

from miml_core.project import Project
from pages.widgets import model_words
from pages.widgets.expert_panel import expert_panel
from pages.widgets.sure_button import sure_button


def train_form(project: Project, *, ready: bool) -> None:
    """The model with one sentence on it, its own parameters for those who know them, and the button."""
    model = st.selectbox(
        "Model", model_words.offered(), format_func=model_words.title, key="train.model", persist_state="session"
    )
    st.caption(model_words.sentence(model))
    with st.expander("For experts", icon=":material/tune:"):
        params = expert_panel(model, key="train.params")
        with st.container(horizontal=True, vertical_alignment="bottom"):
            seed = st.number_input(
                "Seed", 0, 2**31 - 1, 0, 1, key="train.seed", help="The same seed gives the same run."
            )
            warm = st.toggle(
                "Go on from the current run",
                value=True,
                key="train.warm",
                help="Starts where the current run ended, if it is of the same model: faster after a few corrections.",
            )
    training = any(job.kind == "train" for job in project.jobs(active=True))
    label = "Train again after this one" if training else "Start training"
    sure_button(
        label,
        lambda: start_training(project, model, params, seed=int(seed), warm_start=warm),
        key="train.start",
        type="primary",
        icon=":material/model_training:",
        disabled=not ready,
    )


def start_training(
    project: Project, model: str | None = None, params: dict[str, Any] | None = None, **more: Any
) -> None:
    """Queue a training; without a model, one like the current run (or the default)."""
    if model is None:
        run = project.current_run()
        model, params = (run.model, run.params) if run else (model_words.DEFAULT, {})
    project.start_job("train", {"model": model, "params": params or {}, **more})
