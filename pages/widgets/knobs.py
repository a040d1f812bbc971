"""The knobs of finding segments of sound: what a person turns, as the project's settings."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import streamlit as st

from miml_core.project import Project
from pages.widgets.picture_knobs import picture_knobs

if TYPE_CHECKING:
    from miml_core.instances import InstanceSettings
    from miml_core.media.spectrogram import SpectrogramSettings
    from miml_core.segments.acoustic import SoundSegmentSettings

_PRESETS = {"birds": "Birds", "frogs": "Frogs and owls", "insects": "Insects", "bats": "Bats"}
_SCALES = {"linear": "linear", "mel": "mel, more room for low sounds"}
_LEVELS = {
    "none": "as recorded",
    "band": "each band against its own background",
    "pcen": "following the background (PCEN)",
}
_KEYS = "knob."


def knobs(project: Project) -> InstanceSettings:
    """The knobs of the project's kind of media, at what is stored until they are turned."""
    return sound_knobs(project.settings) if project.kind == "sound" else picture_knobs(project.settings)


def sound_knobs(stored: InstanceSettings) -> InstanceSettings:
    """Three knobs in one row, and the spectrogram's own behind a button; answers the settings as turned."""
    with st.container(horizontal=True, gap="medium", vertical_alignment="center"):
        segments = _segments(stored.segments)
        with st.popover("Spectrogram", icon=":material/graphic_eq:", key="knob-fold"):
            spectrogram = _spectrogram(stored.spectrogram)
    return replace(stored, segments=segments, spectrogram=spectrogram)


def forget_knobs() -> None:
    """Back to what is stored: another project is open, or a person wants it so."""
    for key in [key for key in st.session_state if str(key).startswith(_KEYS)]:
        del st.session_state[key]


def _segments(stored: SoundSegmentSettings) -> SoundSegmentSettings:
    sensitivity = st.slider(
        "Sensitivity",
        0.0,
        1.0,
        stored.sensitivity,
        0.05,
        key="knob.sensitivity",
        help="More finds fainter calls, and more noise with them.",
    )
    smallest = st.slider(
        "Smallest call",
        *_milliseconds(stored.smallest_call),
        format="%g ms",
        key="knob.smallest",
        help="Shorter sounds are left out.",
    )
    gap = st.slider(
        "Bridge gaps",
        *_milliseconds(stored.gap),
        format="%g ms",
        key="knob.gap",
        help="Silences up to this long stay inside a segment, so that a trill can be one.",
    )
    return replace(stored, sensitivity=sensitivity, smallest_call=smallest / 1000, gap=gap / 1000)


def _milliseconds(seconds: float) -> tuple[float, float, float, float]:
    """Range, value and step of a slider; fine steps for ultrasound."""
    value = round(1000 * seconds, 3)
    return (0.0, 20.0, value, 0.1) if value < 5 else (0.0, max(200.0, value), value, 1.0)


def _spectrogram(stored: SpectrogramSettings) -> SpectrogramSettings:
    with st.grid(2, min_column_width=200):
        st.selectbox(
            "Made for",
            list(_PRESETS),
            index=None,
            format_func=_PRESETS.__getitem__,
            placeholder="Choose to start from it",
            key="knob.preset",
            on_change=_take_preset,
        )
        window = st.number_input("Window (ms)", 0.1, 500.0, 1000 * stored.window, format="%.2f", key="knob.window")
        hop = st.number_input("Step (ms)", 0.05, 500.0, 1000 * stored.hop, format="%.2f", key="knob.hop")
        scale = st.selectbox("Scale", list(_SCALES), _at(_SCALES, stored.scale), _SCALES.__getitem__, key="knob.scale")
        low = st.number_input("From (kHz)", 0.0, 400.0, stored.low / 1000, 0.1, format="%.2f", key="knob.low")
        high = st.number_input(
            "Up to (kHz)",
            0.1,
            400.0,
            None if stored.high is None else stored.high / 1000,
            0.5,
            format="%.2f",
            placeholder="all there is",
            key="knob.high",
        )
        levels = st.selectbox(
            "Levels", list(_LEVELS), _at(_LEVELS, stored.normalisation), _LEVELS.__getitem__, key="knob.levels"
        )
        st.caption("These change segments and features: what was found before has to be found again.")
    view = _view(stored)
    return replace(
        view,
        window=_kept(window / 1000, stored.window),
        hop=min(_kept(hop / 1000, stored.hop), _kept(window / 1000, stored.window)),
        low=1000 * low,
        high=None if high is None else 1000 * high,
        scale=cast(Any, scale),
        normalisation=cast(Any, levels),
    )


def _view(stored: SpectrogramSettings) -> SpectrogramSettings:
    """What changes pictures only."""
    from miml_core.media.colour_maps import COLOUR_MAPS

    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        names = list(COLOUR_MAPS)
        colours = st.selectbox("Colours", names, names.index(stored.colour_map), key="knob.colours")
        quiet, loud = st.slider(
            "From dark to bright (dB above the background)",
            -20.0,
            80.0,
            (stored.quiet_db, stored.loud_db),
            1.0,
            key="knob.levels.view",
        )
    return replace(stored, colour_map=colours, quiet_db=quiet, loud_db=max(loud, quiet + 1))


def _kept(turned: float, stored: float) -> float:
    """A number box rounds what it shows; what was not touched stays exactly as it was."""
    return stored if abs(turned - stored) < 5e-6 else turned


def _at(options: dict[str, str], value: str) -> int:
    return list(options).index(value)


def _take_preset() -> None:
    from miml_core.media.spectrogram import SpectrogramSettings

    preset = SpectrogramSettings.preset(st.session_state["knob.preset"])
    st.session_state["knob.window"] = 1000 * preset.window
    st.session_state["knob.hop"] = 1000 * preset.hop
    st.session_state["knob.low"] = preset.low / 1000
    st.session_state["knob.high"] = None if preset.high is None else preset.high / 1000
    st.session_state["knob.scale"] = preset.scale
    st.session_state["knob.levels"] = preset.normalisation
