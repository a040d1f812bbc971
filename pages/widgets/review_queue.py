"""What to look at next, and in which order."""

from __future__ import annotations

import streamlit as st

from miml_core.project import Project
from miml_core.project.desk_learn import QueueOrder
from pages.widgets.current_bag import asked_bag
from pages.widgets.steady_queue import extend_queue, forget_queue, steady_queue
from pages.widgets.text import thousands

ORDERS: dict[QueueOrder, str] = {
    "least_sure": "Least sure",
    "informative": "Most informative",
    "contradicts": "Contradicts tags",
    "newest": "Newest",
    "class": "By species",
    "random": "Random sample",
}
_EXPLAINED = {
    "least_sure": "Segments of which the model is least sure: correcting these teaches it much.",
    "informative": "Segments whose label would teach the model most: those it cannot know yet, rather than those that "
    "are unclear for everybody.",
    "contradicts": "The model, not knowing the tags, hears something the bag is tagged as not having: "
    "a missed tag, or a mistake.",
    "newest": "The segments found last.",
    "class": "Everything predicted as one class, the most doubtful first.",
    "random": "Segments drawn by chance: checking these gives an honest accuracy.",
}
_NAME = "review"
_PLACE = "review.place"
_AT_ONCE = 100
_NEARLY_DONE = 15

Item = tuple[int, int | None]
"""(bag id, segment id)"""


def choose_order(project: Project) -> tuple[QueueOrder, int | None]:
    """The row that says which segments are offered; answers the order and, by species, the class."""
    sizes = project.queue_sizes()
    orders = [one for one in ORDERS if one != "informative" or one in sizes]
    if st.session_state.get("review.order") not in orders:
        st.session_state.pop("review.order", None)
    titles = ORDERS if project.kind == "sound" else {**ORDERS, "class": "By class"}
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        order = st.segmented_control(
            "Look at",
            orders,
            default="least_sure",
            required=True,
            key="review.order",
            format_func=lambda one: _with_size(titles[one], sizes.get(one)),
            persist_state="session",
            label_visibility="collapsed",
        )
        class_id = _species(project) if order == "class" else None
        st.button(
            "New list",
            icon=":material/refresh:",
            type="tertiary",
            help="Order the segments anew, with the predictions as they are now.",
            on_click=forget_queue,
            args=(_NAME,),
        )
        st.caption(_EXPLAINED[order], width="stretch")
    return order, class_id


def review_items(project: Project, order: QueueOrder, class_id: int | None) -> list[Item]:
    """The list of segments to work through."""
    choice = (str(project.folder), order, class_id)

    def make() -> list[Item]:
        st.session_state.pop(_PLACE, None)
        return _load(project, order, class_id, [])

    items = steady_queue(_NAME, choice, make)
    asked = asked_bag(project)
    if asked is not None:
        items.insert(0, (asked, None))
        keep_place(asked, None)
    return items


def goes_on(items: list[Item]) -> bool:
    """Is there more than has been fetched so far? It comes in batches, and the last one is not full."""
    return len(items) >= _AT_ONCE and len(items) % _AT_ONCE == 0


def place_in(items: list[Item]) -> Item:
    """Where the person is in the list: where they were, or at its first segment."""
    return st.session_state.get(_PLACE) or items[0]


def keep_place(bag_id: int, segment_id: int | None) -> None:
    """Remember it, for when they come back from another page."""
    st.session_state[_PLACE] = (bag_id, segment_id)


def top_up(project: Project, order: QueueOrder, class_id: int | None, items: list[Item]) -> None:
    """Fetch more before the list ends."""
    here = place_in(items)
    place = items.index(here) if here in items else 0
    if len(items) - place <= _NEARLY_DONE:
        extend_queue(_NAME, _load(project, order, class_id, items))


def _load(project: Project, order: QueueOrder, class_id: int | None, known: list[Item]) -> list[Item]:
    found = project.review_queue(
        order, class_id=class_id, limit=_AT_ONCE, exclude=[segment for _, segment in known if segment is not None]
    )
    return [(one.bag_id, one.segment_id) for one in found]


def _species(project: Project) -> int | None:
    names = {one.id: one.name for one in project.classes()}
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


def _with_size(label: str, size: int | None) -> str:
    return label if size is None else f"{label} :small[{thousands(size)}]"
