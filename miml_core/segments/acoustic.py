"""Segments of sound that need no training: what stands out of each band's own background."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

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
    """

    sensitivity: float = 0.5
    smallest_call: float = 0.02
    gap: float = 0.012

    def __post_init__(self) -> None:
        if not 0 <= self.sensitivity <= 1:
            raise BagtagError(f"The sensitivity lies between 0 and 1, not at {self.sensitivity:g}.")
        if self.smallest_call < 0 or self.gap < 0:
            raise BagtagError("The smallest call and the gap to bridge cannot be negative.")

    @classmethod
    def for_rate(cls, rate: float) -> SoundSegmentSettings:
        """Defaults for the animals that a recorder with this sample rate is used for."""
        return cls(smallest_call=0.001, gap=0.0005) if rate >= 128_000 else cls()

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> SoundSegmentSettings:
        return cls(**values)


def background_levels(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """(height, 1) level of each band's background: its median over time."""
    return np.median(values, axis=1, keepdims=True)


def find_sound_segments(spectrogram: Spectrogram, settings: SoundSegmentSettings) -> list[Region]:
    """Regions that stand out of the background, from left to right."""
    from scipy import ndimage

    values = spectrogram.values
    contrast = ndimage.uniform_filter(values - background_levels(values), 3)
    high = 16.0 - 12.0 * settings.sensitivity
    strong, weak = contrast > high, contrast > 0.6 * high
    seconds = (spectrogram.grid.right - spectrogram.grid.left) / spectrogram.grid.width
    weak = ndimage.binary_closing(weak, np.ones((3, max(1, round(settings.gap / seconds)))))
    labels, count = ndimage.label(weak, np.ones((3, 3)))
    kept = np.zeros(count + 1, dtype=bool)
    kept[np.unique(labels[strong & weak])] = True
    kept[0] = False
    smallest = settings.smallest_call / seconds
    regions = []
    for number, box in enumerate(ndimage.find_objects(labels), start=1):
        if kept[number] and box[1].stop - box[1].start >= smallest:
            regions.append(Region(box[0].start, box[1].start, labels[box] == number))
    return sorted(regions, key=lambda region: region.left)
