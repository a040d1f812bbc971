"""Render spectrograms as PNG pictures."""

from __future__ import annotations

import io

import numpy as np
from numpy.typing import NDArray

from miml_core.media.colour_maps import colour_map
from miml_core.media.spectrogram import Spectrogram, SpectrogramSettings

WIDEST_PICTURE = 16_384
"""Browsers refuse wider pictures; of longer spectrograms, columns are joined by their maximum."""


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
    values = _reduced(spectrogram.values, max_width)
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
