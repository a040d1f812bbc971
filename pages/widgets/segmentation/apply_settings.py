"""Apply segment settings to bags after saying what that would change, and learn the segmenter from people's edits."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import streamlit as st

from miml_core import BagtagError
from miml_core.project import Project, ResegmentPreview
from miml_core.project.errors import Gone
from pages.widgets.confirmation import ask, dismiss_question, pending_question
from pages.widgets.errors import action_button, attempt, show_errors
from pages.widgets.follow import follow
from pages.widgets.segmentation.segment_settings import entered_settings, show_stored_settings
from pages.widgets.text import count, plain

if TYPE_CHECKING:
    from miml_core.instances import InstanceSettings

_TRIED_BAGS = 5
_LOST = "segment.lost"
_THIS = "this"
_QUESTION = "segment.this-bag"
_LAPSED = "Another bag is on screen now, so nothing was applied. Open **To this bag** again for that one."
_MOST_SHOWN = 12
_SCOPES = {"unreviewed": "To all unreviewed", "all": "To all"}
_HELP = (
    "Trains a segmenter on the segments that you drew, labelled or deleted. It can also detect fainter sounds. The "
    "preview on the right then shows the result; stored segments do not change until you apply it."
)


def apply_settings(
    project: Project, bag_id: int, entered: InstanceSettings, on_screen: Callable[[], int | None]
) -> None:
    """Draw one row of buttons; each asks before it acts.

    Parameters
    ----------
    project
        The open project.
    bag_id
        The bag that "To this bag" is about.
    entered
        The settings to apply.
    on_screen
        Returns the bag on screen at the moment of a click, if the browser has reported one.
    """
    changed = entered != project.settings
    with st.container(horizontal=True, vertical_alignment="center", gap="small", width="content"):
        st.markdown("**Apply**", width="content")
        with suppress(Gone):  # somebody removed the bag: the preview shows that
            _to_this_bag(project, bag_id, entered, on_screen)
        for scope, label in _SCOPES.items():
            with st.popover(label, icon=":material/select_all:", key=_open_key(scope), on_change="rerun"):
                touched = project.segments.preview_resegment(scope=scope)
                _ask(project, entered, touched, consequences(touched), scope=scope, key=scope)
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


def _to_this_bag(project: Project, bag_id: int, entered: InstanceSettings, on_screen: Callable[[], int | None]) -> None:
    """Ask about the bag on screen; what was asked lapses when another bag is on screen."""
    if st.session_state.get(_open_key(_THIS)) and pending_question(_QUESTION, project, bag_id) is None:
        _lapse()
    name = project.bags.get(bag_id).name
    with st.popover(
        "To this bag",
        icon=":material/crop_free:",
        key=_open_key(_THIS),
        on_change=_note_opened,
        args=(project, bag_id, name),
    ):
        touched = project.segments.preview_resegment([bag_id])
        sentences = consequences(touched, f"**{plain(name)}**")
        # The key names the bag: a click is always meant for the one that is named beside the button.
        key = f"{_THIS}.{bag_id}"
        _ask(project, entered, touched, sentences, scope="all", key=key, bag_id=bag_id, on_screen=on_screen)


def _note_opened(project: Project, bag_id: int, name: str) -> None:
    if st.session_state[_open_key(_THIS)]:
        ask(_QUESTION, project, bag_id, name)
    else:
        dismiss_question(_QUESTION)


def _lapse() -> None:
    dismiss_question(_QUESTION)
    st.session_state[_open_key(_THIS)] = False
    st.toast(_LAPSED, icon=":material/error:", duration="long")


def _ask(
    project: Project,
    entered: InstanceSettings,
    touched: ResegmentPreview,
    sentences: list[str],
    *,
    scope: str,
    key: str,
    bag_id: int | None = None,
    on_screen: Callable[[], int | None] = lambda: None,
) -> None:
    for sentence in sentences:
        st.markdown(f"- {sentence}")
    if touched.n_at_risk:
        _show_lost_labels(project, entered, None if bag_id is None else [bag_id], scope, key)
    action_button(
        "Detect segments",
        _apply,
        project,
        entered,
        scope,
        bag_id,
        on_screen,
        key=f"apply.{key}",
        type="primary",
        disabled=not touched.n_bags,
    )


def _open_key(name: str) -> str:
    return f"segment.apply-{name}"


def _apply(
    project: Project, entered: InstanceSettings, scope: str, bag_id: int | None, on_screen: Callable[[], int | None]
) -> None:
    if bag_id is not None and on_screen() not in (None, bag_id):
        _lapse()
        return
    if entered_settings(project) != entered:
        raise BagtagError("The settings have changed, so nothing was done. Look at the preview and click again.")
    project.set_settings(entered)
    params = {"scope": scope} if bag_id is None else {"bags": [bag_id]}
    project.jobs.start("segment", {"again": True, **params})
    st.session_state[_open_key(scope if bag_id is None else _THIS)] = False


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


def consequences(touched: ResegmentPreview, bag: str | None = None) -> list[str]:
    """Return what detecting segments again (of the one `bag`, in Markdown) does to people's work, in sentences."""
    if not touched.n_bags:
        return ["There is no bag this would apply to."]
    sentences = [f"Segments of {bag or count(touched.n_bags, 'bag')} are detected again."]
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


@st.fragment
@show_errors()
def _learn_segmenter(project: Project) -> None:
    follow(project, "learn-segmenter")
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
