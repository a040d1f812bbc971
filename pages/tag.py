"""Tag: one bag after another, fast by keyboard."""

import streamlit as st

from pages.widgets.canvas import canvas
from pages.widgets.current_bag import current_bag, look_at
from pages.widgets.empty import empty
from pages.widgets.guard import told
from pages.widgets.hints import hint
from pages.widgets.session import the_project
from pages.widgets.tag_queue import choose_bags
from pages.widgets.why_tagged import why_these_tags
from pages.widgets.words import count, thousands

project = the_project()


@st.fragment
@told()
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


with told():
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
        empty(
            "Every bag is finished",
            "Look at all of them above, or train a model.",
            icon="done_all",
            page="train.py",
            link="Train a model",
        )
    else:
        empty(
            "There is nothing to tag yet",
            "Add recordings or pictures first.",
            icon="sell",
            page="library.py",
            link="Library",
        )
