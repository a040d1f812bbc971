"""The strip at the foot of every page: what works in the background, how long it will take, and a way to stop it.

It polls, so a reload, another tab or a restarted server shows the same work. When something ends the page is run once
more, so that tables and counts are up to date. Work that another computer or another copy of the project queued is
listed, and starts only when a person says so.
"""

from __future__ import annotations

import streamlit as st

from miml_core import BagtagError, kernels
from miml_core.project import Job, Project
from pages.widgets.guard import attempt, told
from pages.widgets.run_again import run_again
from pages.widgets.sure_button import sure_button
from pages.widgets.words import JOB_TITLES, count, plain, time_left

_BUSY_SECONDS = 1.0
_IDLE_SECONDS = 4.0
_WATCHED = "jobs.watched"
_OVER = "jobs.over"
_REFUSED = "jobs.refused"
_MOST_STOPPED = 3
_STOPPING = {
    False: "What is finished is kept.",
    True: "Throws this training away; the page Train also offers to keep what it has learned so far.",
}


def job_strip(project: Project) -> None:
    """Draw the strip and keep it up to date; while there is nothing to show it takes no room."""
    busy = bool(project.jobs(active=True) or st.session_state.get(_OVER))
    with st.bottom if busy or project.stopped_jobs(limit=1) else st.container():
        st.fragment(_strip, run_every=_BUSY_SECONDS if busy else _IDLE_SECONDS)(project)


def _strip(project: Project) -> None:
    with told():
        active = project.jobs(active=True)
        if _news(project, active):
            run_again()
        for job in active:
            _working(project, job)
        if active and (compiling := kernels.compilation()) is not None:
            st.caption(
                "Once after an installation, numeric routines are compiled; work may wait for them. "
                f"{compiling.done} of {compiling.of} are ready."
            )
        for job_id in list(st.session_state.get(_OVER, [])):
            _over(project, project.job(job_id))
        stopped = project.stopped_jobs(limit=_MOST_STOPPED + 1)
        for job in stopped[:_MOST_STOPPED]:
            _stopped(project, job)
        if len(stopped) > _MOST_STOPPED:
            st.caption("There are more of these.")


def _news(project: Project, active: list[Job]) -> bool:
    """Has a job begun or ended since the last look? Those that ended badly or partly stay on show."""
    now = {job.id for job in active}
    before: set[int] | None = st.session_state.get(_WATCHED)
    st.session_state[_WATCHED] = now
    if before is None or before == now:
        return False
    for job_id in before - now:
        job = project.job(job_id)
        if job.state == "done" and not job.n_failures:
            st.toast(f"{_title(job)}: done.", icon=":material/check_circle:")
        elif job.state not in ("cancelled", "stopped") or job.n_failures:
            st.session_state.setdefault(_OVER, []).append(job_id)
    return True


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
            args=(project.cancel_job, job.id),
        )


def _sentence(job: Job) -> str:
    if job.cancelling:
        return f"{_title(job)}: stopping …"
    if job.state == "queued":
        return f"{_title(job)}: waiting for its turn"
    parts = [f"**{_title(job)}**"]
    if job.of > 1:
        parts.append(f"{job.done} of {job.of}")
    if job.message and job.message.casefold() != _title(job).casefold():
        parts.append(plain(job.message))
    if left := time_left(job.seconds_left):
        parts.append(left)
    return " · ".join(parts)


def _over(project: Project, job: Job) -> None:
    """One line on work that did not go smoothly, with what failed and a way to go on."""
    with st.container(key=f"job-over-{job.id}", horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(f":material/warning: {_ending(job)}", width="stretch")
        with st.popover("Details", icon=":material/list:"):
            _details(project, job)
        if job.state != "done":
            st.button(
                "Go on", key=f"job-again-{job.id}", icon=":material/replay:", on_click=_again, args=(project, job)
            )
        st.button("Dismiss", key=f"job-dismiss-{job.id}", type="tertiary", on_click=_dismiss, args=(job.id,))


def _ending(job: Job) -> str:
    title = _title(job)
    failed = count(job.n_failures, "item")
    if job.state == "done":
        return f"**{title}** is done, but {failed} could not be dealt with."
    if job.state == "dead":
        return f"**{title}** ended without a word: its process is gone. What it had finished is kept."
    if job.state == "failed":
        return f"**{title}** failed: {plain(job.message)}"
    return f"**{title}** was stopped; {failed} could not be dealt with."


def _stopped(project: Project, job: Job) -> None:
    """One line on work that this computer did not ask for: what it would do, and a way to start or to remove it."""
    with st.container(key=f"job-stopped-{job.id}", horizontal=True, vertical_alignment="center", gap="small"):
        sentence = f":material/pause_circle: **{_title(job)}** was {plain(job.message)}."
        if refusal := st.session_state.get(_REFUSED, {}).get(job.id):
            sentence += f" :orange[It cannot start here: {plain(refusal)}]"
        st.markdown(sentence, width="stretch")
        with st.popover("Details", icon=":material/list:"):
            st.caption("What it would do:")
            st.json({"job": job.kind, **job.params})
        sure_button(
            "Start it here", lambda: _start_here(project, job), key=f"job-here-{job.id}", icon=":material/play_circle:"
        )
        sure_button(
            "Remove", lambda: project.cancel_job(job.id), key=f"job-remove-{job.id}", icon=":material/delete:"
        )


def _start_here(project: Project, job: Job) -> None:
    """What speaks against it stays beside the job: a message would be gone with the run that follows."""
    try:
        project.restart_job(job.id)
    except BagtagError as error:
        st.session_state.setdefault(_REFUSED, {})[job.id] = str(error)


def _title(job: Job) -> str:
    return JOB_TITLES.get(job.kind) or plain(job.kind)


def _details(project: Project, job: Job) -> None:
    failures = project.job_failures(job.id)
    if failures:
        rows = [{"What": failure.item, "Why": failure.reason} for failure in failures]
        st.dataframe(rows, hide_index=True, width=560)
    if log := project.job_log(job.id):
        st.code("\n".join(log[-40:]), language=None)
    if not failures and not log:
        st.caption("It left no message.")


def _again(project: Project, job: Job) -> None:
    attempt(project.restart_job, job.id)
    _dismiss(job.id)


def _dismiss(job_id: int) -> None:
    st.session_state[_OVER] = [other for other in st.session_state.get(_OVER, []) if other != job_id]
