"""Making the map: the button, its progress, and whether the map is up to date."""

from __future__ import annotations

import streamlit as st

from miml_core.project import Job, Project
from miml_core.project.similarity.segment_map import MapState, SegmentMap
from pages.widgets.errors import attempt, show_errors
from pages.widgets.text import count, plain, thousands, when

_SECONDS = 1.0


def arrange_button(project: Project, label: str, *, primary: bool = False) -> None:
    """Draw the button that starts the job."""
    st.button(
        label,
        key="map.arrange",
        icon=":material/bubble_chart:",
        type="primary" if primary else "secondary",
        disabled=_job(project) is not None,
        on_click=attempt,
        args=(_arrange, project),
    )


@st.fragment(run_every=_SECONDS)
@show_errors()
def map_in_the_making(project: Project) -> None:
    """Show how far the first map is, and the way to it once it is there."""
    job = _job(project)
    if job is not None:
        st.progress(job.share, text=plain(job.message))
    elif project.similarity.map() is not None:
        st.button("Show the map", key="map.show", icon=":material/visibility:", type="primary", on_click=st.rerun)


def map_status(project: Project, segments: SegmentMap, state: MapState) -> None:
    """Say what the map shows, how old it is, and offer to arrange it again."""
    shown = count(int(state.live.sum()), "segment")
    if segments.n_all > len(segments.segment_ids):
        shown = f"A random sample: {shown} of {thousands(segments.n_all)}"
    sentence = f"{shown}, arranged {when(segments.made_at)}."
    missing = project.progress().n_segments - segments.n_all
    if not segments.current:
        sentence += " Features have changed since."
    elif missing > 0:
        sentence += f" {count(missing, 'segment')} found since."
    st.caption(sentence, width="stretch")
    arrange_button(project, "Arrange again")


def _arrange(project: Project) -> None:
    if _job(project) is None:
        project.jobs.start("map", {})


def _job(project: Project) -> Job | None:
    return next((job for job in project.jobs.list(active=True) if job.kind == "map"), None)
