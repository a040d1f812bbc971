"""Choose a model and start a training, with what it would learn from and what would make it learn badly."""

from __future__ import annotations

import streamlit as st

from miml_core import BagtagError
from miml_core.project import Class, Project, ProjectCounts
from pages.widgets.errors import action_button, show_errors
from pages.widgets.follow import follow
from pages.widgets.text import count, plain, thousands
from pages.widgets.training import model_descriptions
from pages.widgets.training.model_parameters import chosen_parameters, parameter_controls

_MOST_NAMED = 6


def train_form(project: Project) -> None:
    """Draw the choice of a model with its description, its parameters, and the button that starts it."""
    model = st.selectbox(
        "Model",
        model_descriptions.offered(),
        format_func=model_descriptions.title,
        key="train.model",
        persist_state="session",
    )
    st.caption(model_descriptions.description(model))
    with st.expander("Advanced settings", icon=":material/tune:", key="train-experts"):
        parameter_controls(model, key="train.params")
        with st.container(horizontal=True, vertical_alignment="bottom"):
            st.number_input("Seed", 0, 2**31 - 1, 0, 1, key="train.seed", help="The same seed gives the same run.")
            st.toggle(
                "Start from the current run",
                value=True,
                key="train.warm",
                help="Begins where the current run of the same model ended: faster after a few corrections.",
            )
    training = any(job.kind == "train" for job in project.jobs.list(active=True))
    action_button(
        "Queue another training" if training else "Start training",
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
    params = {
        "model": model,
        "params": chosen_parameters(model, key="train.params"),
        "seed": int(st.session_state["train.seed"]),
        "warm_start": st.session_state["train.warm"],
    }
    project.jobs.start("train", params)


@st.fragment
def learning_from(project: Project) -> None:
    """Show counts and warnings, and keep them up to date."""
    with show_errors():
        follow(project, "learning-from")
        _learning_from(project)


def _used(project: Project) -> list[Class]:
    return [one for one in project.classes.list() if one.n_bags]


def _learning_from(project: Project) -> None:
    progress, used = project.progress(), _used(project)
    with st.container(horizontal=True, gap="medium"):
        st.metric("Tagged bags", thousands(progress.n_tagged), width="content")
        st.metric("Species", len(used), width="content")
        st.metric("Segments", thousands(progress.n_segments), width="content")
        st.metric("Checked segments", thousands(progress.n_reviewed), width="content")
    missing = not_enough(project)
    if missing:
        st.info(missing, icon=":material/info:")
        return
    for sentence in warnings(project, progress, used):
        st.markdown(f":orange[:material/warning:] {sentence}")


def not_enough(project: Project) -> str | None:
    """Return why a training cannot start yet, and what to do; None when it can."""
    progress = project.progress()
    if progress.n_bags == 0:
        return "There is nothing to learn from yet: add recordings or pictures on the Library page."
    if progress.n_segments == 0:
        return "No segments have been detected yet: detect them on the Segment page."
    if not _used(project):
        return "Nothing is tagged yet: tag some bags on the Tag page. A dozen is enough to begin."
    return None


def warnings(project: Project, progress: ProjectCounts, used: list[Class]) -> list[str]:
    """Return what a person may want to correct first; none of it prevents a training."""
    found = []
    if once := [one for one in used if one.n_bags == 1]:
        found.append(
            f"{_named(once)} {'is' if len(once) == 1 else 'are'} tagged in one bag only: "
            "tag more bags with it for reliable predictions."
        )
    silent = project.bags.list(show="empty", limit=_MOST_NAMED)
    tagged = [bag for bag in silent.bags if any(value > 0 for value in bag.tags.values())]
    if tagged:
        names = ", ".join(plain(bag.name) for bag in tagged[:3])
        more = " …" if len(tagged) > 3 else ""
        found.append(
            f"Tagged, but without segments: {names}{more}. Draw one, or detect segments with a higher sensitivity."
        )
    if progress.n_segmented < progress.n_bags:
        behind = count(progress.n_bags - progress.n_segmented, "bag")
        found.append(f"{behind} not segmented with the current settings.")
    if progress.n_missing:
        found.append(f"{count(progress.n_missing, 'file')} missing; their segments are still used.")
    if progress.n_changed:
        found.append(
            f"{count(progress.n_changed, 'file')} changed after being added; their segments are still used. "
            "The Library page shows what to do."
        )
    if progress.n_tagged < 10:
        found.append("Fewer than ten bags are tagged: enough for a first look, not for reliable counts.")
    return found


def _named(classes: list[Class]) -> str:
    names = ", ".join(plain(one.name) for one in classes[:_MOST_NAMED])
    return names + (f" and {len(classes) - _MOST_NAMED} more" if len(classes) > _MOST_NAMED else "")
