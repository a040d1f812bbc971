"""The knobs of finding segments of pictures."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import streamlit as st

if TYPE_CHECKING:
    from miml_core.instances import InstanceSettings


def picture_knobs(stored: InstanceSettings) -> InstanceSettings:
    """Two knobs in one row; answers the settings as turned."""
    settings = stored.picture_segments
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        segments = st.slider(
            "Segments a picture",
            2,
            max(100, settings.segments),
            settings.segments,
            key="knob.segments",
            help="At most so many; an even picture has fewer. Too many is better than too few: parts can be merged.",
        )
        side = st.slider(
            "Working size",
            100,
            max(1200, settings.working_side),
            settings.working_side,
            20,
            format="%d px",
            key="knob.side",
            help="Larger pictures are reduced to this length of their longer side before segments are found and "
            "described: more is finer and slower.",
        )
    return replace(stored, picture_segments=replace(settings, segments=segments, working_side=side))
