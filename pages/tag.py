"""Tag: one bag after another, fast by keyboard."""

import streamlit as st

from pages.widgets.app.session import the_project
from pages.widgets.canvas import canvas
from pages.widgets.current_bag import current_bag, look_at
from pages.widgets.errors import show_errors
from pages.widgets.guidance import empty_state, hint
from pages.widgets.tag_queue import choose_bags
from pages.widgets.text import count, thousands
from pages.widgets.why_tagged import why_these_tags

project = the_project()


@st.fragment
@show_errors()
def tag_editor(bags: list[int], play: bool) -> None:
    """The canvas with its tags: what happens there runs only this."""
    state = canvas(
        project,
        current_bag(project, bags),
        mode="tag",
        queue=bags,
        autoplay=play,
        height=300,
        around=400,
        key="tag.canvas",
    )
    look_at(project, state.bag_id)
    why_these_tags(project, state.bag_id)
    progress = project.progress()
    done = progress.n_finished / progress.n_bags
    st.progress(done, text=f"{thousands(progress.n_finished)} of {count(progress.n_bags, 'bag')} finished")


with show_errors():
    hint(
        project,
        "tag",
        f"Say what can be {'heard' if project.kind == 'sound' else 'seen'}, not where: type **/** and a few letters, "
        "or the tag's number. **Enter** finishes the bag and brings the next; **0** means nothing here; **U** means "
        "you are not sure about the rest.",
    )
    bags, play = choose_bags(project)
    if bags:
        tag_editor(bags, play)
    elif project.progress().n_bags:
        empty_state(
            "Every bag is finished",
            "Look at all of them above, or train a model.",
            icon="done_all",
            page="train.py",
            link="Train a model",
        )
    else:
        empty_state(
            "There is nothing to tag yet",
            "Add recordings or pictures first.",
            icon="sell",
            page="library.py",
            link="Library",
        )
