"""Draw a random sample of an archive's detections for review."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from miml_core import BagtagError
from miml_core.archive.reading import models_of
from miml_core.exchange.names import is_safe_name
from miml_core.project import Job, Project
from miml_core.project.queries.review_queue import ARCHIVE_SAMPLE
from pages.widgets.app.session import go_to, open_project
from pages.widgets.errors import action_button, attempt, show_errors
from pages.widgets.folders.folder_chooser import chosen_folder, folder_chooser
from pages.widgets.folders.paths import allowed_roots, inside
from pages.widgets.survey.archives import archives_of
from pages.widgets.text import plain

_SECONDS = 2.0
_HERE, _NEW = "here", "new"
_INTO = {_HERE: "This project", _NEW: "A new project"}
_MOST = 100_000


@st.fragment(run_every=_SECONDS)
@show_errors()
def draw_sample(project: Project) -> None:
    """Draw the form, or how far the drawing is, and the way to the review once it is done."""
    if not archives_of(project):
        st.caption(
            "After a model was applied: draw detections at random from each class and range of probability, check "
            "them, and get the precision at every threshold and corrected counts, with 95 % intervals."
        )
        return
    job = next((job for job in project.jobs.list(limit=50) if job.kind == "sample" and job.state != "stopped"), None)
    if job is not None and job.active:
        st.progress(job.share, text=plain(job.message))
        return
    if job is not None:
        _ended(project, job)
    if project.get_preference(ARCHIVE_SAMPLE) is None:
        _form(project)


def _ended(project: Project, job: Job) -> None:
    if job.state in ("failed", "dead"):
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
        open_project(inside(target, allowed_roots(project.folder)))
        go_to("review")
    else:
        request_review()
    st.rerun()


def request_review() -> None:
    """Let the next run of the app show the sample of this project on the Review page."""
    st.session_state["review.order"] = "archive"
    go_to("review")


def _form(project: Project) -> None:
    archives = archives_of(project)
    with st.container(horizontal=True, vertical_alignment="bottom", key="survey-sample"):
        st.selectbox("Archive", archives, key="survey.sampled", format_func=str, width=360)
        models = models_of(_archive(project))
        if len(models) > 1:
            st.selectbox("Model", models, index=_latest(project, models), key="survey.sampled_model", width=200)
        st.number_input("Detections per class", 1, _MOST, 50, key="survey.per_class", width=180)
        st.number_input("Seed", 0, 2**31 - 1, 0, key="survey.seed", width=140, help="The same seed draws the same.")
        st.segmented_control(
            "Into", list(_INTO), default=_HERE, required=True, format_func=_INTO.__getitem__, key="survey.into"
        )
    if st.session_state.get("survey.into") == _NEW:
        folder_chooser(
            "Project below", key="survey.check_parent", start=project.folder.parent, project_folder=project.folder
        )
        st.session_state.setdefault("survey.check_name", f"{project.folder.name}-check")
        st.text_input("Name of the project's folder", key="survey.check_name")
    action_button("Draw a sample", _start, project, key="survey.draw", icon=":material/casino:", type="primary")


def _latest(project: Project, models: list[str]) -> int:
    """Return the place of the model that was applied last."""
    applied = (job.params.get("model") for job in project.jobs.list(limit=200) if job.kind == "apply")
    return next((models.index(one) for one in applied if one in models), 0)


def _archive(project: Project) -> Path:
    archives = archives_of(project)
    chosen = st.session_state.get("survey.sampled")
    return chosen if chosen in archives else archives[0]


def _start(project: Project) -> None:
    """Start the job with what the form holds now."""
    state, archive = st.session_state, _archive(project)
    models = models_of(archive)
    chosen = state.get("survey.sampled_model")
    params = {
        "archive": str(archive),
        "model": chosen if chosen in models else models[_latest(project, models)],
        "per_class": int(state.get("survey.per_class") or 50),
        "seed": int(state.get("survey.seed") or 0),
        "project": None if state.get("survey.into", _HERE) == _HERE else str(_new_project(project)),
    }
    project.jobs.start("sample", params)


def _new_project(project: Project) -> Path:
    name = (st.session_state.get("survey.check_name") or "").strip()
    if not is_safe_name(name):
        raise BagtagError(f"{name!r} is not a name for a folder; choose another one.")
    return inside(chosen_folder("survey.check_parent", project.folder) / name, allowed_roots(project.folder))
