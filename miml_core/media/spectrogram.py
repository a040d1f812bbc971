"""Compute spectrograms with the exact time and frequency of every pixel.

Column t is the window centred on the middle of its own hop, so that it covers `start + t * hop` to
`start + (t + 1) * hop`; a linear row covers half a frequency bin on both sides of the bin.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from miml_core.errors import BagtagError
from miml_core.media.colour_maps import COLOUR_MAPS
from miml_core.media.grid import Grid
from miml_core.media.pcen import Pcen

QUIETEST_DB = -120.0
"""Level of digital silence; a full-scale sine is at 0 dB."""

_FRAMES_AT_ONCE = 128
_SMALLEST_WINDOW = 16
_LONGEST_WINDOW_S, _SHORTEST_HOP_S, _MOST_BANDS = 10.0, 1e-5, 4096
"""Limits for settings of foreign projects: beyond them a spectrogram would fill the memory."""


@dataclass(frozen=True)
class SpectrogramSettings:
    """Settings of a spectrogram.

    The first group changes segments and features; the second, the view, only changes the picture.

    Parameters
    ----------
    window, hop : float
        Length of the Hann window and step between columns, in seconds.
    low, high : float
        Frequency band in hertz; None is half the sample rate.
    scale : "linear" or "mel"
        Spacing of the rows; a mel spectrogram has `mel_bands` of them.
    normalisation : "none", "band" or "pcen"
        Levels unchanged; each band relative to its median level; or per-channel energy normalisation, which follows
        slow changes of the background.
    flat : bool
        Draw each frequency band relative to its own noise, so that faint calls stand out from wind, water and hum.
        It has no effect on levels that are normalised already.
    quiet_db, loud_db : float
        Levels at the two ends of the colour map, in decibels above the recording's median level.
    colour_map : str
        One of `miml_core.media.colour_maps.COLOUR_MAPS`.

    Examples
    --------
    >>> SpectrogramSettings.for_rate(384_000).low  # a recorder for bats
    15000.0
    >>> SpectrogramSettings.from_dict({"hop": 0.005}).hop
    0.005
    """

    window: float = 512 / 44100
    hop: float = 256 / 44100
    low: float = 300.0
    high: float | None = None
    scale: Literal["linear", "mel"] = "linear"
    mel_bands: int = 128
    normalisation: Literal["none", "band", "pcen"] = "none"

    flat: bool = True
    quiet_db: float = 0.0
    loud_db: float = 35.0
    colour_map: str = "magma"

    def __post_init__(self) -> None:
        if not 0 < self.hop <= self.window:
            raise BagtagError(
                f"A spectrogram's hop ({self.hop:g} s) must be above 0 and at most its window ({self.window:g} s)."
            )
        if self.window > _LONGEST_WINDOW_S or self.hop < _SHORTEST_HOP_S or self.mel_bands > _MOST_BANDS:
            raise BagtagError(
                f"A spectrogram's window can be {_LONGEST_WINDOW_S:g} s at most, its hop {_SHORTEST_HOP_S:g} s at "
                f"least, and a mel scale can have {_MOST_BANDS} bands at most."
            )
        if self.low < 0 or (self.high is not None and self.high <= self.low):
            raise BagtagError(f"A spectrogram's band cannot run from {self.low:g} to {self.high} Hz.")
        if self.scale not in ("linear", "mel"):
            raise BagtagError(f"A spectrogram's scale is linear or mel, not {self.scale!r}.")
        if self.normalisation not in ("none", "band", "pcen"):
            raise BagtagError(f"A spectrogram's normalisation is none, band or pcen, not {self.normalisation!r}.")
        if self.mel_bands < 8:
            raise BagtagError(f"A mel spectrogram needs at least 8 bands, not {self.mel_bands}.")
        if not self.loud_db > self.quiet_db:
            raise BagtagError("The loud end of the view must be above its quiet end.")
        if self.colour_map not in COLOUR_MAPS:
            raise BagtagError(f"There is no colour map {self.colour_map!r}; choose one of {', '.join(COLOUR_MAPS)}.")

    @classmethod
    def preset(cls, name: str) -> SpectrogramSettings:
        """Return the settings for "birds", "bats", "frogs" or "insects"."""
        if name not in PRESETS:
            raise BagtagError(f"There is no preset {name!r}; choose one of {', '.join(PRESETS)}.")
        return PRESETS[name]

    @classmethod
    def for_rate(cls, rate: float) -> SpectrogramSettings:
        """Return the preset for the animals that are recorded at this sample rate."""
        return PRESETS[preset_for_rate(rate)]

    def analysis_dict(self) -> dict[str, Any]:
        """Return the settings that segments and features depend on, without the view."""
        return {name: value for name, value in asdict(self).items() if name not in _VIEW}

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> SpectrogramSettings:
        known = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in values.items() if name in known})


_VIEW = ("flat", "quiet_db", "loud_db", "colour_map")

PRESETS = {
    "birds": SpectrogramSettings(),
    "bats": SpectrogramSettings(window=0.001, hop=0.0004, low=15_000.0),
    "insects": SpectrogramSettings(window=512 / 96000, hop=256 / 96000, low=1_000.0),
    "frogs": SpectrogramSettings(window=0.032, hop=0.008, low=80.0, high=8_000.0),
}
"""Settings by animals; `SpectrogramSettings.for_rate` chooses by sample rate."""


def preset_for_rate(rate: float) -> str:
    """Return the preset for a sample rate: frogs up to 16 kHz, birds, insects from 88 kHz, bats from 128 kHz.

    Examples
    --------
    >>> [preset_for_rate(rate) for rate in (8000, 44100, 96000, 384000)]
    ['frogs', 'birds', 'insects', 'bats']
    """
    if rate <= 16_000:
        return "frogs"
    if rate < 88_000:
        return "birds"
    return "insects" if rate < 128_000 else "bats"


@dataclass(frozen=True, eq=False)
class Spectrogram:
    """Levels in decibels on a grid.

    Attributes
    ----------
    values : (height, width) float32
        Row 0 is the highest frequency. Decibels relative to a full-scale sine, or to the background if the settings
        have a normalisation.
    grid : Grid
        Seconds from the start of the recording, and hertz.
    rate : int
        Sample rate of the sound it was made from.

    Examples
    --------
    >>> noise = np.random.default_rng(0).standard_normal(44100).astype(np.float32)
    >>> spectrogram = make_spectrogram(noise, 44100, SpectrogramSettings())
    >>> spectrogram.values.shape == (spectrogram.grid.height, spectrogram.grid.width), spectrogram.rate
    (True, 44100)
    """

    values: NDArray[np.float32]
    grid: Grid
    rate: int


def make_spectrogram(
    samples: NDArray[np.float32], rate: int, settings: SpectrogramSettings, start: float = 0.0
) -> Spectrogram:
    """Return the spectrogram of a window of sound.

    Parameters
    ----------
    samples : (n,) float
    rate : int
        Samples per second.
    settings : SpectrogramSettings
    start : float
        Start of the window, in seconds from the start of the recording.

    Examples
    --------
    >>> seconds = np.arange(44100) / 44100
    >>> tone = np.sin(2 * np.pi * 4000 * seconds).astype(np.float32)
    >>> spectrogram = make_spectrogram(tone, 44100, SpectrogramSettings())
    >>> row = spectrogram.values.mean(axis=1).argmax()
    >>> spectrogram.values.shape, float(spectrogram.grid.y_at(row + 0.5).round())
    ((253, 173), 3962.0)
    """
    if len(samples) == 0:
        raise BagtagError("A spectrogram needs at least one sample.")
    layout = _layout(rate, settings)
    power = _band_power(np.asarray(samples, dtype=np.float32), layout)
    if settings.scale == "mel":
        power = _mel_filters(layout, settings.mel_bands) @ power
    if settings.normalisation == "pcen":
        values = Pcen(np.median(power, axis=1, keepdims=True), layout.hop / rate).levels(power)
    else:
        values = _levels(power)
        if settings.normalisation == "band":
            values -= np.median(values, axis=1, keepdims=True)
    return Spectrogram(values, spectrogram_grid(len(samples), rate, settings, start), rate)


def spectrogram_grid(n_samples: int, rate: int, settings: SpectrogramSettings, start: float = 0.0) -> Grid:
    """Return the grid of the spectrogram of `n_samples` samples.

    Examples
    --------
    >>> grid = spectrogram_grid(44100, 44100, SpectrogramSettings())
    >>> grid.width, grid.height, grid.left, round(grid.right, 2)
    (173, 253, 0.0, 1.0)
    """
    layout = _layout(rate, settings)
    width = -(-n_samples // layout.hop)
    return Grid(
        width=width,
        height=settings.mel_bands if settings.scale == "mel" else layout.last_bin - layout.first_bin,
        left=start,
        right=start + width * layout.hop / rate,
        top=layout.top,
        bottom=layout.bottom,
        scale=settings.scale,
    )


def hop_samples(rate: int, settings: SpectrogramSettings) -> int:
    """Return the number of samples per column.

    Examples
    --------
    >>> hop_samples(48_000, SpectrogramSettings(hop=0.005))
    240
    """
    return _layout(rate, settings).hop


@dataclass(frozen=True)
class _Layout:
    """Settings in samples and bins, for one sample rate.

    The bins at 0 Hz and at half the sample rate are never used: half of their row would be outside the spectrum.
    """

    rate: int
    window: int
    hop: int
    first_bin: int
    last_bin: int

    @property
    def bottom(self) -> float:
        return (self.first_bin - 0.5) * self.rate / self.window

    @property
    def top(self) -> float:
        return (self.last_bin - 0.5) * self.rate / self.window


@cache
def _layout(rate: int, settings: SpectrogramSettings) -> _Layout:
    from scipy.fft import next_fast_len

    window = next_fast_len(max(_SMALLEST_WINDOW, round(settings.window * rate)), real=True)
    hop = max(1, round(settings.hop * rate))
    bin_width = rate / window
    first = max(1, round(settings.low / bin_width))
    high = rate / 2 if settings.high is None else min(settings.high, rate / 2)
    last = min(window // 2 - 1, round(high / bin_width)) + 1
    if last - first < 2:
        raise BagtagError(
            f"The band from {settings.low:g} Hz to "
            f"{'the highest frequency' if settings.high is None else f'{settings.high:g} Hz'} has too few frequencies "
            f"at a sample rate of {rate} Hz; choose a wider band."
        )
    return _Layout(rate, window, hop, first, last)


@cache
def _hann(length: int) -> NDArray[np.float32]:
    """Return a Hann window, scaled so that a full-scale sine has power 1."""
    window = 0.5 - 0.5 * np.cos(2 * np.pi * (np.arange(length) + 0.5) / length)
    return (window * (2 / window.sum())).astype(np.float32)


def _band_power(samples: NDArray[np.float32], layout: _Layout) -> NDArray[np.float32]:
    """Return the (bins, columns) power, the highest frequency on top."""
    columns = -(-len(samples) // layout.hop)
    before = (layout.window - layout.hop) // 2
    after = max(0, (columns - 1) * layout.hop + layout.window - before - len(samples))
    padded = np.pad(samples, (before, after), mode="reflect" if len(samples) > 1 else "edge")
    return _frame_power(np.lib.stride_tricks.sliding_window_view(padded, layout.window)[:: layout.hop], layout)


def _frame_power(frames: NDArray[np.float32], layout: _Layout) -> NDArray[np.float32]:
    """Return the (bins, columns) power of (columns, window) samples, the highest frequency on top."""
    from scipy.fft import rfft

    columns = len(frames)
    window = _hann(layout.window)
    power = np.empty((layout.last_bin - layout.first_bin, columns), dtype=np.float32)
    for begin in range(0, columns, _FRAMES_AT_ONCE):
        end = min(columns, begin + _FRAMES_AT_ONCE)
        bins = rfft(frames[begin:end] * window, axis=1)[:, layout.first_bin : layout.last_bin]
        power[:, begin:end] = (bins.real**2 + bins.imag**2).T[::-1]
    return power


def _levels(power: NDArray[np.float32]) -> NDArray[np.float32]:
    """Convert power to decibels, in place."""
    np.maximum(power, np.float32(10 ** (QUIETEST_DB / 10)), out=power)
    np.log(power, out=power)
    power *= np.float32(10 / np.log(10))
    return power


@cache
def _mel_filters(layout: _Layout, bands: int) -> NDArray[np.float32]:
    """Return (bands, bins) triangles with sum 1, centred on the rows of the mel grid, the highest band on top.

    Not librosa's: its triangles do not share the edges of `Grid`, and its lowest ones are empty if bins are wider than
    bands. A mel spectrogram with librosa takes 1.8 times the processor time of ours (one minute, 128 bands).
    """
    grid = Grid(1, bands, 0.0, 1.0, layout.top, layout.bottom, "mel")
    edges = grid.y_at(np.arange(bands + 1))
    centres = grid.y_at(np.arange(bands) + 0.5)
    bins = np.arange(layout.first_bin, layout.last_bin)[::-1] * layout.rate / layout.window
    half_width = np.maximum(edges[:-1] - edges[1:], layout.rate / layout.window)
    weights = np.maximum(0.0, 1 - np.abs(bins - centres[:, None]) / half_width[:, None])
    weights[weights.sum(axis=1) == 0, np.argmin(np.abs(bins - centres[:, None]), axis=1)[weights.sum(axis=1) == 0]] = 1
    return (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)


def read_spectrogram(
    path: str | Path, start: float, end: float, settings: SpectrogramSettings, channel: int | Literal["mix"] = "mix"
) -> Spectrogram:
    """Return the spectrogram of a window, `start` to `end` in seconds, of a sound file.

    Examples
    --------
    >>> import tempfile
    >>> import soundfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     soundfile.write(f"{folder}/dawn.wav", np.zeros(24000), 8000)
    ...     spectrogram = read_spectrogram(f"{folder}/dawn.wav", 1.0, 2.0, SpectrogramSettings())
    >>> spectrogram.grid.left, round(spectrogram.grid.right, 2)
    (1.0, 2.0)
    """
    from miml_core.media.audio import read_audio

    samples, rate = read_audio(path, start, end - start, channel)
    return make_spectrogram(samples, rate, settings, start)
