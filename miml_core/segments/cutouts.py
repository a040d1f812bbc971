"""Small pictures of single segments, to see many of them side by side.

Each cut-out is normalised by itself, so that faint calls are as visible as loud ones: every frequency is shown above
its own quiet level, and the loudest part of the segment is the brightest. Of a recording only the part around the
segment is read.
"""

from __future__ import annotations

import io

import numpy as np
from numpy.typing import NDArray

from miml_core.media.colour_maps import colour_map
from miml_core.media.grid import Grid
from miml_core.media.image import Picture
from miml_core.media.tiles import FRAMES_PER_COLUMN, SpectrogramTiles
from miml_core.segments.regions import Region

WIDTH, HEIGHT = 168, 126
"""Pixels of a cut-out: one and a half times what a screen shows, for screens with fine pixels."""

_QUALITY = 82
_TIME_CONTEXT = 1.6
"""Width of a cut-out of sound, in lengths of its segment; at least half as many columns as the cut-out has pixels."""
_BAND_CONTEXT = 1.8
_LEAST_BAND = 0.3
"""Height of a cut-out of sound, in heights of its segment, and at least this share of the spectrogram."""
_QUIET_PERCENTILE, _LOUD_PERCENTILE = 30, 98
_LEAST_RANGE_DB = 12.0
_LIFT_DB = 1.5
_PICTURE_CONTEXT = 1.35
_LEAST_PIXELS = 24
_DIMMED = 0.45
_OUTLINE_ALPHA = 0.6

Bytes = NDArray[np.uint8]
Floats = NDArray[np.float32]


def sound_cutout(tiles: SpectrogramTiles, grid: Grid, region: Region) -> bytes:
    """Return the spectrogram around a segment as a JPEG.

    Parameters
    ----------
    tiles : SpectrogramTiles
        Of the bag, without normalisation.
    grid : Grid
        The grid that `region` lies on, which need not be that of the tiles.

    Examples
    --------
    >>> import tempfile, soundfile
    >>> from miml_core.media.sound_blocks import SoundWindow
    >>> from miml_core.media.spectrogram import SpectrogramSettings
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     soundfile.write(f"{folder}/dawn.wav", np.sin(np.arange(44100) / 3), 44100)
    ...     tiles = SpectrogramTiles(SoundWindow.of(f"{folder}/dawn.wav", 0.0, 1.0, SpectrogramSettings(), "mix"))
    ...     sound_cutout(tiles, tiles.window.grid, Region(40, 50, np.ones((30, 60), dtype=bool)))[:3]
    b'\\xff\\xd8\\xff'
    """
    view = tiles.window.grid
    top, left, bottom, right = region.box
    columns = np.sort(view.column_at(grid.x_at([left, right])))
    rows = np.sort(view.row_at(grid.y_at([top, bottom])))
    first, last = _stretch(columns, _TIME_CONTEXT, WIDTH / 2, view.width)
    upper, lower = _stretch(rows, _BAND_CONTEXT, _LEAST_BAND * view.height, view.height)
    step = 1 << (level := _level(last - first))
    begin, end = int(first // step), max(int(first // step) + 1, int(-(-last // step)))
    levels = tiles.values(level, begin, min(end, tiles.columns(level)))
    scale = levels.shape[0] / view.height
    call_rows = slice(max(int(rows[0] * scale), 0), int(rows[1] * scale) + 1)
    call_columns = slice(max(int(columns[0] // step) - begin, 0), max(int(columns[1] // step) + 1 - begin, 0))
    grey = _normalised(levels, call_rows, call_columns)
    box = (first / step - begin, upper * scale, last / step - begin, lower * scale)
    pixels = colour_map(tiles.settings.colour_map)[_resized(grey, box)]
    x = view.x_at(first + (np.arange(WIDTH) + 0.5) * (last - first) / WIDTH)
    y = view.y_at(upper + (np.arange(HEIGHT) + 0.5) * (lower - upper) / HEIGHT)
    return _encoded(_outlined(pixels, _mask_at(grid, region, x, y)))


def picture_cutout(picture: Picture, grid: Grid, region: Region, width: int = WIDTH, height: int = HEIGHT) -> bytes:
    """Return the part of a picture around a segment as a JPEG, what is around the segment darker.

    Examples
    --------
    >>> grid = Grid(640, 480, 0.0, 640.0, 0.0, 480.0)
    >>> meadow = Picture(np.zeros((480, 640, 3), dtype=np.uint8), grid)
    >>> picture_cutout(meadow, grid, Region(100, 200, np.ones((40, 50), dtype=bool)))[:3]
    b'\\xff\\xd8\\xff'
    """
    from PIL import Image

    view = picture.grid
    top, left, bottom, right = region.box
    columns, rows = view.column_at(grid.x_at([left, right])), view.row_at(grid.y_at([top, bottom]))
    wide = max(_PICTURE_CONTEXT * (columns[1] - columns[0]), _LEAST_PIXELS)
    high = max(_PICTURE_CONTEXT * (rows[1] - rows[0]), _LEAST_PIXELS)
    whole = max(view.width, view.height * width / height)  # more would only add a frame
    wide = min(max(wide, high * width / height), whole)
    high = wide * height / width
    box = (*_shifted(columns.mean() - wide / 2, wide, view.width), *_shifted(rows.mean() - high / 2, high, view.height))
    edges = (box[0], box[2], box[1], box[3])
    cut = Image.fromarray(picture.pixels).transform(
        (width, height), Image.Transform.EXTENT, edges, Image.Resampling.BILINEAR
    )
    x = view.x_at(edges[0] + (np.arange(width) + 0.5) * (edges[2] - edges[0]) / width)
    y = view.y_at(edges[1] + (np.arange(height) + 0.5) * (edges[3] - edges[1]) / height)
    mask = _mask_at(grid, region, x, y)
    pixels = np.asarray(cut)
    dimmed = np.where(mask[:, :, None], pixels, pixels * _DIMMED).astype(np.uint8)
    return _encoded(_outlined(dimmed, mask))


def picture_side(grid: Grid, region: Region, width: int = WIDTH) -> int:
    """Return how many pixels the longer side of a picture needs for a cut-out of this width to be sharp.

    Examples
    --------
    >>> grid = Grid(4000, 3000, 0.0, 4000.0, 0.0, 3000.0)
    >>> picture_side(grid, Region(0, 0, np.ones((900, 1000), dtype=bool)))
    512
    """
    _, left, _, right = region.box
    share = max(right - left, 1) * _PICTURE_CONTEXT / grid.width
    wanted = min(4096.0, width / share * max(1.0, grid.height / grid.width))
    return 1 << int(np.ceil(np.log2(max(wanted, 256.0))))  # few sizes, so that one decoded picture serves many segments


def _stretch(edges: NDArray[np.float64], context: float, least: float, whole: int) -> tuple[float, float]:
    """Return a wider range around two edges, inside 0 to `whole`."""
    size = min(max(context * float(edges[1] - edges[0]), least, 1.0), float(whole))
    start = min(max(float(edges.sum() - size) / 2, 0.0), whole - size)
    return start, start + size


def _shifted(start: float, size: float, whole: int) -> tuple[float, float]:
    """Return a range moved into 0 to `whole`; one that is too large is centred on it."""
    if size >= whole:
        return (whole - size) / 2, (whole + size) / 2
    start = min(max(start, 0.0), whole - size)
    return start, start + size


def _level(columns: float) -> int:
    """Return the zoom level at which so many columns are few enough to be reduced to the width of a cut-out."""
    return max(0, int(np.ceil(np.log2(max(1.0, columns / (FRAMES_PER_COLUMN * WIDTH))))))


def _normalised(levels: Floats, rows: slice, columns: slice) -> Bytes:
    """Return 0 to 255 from the quiet level of each row to the loud level inside the segment's box."""
    above = levels - np.percentile(levels, _QUIET_PERCENTILE, axis=1, keepdims=True) - _LIFT_DB
    call = above[rows, columns]
    loud = np.percentile(call if call.size else above, _LOUD_PERCENTILE)
    return np.asarray(np.clip(above * (255.0 / max(float(loud), _LEAST_RANGE_DB)), 0, 255), dtype=np.uint8)


def _resized(grey: Bytes, box: tuple[float, float, float, float]) -> Bytes:
    from PIL import Image

    height, width = grey.shape
    left, top = min(max(box[0], 0.0), width - 1e-3), min(max(box[1], 0.0), height - 1e-3)
    within = (left, top, max(min(box[2], width), left + 1e-3), max(min(box[3], height), top + 1e-3))
    return np.asarray(Image.fromarray(grey).resize((WIDTH, HEIGHT), Image.Resampling.BILINEAR, box=within))


def _mask_at(grid: Grid, region: Region, x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which points (y, x), in real units, lie in a region."""
    rows = np.floor(grid.row_at(y)).astype(int) - region.top
    columns = np.floor(grid.column_at(x)).astype(int) - region.left
    height, width = region.mask.shape
    known = ((rows >= 0) & (rows < height))[:, None] & ((columns >= 0) & (columns < width))
    return known & region.mask[np.clip(rows, 0, height - 1)[:, None], np.clip(columns, 0, width - 1)]


def _outlined(pixels: Bytes, mask: NDArray[np.bool_]) -> Bytes:
    """Return the picture with a light line just outside a mask."""
    padded = np.pad(mask, 1)
    near = padded[:-2, 1:-1] | padded[2:, 1:-1] | padded[1:-1, :-2] | padded[1:-1, 2:]
    line = (near & ~mask)[:, :, None]
    lit = pixels + (255.0 - pixels) * _OUTLINE_ALPHA
    return np.where(line, lit, pixels).astype(np.uint8)


def _encoded(pixels: Bytes) -> bytes:
    from PIL import Image

    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "JPEG", quality=_QUALITY)
    return stream.getvalue()
