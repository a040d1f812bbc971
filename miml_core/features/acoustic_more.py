"""Features of sound segments beside the 38 of the papers, kept because they raise accuracy on real recordings.

Three groups: the shape of the segment's spectrum on a scale of pitch (cepstral coefficients of its mean level over 24
bands, evenly spaced in mel over the spectrogram); how its pitch moves (level-weighted centroid in four quarters of its
time, their change, and quantiles of its frequencies); and its size and surroundings in real units (log duration,
log bandwidth, level in the same band just before and after, share of its columns that are loud elsewhere).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from miml_core.media.grid import Grid
from miml_core.segments.regions import Region

N_BANDS, N_CEPSTRAL, N_QUARTERS = 24, 13, 4
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
_BESIDE = 0.1
"""Seconds before and after a segment that count as its surroundings."""

MORE_NAMES = (
    *(f"cepstrum {k}" for k in range(N_CEPSTRAL)),
    *(f"pitch in quarter {k + 1}" for k in range(N_QUARTERS)),
    *("pitch slope", "pitch range", "pitch deviation"),
    *(f"pitch quantile {q:g}" for q in _QUANTILES),
    *("log duration", "log bandwidth", "level before", "level after", "level elsewhere", "loudest level"),
)


def more_features(reduced: NDArray[np.float32], grid: Grid, regions: Sequence[Region]) -> NDArray[np.float64]:
    """(n, d) for all regions of a bag, from the noise-reduced spectrogram (0 to 1)."""
    pitch = _mel(grid.y_at(np.arange(grid.height) + 0.5))
    bands = _bands(pitch)
    cosines = _cosines()
    return np.array([_describe(reduced, grid, region, pitch, bands, cosines) for region in regions])


def _describe(
    reduced: NDArray[np.float32],
    grid: Grid,
    region: Region,
    pitch: NDArray[np.float64],
    bands: NDArray[np.float64],
    cosines: NDArray[np.float64],
) -> NDArray[np.float64]:
    top, left, bottom, right = region.box
    box = reduced[top:bottom, left:right]
    masked = np.where(region.mask, box, 0.0) + 1e-6 * region.mask
    rows = masked.sum(axis=1)
    profile = rows / rows.sum()
    by_band = bands[:, top:bottom] @ (rows / region.mask.shape[1])
    cepstrum = cosines @ np.log(by_band + 1e-3)
    moves = _pitch_moves(masked, pitch[top:bottom])
    reached = np.searchsorted(np.cumsum(profile), _QUANTILES).clip(0, len(profile) - 1)
    seconds = (grid.right - grid.left) / grid.width
    beside = max(1, round(_BESIDE / seconds))
    before, after = reduced[top:bottom, max(0, left - beside) : left], reduced[top:bottom, right : right + beside]
    columns = reduced[:, left:right]
    elsewhere = (columns.sum() - box.sum()) / max(1, columns.size - box.size)
    size = [
        np.log(max(1, right - left) * seconds),
        np.log(1e-3 + abs(float(grid.y_at(top)) - float(grid.y_at(bottom))) / 1000),
        float(before.mean()) if before.size else 0.0,
        float(after.mean()) if after.size else 0.0,
        float(elsewhere),
        float(masked.max()),
    ]
    return np.concatenate([cepstrum, moves, pitch[top:bottom][reached], size])


def _pitch_moves(masked: NDArray[np.float64], pitch: NDArray[np.float64]) -> NDArray[np.float64]:
    """Centroid of pitch in the quarters of the segment's time, and how it changes."""
    columns = masked.sum(axis=0)
    centroid = (pitch @ masked) / np.maximum(columns, 1e-12)
    mean = float((centroid * columns).sum() / columns.sum())
    centroid = np.where(columns > 0, centroid, mean)
    cuts = np.linspace(0, len(columns), N_QUARTERS + 1)
    quarters = []
    for start, end in itertools.pairwise(cuts):
        part = slice(int(start), max(int(start) + 1, int(np.ceil(end))))
        weight = columns[part].sum()
        quarters.append(float((centroid[part] * columns[part]).sum() / weight) if weight > 0 else mean)
    time = np.linspace(-0.5, 0.5, len(columns))
    spread = float((columns * time**2).sum())
    slope = float((columns * time * (centroid - mean)).sum()) / spread if spread > 0 else 0.0
    deviation = float(np.sqrt((columns * (centroid - mean) ** 2).sum() / columns.sum()))
    return np.array([*quarters, slope, float(np.ptp(centroid)), deviation])


def _mel(hertz: NDArray[np.float64]) -> NDArray[np.float64]:
    """Pitch in thousands of mel."""
    return 2.595 * np.log10(1.0 + np.maximum(hertz, 0.0) / 700.0)


def _bands(pitch: NDArray[np.float64]) -> NDArray[np.float64]:
    """(bands, height) triangular weights evenly spaced in pitch, each summing to 1."""
    low, high = float(pitch.min()), float(pitch.max())
    centres = np.linspace(low, high, N_BANDS)
    width = max((high - low) / (N_BANDS - 1), 1e-9)
    weights = np.maximum(0.0, 1.0 - np.abs(pitch[None] - centres[:, None]) / width)
    return weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-9)


def _cosines() -> NDArray[np.float64]:
    """(coefficients, bands) the discrete cosine transform, orthonormal."""
    angles = np.pi * np.arange(N_CEPSTRAL)[:, None] * (np.arange(N_BANDS) + 0.5) / N_BANDS
    scale = np.full((N_CEPSTRAL, 1), np.sqrt(2 / N_BANDS))
    scale[0] = np.sqrt(1 / N_BANDS)
    return scale * np.cos(angles)
