"""The training that runs now: curves, estimate, stop."""

from __future__ import annotations

import streamlit as st

from miml_core.project import Job, Project
from pages.widgets import charts, model_words
from pages.widgets.guard import attempt, told
from pages.widgets.run_again import run_again
from pages.widgets.words import time_left

_SECONDS = 1.0


def live_training(project: Project) -> None:
    """Nothing while nothing trains; else its curves, drawn anew every second."""
    if _training(project) is not None:
        st.fragment(_watch, run_every=_SECONDS)(project)


def _watch(project: Project) -> None:
    with told():
        job = _training(project)
        if job is None:
            run_again()
            return
        with st.container(border=True, key="live-training"):
            name = model_words.title(job.params.get("model", model_words.DEFAULT))
            st.markdown(f"**Training: {name}**")
            st.progress(job.share, text=_sentence(job))
            charts.curves(job.info.get("curves", {}), key=f"live.{job.id}")
            st.button(
                "Stop",
                icon=":material/stop_circle:",
                help="The run before it stays in place.",
                key="live.stop",
                disabled=job.cancelling,
                on_click=attempt,
                args=(project.cancel_job, job.id),
            )


def _training(project: Project) -> Job | None:
    return next((job for job in project.jobs(active=True) if job.kind == "train"), None)


def _sentence(job: Job) -> str:
    if job.cancelling:
        return "Stopping …"
    if job.state == "queued":
        return "Waiting for its turn"
    step = f"step {job.done} of at most {job.of}" if job.of else "getting ready"
    return " · ".join(part for part in (step, time_left(job.seconds_left)) if part)
