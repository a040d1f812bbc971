"""Clusters of the map that the tags do not explain."""

from __future__ import annotations

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from miml_core import BACKGROUND
from miml_core.project import Project
from pages.widgets.errors import attempt
from pages.widgets.segment_selections import keep_selection, open_wall
from pages.widgets.text import count
from pages.widgets.undo_offer import keep_for_undo, kept_for_undo, offer_undo

_MOST = 12
_DONE = "map.dismissed"


def unnamed_clusters(project: Project, clusters: list[NDArray[np.int64]]) -> None:
    """Draw two buttons per cluster, the largest first: one opens the wall, one labels all of it as background."""
    st.markdown("**Not explained by the tags**")
    _undo(project)
    if not clusters:
        st.caption(
            "No unexplained clusters. A cluster is listed if it occurs in many tagged bags and no tag occurs in most "
            "of them. Rare species, and species that always occur with another one, are missed."
        )
        return
    st.caption("Look at a cluster on the wall and label it there; if it is noise, *Background* labels all of it.")
    for ids in clusters[:_MOST]:
        _cluster(project, ids.tolist())
    if len(clusters) > _MOST:
        st.caption(f"and {count(len(clusters) - _MOST, 'smaller cluster')}")


def _cluster(project: Project, segment_ids: list[int]) -> None:
    # The keys name the cluster: when one is dismissed, the others move up, and a second click must not meet the next.
    name = f"{segment_ids[0]}.{len(segment_ids)}"
    with st.container(key=f"map-unnamed-{name}", horizontal=True, gap="small"):
        st.button(
            count(len(segment_ids), "segment"),
            key=f"map.unnamed.{name}",
            help="Shows them on the wall: label them there, or as background.",
            width="stretch",
            on_click=attempt,
            args=(_show, project, segment_ids),
        )
        st.button(
            "Background",
            key=f"map.dismiss.{name}",
            help=f"Labels all {count(len(segment_ids), 'segment')} as background: noise, or none of the classes. The "
            "next model learns from it. Look at them on the wall first; it can be undone here.",
            on_click=attempt,
            args=(_dismiss, project, segment_ids),
        )


def _dismiss(project: Project, segment_ids: list[int]) -> None:
    keep_for_undo(_DONE, project, project.edits.label_many({}, dict.fromkeys(segment_ids, BACKGROUND)))


def _undo(project: Project) -> None:
    """Offer to undo the last *Background*."""
    if (result := kept_for_undo(_DONE, project)) is not None:
        offer_undo(_DONE, project, result, f"{count(len(result.touched), 'segment')} labelled background")


def _show(project: Project, segment_ids: list[int]) -> None:
    title = f"{count(len(segment_ids), 'segment')} not explained by the tags"
    open_wall(project, {"selection": keep_selection(project, title, segment_ids)})
    st.rerun()  # the button is part of a fragment, and another page is a run of the whole app
