"""Draw a random sample of an archive's detections for review."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from miml_core import BagtagError
from miml_core.archive.reading import models_of
from miml_core.project import Job, Project
from miml_core.project.queries.review_queue import ARCHIVE_SAMPLE
from pages.widgets.app.session import go_to, open_project
from pages.widgets.errors import action_button, attempt, show_errors
from pages.widgets.folders.folder_chooser import chosen_folder, folder_chooser
from pages.widgets.folders.paths import allowed_path, allowed_roots, new_folder_below
from pages.widgets.folders.reachable import call_with_timeout
from pages.widgets.follow import follow
from pages.widgets.survey.apply_progress import archives_of
from pages.widgets.text import plain

_HERE, _NEW = "here", "new"
_INTO = {_HERE: "This project", _NEW: "A new project"}
_MOST = 100_000
_KNOWN = "survey.known_archives"


@st.fragment
@show_errors()
def draw_sample(project: Project) -> None:
    """Draw how far the drawing is, with the way to the review once it is done, and the form.

    The form is drawn again while a person fills it in. It stays in its place whatever the other part shows, and while a
    disk does not respond.
    """
    follow(project, "draw-sample", steps=True, at_least_every=5.0)  # models are added to the archive
    status, form = st.container(), st.container()
    job = None
    with status:
        known = _known_archives(project)
        with show_errors():
            job = _latest_job(project)
            if job is not None:
                _show_job(project, job)
    if known:
        with form:
            _form(project, known, busy=job is not None and job.active)


def _known_archives(project: Project) -> dict[Path, list[str]]:
    """Return the archives of the project, the chosen one with its models.

    If they cannot be read now, show why, and return what was read before.
    """
    folder, known = st.session_state.get(_KNOWN, ("", {}))
    if folder != str(project.folder):
        known = {}
    with show_errors():
        known = {archive: known.get(archive, []) for archive in archives_of(project)}
        if known:
            chosen = _chosen_archive(list(known))
            known[chosen] = _models_of(chosen)
        else:
            st.caption(
                "After a model was applied: draw detections at random from each class and range of probability, check "
                "them, and get the precision at every threshold and corrected counts, with 95 % intervals."
            )
    st.session_state[_KNOWN] = (str(project.folder), known)
    return known


def _models_of(archive: Path) -> list[str]:
    return call_with_timeout(archive, lambda: models_of(archive))


def _latest_job(project: Project) -> Job | None:
    return next((job for job in project.jobs.list(limit=50) if job.kind == "sample" and job.state != "stopped"), None)


def _show_job(project: Project, job: Job) -> None:
    if job.active:
        st.progress(job.share, text=plain(job.message))
    elif job.state in ("failed", "dead"):
        st.error(plain(job.message), icon=":material/error:")
    elif job.state == "done":
        target = Path(str(job.result.get("project", "")))
        with st.container(horizontal=True, vertical_alignment="center", key="survey-drawn"):
            st.markdown(f":material/check_circle: {plain(job.message)}, in {plain(str(target))}.", width="stretch")
            st.button(
                "Open in Review",
                key="survey.review",
                icon=":material/fact_check:",
                type="primary",
                on_click=attempt,
                args=(_open_review, project, target),
            )


def _open_review(project: Project, target: Path) -> None:
    if target != project.folder:
        open_project(allowed_path(target, allowed_roots(project.folder)))
        go_to("review")
    else:
        request_review()
    st.rerun()


def request_review() -> None:
    """Let the next run of the app show the sample of this project on the Review page."""
    st.session_state["review.order"] = "archive"
    go_to("review")


def _form(project: Project, known: dict[Path, list[str]], *, busy: bool) -> None:
    """Draw the form; what has been typed stays while the person is on the page."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="survey-sample"):
        archive = st.selectbox(
            "Archive", list(known), key="survey.sampled", format_func=str, width=360, persist_state="page"
        )
        model = st.container(width="content")  # always there: the fields after it stay in their places
        st.number_input("Detections per class", 1, _MOST, 50, key="survey.per_class", width=180, persist_state="page")
        st.number_input(
            "Seed",
            0,
            2**31 - 1,
            0,
            key="survey.seed",
            width=140,
            persist_state="page",
            help="The same seed draws the same detections.",
        )
        into = st.segmented_control(
            "Into",
            list(_INTO),
            default=_HERE,
            required=True,
            format_func=_INTO.__getitem__,
            key="survey.into",
            persist_state="page",
        )
    models = known.get(archive, [])
    if len(models) > 1:
        with model, show_errors():
            st.selectbox(
                "Model",
                models,
                index=_latest(project, models),
                key="survey.sampled_model",
                width=200,
                persist_state="page",
            )
    place = st.container()
    if into == _NEW:
        with place:
            _new_project_fields(project)
    action_button(
        "Draw a sample",
        _start,
        project,
        key="survey.draw",
        icon=":material/casino:",
        type="primary",
        disabled=busy or not models,
    )


def _new_project_fields(project: Project) -> None:
    with st.container(), show_errors():
        folder_chooser(
            "Create the project in",
            key="survey.check_parent",
            start=project.folder.parent,
            project_folder=project.folder,
        )
    st.text_input(
        "Name of the project's folder", f"{project.folder.name}-check", key="survey.check_name", persist_state="page"
    )


def _latest(project: Project, models: list[str]) -> int:
    """Return the place of the model that was applied last."""
    applied = (job.params.get("model") for job in project.jobs.list(limit=200) if job.kind == "apply")
    return next((models.index(one) for one in applied if one in models), 0)


def _chosen_archive(archives: list[Path]) -> Path:
    chosen = st.session_state.get("survey.sampled")
    return chosen if chosen in archives else archives[0]


def _start(project: Project) -> None:
    """Start the job with what the form holds now."""
    state, job = st.session_state, _latest_job(project)
    if job is not None and job.active:
        raise BagtagError("A sample is being drawn already; wait until it has ended.")
    into_here = state.get("survey.into", _HERE) == _HERE
    if into_here and project.get_preference(ARCHIVE_SAMPLE) is not None:
        raise BagtagError("This project has a sample of an archive already; draw another one into a new project.")
    archive = _chosen_archive(archives_of(project))
    models = _models_of(archive)
    chosen = state.get("survey.sampled_model")
    params = {
        "archive": str(archive),
        "model": chosen if chosen in models else models[_latest(project, models)],
        "per_class": int(state.get("survey.per_class") or 50),
        "seed": int(state.get("survey.seed") or 0),
        "project": None if into_here else str(_new_project(project)),
    }
    project.jobs.start("sample", params)


def _new_project(project: Project) -> Path:
    parent = chosen_folder("survey.check_parent", project.folder)
    name = st.session_state.get("survey.check_name") or ""
    return new_folder_below(parent, name, allowed_roots(project.folder))
