"""The settings by which segments are detected: their controls, and what they hold.

A control shows the stored value until it is changed. `entered_settings` reads the controls, so that a button's callback
applies what is on the screen even when its click overtakes the run that would draw it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import streamlit as st

from miml_core.features.embeddings import BIRDNET
from miml_core.project import Project
from pages.widgets.birdnet import BIRDNET_TITLE, birdnet_line

if TYPE_CHECKING:
    from miml_core.instances import InstanceSettings
    from miml_core.media.spectrogram import SpectrogramSettings
    from miml_core.segments.acoustic import SoundSegmentSettings
    from miml_core.segments.visual import PictureSegmentSettings

_PRESETS = {"birds": "Birds", "frogs": "Frogs and owls", "insects": "Insects", "bats": "Bats"}
_SCALES = {"linear": "linear", "mel": "mel (more detail at low frequencies)"}
_LEVELS = {
    "none": "none",
    "band": "per frequency band",
    "pcen": "PCEN",
}
_KEYS = "segment_settings."
_NONE = ""


def segment_settings(project: Project) -> InstanceSettings:
    """Draw the controls of the project's kind of media; return the settings as they stand."""
    if project.kind == "sound":
        with st.container(horizontal=True, gap="medium", vertical_alignment="center"):
            _sound_controls(project.settings.segments)
            with st.popover("Spectrogram", icon=":material/graphic_eq:", key="spectrogram-settings"):
                _spectrogram_controls(project.settings.spectrogram)
                _view_controls(project.settings.spectrogram)
            _feature_controls(project)
    else:
        with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
            _picture_controls(project.settings.picture_segments)
            _feature_controls(project)
    return entered_settings(project)


def entered_settings(project: Project) -> InstanceSettings:
    """Return the project's settings with what the controls hold."""
    stored = replace(project.settings, embedding=_entered("embedding", project.settings.embedding or _NONE) or None)
    if project.kind == "sound":
        return replace(stored, segments=_sound(stored.segments), spectrogram=_spectrogram(stored.spectrogram))
    return replace(stored, picture_segments=_picture(stored.picture_segments))


def show_stored_settings() -> None:
    """Show the stored settings again."""
    for key in [key for key in st.session_state if str(key).startswith(_KEYS)]:
        del st.session_state[key]


def _entered(name: str, stored: Any) -> Any:
    return st.session_state.get(f"{_KEYS}{name}", stored)


def _sound_controls(stored: SoundSegmentSettings) -> None:
    st.slider(
        "Sensitivity",
        0.0,
        1.0,
        stored.sensitivity,
        0.05,
        key="segment_settings.sensitivity",
        help="Higher values detect fainter calls, but also more noise.",
    )
    st.slider(
        "Minimum duration",
        *_milliseconds(stored.smallest_call),
        format="%g ms",
        key="segment_settings.smallest",
        help="Shorter sounds are left out.",
    )
    st.slider(
        "Maximum gap",
        *_milliseconds(stored.gap),
        format="%g ms",
        key="segment_settings.gap",
        help="Shorter silences stay inside a segment, so that a trill can be one segment.",
    )


def _sound(stored: SoundSegmentSettings) -> SoundSegmentSettings:
    return replace(
        stored,
        sensitivity=_entered("sensitivity", stored.sensitivity),
        smallest_call=_entered("smallest", _milliseconds(stored.smallest_call)[2]) / 1000,
        gap=_entered("gap", _milliseconds(stored.gap)[2]) / 1000,
    )


def _milliseconds(seconds: float) -> tuple[float, float, float, float]:
    """Return range, value and step of a slider; fine steps for ultrasound."""
    value = round(1000 * seconds, 3)
    return (0.0, 20.0, value, 0.1) if value < 5 else (0.0, max(200.0, value), value, 1.0)


def _spectrogram_controls(stored: SpectrogramSettings) -> None:
    """Draw what changes segments and features."""
    with st.grid(2, min_column_width=200):
        st.selectbox(
            "Preset",
            list(_PRESETS),
            index=None,
            format_func=_PRESETS.__getitem__,
            placeholder="Choose a preset",
            key="segment_settings.preset",
            on_change=_take_preset,
        )
        st.number_input("Window (ms)", 0.1, 500.0, 1000 * stored.window, format="%.2f", key="segment_settings.window")
        st.number_input("Hop (ms)", 0.05, 500.0, 1000 * stored.hop, format="%.2f", key="segment_settings.hop")
        st.selectbox(
            "Scale", list(_SCALES), _at(_SCALES, stored.scale), _SCALES.__getitem__, key="segment_settings.scale"
        )
        st.number_input(
            "Low frequency (kHz)", 0.0, 400.0, stored.low / 1000, 0.1, format="%.2f", key="segment_settings.low"
        )
        st.number_input(
            "High frequency (kHz)",
            0.1,
            400.0,
            None if stored.high is None else stored.high / 1000,
            0.5,
            format="%.2f",
            placeholder="Nyquist",
            key="segment_settings.high",
        )
        st.selectbox(
            "Normalisation",
            list(_LEVELS),
            _at(_LEVELS, stored.normalisation),
            _LEVELS.__getitem__,
            key="segment_settings.levels",
        )
        st.caption("These change segments and features; apply them to detect the segments again.")


def _view_controls(stored: SpectrogramSettings) -> None:
    """Draw what changes pictures only."""
    from miml_core.media.colour_maps import COLOUR_MAPS

    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        names = list(COLOUR_MAPS)
        st.selectbox("Colour map", names, names.index(stored.colour_map), key="segment_settings.colours")
        st.slider(
            "Dynamic range (dB above the background)",
            -20.0,
            80.0,
            (stored.quiet_db, stored.loud_db),
            1.0,
            key="segment_settings.levels.view",
        )
    st.toggle(
        "Show each frequency band against its own noise",
        stored.flat,
        key="segment_settings.flat",
        help="Faint calls stand out from wind, water and hum. Segments and features stay as they are.",
    )


def _spectrogram(stored: SpectrogramSettings) -> SpectrogramSettings:
    window = _kept(_entered("window", 1000 * stored.window) / 1000, stored.window)
    high = _entered("high", None if stored.high is None else stored.high / 1000)
    quiet, loud = _entered("levels.view", (stored.quiet_db, stored.loud_db))
    return replace(
        stored,
        window=window,
        hop=min(_kept(_entered("hop", 1000 * stored.hop) / 1000, stored.hop), window),
        low=1000 * _entered("low", stored.low / 1000),
        high=None if high is None else 1000 * high,
        scale=_entered("scale", stored.scale),
        normalisation=_entered("levels", stored.normalisation),
        colour_map=_entered("colours", stored.colour_map),
        flat=_entered("flat", stored.flat),
        quiet_db=quiet,
        loud_db=max(loud, quiet + 1),
    )


def _kept(entered: float, stored: float) -> float:
    """Return the stored value unless it was changed: a number box rounds what it shows."""
    return stored if abs(entered - stored) < 5e-6 else entered


def _at(options: dict[str, str], value: str) -> int:
    return list(options).index(value)


def _take_preset() -> None:
    from miml_core.media.spectrogram import SpectrogramSettings

    preset = SpectrogramSettings.preset(st.session_state["segment_settings.preset"])
    st.session_state["segment_settings.window"] = 1000 * preset.window
    st.session_state["segment_settings.hop"] = 1000 * preset.hop
    st.session_state["segment_settings.low"] = preset.low / 1000
    st.session_state["segment_settings.high"] = None if preset.high is None else preset.high / 1000
    st.session_state["segment_settings.scale"] = preset.scale
    st.session_state["segment_settings.levels"] = preset.normalisation


def _feature_controls(project: Project) -> None:
    """Draw the choice of the embedding; nothing for pictures without one."""
    from miml_core.features.embeddings import embeddings_for

    stored, offered = project.settings.embedding or _NONE, embeddings_for(project.kind)
    if project.kind != "sound" and not offered and stored == _NONE:
        return
    names = [_NONE, *offered, *([stored] if stored not in (_NONE, *offered) else [])]
    with st.popover("Features", icon=":material/neurology:", key="feature-settings"):
        st.selectbox(
            "Embedding",
            names,
            names.index(stored),
            format_func=lambda name: _title(name, offered),
            key="segment_settings.embedding",
            help="The output of a neural network for each segment, in addition to the hand-made features. With it, "
            "species are recognised from fewer tags.",
        )
        if project.kind == "sound":
            st.caption(birdnet_line())
        st.caption("This changes features: apply it, then train again.")


def _title(name: str, offered: list[str]) -> str:
    if name == _NONE:
        return "None (hand-made features only)"
    title = BIRDNET_TITLE if name == BIRDNET else name
    return title if name in offered else f"{title} (not installed)"


def _picture_controls(stored: PictureSegmentSettings) -> None:
    st.slider(
        "Segments per picture",
        2,
        max(100, stored.segments),
        stored.segments,
        key="segment_settings.segments",
        help="The maximum; a uniform picture has fewer. Too many is better than too few: parts can be merged.",
    )
    st.slider(
        "Working size",
        100,
        max(1200, stored.working_side),
        stored.working_side,
        20,
        format="%d px",
        key="segment_settings.side",
        help="Larger pictures are reduced to this length of their longer side before segments are "
        "detected. A larger size is finer and slower.",
    )


def _picture(stored: PictureSegmentSettings) -> PictureSegmentSettings:
    return replace(
        stored,
        segments=_entered("segments", stored.segments),
        working_side=_entered("side", stored.working_side),
    )
