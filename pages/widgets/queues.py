"""Which bags and segments the canvas of the Tag and Review pages offers, and in which order."""

from __future__ import annotations

import streamlit as st

from miml_core.project import Project
from miml_core.project.services.review import QueueOrder
from pages.widgets.app.dialogs import dialog_button
from pages.widgets.choice import choose_one
from pages.widgets.errors import attempt
from pages.widgets.library.bag_list import SORTED
from pages.widgets.text import percent, thousands

_SHOWN = {"unfinished": "Not finished", "untagged": "Untagged", "all": "All", "tag conflicts": "Conflicts"}
ORDERS: dict[QueueOrder, str] = {
    "least_sure": "Least certain",
    "informative": "Most informative",
    "contradicts": "Contradicts tags",
    "newest": "Newest",
    "class": "By class",
    "random": "Random sample",
    "archive": "Archive sample",
    "conflicts": "Conflicts",
}
_EXPLAINED = {
    "least_sure": "Segments the model is least certain of: correcting these improves it most quickly.",
    "informative": "Segments whose labels are most informative for the model: those it has too few examples of, not "
    "those that are ambiguous to everyone.",
    "contradicts": "Without the tags, the model predicts a class that the bag is tagged as not having: "
    "a missed tag, or a mistake.",
    "newest": "The segments detected last.",
    "class": "All segments predicted as one class, the least certain first.",
    "random": "Segments drawn at random: checking these gives an unbiased accuracy.",
    "archive": "Detections drawn from an archive: checking these gives the precision there, and corrected counts.",
    "conflicts": "Two annotators labelled it differently. Press Enter to keep the label it has, or give it another.",
}


def choose_bags(project: Project) -> tuple[dict[str, str | int], bool]:
    """Show the choices of the Tag page; return the queue of the canvas, and whether sounds play when opened."""
    shown = {
        one: title for one, title in _SHOWN.items() if one != "tag conflicts" or project.review.count_conflicts()[0]
    }
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="tag-row"):
        show = choose_one("Show", shown, key="tag.show")
        sort = st.selectbox(
            "Sort by",
            list(SORTED),
            format_func=SORTED.__getitem__,
            key="tag.sort",
            persist_state="session",
            label_visibility="collapsed",
            width=200,
        )
        autoplay = False
        if project.kind == "sound":
            autoplay = st.toggle(
                "Autoplay", key="tag.play", persist_state="session", help="Play each recording when it is opened."
            )
        st.space("stretch")
        dialog_button("Classes", "classes", icon=":material/label:")
    return {"show": show, "sort": sort}, autoplay


def choose_order(project: Project) -> tuple[QueueOrder, int | None]:
    """Show the choices of the Review page; return the order and, in the order "By class", the class."""
    sizes = project.review.sizes()
    orders = [one for one in ORDERS if one not in ("informative", "archive", "conflicts") or one in sizes]
    if project.runs.current() is None:
        orders = ["conflicts"]
    if st.session_state.get("review.order") not in orders:
        first: QueueOrder = "archive" if sizes.get("archive") else "least_sure"
        st.session_state["review.order"] = first if first in orders else orders[0]
    titles = ORDERS if project.kind == "sound" else {**ORDERS, "class": "By class"}
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        chosen = st.segmented_control(
            "Order",
            orders,
            required=True,
            key="review.order",
            format_func=lambda one: _with_size(titles[one], sizes.get(one)),
            persist_state="session",
            label_visibility="collapsed",
        )
        order: QueueOrder = chosen or orders[0]
        class_id = _species(project) if order == "class" else None
        _threshold(project)
        st.caption(_EXPLAINED[order], width="stretch")
    return order, class_id


def _species(project: Project) -> int | None:
    names = {one.id: one.name for one in project.classes.list()}
    return st.selectbox(
        "Species",
        list(names),
        index=0 if names else None,
        format_func=lambda one: names.get(one, ""),
        key="review.species",
        persist_state="session",
        label_visibility="collapsed",
        width=220,
    )


def _threshold(project: Project) -> None:
    """Draw the control of the lowest probability at which predictions are shown as labels, in the whole project."""
    used, default = project.review.sure_from(), project.review.default_sure_from()
    with st.popover(f"Confidence threshold {percent(used)}", icon=":material/help_center:", key="review.sure"):
        st.caption(
            "A segment whose best guess is less probable is shown as “?” with its two best guesses, and accepting a "
            "whole bag leaves it open. Nothing is predicted again."
        )
        st.slider(
            "Show predictions as labels from",
            0,
            100,
            round(100 * used),
            format="%d %%",
            key="review.sure_from",
            on_change=_set_threshold,
            args=(project,),
        )
        st.button(
            f"Use the threshold of the model ({percent(default)})",
            key="review.sure_default",
            disabled=used == default,
            on_click=_reset_threshold,
            args=(project,),
        )


def _set_threshold(project: Project) -> None:
    attempt(project.review.set_sure_from, st.session_state["review.sure_from"] / 100)


def _reset_threshold(project: Project) -> None:
    attempt(project.review.set_sure_from, None)
    st.session_state["review.sure_from"] = round(100 * project.review.default_sure_from())


def _with_size(label: str, size: int | None) -> str:
    return label if size is None else f"{label} :small[{thousands(size)}]"
