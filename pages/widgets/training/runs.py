"""Trainings side by side, the one that runs, and which of them is shown."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from miml_core.project import Job, Project, Run
from miml_core.project.jobs.params import STOP_EARLY
from miml_core.project.learning.training_runs import STOPPED_EARLY
from pages.widgets.charts import learning_curves
from pages.widgets.errors import attempt, show_errors
from pages.widgets.follow import follow
from pages.widgets.guidance import empty_state
from pages.widgets.table_selection import picked_rows, selection_arguments
from pages.widgets.text import count, length_of_time, plain, time_left, when
from pages.widgets.training import model_descriptions

SCORES = {
    "sample": ("Accuracy", "Share of correct segments in a random sample (unbiased)"),
    "held_out_average_precision": (
        "New bags",
        "How well a model with the same settings ranks the tags of held-out bags (average precision, 1 is perfect): "
        "compares runs and models",
    ),
    "held_out_log_likelihood": (
        "Tags",
        "Mean log-likelihood of the tags of held-out bags under a model with the same settings (0 is perfect)",
    ),
    "objective": (
        "Objective",
        "What the training maximises; comparable between runs of one model on the same data only",
    ),
}
_STATES = {"training": "training", "done": "done", "failed": "failed", "cancelled": "cancelled"}


def outdated_text(run: Run) -> str | None:
    """Return what people have done since the run was trained, as a sentence; None when it is up to date."""
    since = []
    if run.n_corrections_since:
        since.append(count(run.n_corrections_since, "segment") + " checked")
    if run.n_tags_since:
        since.append(count(run.n_tags_since, "bag") + " tagged")
    if not since:
        return None
    return f"The current run is older than your work: since then {' and '.join(since)}. Train again to learn from that."


@st.fragment
def training_runs(project: Project) -> None:
    """Draw the training that runs and all earlier ones, and keep them up to date."""
    outdated, live, table, curves = st.container(), st.container(), st.container(), st.container()
    with show_errors():
        follow(project, "training-runs", steps=True)
        runs = project.runs.list()
        current = next((run for run in runs if run.current), None)
        if current is not None and (sentence := outdated_text(current)):
            outdated.warning(sentence, icon=":material/history:")
        with live:
            live_training(project)
        with table:
            if runs:
                _runs_table(project, runs)
            else:
                empty_state("No run yet", "Start a training; the first one takes seconds.", icon="model_training")
        if current is not None and current.curves:
            with curves:
                _curves_of(current)


def _curves_of(run: Run) -> None:
    fold = st.expander(
        f"Learning curves of run {run.id}", icon=":material/show_chart:", on_change="rerun", key="train.curves"
    )
    if fold.open:
        with fold:
            learning_curves(run.curves, key=f"run.{run.id}")


def _runs_table(project: Project, runs: list[Run]) -> None:
    """Draw the scores of all runs, the latest first; select one to make it current or to remove it."""
    picked = st.dataframe(
        pd.DataFrame([_row(project, run) for run in runs]),
        hide_index=True,
        on_select="rerun",
        selection_mode=("single-row", "single-cell"),
        placeholder="",
        height=min(35 * len(runs) + 38, 320),
        column_config=_columns(),
        alt="Trainings of this project",
        **selection_arguments("train.runs", [run.id for run in runs]),
    )
    rows = picked_rows(picked, len(runs))
    if rows:
        _chosen(project, runs[rows[0]])
    else:
        st.caption("Select a run to see its settings, to show its predictions or to remove it.")


def _row(project: Project, run: Run) -> dict[str, Any]:
    sample = project.review.sample_accuracy(run.id)
    scores = {**run.scores, **({} if sample.accuracy is None else {"sample": sample.accuracy})}
    return {
        "current": "shown" if run.current else "",
        "number": run.id,
        "model": model_descriptions.title(run.model),
        **{name: scores.get(name) for name in SCORES},
        "bags": run.n_bags,
        "checked": run.n_corrections,
        "when": when(run.started_at),
        "took": "" if run.seconds is None else length_of_time(run.seconds),
        "state": STOPPED_EARLY if run.message == STOPPED_EARLY else _STATES.get(run.state, run.state),
    }


def _columns() -> dict[str, Any]:
    config = st.column_config
    return {
        "current": config.TextColumn("", width=54),
        "number": config.NumberColumn("Run", width=44),
        "model": config.TextColumn("Model", width=152),
        "state": config.TextColumn("Status", width=100),
        "when": "Started",
        "took": config.TextColumn("Duration", width=76),
        "bags": config.NumberColumn("Bags", width=52),
        "checked": config.NumberColumn("Checked", help="Corrected and accepted segments it learnt from", width=72),
        **{
            name: config.NumberColumn(title, format="%.3f", help=description, width=78)
            for name, (title, description) in SCORES.items()
        },
    }


def _chosen(project: Project, run: Run) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            "Show this run's predictions",
            key=f"train.show.{run.id}",
            icon=":material/visibility:",
            disabled=run.current or run.state != "done",
            on_click=attempt,
            args=(project.runs.choose, run.id),
        )
        st.button(
            "Remove",
            key=f"train.remove.{run.id}",
            icon=":material/delete:",
            type="tertiary",
            disabled=run.current or run.state == "training",
            on_click=attempt,
            args=(project.runs.remove, run.id),
        )
        changed = ", ".join(f"{name} = {value}" for name, value in run.params.items())
        st.text(f"Run {run.id}: {changed or 'default settings'}")
    if run.message:
        st.text(run.message)


def live_training(project: Project) -> None:
    """Show the curves of the training that runs; nothing while none does."""
    job = _training(project)
    if job is None:
        return
    with st.container(border=True, key="live-training"):
        name = model_descriptions.title(job.params.get("model", model_descriptions.DEFAULT))
        st.markdown(f"**Training: {name}**")
        st.progress(job.share, text=_sentence(job))
        learning_curves(job.info.get("curves", {}), key=f"live.{job.id}")
        _ways_to_stop(project, job)


def _ways_to_stop(project: Project, job: Job) -> None:
    stopping = job.cancelling or _wants_no_more(job)
    with st.container(horizontal=True, gap="small"):
        st.button(
            "Stop and keep the result",
            icon=":material/stop_circle:",
            help="Ends the training now; its run is kept, marked as stopped early, and its predictions are shown.",
            key=f"live.keep.{job.id}",
            disabled=stopping or job.state == "queued",
            on_click=attempt,
            args=(project.jobs.stop_early, job.id),
        )
        st.button(
            "Cancel",
            icon=":material/close:",
            type="tertiary",
            help="Discards this training; the current run stays.",
            key=f"live.cancel.{job.id}",
            disabled=job.cancelling,
            on_click=attempt,
            args=(project.jobs.cancel, job.id),
        )


def _wants_no_more(job: Job) -> bool:
    return bool(job.params.get(STOP_EARLY))


def _training(project: Project) -> Job | None:
    return next((job for job in project.jobs.list(active=True) if job.kind == "train"), None)


def _sentence(job: Job) -> str:
    if job.cancelling:
        return "Cancelling …"
    if _wants_no_more(job):
        return "Stopping: keeps the result and predicts"
    if job.state == "queued":
        return "Queued"
    phase = "" if job.message in ("training", "starting") else plain(job.message)
    step = f"step {job.done} of at most {job.of}" if job.of else "preparing"
    return " · ".join(part for part in (phase, step, time_left(job.seconds_left)) if part)
