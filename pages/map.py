"""Map: all segments by similarity; select some to see them on the wall."""

import streamlit as st

from miml_core.project import Project
from pages.widgets.app.session import the_project
from pages.widgets.errors import show_errors
from pages.widgets.guidance import empty_state, hint
from pages.widgets.map.chart import choose_colours, choose_tool, map_chart
from pages.widgets.map.making import compute_button, map_progress, map_status
from pages.widgets.map.selection import map_selection
from pages.widgets.map.unnamed import unnamed_clusters


@st.fragment
@show_errors()
def segment_map(project: Project) -> None:
    """Show the map and what can be done with a part of it."""
    segments = project.similarity.map()
    if segments is None:
        return
    state = project.similarity.map_state(segments)
    clusters = project.similarity.unnamed(segments, state)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        colours, tool = choose_colours(project), choose_tool()
        map_status(project, segments, state)
    with st.container(key="map-body"):
        chart, beside = st.columns([7, 2], gap="medium")
        with chart:
            map_chart(project, segments, state, clusters, colours, tool)
        with beside:
            map_selection(project)
            unnamed_clusters(project, clusters)


with show_errors():
    project = the_project()
    progress = project.progress()
    if progress.n_segments == 0:
        empty_state(
            "There is nothing to map yet",
            "Detect segments first: each becomes a point, and similar segments are close together.",
            icon="bubble_chart",
            page="segment.py",
            link="Segment",
        )
    elif project.similarity.map() is None:
        empty_state(
            "There is no map yet",
            "Every segment becomes a point, and similar segments are close together. Select a part of the map to see "
            "it on the wall. The map of 10 000 segments takes about a minute; you can go on working meanwhile.",
            icon="bubble_chart",
        )
        compute_button(project, "Compute the map", primary=True)
        map_progress(project)
    else:
        hint(
            project,
            "map",
            "Similar segments are close together. Click one to see and open it, or draw around some to see them on the "
            "wall. Red outlines mark clusters that the tags do not explain.",
        )
        segment_map(project)
