"""Apply segment settings to bags after saying what that would change, and learn the segmenter from people's edits."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import streamlit as st

from miml_core.project import Project, ResegmentPreview
from pages.widgets.errors import action_button, attempt, show_errors
from pages.widgets.segmentation.segment_settings import entered_settings, show_stored_settings
from pages.widgets.text import count, plain

if TYPE_CHECKING:
    from miml_core.instances import InstanceSettings

_TRIED_BAGS = 5
_LOST = "segment.lost"
_MOST_SHOWN = 12
_SCOPES = {"unreviewed": "To all unreviewed", "all": "To all"}
_HELP = (
    "Trains a segmenter on the segments that you drew, labelled or deleted. It can also detect fainter sounds. The "
    "preview on the right then shows the result; stored segments do not change until you apply it."
)


def apply_settings(project: Project, bag_id: int, entered: InstanceSettings) -> None:
    """Draw one row of buttons; each asks before it acts."""
    changed = entered != project.settings
    with st.container(horizontal=True, vertical_alignment="center", gap="small", width="content"):
        st.markdown("**Apply**", width="content")
        with _popover("To this bag", "this", ":material/crop_free:"):
            _ask(project, entered, bags=[bag_id], scope="all", key="this")
        for scope, label in _SCOPES.items():
            with _popover(label, scope, ":material/select_all:"):
                _ask(project, entered, bags=None, scope=scope, key=scope)
        if changed:
            st.button(
                "Reset",
                key="apply.back",
                icon=":material/undo:",
                type="tertiary",
                on_click=show_stored_settings,
            )
        behind = project.progress().n_bags - project.progress().n_segmented
        if behind and not changed:
            st.caption(f"{count(behind, 'bag')} not segmented with these settings yet.", width="content")


def _ask(project: Project, entered: InstanceSettings, *, bags: list[int] | None, scope: str, key: str) -> None:
    touched = project.segments.preview_resegment(bags, scope=scope)
    for sentence in consequences(touched):
        st.markdown(f"- {sentence}")
    if touched.n_at_risk:
        _show_lost_labels(project, entered, bags, scope, key)
    action_button(
        "Detect segments",
        _apply,
        project,
        bags,
        scope,
        key,
        key=f"apply.{key}",
        type="primary",
        disabled=not touched.n_bags,
    )


def _popover(label: str, name: str, icon: str) -> Any:
    return st.popover(label, icon=icon, key=_open_key(name), on_change="rerun")


def _open_key(name: str) -> str:
    return f"segment.apply-{name}"


def _apply(project: Project, bags: list[int] | None, scope: str, name: str) -> None:
    project.set_settings(entered_settings(project))
    project.jobs.start("segment", {"again": True, "scope": scope} if bags is None else {"again": True, "bags": bags})
    st.session_state[_open_key(name)] = False


def _show_lost_labels(
    project: Project, entered: InstanceSettings, bags: list[int] | None, scope: str, key: str
) -> None:
    """Try the settings on some bags with checked segments and name the labels that would go."""
    asked_for = (repr(entered), bags, scope, project.revision)
    st.button(
        "Show which labels",
        icon=":material/manage_search:",
        key=f"apply.which.{key}",
        on_click=attempt,
        args=(_find_lost, project, entered, bags, scope, asked_for),
    )
    tried_for, lost = st.session_state.get(_LOST, (None, []))
    if tried_for != asked_for:
        return
    where = "In this bag" if bags else f"In the first {_TRIED_BAGS} bags with checked segments"
    st.markdown(f"{where}, {count(len(lost), 'label')} would be lost{':' if lost else '.'}")
    for sentence in lost[:_MOST_SHOWN]:
        st.markdown(f"- {plain(sentence)}")


def _find_lost(
    project: Project, entered: InstanceSettings, bags: list[int] | None, scope: str, asked_for: tuple[Any, ...]
) -> None:
    lost = project.segments.preview_resegment(bags, scope=scope, try_bags=_TRIED_BAGS, settings=entered).lost
    st.session_state[_LOST] = (asked_for, lost)


def consequences(touched: ResegmentPreview) -> list[str]:
    """Return what detecting segments again does to people's work, in sentences."""
    if not touched.n_bags:
        return ["There is no bag this would apply to."]
    sentences = [f"Segments of {count(touched.n_bags, 'bag')} are detected again."]
    if touched.n_kept_as_drawn:
        sentences.append(f"{count(touched.n_kept_as_drawn, 'drawn or edited segment')} stay as they are.")
    if touched.n_at_risk:
        sentences.append(
            f":orange[**{count(touched.n_at_risk, 'checked segment')}**] detected automatically: a label stays where a "
            "new segment covers the old one by half, and is lost elsewhere."
        )
    else:
        sentences.append("No corrections are affected.")
    return sentences


def learn_segmenter(project: Project) -> None:
    """Draw the button that learns the segmenter, and one to go back; pictures have neither."""
    if project.kind == "sound":
        with st.container(width="content"):
            _learn_segmenter(project)


@st.fragment(run_every=2.0)
@show_errors()
def _learn_segmenter(project: Project) -> None:
    examples = project.segments.segmenter_examples()
    busy = any(job.kind == "learn-segmenter" for job in project.jobs.list(active=True))
    learned = project.settings.learned_segmenter is not None
    with st.container(horizontal=True, vertical_alignment="center", gap="small", width="content"):
        st.button(
            "Learn again from my edits" if learned else "Learn from my edits",
            key="segmenter.learn",
            icon=":material/school:",
            help=_HELP if examples.enough else f"{_HELP} {examples.sentence}",
            disabled=busy or not examples.enough,
            on_click=attempt,
            args=(project.jobs.start, "learn-segmenter"),
        )
        if learned:
            st.button(
                "Use the built-in segmenter",
                key="segmenter.builtin",
                icon=":material/undo:",
                type="tertiary",
                help="Detect what stands out from the background, without what was learnt from edits.",
                on_click=_forget,
                args=(project,),
            )
            st.caption(
                "Segments are detected by the segmenter learnt from your edits; these settings still apply.",
                width="content",
            )


def _forget(project: Project) -> None:
    attempt(project.set_settings, replace(project.settings, learned_segmenter=None))
    st.rerun()  # the preview is outside this fragment
