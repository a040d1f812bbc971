"""The training that runs now: curves, estimate, buttons to stop it."""

from __future__ import annotations

import streamlit as st

from miml_core.project import Job, Project
from miml_core.project.job_params import STOP_EARLY
from pages.widgets import charts, model_words
from pages.widgets.guard import attempt
from pages.widgets.words import plain, time_left


def live_training(project: Project) -> None:
    """Show the curves of the training that runs; nothing while none does."""
    job = _training(project)
    if job is None:
        return
    with st.container(border=True, key="live-training"):
        name = model_words.title(job.params.get("model", model_words.DEFAULT))
        st.markdown(f"**Training: {name}**")
        st.progress(job.share, text=_sentence(job))
        charts.curves(job.info.get("curves", {}), key=f"live.{job.id}")
        _ways_to_stop(project, job)


def _ways_to_stop(project: Project, job: Job) -> None:
    stopping = job.cancelling or _wants_no_more(job)
    with st.container(horizontal=True, gap="small"):
        st.button(
            "Stop and keep what it has learned so far",
            icon=":material/stop_circle:",
            help="Ends the training now; its run is kept, marked as stopped early, and its predictions are shown.",
            key="live.keep",
            disabled=stopping or job.state == "queued",
            on_click=attempt,
            args=(project.stop_job_early, job.id),
        )
        st.button(
            "Cancel",
            icon=":material/close:",
            type="tertiary",
            help="Throws this training away; the run before it stays in place.",
            key="live.cancel",
            disabled=job.cancelling,
            on_click=attempt,
            args=(project.cancel_job, job.id),
        )


def _wants_no_more(job: Job) -> bool:
    return bool(job.params.get(STOP_EARLY))


def _training(project: Project) -> Job | None:
    return next((job for job in project.jobs(active=True) if job.kind == "train"), None)


def _sentence(job: Job) -> str:
    if job.cancelling:
        return "Cancelling …"
    if _wants_no_more(job):
        return "Stopping: keeps what it has learned, then predicts"
    if job.state == "queued":
        return "Waiting for its turn"
    phase = "" if job.message in ("training", "starting") else plain(job.message)
    step = f"step {job.done} of at most {job.of}" if job.of else "getting ready"
    return " · ".join(part for part in (phase, step, time_left(job.seconds_left)) if part)
