"""Find segments of pictures: small regions of even colour, merged over their adjacency graph to a chosen number.

The small regions are Felzenszwalb and Huttenlocher's (2004), which follow edges closely. Each step merges the two
neighbours a, b with the least

    (colour difference^2 + 5 texture difference^2 + contrast along their border^2)
        x  n_a n_b / (n_a + n_b)               Ward's factor: merging large regions costs more
        x  sqrt(min(n_a, n_b)) / border        regions that share much of their border merge more easily

with means over the regions in Lab units; texture is the mean slope of lightness. The terms beside colour were chosen
on two kinds of photographs (fields and animals, streets) at 10, 20 and 40 segments, where they agreed.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miml_core.errors import BagtagError
from miml_core.media.image import Picture
from miml_core.media.lab import blur, gradient, to_lab
from miml_core.segments.regions import Region, from_labels

_WEIGHTS = np.array([1.0, 1.0, 1.0, 5.0])  # lightness, a, b, texture
_MOST_SEGMENTS = 500


@dataclass(frozen=True)
class PictureSegmentSettings:
    """Settings of `find_picture_segments`.

    Parameters
    ----------
    segments : int
        Largest number of segments per picture; an even picture has fewer.
    working_side : int
        Larger pictures are reduced to this many pixels on the longer side before segments are found.

    Examples
    --------
    >>> settings = PictureSegmentSettings(segments=20)
    >>> PictureSegmentSettings.from_dict(settings.to_dict()) == settings
    True
    """

    segments: int = 12
    working_side: int = 480

    def __post_init__(self) -> None:
        if not 1 <= self.segments <= _MOST_SEGMENTS:
            raise BagtagError(f"A picture can have 1 to {_MOST_SEGMENTS} segments, not {self.segments}.")
        if not 16 <= self.working_side <= 4000:
            raise BagtagError(f"The working size must be between 16 and 4000 pixels, not {self.working_side}.")

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> PictureSegmentSettings:
        return cls(**values)


def find_picture_segments(picture: Picture, settings: PictureSegmentSettings | None = None) -> list[Region]:
    """Return connected segments that cover the whole picture without overlap; none is a speck.

    Examples
    --------
    >>> from miml_core.media.grid import Grid
    >>> pixels = np.zeros((40, 60, 3), dtype=np.uint8)
    >>> pixels[:, 30:] = (200, 40, 40)
    >>> picture = Picture(pixels, Grid(60, 40, 0.0, 60.0, 0.0, 40.0))
    >>> [region.box for region in find_picture_segments(picture, PictureSegmentSettings(segments=2))]
    [(0, 0, 40, 29), (0, 29, 40, 60)]
    """
    settings = settings or PictureSegmentSettings()
    return from_labels(_segment_map(picture.pixels, settings.segments) + 1)


def warm() -> None:
    """Compile the kernels, for pixels that can be written and, as decoded pictures are, for those that cannot."""
    pixels = np.zeros((8, 8, 3), dtype=np.uint8)
    pixels[::2, ::2], pixels[1::2] = 255, 120  # more regions than wanted, so that some are joined
    _segment_map(pixels, 2)
    pixels.flags.writeable = False
    to_lab(pixels)


def _segment_map(pixels: NDArray[np.uint8], wanted: int) -> NDArray[np.int32]:
    """Return a label map that starts at 0."""
    from miml_core.segments.visual_kernels import merge_regions, region_graph

    smooth = np.stack([blur(plane, 0.8) for plane in to_lab(pixels)])
    labels, n = _small_regions(smooth, wanted)
    if n <= wanted:
        return labels
    down, right = gradient(smooth[0])
    planes = np.concatenate([smooth, np.hypot(down, right)[None]])
    sums, sizes, border, contrast = region_graph(labels, n, planes)
    return np.asarray(merge_regions(sums, sizes, border, contrast, wanted, _WEIGHTS)[labels])


def _small_regions(smooth: NDArray[np.float32], wanted: int) -> tuple[NDArray[np.int32], int]:
    """Return about eight times as many regions as wanted; if there are far more, as in noise, use a coarser size."""
    from miml_core.segments.visual_kernels import oversegment

    typical = smooth[0].size / (8 * max(wanted, 40))
    while True:
        labels, n = oversegment(smooth, np.float32(0.14 * typical), max(1, round(typical / 8)))
        if n <= max(1000, 4 * wanted):
            return labels, n
        typical *= 2
