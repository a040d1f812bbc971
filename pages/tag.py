"""Tag: what can be heard or seen in each bag, by keyboard."""

import streamlit as st

from miml_core.project import Project
from pages.widgets.app.session import the_project
from pages.widgets.canvas import canvas
from pages.widgets.errors import show_errors
from pages.widgets.guidance import empty_state, hint
from pages.widgets.queues import choose_bags


@st.fragment
@show_errors()
def tag_editor(project: Project, queue: dict[str, str | int], autoplay: bool) -> None:
    """Show the canvas; a message from it runs only this."""
    canvas(project, mode="tag", queue=queue, autoplay=autoplay, height=300, around=370, key="tag.canvas")


with show_errors():
    project = the_project()
    if project.progress().n_bags:
        hint(
            project,
            "tag",
            f"Tag what can be {'heard' if project.kind == 'sound' else 'seen'}, not where: type **/** and a few "
            "letters, or the tag's number. **Enter** finishes the bag and opens the next; **0** means nothing here; "
            "**U** means you are not sure about the rest.",
        )
        queue, autoplay = choose_bags(project)
        tag_editor(project, queue, autoplay)
    else:
        empty_state(
            "There is nothing to tag yet",
            "Add recordings or pictures first.",
            icon="sell",
            page="library.py",
            link="Library",
        )
