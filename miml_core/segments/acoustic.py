"""Segments of sound that need no training: what stands out of each band's own background."""

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
    """Three knobs a person understands.

    Parameters
    ----------
    sensitivity : 0 to 1
        Higher finds fainter calls, and more noise with them.
    smallest_call : seconds
        Shorter sounds are left out.
    gap : seconds
        Silences up to this long are bridged, so that the notes of a trill may become one segment.
    calls : "song" or "echolocation"
        Varied sounds of any loudness; or short, loud ones followed by echoes, where the loudest part is the call.
    """

    sensitivity: float = 0.5
    smallest_call: float = 0.02
    gap: float = 0.005
    calls: Literal["song", "echolocation"] = "song"

    def __post_init__(self) -> None:
        if not 0 <= self.sensitivity <= 1:
            raise BagtagError(f"The sensitivity lies between 0 and 1, not at {self.sensitivity:g}.")
        if self.smallest_call < 0 or self.gap < 0:
            raise BagtagError("The smallest call and the gap to bridge cannot be negative.")
        if self.calls not in ("song", "echolocation"):
            raise BagtagError(f"Calls are song or echolocation, not {self.calls!r}.")

    @classmethod
    def for_rate(cls, rate: float) -> SoundSegmentSettings:
        """Defaults for the animals that a recorder with this sample rate is used for."""
        return cls(smallest_call=0.001, gap=0.0, calls="echolocation") if rate >= 128_000 else cls()

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> SoundSegmentSettings:
        return cls(**values)


def background_levels(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """(height, 1) level of each band's background: what it stays below for a third of the time.

    Lower than the median, so that a band that is full of song still has its background found.
    """
    from miml_core.segments.acoustic_kernels import row_quantiles

    return row_quantiles(values, _BACKGROUND_SHARE)[:, None]


def find_sound_segments(spectrogram: Spectrogram, settings: SoundSegmentSettings) -> list[Region]:
    """Regions that stand out of the background, from left to right.

    Each band is measured against its own background and smoothed. What lies above a low threshold, and not far below
    the loudest nearby, hangs together in pieces; echolocation calls are parted where the energy between them drops,
    and their echoes cut off. A piece is kept when its level passes the threshold set by the sensitivity. Animals repeat
    themselves, so a strong sound in the same band shortly before or after speaks for a faint one; a louder sound right
    beside it speaks against it, since echoes, overtones and fragments lie there.
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
    labels, count = kernels.components(mask) if calls.parting is None else _parted(loudness, mask, calls.parting)
    boxes, areas, peaks, runs = kernels.measure(labels, count, loudness, _RUN_COLUMNS)
    levels = np.maximum(_decibels(peaks), _decibels(runs) + _RUN_DB)
    kept = _stand_out(boxes, levels, _EDGE_DB + calls.range * (1 - settings.sensitivity), calls)
    kept = kept[(areas[kept] >= _SMALLEST_AREA)]
    kept = kept[(boxes[kept, 3] - boxes[kept, 1]) * seconds >= settings.smallest_call - 1e-9]
    return [_region(labels, int(number) + 1, boxes[number]) for number in kept]


@dataclass(frozen=True)
class _Parting:
    """Where one call ends and the next begins, in decibels.

    depth : two peaks are two calls when the energy between them drops by this much
    share_of_peak, below_peak : a call ends where its level falls below this share of its peak, or this far below it
    """

    depth: float
    share_of_peak: float
    below_peak: float


@dataclass(frozen=True)
class _Calls:
    """What kinds of calls differ in. Levels are decibels above the background; lengths are in pixels, since the
    presets choose pixels that suit the animals.

    range : the threshold at sensitivity 0 lies this far above the lowest
    smooth_rows, smooth_columns : width of the bell that the contrast is smoothed with
    below_nearby : a pixel further below the loudest pixel nearby is outside
    parting : how calls that touch are parted, if they are
    beside_columns : a louder sound at most this far away counts against a call,
    beside_from, beside_weight, beside_cap : by how much it is louder, from the first on, times the second, at most the
        third
    again_weight : a strong sound in the same band counts for a call by this much of what it is above the threshold
    """

    range: float
    smooth_rows: float
    smooth_columns: float
    below_nearby: float | None
    parting: _Parting | None
    beside_columns: int
    beside_from: float
    beside_weight: float
    beside_cap: float
    again_weight: float


_CALLS = {
    "song": _Calls(
        range=11.0, smooth_rows=1.0, smooth_columns=1.5, below_nearby=8.0, parting=None,
        beside_columns=16, beside_from=0.0, beside_weight=1 / 3, beside_cap=2.5, again_weight=1 / 3,
    ),
    "echolocation": _Calls(
        range=22.0, smooth_rows=1.0, smooth_columns=0.6, below_nearby=None, parting=_Parting(16.0, 0.5, 22.0),
        beside_columns=40, beside_from=12.0, beside_weight=10.0, beside_cap=np.inf, again_weight=0.0,
    ),
}  # fmt: skip
_BACKGROUND_SHARE = 1 / 3
_EDGE_DB = 5.0
_NEARBY_ROWS, _NEARBY_COLUMNS = 11, 25
_RUN_COLUMNS, _RUN_DB = 5, 2.0
"""A sound that lasts this many columns counts as if it were so much louder: chance seldom lasts."""
_SMALLEST_AREA = 16
_AGAIN_ROWS, _AGAIN_COLUMNS, _AGAIN_CAP_DB = 10, 172, 4.0


def _loudness(values: NDArray[np.float32], calls: _Calls) -> NDArray[np.float32]:
    """Amplitude in units of each band's background, smoothed.

    Averaged as decibels, noise keeps its deep dips; averaged as power, single loud pixels rule. Amplitudes lie
    between the two and told calls from noise best.
    """
    from miml_core.segments.acoustic_kernels import smooth

    loudness = values - background_levels(values)
    np.minimum(loudness, _LOUDEST_DB, out=loudness)
    loudness *= np.float32(np.log(10) / 20)
    np.exp(loudness, out=loudness)
    return smooth(loudness, _bell(calls.smooth_rows), _bell(calls.smooth_columns))


_LOUDEST_DB = np.float32(100.0)


def _amplitude(decibels: float) -> np.float32:
    return np.float32(10 ** (decibels / 20))


def _decibels(amplitudes: NDArray[np.float32]) -> NDArray[np.float32]:
    return 20 * np.log10(np.maximum(amplitudes, np.float32(1e-6)))


def _parted(
    loudness: NDArray[np.float32], mask: NDArray[np.bool_], parting: _Parting
) -> tuple[NDArray[np.int32], int]:
    """The pieces of the mask, cut where energy drops, each down to where its own call ends."""
    from miml_core.segments import acoustic_kernels as kernels

    contrast = _decibels(loudness)
    labels, peaks = kernels.find_peaks(contrast, mask, parting.depth)
    kernels.trim(labels, contrast, np.maximum(parting.share_of_peak * peaks, peaks - parting.below_peak))
    return labels, len(peaks)


def _bell(width: float) -> NDArray[np.float32]:
    """Weights of a Gaussian with this standard deviation, from the middle to three pixels away."""
    weights = np.exp(-0.5 * (np.arange(4) / width) ** 2)
    return (weights / (weights[0] + 2 * weights[1:].sum())).astype(np.float32)


def running_max(values: NDArray[np.float32], length: int, axis: int) -> NDArray[np.float32]:
    """Maximum over `length` (odd) pixels around each, by maxima of doubled lengths."""
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


def _stand_out(
    boxes: NDArray[np.int64], levels: NDArray[np.float64], threshold: float, calls: _Calls
) -> NDArray[np.int64]:
    """Numbers of the pieces that pass the threshold, judged with their neighbours, from left to right."""
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
