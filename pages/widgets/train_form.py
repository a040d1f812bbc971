"""Choose a model and start a training."""

from __future__ import annotations

from typing import Any

import streamlit as st

from miml_core import BagtagError
from miml_core.project import Project
from pages.widgets import model_words
from pages.widgets.expert_panel import chosen_parameters, expert_panel
from pages.widgets.guard import action_button
from pages.widgets.learning_from import not_enough


def train_form(project: Project) -> None:
    """The model with one sentence on it, its own parameters for those who know them, and the button."""
    model = st.selectbox(
        "Model", model_words.offered(), format_func=model_words.title, key="train.model", persist_state="session"
    )
    st.caption(model_words.sentence(model))
    with st.expander("For experts", icon=":material/tune:", key="train-experts"):
        expert_panel(model, key="train.params")
        with st.container(horizontal=True, vertical_alignment="bottom"):
            st.number_input("Seed", 0, 2**31 - 1, 0, 1, key="train.seed", help="The same seed gives the same run.")
            st.toggle(
                "Go on from the current run",
                value=True,
                key="train.warm",
                help="Starts where the current run ended, if it is of the same model: faster after a few corrections.",
            )
    training = any(job.kind == "train" for job in project.jobs(active=True))
    action_button(
        "Train again after this one" if training else "Start training",
        _start_as_shown,
        project,
        key="train.start",
        type="primary",
        icon=":material/model_training:",
    )


def _start_as_shown(project: Project) -> None:
    """Start a training with what the form holds now: the click may overtake the run that would draw it."""
    if missing := not_enough(project):
        raise BagtagError(missing)
    model = st.session_state["train.model"]
    start_training(
        project,
        model,
        chosen_parameters(model, key="train.params"),
        seed=int(st.session_state["train.seed"]),
        warm_start=st.session_state["train.warm"],
    )


def start_training(
    project: Project, model: str | None = None, params: dict[str, Any] | None = None, **more: Any
) -> None:
    """Queue a training; without a model, one like the current run (or the default)."""
    if model is None:
        run = project.current_run()
        model, params = (run.model, run.params) if run else (model_words.DEFAULT, {})
    project.start_job("train", {"model": model, "params": params or {}, **more})
