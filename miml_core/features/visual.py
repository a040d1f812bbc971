"""Features of segments of pictures.

The papers' set has 48 features: a 16-bin histogram of gradient directions and a 32-bin colour histogram. The extended
set has their square roots, which suit linear models better, mean and standard deviation of colour, texture at three
scales, position, shape, and the surroundings of the segment. Leaving out any of these groups lowered the accuracy on
photographs; finer histograms, coarser directions and more features of shape did not raise it. The features of a segment
depend on its own pixels and on the picture, not on other segments, so that drawn and detected segments have the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from miml_core.errors import BagtagError
from miml_core.media.image import Picture
from miml_core.media.lab import blur, gradient, to_lab
from miml_core.segments.regions import Region

PictureFeatureSet = Literal["paper", "extended"]

Table = NDArray[np.float64]

_DIRECTIONS = 16
_HUES, _SHADES, _GREYS = 8, 3, 8
_UNSATURATED = 40
_SCALES = (1.0, 2.0, 4.0)
_PATTERNS = 10
_FAINT = 0.3
_REACH = 0.03  # width of the surroundings of a segment, as a share of the picture's diagonal


@dataclass(frozen=True, eq=False)
class _View:
    """A picture and the pixels of its segments: `where` has their indices in the flat picture, segment by segment."""

    pixels: NDArray[np.uint8]
    regions: Sequence[Region]

    @cached_property
    def lab(self) -> NDArray[np.float32]:
        return to_lab(self.pixels)

    @cached_property
    def light(self) -> list[NDArray[np.float32]]:
        """Lightness, blurred at each scale and at twice the last one."""
        return [blur(self.lab[0], scale) for scale in (*_SCALES, 2 * _SCALES[-1])]

    @cached_property
    def slope(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Slope of the lightness at the finest scale, downwards and to the right."""
        return gradient(self.light[0])

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        return np.array([region.area for region in self.regions], dtype=np.int64)

    @cached_property
    def where(self) -> NDArray[np.int64]:
        return np.concatenate([self.flat(region.top, region.left, region.mask) for region in self.regions])

    @cached_property
    def owner(self) -> NDArray[np.int64]:
        return np.repeat(np.arange(len(self.regions)), self.sizes)

    @cached_property
    def moments(self) -> Table:
        """(n, 4) float: mean x, y, x squared and y squared, in units of the width and height of the picture."""
        height, width = self.pixels.shape[:2]
        rows, columns = np.divmod(self.where, width)
        x, y = (columns + 0.5) / width, (rows + 0.5) / height
        return self.means_of([x, y, x**2, y**2])

    def flat(self, top: int, left: int, mask: NDArray[np.bool_]) -> NDArray[np.int64]:
        rows, columns = np.nonzero(mask)
        return (rows + top) * self.pixels.shape[1] + columns + left

    def means(self, planes: Sequence[NDArray[np.floating]]) -> Table:
        """Return the (n, planes) mean of each plane over each segment."""
        return self.means_of([plane.ravel()[self.where] for plane in planes])

    def means_of(self, values: Sequence[NDArray[np.floating]]) -> Table:
        """Return the (n, planes) means of values in the order of `where`."""
        starts = np.cumsum(self.sizes) - self.sizes
        sums = [np.add.reduceat(each, starts, dtype=np.float64) for each in values]
        return np.stack(sums, axis=1) / self.sizes[:, None]

    def histogram(self, bins: NDArray[np.integer], n_bins: int, weights: NDArray[np.floating] | None = None) -> Table:
        """Return the (n, bins) share of each bin; all 0 if the weights are."""
        cells = self.owner * n_bins + bins.ravel()[self.where]
        weight = None if weights is None else weights.ravel()[self.where]
        counts = np.bincount(cells, weight, minlength=len(self.regions) * n_bins).reshape(-1, n_bins)
        return counts / np.maximum(counts.sum(axis=1, keepdims=True), 1e-12)


def picture_features(picture: Picture, regions: Sequence[Region], feature_set: PictureFeatureSet = "extended") -> Table:
    """Return the (n, d) features of n regions; `picture_feature_names` has the names of the columns.

    Examples
    --------
    >>> from miml_core.media.grid import Grid
    >>> picture = Picture(np.zeros((20, 30, 3), dtype=np.uint8), Grid(30, 20, 0.0, 30.0, 0.0, 20.0))
    >>> X = picture_features(picture, [Region(5, 10, np.ones((10, 10), dtype=bool))])
    >>> X.shape == (1, len(picture_feature_names()))
    True
    """
    groups = _groups(feature_set)
    if not regions:
        return np.empty((0, len(picture_feature_names(feature_set))))
    height, width = picture.pixels.shape[:2]
    for region in regions:
        top, left, bottom, right = region.box
        if top < 0 or left < 0 or bottom > height or right > width or not region.mask.any():
            raise BagtagError("A segment is empty or outside its picture; segment the picture again.")
    view = _View(picture.pixels, regions)
    return np.concatenate([group.describe(view) for group in groups], axis=1)


def warm() -> None:
    """Compile the kernels."""
    pixels = np.zeros((4, 4, 3), dtype=np.uint8)
    _surroundings(_View(pixels, [Region(0, 0, np.ones((2, 2), dtype=bool))]))


def picture_feature_names(feature_set: PictureFeatureSet = "extended") -> list[str]:
    """Return the names of the columns of `picture_features`.

    Examples
    --------
    >>> len(picture_feature_names("paper")) < len(picture_feature_names("extended"))
    True
    """
    return [name for group in _groups(feature_set) for name in group.names]


def _directions(view: _View) -> Table:
    down, right = view.slope
    turn = np.arctan2(down, right) / (2 * np.pi) % 1.0
    bins = np.minimum((turn * _DIRECTIONS).astype(np.int64), _DIRECTIONS - 1)
    return view.histogram(bins, _DIRECTIONS, np.hypot(down, right))


def _colours(view: _View) -> Table:
    """Return the histogram of eight hues in three shades each, and of eight greys for pixels of little colour."""
    from PIL import Image

    hue, saturation, value = np.moveaxis(np.asarray(Image.fromarray(view.pixels).convert("HSV")), 2, 0).astype(np.int64)
    coloured = hue * _HUES // 256 * _SHADES + value * _SHADES // 256
    grey = _HUES * _SHADES + value * _GREYS // 256
    return view.histogram(np.where(saturation < _UNSATURATED, grey, coloured), _HUES * _SHADES + _GREYS)


def _colour_statistics(view: _View) -> Table:
    mean = view.means(list(view.lab))
    spread = np.sqrt(np.maximum(view.means([plane**2 for plane in view.lab]) - mean**2, 0))
    return np.concatenate([mean, spread], axis=1)


def _texture(view: _View) -> Table:
    """Return the logarithm of the mean slope and of the mean detail (removed by the next blur) at each scale."""
    slopes = [scale * np.hypot(*gradient(plane)) for scale, plane in zip(_SCALES, view.light)]
    details = [np.abs(fine - coarse) for fine, coarse in zip(view.light[:-1], view.light[1:])]
    chroma = [np.hypot(*gradient(blur(plane, 1.0))) for plane in view.lab[1:]]
    return np.log(view.means([*slopes, *details, *chroma]) + _FAINT)


def _grain(view: _View) -> Table:
    """Return the log ratio of horizontal to vertical slope, fine and coarse: upright or horizontal texture."""
    ratios = []
    for plane in (view.light[0], view.light[1]):
        down, right = (np.log(view.means([np.abs(slope)]) + _FAINT) for slope in gradient(plane))
        ratios.append(right - down)
    return np.concatenate(ratios, axis=1)


def _patterns(view: _View) -> Table:
    """Return the histogram of uniform local binary patterns (Ojala et al., 2002): lighter neighbours in one run."""
    padded = np.pad(view.lab[0], 1, mode="edge")
    height, width = view.lab[0].shape
    around = [(0, 0), (0, 1), (0, 2), (1, 2), (2, 2), (2, 1), (2, 0), (1, 0)]
    lighter = np.stack([padded[i : i + height, j : j + width] > view.lab[0] + 1.0 for i, j in around])
    changes = (lighter != np.roll(lighter, 1, axis=0)).sum(axis=0)
    return view.histogram(np.where(changes <= 2, lighter.sum(axis=0), _PATTERNS - 1), _PATTERNS)


def _place(view: _View) -> Table:
    x, y = view.moments[:, 0], view.moments[:, 1]
    return np.stack([x, y, np.abs(x - 0.5), y**2, *_at_edges(view)], axis=1)


def _shape(view: _View) -> Table:
    height, width = view.pixels.shape[:2]
    x, y, x2, y2 = view.moments.T
    borders = np.array([_border_length(region.mask) for region in view.regions])
    return np.stack(
        [
            np.log(view.sizes / (height * width)),
            np.sqrt(np.maximum(x2 - x**2, 0)),
            np.sqrt(np.maximum(y2 - y**2, 0)),
            np.log(borders**2 / view.sizes),
        ],
        axis=1,
    )


def _surroundings(view: _View) -> Table:
    """Return Lab of a band above, below and beside the segment minus its own; 0 if the band is outside the picture."""
    from miml_core.features.visual_kernels import band_means

    reach = max(1, round(_REACH * float(np.hypot(*view.pixels.shape[:2]))))
    own = view.means(list(view.lab))
    around = np.stack([band_means(view.lab, each.mask, each.top, each.left, reach) for each in view.regions])
    return np.nan_to_num(around - own[:, None]).reshape(len(own), -1)


def _at_edges(view: _View) -> NDArray[np.float64]:
    """Return the share of the picture's upper, lower and side edges that belongs to the segment."""
    height, width = view.pixels.shape[:2]
    rows, columns = np.divmod(view.where, width)
    edges = [(rows == 0, width), (rows == height - 1, width), ((columns == 0) | (columns == width - 1), 2 * height)]
    return np.stack([np.bincount(view.owner, at, minlength=len(view.regions)) / length for at, length in edges])


def _border_length(mask: NDArray[np.bool_]) -> int:
    padded = np.pad(mask, 1)
    return int((padded[1:] != padded[:-1]).sum() + (padded[:, 1:] != padded[:, :-1]).sum())


def _root(describe: Callable[[_View], Table]) -> Callable[[_View], Table]:
    """Return a function for the square roots of a histogram, whose Euclidean distance is Hellinger's."""
    return lambda view: np.sqrt(describe(view))


class _Group(NamedTuple):
    """Features that are computed together, and their names."""

    describe: Callable[[_View], Table]
    names: list[str]


_PAPER = [
    _Group(_directions, [f"direction {k * 360 / _DIRECTIONS:g}" for k in range(_DIRECTIONS)]),
    _Group(
        _colours,
        [
            f"{shade} {hue}"
            for hue in ("red", "yellow", "green", "teal", "cyan", "blue", "violet", "pink")
            for shade in ("dark", "mid", "bright")
        ]
        + [f"grey {k + 1}" for k in range(_GREYS)],
    ),
]
_LAB = ("lightness", "a", "b")
_EXTENDED = [
    *(_Group(_root(group.describe), group.names) for group in _PAPER),
    _Group(_colour_statistics, [f"{what} {plane}" for what in ("mean", "spread of") for plane in _LAB]),
    _Group(
        _texture,
        [f"{what} at {scale:g}" for what in ("slope", "detail") for scale in _SCALES] + ["slope of a", "slope of b"],
    ),
    _Group(_grain, ["fine grain upright", "coarse grain upright"]),
    _Group(_root(_patterns), [f"{k} lighter neighbours" for k in range(_PATTERNS - 1)] + ["other neighbours"]),
    _Group(_place, ["x", "y", "off the middle", "y squared", "at upper edge", "at lower edge", "at side edges"]),
    _Group(_shape, ["log area", "width", "height", "raggedness"]),
    _Group(_surroundings, [f"{plane} {side}" for side in ("above", "below", "beside") for plane in _LAB]),
]


def _groups(feature_set: PictureFeatureSet) -> list[_Group]:
    if feature_set not in ("paper", "extended"):
        raise BagtagError(f'The feature set must be "paper" or "extended", not {feature_set!r}.')
    return _PAPER if feature_set == "paper" else _EXTENDED
