"""Review: check what the model predicts, correct it, train again."""

import streamlit as st

from miml_core.project import Project
from miml_core.project.services.review import QueueOrder
from pages.widgets.app.session import the_project
from pages.widgets.canvas import canvas
from pages.widgets.errors import show_errors
from pages.widgets.guidance import empty_state, hint
from pages.widgets.queues import choose_order


@st.fragment
@show_errors()
def review_editor(project: Project, order: QueueOrder, class_id: int | None) -> None:
    """Show the canvas; a message from it runs only this."""
    canvas(
        project,
        mode="review",
        queue={"order": order} if class_id is None else {"order": order, "class": class_id},
        sampled=order == "random",
        height=320,
        around=325,
        key="review.canvas",
    )


with show_errors():
    project = the_project()
    if project.runs.current() is None and not project.review.count_conflicts()[1]:
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
            f"Press **Enter** to accept a prediction and go on in the list, **1 – 9** to correct it "
            f"(**Shift+1 – 6**: one of its guesses), "
            f"{'**Space** to hear it, ' if project.kind == 'sound' else ''}**N** to leave it open. "
            "After a few corrections press *Retrain* and continue.",
        )
        order, class_id = choose_order(project)
        review_editor(project, order, class_id)
