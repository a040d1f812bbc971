"""Computing the map: the button, its progress, and whether the map is up to date."""

from __future__ import annotations

import streamlit as st

from miml_core.project import Job, Project
from miml_core.project.similarity.segment_map import MapState, SegmentMap
from pages.widgets.errors import attempt, show_errors
from pages.widgets.follow import follow
from pages.widgets.text import count, plain, thousands, when


def compute_button(project: Project, label: str, *, primary: bool = False) -> None:
    """Draw the button that starts the job."""
    st.button(
        label,
        key="map.compute",
        icon=":material/bubble_chart:",
        type="primary" if primary else "secondary",
        disabled=_job(project) is not None,
        on_click=attempt,
        args=(_compute, project),
    )


@st.fragment
@show_errors()
def map_progress(project: Project) -> None:
    """Show the progress of the first map, and the button that shows the map when it is computed."""
    follow(project, "map-progress", steps=True)
    job = _job(project)
    if job is not None:
        st.progress(job.share, text=plain(job.message))
    elif project.similarity.map() is not None:
        st.button("Show the map", key="map.show", icon=":material/visibility:", type="primary", on_click=st.rerun)


def map_status(project: Project, segments: SegmentMap, state: MapState) -> None:
    """Show the size and the age of the map, and a button that computes it again."""
    shown = count(int(state.live.sum()), "segment")
    if segments.n_all > len(segments.segment_ids):
        shown = f"A random sample: {shown} of {thousands(segments.n_all)}"
    sentence = f"{shown}, computed {when(segments.made_at)}."
    missing = project.progress().n_segments - segments.n_all
    if not segments.current:
        sentence += " Features have changed since."
    elif missing > 0:
        sentence += f" {count(missing, 'segment')} detected since."
    st.caption(sentence, width="stretch")
    compute_button(project, "Compute again")


def _compute(project: Project) -> None:
    if _job(project) is None:
        project.jobs.start("map", {})


def _job(project: Project) -> Job | None:
    return next((job for job in project.jobs.list(active=True) if job.kind == "map"), None)
