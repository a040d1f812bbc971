"""Render spectrograms as PNG pictures."""

from __future__ import annotations

import io

import numpy as np
from numpy.typing import NDArray

from miml_core.media.colour_maps import colour_map
from miml_core.media.spectrogram import QUIETEST_DB, Spectrogram, SpectrogramSettings

WIDEST_PICTURE = 16_384
"""Browsers refuse wider pictures; of longer spectrograms, columns are joined by their maximum."""
LEVEL_RANGE = (-25.0, 85.0)
"""Decibels above the background at the two ends of a grey picture of levels."""

_NOISE_SHARE = 0.3
"""Below this share of a band's levels lies its noise, also where calls fill half of the time."""
_LEAST_NOISE = 25.0
"""A band this many decibels below the others has no noise of its own (the recorder cut it off) and stays dark."""


def render_png(spectrogram: Spectrogram, settings: SpectrogramSettings, max_width: int = WIDEST_PICTURE) -> bytes:
    """Return a PNG with one pixel per cell, coloured by the view settings.

    Examples
    --------
    >>> from miml_core.media.spectrogram import make_spectrogram
    >>> settings = SpectrogramSettings()
    >>> png = render_png(make_spectrogram(np.zeros(44100, np.float32), 44100, settings), settings)
    >>> png[:4]
    b'\\x89PNG'
    """
    values = spectrogram.values
    if is_flattened(settings):
        values = values - band_noise(values)
    values = _reduced(values, max_width)
    return encode_png(values, background_level(values), settings)


def encode_png(values: NDArray[np.float32], background: float, settings: SpectrogramSettings) -> bytes:
    """Return levels as a PNG; the decibels of the view settings are relative to the level `background`."""
    from PIL import Image

    levels = _colour_numbers(values, background, settings.quiet_db, settings.loud_db)
    picture = Image.fromarray(levels, mode="P")
    picture.putpalette(colour_map(settings.colour_map).tobytes())
    stream = io.BytesIO()
    picture.save(stream, "PNG", compress_level=1)
    return stream.getvalue()


def encode_levels(values: NDArray[np.float32], background: float) -> bytes:
    """Return levels as a grey PNG, from 0 to 255 over `LEVEL_RANGE`; a browser colours it by the view settings."""
    from PIL import Image

    stream = io.BytesIO()
    levels = _colour_numbers(values, background, *LEVEL_RANGE)
    Image.fromarray(levels, mode="L").save(stream, "PNG", compress_level=1)
    return stream.getvalue()


def is_flattened(settings: SpectrogramSettings) -> bool:
    """Return whether bands are drawn relative to their own noise; normalised levels are already."""
    return settings.flat and settings.normalisation == "none"


def band_noise(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the (bands, 1) level of each band's noise, from its (bands, columns) levels; silence does not count.

    Examples
    --------
    >>> levels = np.array([[-60, -60, -59, -20], [-80, -80, -78, -79], [-120, -120, -120, -120]], np.float32)
    >>> band_noise(levels).ravel().tolist()
    [-60.0, -80.0, -105.0]
    """
    noise = np.quantile(values[:, audible_columns(values)], _NOISE_SHARE, axis=1, keepdims=True, method="lower")
    return np.maximum(noise, np.median(noise) - np.float32(_LEAST_NOISE)).astype(np.float32)


def audible_columns(values: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Return which columns of levels are not digital silence; all, if there are no others."""
    audible = np.asarray(values.max(axis=0) > QUIETEST_DB + 1)
    return audible if audible.any() else ~audible


def _reduced(values: NDArray[np.float32], max_width: int) -> NDArray[np.float32]:
    joined = -(-values.shape[1] // max_width)
    if joined <= 1:
        return values
    starts = np.arange(0, values.shape[1], joined)
    return np.maximum.reduceat(values, starts, axis=1)


def background_level(values: NDArray[np.float32], columns: int = 512) -> float:
    """Return the median level of about 64 rows and at least `columns` columns, spread over the picture."""
    return float(np.median(values[:: max(1, values.shape[0] // 64), :: max(1, values.shape[1] // columns)]))


def _colour_numbers(
    values: NDArray[np.float32], background: float, quiet_db: float, loud_db: float
) -> NDArray[np.uint8]:
    """Return 0 to 255 for levels from `quiet_db` to `loud_db` above the background."""
    scale = np.float32(255 / (loud_db - quiet_db))
    levels = (values - np.float32(np.float32(background) + quiet_db)) * scale
    return np.clip(levels, 0, 255, out=levels).astype(np.uint8)
