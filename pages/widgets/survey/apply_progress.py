"""The archive that the model is being applied into, or was last: progress, failures, stopping and continuing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import streamlit as st

from miml_core.archive.reading import read_failures
from miml_core.project import Job, Project
from miml_core.project.jobs.archive_targets import is_archive, known_archives
from pages.widgets.errors import attempt, show_errors
from pages.widgets.folders.reachable import NotReachable, call_with_timeout
from pages.widgets.follow import follow
from pages.widgets.guidance import empty_state
from pages.widgets.insights.source import remembered_archive, show_archive
from pages.widgets.text import count, percent, plain, thousands, time_left, when

_MOST_FAILURES = 1000
_ENDED = {
    "done": ":material/check_circle: Done",
    "cancelled": ":material/stop_circle: Stopped. What is finished is kept",
    "failed": ":material/warning: Failed",
    "dead": ":material/warning: Its process ended unexpectedly. What is finished is kept",
}


def active_job(project: Project) -> Job | None:
    """Return the job that applies a model now, or waits to."""
    return next((job for job in project.jobs.list(active=True) if job.kind == "apply"), None)


def archives_of(project: Project) -> list[Path]:
    """Return the archives that the user chose for the project; raises `NotReachable` if a disk does not respond."""
    return call_with_timeout(project.folder / "archives", lambda: known_archives(project.folder))


@st.fragment
@show_errors()
def latest_archive(project: Project) -> None:
    """Show the latest job, and keep it up to date."""
    follow(project, "latest-archive", steps=True, at_least_every=10.0)  # the archive may be on another disk
    job = next((job for job in project.jobs.list(limit=200) if job.kind == "apply" and job.state != "stopped"), None)
    if job is None:
        _no_job(project)
        return
    line, state, figures, failures = (st.container() for _ in range(4))  # what is open keeps its place
    archive = Path(str(job.params.get("archive", "")))
    with line:
        _archive_line(project, archive, can_show=not job.active and _is_readable(archive))
    with state:
        if job.active:
            _working(project, job)
        else:
            _ended(project, job)
    with figures:
        _figures(project, job)
    if not job.active:
        with failures:
            _failures(job)


def _is_readable(archive: Path) -> bool:
    """Return whether there are results, and their disk responds."""
    try:
        return call_with_timeout(archive, lambda: is_archive(archive))
    except (NotReachable, OSError):
        return False


def _no_job(project: Project) -> None:
    """Show the archive that the project has a sample of, or what will be here."""
    archive = call_with_timeout(project.folder / "archives", lambda: remembered_archive(project))
    if archive is not None and _is_readable(archive):
        _archive_line(project, archive, can_show=True)
        return
    amount = "files, hours" if project.kind == "sound" else "files"
    empty_state(
        "No archive yet",
        f"Here you will see {amount}, failures and the time left. You may close this tab meanwhile.",
        icon="database",
    )


def _archive_line(project: Project, archive: Path, *, can_show: bool) -> None:
    with st.container(horizontal=True, vertical_alignment="center", key="survey-archive"):
        st.markdown(f":material/database: {plain(str(archive))}", width="stretch")
        if can_show:
            st.button(
                "Show in Insights",
                key="survey.insights",
                icon=":material/insights:",
                on_click=attempt,
                args=(_show_in_insights, project, archive),
            )


def _show_in_insights(project: Project, archive: Path) -> None:
    show_archive(project, archive)
    st.rerun()  # the button is part of a fragment, and another page is a run of the whole app


def _working(project: Project, job: Job) -> None:
    with st.container(horizontal=True, vertical_alignment="center", key="survey-working"):
        st.progress(job.share, text=plain(_sentence(job)))
        st.button(
            "Stop",
            key=f"survey.stop.{job.id}",
            icon=":material/stop_circle:",
            disabled=job.cancelling,
            help="What is finished is kept.",
            on_click=attempt,
            args=(project.jobs.cancel, job.id),
        )
    dashboard = str(job.info.get("dashboard") or "")
    st.caption(f"Dask's dashboard: {plain(dashboard)}" if dashboard else "Starting Dask …")


def _sentence(job: Job) -> str:
    if job.cancelling:
        return "Stopping …"
    if job.state == "queued":
        return "Queued"
    if job.info.get("stage") != "applying":
        return job.message
    return " · ".join(part for part in (percent(job.share), time_left(job.seconds_left)) if part)


def _ended(project: Project, job: Job) -> None:
    reason = f": {plain(job.message)}" if job.state == "failed" else ""
    with st.container(horizontal=True, vertical_alignment="center", key="survey-ended"):
        st.markdown(f"{_ENDED.get(job.state, plain(job.state))}{reason}, {when(job.finished_at)}.", width="stretch")
        if job.state != "done":
            st.button(
                "Continue",
                key=f"survey.continue.{job.id}",
                icon=":material/play_arrow:",
                type="primary",
                on_click=attempt,
                args=(project.jobs.restart, job.id),
            )


def _figures(project: Project, job: Job) -> None:
    now: dict[str, Any] = {**job.info, **job.result}
    if "files" not in now:
        return
    with st.container(horizontal=True, gap="medium", key="survey-figures"):
        st.metric("Files", f"{thousands(int(now['files']))} of {thousands(int(now['of_files']))}", width="content")
        if project.kind == "sound":
            st.metric("Hours", f"{now['hours']:,.2f} of {now['of_hours']:,.2f}", width="content")
        st.metric("New segments", thousands(int(now["segments"])), width="content")
        st.metric("Failures", thousands(int(now["failed"])), width="content")


def _failures(job: Job) -> None:
    """List the files of the archive that could not be processed, those of earlier jobs included."""
    archive, model = Path(str(job.params.get("archive", ""))), job.params.get("model")
    if not isinstance(model, str) or not _is_readable(archive):
        return
    rows = _read_failures(archive, model, job.id)
    if not rows:
        return
    with st.expander(f"{count(len(rows), 'file')} could not be processed", key="survey-failures"):
        table = [{"File": file, "Reason": reason} for file, reason in rows[:_MOST_FAILURES]]
        st.dataframe(table, hide_index=True, height="content" if len(table) < 8 else 300)
        if len(rows) > _MOST_FAILURES:
            st.caption(f"The first {_MOST_FAILURES} of them; the table failures of the archive has all.")


@st.cache_data(max_entries=4, show_spinner=False)
def _read_failures(archive: Path, model: str, job_id: int) -> list[tuple[str, str]]:
    """Read them once per job."""
    return read_failures(archive, model)
