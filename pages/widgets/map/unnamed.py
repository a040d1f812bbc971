"""Clusters of the map that are like nothing anybody has named."""

from __future__ import annotations

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from miml_core.project import Project
from pages.widgets.errors import attempt
from pages.widgets.text import count
from pages.widgets.wall.selections import keep_selection, open_wall

_MOST = 12


def unnamed_clusters(project: Project, clusters: list[NDArray[np.int64]]) -> None:
    """Draw one button per cluster, the largest first; it opens the wall."""
    st.markdown("**Like nothing you have named**")
    if not clusters:
        st.caption(
            "Nothing stands out. A group does if it occurs in many tagged bags, and no tag in most of them; "
            "rare or always accompanied species are missed."
        )
        return
    st.caption("The tags of their bags do not explain them: something you have not named, or noise.")
    for number, ids in enumerate(clusters[:_MOST]):
        st.button(
            count(len(ids), "segment"),
            key=f"map.unnamed.{number}",
            icon=":material/help:",
            help="Shows them on the wall: name them there, or mark them as background.",
            width="stretch",
            on_click=attempt,
            args=(_show, project, ids.tolist()),
        )
    if len(clusters) > _MOST:
        st.caption(f"and {count(len(clusters) - _MOST, 'smaller cluster')}")


def _show(project: Project, segment_ids: list[int]) -> None:
    title = f"{count(len(segment_ids), 'segment')} like nothing you have named"
    open_wall(project, {"selection": keep_selection(project, title, segment_ids)})
    st.rerun()  # the button is part of a fragment, and another page is a run of the whole app
