"""Review: look at what the model says, correct it, see it get better."""

import streamlit as st

from miml_core.project.desk_learn import QueueOrder
from pages.widgets.accuracy import accuracy_panel
from pages.widgets.app.session import the_project
from pages.widgets.canvas import canvas
from pages.widgets.current_bag import look_at
from pages.widgets.errors import show_errors
from pages.widgets.guidance import empty_state, hint
from pages.widgets.retrain import retrain_button
from pages.widgets.review_queue import choose_order, goes_on, keep_place, place_in, review_items, top_up
from pages.widgets.segment_panel import segment_panel

project = the_project()


@st.fragment
@show_errors()
def review_editor(order: QueueOrder, class_id: int | None) -> None:
    """Canvas and side panel: what happens on the canvas runs only this."""
    items = review_items(project, order, class_id)
    bag_id, segment_id = place_in(items)
    picture, side = st.columns([7, 2], gap="small")
    with picture:
        state = canvas(
            project,
            bag_id,
            segment_id=segment_id,
            mode="review",
            queue=items,
            more=goes_on(items),
            sampled=order == "random",
            height=320,
            around=325,
            key="review.canvas",
        )
    with side:
        segment_panel(project, state.segment_id)
        accuracy_panel(project)
        retrain_button(project)
    look_at(project, state.bag_id)
    keep_place(state.bag_id, state.segment_id)
    top_up(project, order, class_id, items)


with show_errors():
    if project.current_run() is None:
        empty_state(
            "There is nothing to review yet",
            "Tag some bags and train a model: its predictions are reviewed here.",
            icon="fact_check",
            page="train.py",
            link="Train a model",
        )
    else:
        hint(
            project,
            "review",
            f"Press **Enter** to accept a prediction, **1 – 9** to correct it, "
            f"{'**Space** to hear it, ' if project.kind == 'sound' else ''}**N** for the next. "
            "After a few corrections press *Retrain* and go on.",
        )
        order, class_id = choose_order(project)
        if review_items(project, order, class_id):
            review_editor(order, class_id)
        else:
            empty_state("Nothing left in this list", "Choose another list above, or press *New list*.", icon="done_all")
