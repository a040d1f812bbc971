"""Wall: many segments of a class side by side; mark the wrong ones, accept the rest."""

import streamlit as st

from miml_core.project import Project
from pages.widgets.app.session import the_project
from pages.widgets.errors import show_errors
from pages.widgets.guidance import empty_state
from pages.widgets.wall.component import wall


@st.fragment
@show_errors()
def wall_of_segments(project: Project) -> None:
    """Show the wall; a message from it runs only this."""
    wall(project)


with show_errors():
    project = the_project()
    if project.runs.current() is None:
        empty_state(
            "There are no predictions to show yet",
            "Tag some bags and train a model: segments predicted as the same class are then shown side by side, so "
            "that you can check many at once.",
            icon="grid_view",
            page="train.py",
            link="Train a model",
        )
    else:
        wall_of_segments(project)
