"""Features of segments of sound."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from miml_core.errors import BagtagError
from miml_core.features.cepstra import CEPSTRAL_NAMES, cepstral_features
from miml_core.features.mask_arrays import mask_arrays
from miml_core.media.spectrogram import Spectrogram
from miml_core.segments.acoustic import background_levels
from miml_core.segments.regions import Region

FeatureSet = Literal["paper", "extended"]

LOUDEST_DB = 60.0
"""Level above the background, in decibels, that is 1 in the noise-reduced spectrogram."""

PAPER_NAMES = (
    "frequency gini", "time gini", "frequency mean", "time mean", "frequency variance", "time variance",
    "frequency third moment", "time third moment", "frequency fourth moment", "time fourth moment",
    "frequency peak", "time peak", "intensity mean", "intensity deviation", "lowest frequency", "highest frequency",
    "bandwidth", "duration", "area", "perimeter", "perimeter^2 / area", "area / box",
    *(f"gradient direction {k + 1}" for k in range(16)),
)  # fmt: skip
"""The 38 features of the HJA birdsong data (Briggs et al. 2013, section 5), in order."""


def sound_feature_names(feature_set: FeatureSet = "extended") -> list[str]:
    """Return the names of the columns of `sound_features`.

    Examples
    --------
    >>> len(sound_feature_names("paper")), len(sound_feature_names("extended"))
    (38, 61)
    """
    _check_set(feature_set)
    return list(PAPER_NAMES) if feature_set == "paper" else [*PAPER_NAMES, *CEPSTRAL_NAMES]


def sound_features(
    spectrogram: Spectrogram, regions: Sequence[Region], feature_set: FeatureSet = "extended"
) -> NDArray[np.float64]:
    """Return the (n, d) features of n regions.

    Levels are relative to the background of each band, so that nothing depends on the gain of the recording.

    Parameters
    ----------
    spectrogram : Spectrogram
    regions : sequence of n Region
    feature_set : "paper" or "extended"
        The 38 features of the HJA data, or these and cepstral ones, which raise the accuracy on real recordings (see
        `cepstra`).

    Examples
    --------
    >>> from miml_core.media.spectrogram import SpectrogramSettings, make_spectrogram
    >>> tone = np.sin(2 * np.pi * 4000 * np.arange(44100) / 44100).astype(np.float32)
    >>> spectrogram = make_spectrogram(tone, 44100, SpectrogramSettings())
    >>> sound_features(spectrogram, [Region(200, 10, np.ones((20, 30), dtype=bool))]).shape
    (1, 61)
    """
    _check_set(feature_set)
    if not regions:
        return np.empty((0, len(sound_feature_names(feature_set))))
    _check_regions(regions, *spectrogram.values.shape)
    reduced = noise_reduced(spectrogram)
    described = paper_features(reduced, regions)
    if feature_set == "paper":
        return described
    more = cepstral_features(reduced, LOUDEST_DB, spectrogram.grid, regions)
    return np.concatenate([described, more], axis=1)


def noise_reduced(spectrogram: Spectrogram) -> NDArray[np.float32]:
    """Return levels above each band's background, from 0 (background or less) to 1 (`LOUDEST_DB` or more).

    Examples
    --------
    >>> from miml_core.media.grid import Grid
    >>> values = np.full((1, 9), -60, dtype=np.float32)
    >>> values[0, 4] += LOUDEST_DB
    >>> noise_reduced(Spectrogram(values, Grid(9, 1, 0.0, 1.0, 8000.0, 0.0), 16000)).round(2)
    array([[0., 0., 0., 0., 1., 0., 0., 0., 0.]], dtype=float32)
    """
    contrast = spectrogram.values - background_levels(spectrogram.values)
    contrast *= np.float32(1 / LOUDEST_DB)
    return np.clip(contrast, 0, 1, out=contrast)


def paper_features(reduced: NDArray[np.float32], regions: Sequence[Region]) -> NDArray[np.float64]:
    """Return the (n, 38) features of the HJA data.

    Of the frequency and the time profile of the masked segment (each with sum 1; frequency over the full height, time
    over the segment, axes scaled to [0, 1]): Gini index, mean, variance, third and fourth central moment, peak (1-12,
    in pairs); mean and deviation of the intensity in the mask (13-14); lowest and highest frequency, bandwidth,
    duration, area and perimeter in pixels, perimeter^2 / area, area / box (15-22); histogram of gradient directions
    over 360 degrees, weighted by the strength of the gradients (23-38).

    Examples
    --------
    >>> reduced = np.zeros((40, 60), dtype=np.float32)
    >>> reduced[10:20, 5:25] = 0.5
    >>> X = paper_features(reduced, [Region(10, 5, np.ones((10, 20), dtype=bool))])
    >>> X.shape, float(X[0, 18])  # 19: the area in pixels
    ((1, 38), 200.0)
    """
    from miml_core.features.acoustic_kernels import describe

    return describe(reduced, *mask_arrays(regions))


def warm() -> None:
    """Compile the kernels."""
    from miml_core.media.grid import Grid

    silence = Spectrogram(np.zeros((4, 4), dtype=np.float32), Grid(4, 4, 0.0, 1.0, 8000.0, 0.0), 16000)
    sound_features(silence, [Region(1, 1, np.ones((2, 2), dtype=bool))])


def _check_set(feature_set: str) -> None:
    if feature_set not in ("paper", "extended"):
        raise BagtagError(f'The feature set must be "paper" or "extended", not {feature_set!r}.')


def _check_regions(regions: Sequence[Region], height: int, width: int) -> None:
    """Refuse regions outside the spectrogram: the kernels check no index."""
    for region in regions:
        top, left, bottom, right = region.box
        if top < 0 or left < 0 or bottom > height or right > width or not region.mask.any():
            raise BagtagError("A segment is empty or outside its recording; segment the recording again.")
