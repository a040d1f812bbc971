"""Find segments of sound without training: regions louder than the background of their frequency bands."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from miml_core.errors import BagtagError
from miml_core.media.spectrogram import Spectrogram
from miml_core.segments.regions import Region


@dataclass(frozen=True)
class SoundSegmentSettings:
    """Settings of `find_sound_segments`.

    Parameters
    ----------
    sensitivity : float
        From 0 to 1; higher values find fainter calls, and more noise.
    smallest_call : float
        Shorter sounds, in seconds, are left out.
    gap : float
        Silences up to this length, in seconds, are bridged, so that the notes of a trill can become one segment.
    calls : "song" or "echolocation"
        Varied sounds of any loudness; or short, loud calls followed by echoes.

    Examples
    --------
    >>> SoundSegmentSettings.for_rate(384_000)  # a recorder for bats
    SoundSegmentSettings(sensitivity=0.5, smallest_call=0.001, gap=0.0, calls='echolocation')
    """

    sensitivity: float = 0.5
    smallest_call: float = 0.02
    gap: float = 0.005
    calls: Literal["song", "echolocation"] = "song"

    def __post_init__(self) -> None:
        if not 0 <= self.sensitivity <= 1:
            raise BagtagError(f"The sensitivity must be between 0 and 1, not {self.sensitivity:g}.")
        if self.smallest_call < 0 or self.gap < 0:
            raise BagtagError("The minimum duration and the maximum gap cannot be negative; enter 0 or more.")
        if self.calls not in ("song", "echolocation"):
            raise BagtagError(f"The kind of calls must be song or echolocation, not {self.calls!r}.")

    @classmethod
    def for_rate(cls, rate: float) -> SoundSegmentSettings:
        """Return the defaults for the animals that are recorded at this sample rate."""
        return cls(smallest_call=0.001, gap=0.0, calls="echolocation") if rate >= 128_000 else cls()

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> SoundSegmentSettings:
        return cls(**values)


def background_levels(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the (height, 1) background level of each band: the level that it stays below for a third of the time.

    It is lower than the median, so that the background of a band full of song is found, too.

    Examples
    --------
    >>> values = np.tile(np.float32([[-60], [-40]]), (1, 9))
    >>> values[0, :3] = -10  # a call
    >>> background_levels(values).round().tolist()
    [[-60.0], [-40.0]]
    """
    from miml_core.segments.acoustic_kernels import row_quantiles

    return row_quantiles(values, _BACKGROUND_SHARE)[:, None]


def find_sound_segments(spectrogram: Spectrogram, settings: SoundSegmentSettings) -> list[Region]:
    """Return the regions that are louder than the background, from left to right.

    Levels are taken relative to the background of each band and smoothed. Pixels above a low threshold, and not far
    below the loudest ones nearby, form connected pieces; echolocation calls are separated where the energy between them
    drops, and their echoes are cut off. A piece is kept if its level exceeds the threshold given by the sensitivity.
    Animals repeat their calls, so a strong sound in the same band shortly before or after lowers the threshold; a
    louder sound right beside the piece raises it, because echoes, overtones and fragments are found there.

    Parameters
    ----------
    spectrogram : Spectrogram
    settings : SoundSegmentSettings

    Returns
    -------
    list of Region

    Examples
    --------
    A call of 0.2 s in a second of noise:

    >>> from miml_core.media.spectrogram import SpectrogramSettings, make_spectrogram
    >>> samples = 0.001 * np.random.default_rng(0).standard_normal(44100)
    >>> samples[8820:17640] += 0.1 * np.hanning(8820) * np.sin(2 * np.pi * 4000 * np.arange(8820) / 44100)
    >>> spectrogram = make_spectrogram(samples.astype(np.float32), 44100, SpectrogramSettings())
    >>> (call,) = find_sound_segments(spectrogram, SoundSegmentSettings())
    >>> [float(spectrogram.grid.x_at(column).round(1)) for column in (call.box[1], call.box[3])]
    [0.2, 0.4]
    """
    from miml_core.segments import acoustic_kernels as kernels

    calls = _CALLS[settings.calls]
    seconds = (spectrogram.grid.right - spectrogram.grid.left) / spectrogram.grid.width
    loudness = _loudness(spectrogram.values, calls)
    mask = loudness > _amplitude(_EDGE_DB)
    if calls.below_nearby is not None:
        nearby = running_max(running_max(loudness, _NEARBY_ROWS, 0), _NEARBY_COLUMNS, 1)
        nearby *= _amplitude(-calls.below_nearby)
        mask &= loudness > nearby
    kernels.bridge(mask, int(settings.gap / seconds + 1e-9))
    labels, count = _connected(mask) if calls.separation is None else _separated(loudness, mask, calls.separation)
    boxes, areas, peaks, runs = kernels.measure(labels, count, loudness, _RUN_COLUMNS)
    levels = np.maximum(_decibels(peaks), _decibels(runs) + _RUN_DB)
    kept = _above_threshold(boxes, levels, _EDGE_DB + calls.range * (1 - settings.sensitivity), calls)
    kept = kept[(areas[kept] >= _SMALLEST_AREA)]
    kept = kept[(boxes[kept, 3] - boxes[kept, 1]) * seconds >= settings.smallest_call - 1e-9]
    return [_region(labels, int(number) + 1, boxes[number]) for number in kept]


@dataclass(frozen=True)
class _Separation:
    """Separation of neighbouring calls, in decibels.

    depth : two peaks are two calls if the energy between them drops by this much
    share_of_peak, below_peak : a call ends where its level falls below this share of its peak, or this far below it
    """

    depth: float
    share_of_peak: float
    below_peak: float


@dataclass(frozen=True)
class _Calls:
    """Constants of one kind of calls. Levels are decibels above the background; lengths are in pixels, whose size the
    presets adapt to the animals.

    range : difference between the thresholds at sensitivity 0 and 1
    smooth_rows, smooth_columns : standard deviations of the Gaussian that smooths the contrast
    below_nearby : a pixel further below the loudest pixel nearby is not part of a call
    separation : how calls that touch are separated, if they are
    beside_columns : a louder sound at most this far away lowers the level of a call
    beside_from, beside_weight, beside_cap : the level is lowered by the difference above `beside_from`, times
        `beside_weight`, at most `beside_cap`
    again_weight : a strong sound in the same band raises the level by this share of its excess over the threshold
    """

    range: float
    smooth_rows: float
    smooth_columns: float
    below_nearby: float | None
    separation: _Separation | None
    beside_columns: int
    beside_from: float
    beside_weight: float
    beside_cap: float
    again_weight: float


_CALLS = {
    "song": _Calls(
        range=11.0, smooth_rows=1.0, smooth_columns=1.5, below_nearby=8.0, separation=None,
        beside_columns=16, beside_from=0.0, beside_weight=1 / 3, beside_cap=2.5, again_weight=1 / 3,
    ),
    "echolocation": _Calls(
        range=22.0, smooth_rows=1.0, smooth_columns=0.6, below_nearby=None, separation=_Separation(16.0, 0.5, 22.0),
        beside_columns=40, beside_from=12.0, beside_weight=10.0, beside_cap=np.inf, again_weight=0.0,
    ),
}  # fmt: skip
_BACKGROUND_SHARE = 1 / 3
_EDGE_DB = 5.0
_NEARBY_ROWS, _NEARBY_COLUMNS = 11, 25
_RUN_COLUMNS, _RUN_DB = 5, 2.0
"""A sound that lasts this many columns counts as that much louder, because random peaks are short."""
_SMALLEST_AREA = 16
_AGAIN_ROWS, _AGAIN_COLUMNS, _AGAIN_CAP_DB = 10, 172, 4.0


def _loudness(values: NDArray[np.float32], calls: _Calls) -> NDArray[np.float32]:
    """Return the smoothed amplitude in units of each band's background.

    A mean of decibels is dominated by the deep dips of noise, a mean of power by single loud pixels. Amplitudes are
    between the two and separated calls from noise best.
    """
    from miml_core.segments.acoustic_kernels import smooth

    loudness = values - background_levels(values)
    np.minimum(loudness, _LOUDEST_DB, out=loudness)
    loudness *= np.float32(np.log(10) / 20)
    np.exp(loudness, out=loudness)
    return smooth(loudness, _gaussian(calls.smooth_rows), _gaussian(calls.smooth_columns))


_LOUDEST_DB = np.float32(100.0)


def _amplitude(decibels: float) -> np.float32:
    return np.float32(10 ** (decibels / 20))


def _decibels(amplitudes: NDArray[np.float32]) -> NDArray[np.float32]:
    return 20 * np.log10(np.maximum(amplitudes, np.float32(1e-6)))


def _connected(mask: NDArray[np.bool_]) -> tuple[NDArray[np.int32], int]:
    """Label the pieces of the mask; pixels that touch at a corner are connected."""
    from scipy.ndimage import label

    labels, count = label(mask, np.ones((3, 3)), np.int32)
    return labels, count


def _separated(
    loudness: NDArray[np.float32], mask: NDArray[np.bool_], separation: _Separation
) -> tuple[NDArray[np.int32], int]:
    """Label the pieces of the mask, separated where the energy drops, each trimmed to the end of its own call."""
    from miml_core.segments import acoustic_kernels as kernels

    contrast = _decibels(loudness)
    labels, peaks = kernels.find_peaks(contrast, mask, separation.depth)
    kernels.trim(labels, contrast, np.maximum(separation.share_of_peak * peaks, peaks - separation.below_peak))
    return labels, len(peaks)


def _gaussian(width: float) -> NDArray[np.float32]:
    """Return the weights of a Gaussian of this standard deviation, from the centre to three pixels away."""
    weights = np.exp(-0.5 * (np.arange(4) / width) ** 2)
    return (weights / (weights[0] + 2 * weights[1:].sum())).astype(np.float32)


def running_max(values: NDArray[np.float32], length: int, axis: int) -> NDArray[np.float32]:
    """Return the maximum over `length` (odd) pixels around each pixel, by maxima of doubled lengths.

    `scipy.ndimage.maximum_filter1d` takes 9 times as long (`python -m benchmarks kernels`).

    Examples
    --------
    >>> running_max(np.float32([[0, 0, 5, 0, 0, 0]]), 3, axis=1).tolist()
    [[0.0, 5.0, 5.0, 5.0, 0.0, 0.0]]
    """
    size = values.shape[axis]
    edge = [(length // 2, length // 2) if axis == k else (0, 0) for k in range(2)]
    current = np.pad(values, edge, constant_values=-np.inf)

    def part(array: NDArray[np.float32], first: int, count: int) -> NDArray[np.float32]:
        return array[first : first + count] if axis == 0 else array[:, first : first + count]

    covered = 1
    while 2 * covered <= length:
        shorter = current.shape[axis] - covered
        current = np.maximum(part(current, 0, shorter), part(current, covered, shorter))
        covered *= 2
    return np.maximum(part(current, 0, size), part(current, length - covered, size))


def _above_threshold(
    boxes: NDArray[np.int64], levels: NDArray[np.float64], threshold: float, calls: _Calls
) -> NDArray[np.int64]:
    """Return the numbers of the pieces that exceed the threshold, given their neighbours, from left to right."""
    from miml_core.segments.acoustic_kernels import strongest_neighbours

    candidates = np.flatnonzero(levels > threshold - calls.again_weight * _AGAIN_CAP_DB)
    candidates = candidates[np.argsort(boxes[candidates, 1], kind="stable")]
    own = levels[candidates]
    beside, again = strongest_neighbours(boxes[candidates], own, calls.beside_columns, _AGAIN_COLUMNS, _AGAIN_ROWS)
    judged = own + calls.again_weight * np.clip(again - threshold, 0, _AGAIN_CAP_DB)
    judged -= np.clip(calls.beside_weight * (beside - own - calls.beside_from), 0, calls.beside_cap)
    return candidates[judged > threshold]


def _region(labels: NDArray[np.int32], number: int, box: NDArray[np.int64]) -> Region:
    top, left, bottom, right = (int(edge) for edge in box)
    return Region(top, left, labels[top:bottom, left:right] == number)


def warm() -> None:
    """Compile the kernels."""
    from miml_core.media.grid import Grid

    values = np.zeros((16, 16), dtype=np.float32)
    values[4:8, 4:12] = 30.0
    spectrogram = Spectrogram(values, Grid(16, 16, 0.0, 1.0, 8000.0, 0.0), 16000)
    for rate in (22_050, 384_000):
        find_sound_segments(spectrogram, SoundSegmentSettings.for_rate(rate))
