"""The strip at the foot of every page: what works in the background, how long it will take, and a way to stop it.

A reload, another tab or a restarted server shows the same work. The strip never runs the page: parts of a page that
show background work follow it themselves, and on pages that are drawn once the strip offers to show what has changed.
Work that another computer or another copy of the project queued is listed, and starts only when a person says so.
"""

from __future__ import annotations

import streamlit as st

from miml_core import BagtagError, kernels
from miml_core.project import Job, Project
from pages.widgets.errors import attempt, show_errors
from pages.widgets.follow import follow
from pages.widgets.text import JOB_TITLES, count, plain, time_left

_WATCHED = "jobs.watched"
_OVER = "jobs.over"
_CHANGED = "jobs.changed"
_REFUSED = "jobs.refused"
_MOST_STOPPED = 3
_STOPPING = {
    False: "What is finished is kept.",
    True: "Discards this training. The Train page can stop it and keep the result so far.",
}


def job_strip(project: Project, *, drawn_once: bool) -> None:
    """Draw the strip and keep it up to date; while there is nothing to show it takes no space (`app.css`).

    On a page that is `drawn_once`, a button shows what work that ended since then has changed.
    """
    _note_ended(project, project.jobs.list(active=True))
    st.session_state.pop(_CHANGED, None)  # this run has just drawn it
    with st.bottom:
        _strip(project, drawn_once)


@st.fragment
@show_errors()
def _strip(project: Project, drawn_once: bool) -> None:
    """Draw all work, each part in a container of its own: details stay open while other work begins and ends."""
    follow(project, "job-strip", edits=False, steps=True)
    with st.container(key="job-strip"):
        changed, over, stopped, working = st.container(), st.container(), st.container(), st.container()
    active = project.jobs.list(active=True)
    _note_ended(project, active)
    if drawn_once and (titles := st.session_state.get(_CHANGED)):
        with changed:
            _offer_changes(titles)
    with over:
        for job_id in st.session_state.get(_OVER, []):
            _over(project, project.jobs.get(job_id))
    with stopped:
        queued_elsewhere = project.jobs.list_stopped(limit=_MOST_STOPPED + 1)
        for job in queued_elsewhere[:_MOST_STOPPED]:
            _stopped(project, job)
        if len(queued_elsewhere) > _MOST_STOPPED:
            st.caption("More jobs are waiting.")
    with working:
        for job in active:
            _working(project, job)
        if active and (compiling := kernels.compilation()) is not None:
            st.caption(
                "Once after an installation, numeric routines are compiled; work may wait for them. "
                f"{compiling.done} of {compiling.of} are ready."
            )


def _note_ended(project: Project, active: list[Job]) -> None:
    """Record the jobs that have ended since the last run; those that ended badly or partly stay listed."""
    now = {job.id for job in active}
    before: set[int] = st.session_state.get(_WATCHED, now)
    st.session_state[_WATCHED] = now
    for job_id in sorted(before - now):
        job = project.jobs.get(job_id)
        titles = st.session_state.setdefault(_CHANGED, [])
        if _title(job) not in titles:
            titles.append(_title(job))
        if job.state == "done" and not job.n_failures:
            st.toast(f"{_title(job)}: done.", icon=":material/check_circle:")
        elif job.state not in ("cancelled", "stopped") or job.n_failures:
            st.session_state.setdefault(_OVER, []).append(job_id)


def _offer_changes(titles: list[str]) -> None:
    with st.container(key="job-changes", horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(f":material/info: {', '.join(titles)}: ended after this page was loaded.", width="stretch")
        st.button("Show changes", key="job-show-changes", icon=":material/refresh:", on_click=st.rerun)


def _working(project: Project, job: Job) -> None:
    with st.container(key=f"job-{job.id}", horizontal=True, vertical_alignment="center", gap="small"):
        st.progress(job.share, text=_sentence(job))
        st.button(
            "Cancel" if job.kind == "train" else "Stop",
            key=f"job-stop-{job.id}",
            icon=":material/stop_circle:",
            disabled=job.cancelling,
            help=_STOPPING[job.kind == "train"],
            on_click=attempt,
            args=(project.jobs.cancel, job.id),
        )


def _sentence(job: Job) -> str:
    if job.cancelling:
        return f"{_title(job)}: stopping …"
    if job.state == "queued":
        return f"{_title(job)}: queued"
    parts = [f"**{_title(job)}**"]
    if job.of > 1 and job.kind != "apply":  # counts seconds of sound; its message has files and hours
        parts.append(f"{job.done} of {job.of}")
    if job.message and job.message.casefold() != _title(job).casefold():
        parts.append(plain(job.message))
    if left := time_left(job.seconds_left):
        parts.append(left)
    return " · ".join(parts)


def _over(project: Project, job: Job) -> None:
    """Draw one line on work that did not go smoothly, with what failed and a way to resume it."""
    with st.container(key=f"job-over-{job.id}", horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(f":material/warning: {_ending(job)}", width="stretch")
        with st.popover("Details", icon=":material/list:", key=f"job-details-{job.id}"):
            _details(project, job)
        if job.state != "done":
            st.button(
                "Resume", key=f"job-again-{job.id}", icon=":material/replay:", on_click=_again, args=(project, job)
            )
        st.button("Dismiss", key=f"job-dismiss-{job.id}", type="tertiary", on_click=_dismiss, args=(job.id,))


def _ending(job: Job) -> str:
    title = _title(job)
    failed = count(job.n_failures, "item")
    if job.state == "done":
        return f"**{title}** is done, but {failed} could not be processed."
    if job.state == "dead":
        return f"**{title}** stopped unexpectedly: its process ended. Finished work is kept; press Resume to continue."
    if job.state == "failed":
        return f"**{title}** failed: {plain(job.message)}"
    return f"**{title}** was stopped; {failed} could not be processed."


def _stopped(project: Project, job: Job) -> None:
    """Draw one line on work that was queued elsewhere: what it would do, and a way to start or to remove it."""
    with st.container(key=f"job-stopped-{job.id}", horizontal=True, vertical_alignment="center", gap="small"):
        sentence = f":material/pause_circle: **{_title(job)}** was {plain(job.message)}."
        if refusal := st.session_state.get(_REFUSED, {}).get(job.id):
            sentence += f" :orange[It cannot start here: {plain(refusal)}]"
        st.markdown(sentence, width="stretch")
        with st.popover("Details", icon=":material/list:", key=f"job-details-{job.id}"):
            st.caption("What it would do:")
            st.json({"job": job.kind, **job.params})
        st.button(
            "Start it here",
            key=f"job-here-{job.id}",
            icon=":material/play_circle:",
            on_click=_start_here,
            args=(project, job),
        )
        st.button(
            "Remove",
            key=f"job-remove-{job.id}",
            icon=":material/delete:",
            on_click=attempt,
            args=(project.jobs.cancel, job.id),
        )


def _start_here(project: Project, job: Job) -> None:
    """Start the job here; why it cannot start stays beside it."""
    try:
        project.jobs.restart(job.id)
    except BagtagError as error:
        st.session_state.setdefault(_REFUSED, {})[job.id] = str(error)


def _title(job: Job) -> str:
    return JOB_TITLES.get(job.kind) or plain(job.kind)


def _details(project: Project, job: Job) -> None:
    failures = project.jobs.failures(job.id)
    if failures:
        rows = [{"File or bag": failure.item, "Reason": failure.reason} for failure in failures]
        st.dataframe(rows, hide_index=True, width=560)
    if log := project.jobs.log(job.id):
        st.code("\n".join(log[-40:]), language=None)
    if not failures and not log:
        st.caption("There is no message.")


def _again(project: Project, job: Job) -> None:
    attempt(project.jobs.restart, job.id)
    _dismiss(job.id)


def _dismiss(job_id: int) -> None:
    st.session_state[_OVER] = [other for other in st.session_state.get(_OVER, []) if other != job_id]
