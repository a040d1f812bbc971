"""Segments as the entered settings would detect them in the current bag, before anything is stored."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from miml_core.project import Bag, Project
from pages.widgets.routes.images import BagImage, sound_image
from pages.widgets.routes.previews import keep_preview

if TYPE_CHECKING:
    from miml_core.instances import InstanceSettings
    from miml_core.media.grid import Grid
    from miml_core.segments.regions import Region

_KEY = "segment.tried"
LONGEST_SECONDS = 60.0
"""Of a longer bag the beginning is tried: a preview has to be immediate."""


def preview(project: Project, bag: Bag, settings: InstanceSettings) -> tuple[str, int]:
    """Return (name for the canvas, number of segments); tried again only when the bag or a setting has changed."""
    tried_for = (str(project.folder), bag.id, bag.thumbnail_key, repr(settings))
    kept = st.session_state.get(_KEY)
    if kept is None or kept[0] != tried_for:
        tried = settings.within(project.folder)
        grid, regions, image = _try(project.media.path(bag.id), project.kind, bag, tried)
        kept = (tried_for, keep_preview(project, bag.id, grid, regions, image), len(regions))
        st.session_state[_KEY] = kept
    return kept[1], kept[2]


def previewed_part_text(project: Project, bag: Bag) -> str:
    """Return which part of the bag the preview covers, as text; empty if it is all of it."""
    whole = project.kind != "sound" or bag.duration <= LONGEST_SECONDS
    return "" if whole else f" in its first {LONGEST_SECONDS:.0f} s (the preview covers no more)"


def _try(path: Path, kind: str, bag: Bag, settings: InstanceSettings) -> tuple[Grid, list[Region], BagImage | None]:
    return _try_sound(path, bag, settings) if kind == "sound" else _try_picture(path, settings)


def _try_sound(path: Path, bag: Bag, settings: InstanceSettings) -> tuple[Grid, list[Region], BagImage]:
    from miml_core.instances import find_segments
    from miml_core.media.spectrogram import read_spectrogram

    end = min(bag.end, bag.start + LONGEST_SECONDS)
    spectrogram = read_spectrogram(path, bag.start, end, settings.spectrogram, settings.channel)
    found = find_segments(spectrogram, settings)
    return spectrogram.grid, found, sound_image(spectrogram, settings.spectrogram)


def _try_picture(path: Path, settings: InstanceSettings) -> tuple[Grid, list[Region], None]:
    from miml_core.media.image import open_image
    from miml_core.segments.visual import find_picture_segments

    picture = open_image(path, max_side=settings.picture_segments.working_side)
    return picture.grid, find_picture_segments(picture, settings.picture_segments), None
