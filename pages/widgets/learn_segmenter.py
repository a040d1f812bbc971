"""Learn the segmenter from what people kept, drew and deleted, and the way back."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from miml_core.project import Project
from pages.widgets.guard import attempt, told

_HELP = (
    "Learns from the segments that you drew, gave a class, deleted or called background which sounds to keep, also "
    "fainter ones. The right side then shows what it finds; nothing stored changes until you apply it."
)


def learn_segmenter(project: Project) -> None:
    """A button that says what it lacks, and one to go back; pictures have neither."""
    if project.kind == "sound":
        with st.container(width="content"):
            _learn_segmenter(project)


@st.fragment(run_every=2.0)
@told()
def _learn_segmenter(project: Project) -> None:
    lessons = project.segmenter_lessons()
    busy = any(job.kind == "learn-segmenter" for job in project.jobs(active=True))
    learned = project.settings.learned_segmenter is not None
    with st.container(horizontal=True, vertical_alignment="center", gap="small", width="content"):
        st.button(
            "Learn again from my edits" if learned else "Learn from my edits",
            key="segmenter.learn",
            icon=":material/school:",
            help=_HELP if lessons.enough else f"{_HELP} {lessons.sentence}",
            disabled=busy or not lessons.enough,
            on_click=attempt,
            args=(project.start_job, "learn-segmenter"),
        )
        if learned:
            st.button(
                "Use the built-in way",
                key="segmenter.builtin",
                icon=":material/undo:",
                type="tertiary",
                help="Find what stands out of the background, without what was learnt from edits.",
                on_click=_forget,
                args=(project,),
            )
            st.caption("Segments are found as learnt from your edits; the knobs still count.", width="content")


def _forget(project: Project) -> None:
    attempt(project.set_settings, replace(project.settings, learned_segmenter=None))
