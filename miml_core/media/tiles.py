"""Draw the spectrogram of a bag of any length as tiles: pictures by zoom level and position.

Level 0 has one column per hop, as the analysis has; every level above has half as many columns. A column of a higher
level has the *maximum* of the frames it joins, so that a short call beside seconds of silence stays visible.

A tile costs the same at every level. At most `FRAMES_PER_COLUMN` frames are computed per column: up to level 3 all its
frames, above that those at two places of its time span. The overview of three hours therefore shows a sample of the
recording: where it is loud, when the dawn chorus begins, which bands are in use. A single short call may fall between
the sampled places, and appears when the user zooms in. (Segments are found on all frames; the canvas shows their number
beside the overview.) As every column above level 2 joins the same number of frames, the background looks the same at
every level.

All tiles of a level are coloured against one background level, and a `flat` view against one level of noise per band.
Both are taken from columns spread over the whole bag, so that neighbouring tiles look like one picture. A bag of up to
16384 columns looks exactly as `rendering.render_png` draws it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from miml_core.errors import BagtagError
from miml_core.media.audio import open_reader
from miml_core.media.pcen import Pcen
from miml_core.media.rendering import (
    WIDEST_PICTURE,
    audible_columns,
    background_level,
    band_noise,
    encode_levels,
    encode_png,
    is_flattened,
)
from miml_core.media.sound_blocks import SoundWindow
from miml_core.media.spectrogram import _frame_power, _layout, _levels, _mel_filters

TILE_COLUMNS = 1024
FRAMES_PER_COLUMN = 8
TALLEST_TILE = 2048
"""Largest number of rows; of a spectrogram with more bins, rows are joined by their maximum."""

_SAMPLES_PER_TILE = 1 << 26
"""Limit of the samples per tile: with windows of many thousand samples, a column has fewer frames."""
_CHUNK = 1 << 22
_SAMPLED_COLUMNS = 128
_WHOLE_CELLS = 1 << 23
"""Up to this many cells (and twice as many samples), medians of bands are taken from all columns, else from some."""
_PCEN_RUN_UP = 8.0
"""Seconds after which the initial state of the smoothing has no effect (e^-20), even after a loud call."""

Floats = NDArray[np.float32]
Read = Callable[[int, int], Floats]


class SpectrogramTiles:
    """Tiles of one window of a sound file.

    Parameters
    ----------
    window : SoundWindow
        The bag's part of the file. Nothing is decoded before the first tile is drawn.
    """

    def __init__(self, window: SoundWindow) -> None:
        self.window = window
        self.settings = window.settings
        self.width = window.grid.width
        self._layout = _layout(window.rate, window.settings)
        affordable = _SAMPLES_PER_TILE // (TILE_COLUMNS * self._layout.window)
        self._frames = 1 << max(0, min(FRAMES_PER_COLUMN, affordable).bit_length() - 1)
        self._backgrounds: dict[int, float] = {}
        self._lock = threading.RLock()

    @property
    def top_level(self) -> int:
        """Level at which the whole bag is one tile."""
        return max(0, -(-self.width // TILE_COLUMNS) - 1).bit_length()

    def columns(self, level: int) -> int:
        """Return the number of columns of a level."""
        return -(-self.width // (1 << level))

    def tiles(self, level: int) -> int:
        """Return the number of tiles of a level; the last may be narrower than the others."""
        return -(-self.columns(level) // TILE_COLUMNS)

    def png(self, level: int, tile: int) -> bytes:
        """Return a tile as a PNG in colours.

        Raises
        ------
        BagtagError
            There is no such level or tile, or the file cannot be read.
        """
        return encode_png(self._tile(level, tile), self.background(level), self.settings)

    def levels_png(self, level: int, tile: int) -> bytes:
        """Return a tile as a grey PNG of levels (`rendering.encode_levels`), to be coloured where it is shown."""
        return encode_levels(self._tile(level, tile), self.background(level))

    def _tile(self, level: int, tile: int) -> Floats:
        if not (0 <= level <= self.top_level and 0 <= tile < self.tiles(level)):
            raise BagtagError(f"The spectrogram has no tile {tile} at level {level}.")
        first = tile * TILE_COLUMNS
        last = min(first + TILE_COLUMNS, self.columns(level))
        return self._rows(self.values(level, first, last))

    def values(self, level: int, first: int, last: int) -> Floats:
        """Return columns `first` to `last` of a level as (rows, columns) decibels."""
        with open_reader(self.window.path, self.window.channel) as read:
            if 1 << level <= self._frames:
                return self._joined(read, level, first, last)
            return np.concatenate(list(self._sampled(read, level, np.arange(first, last))), axis=1)

    def background(self, level: int) -> float:
        """Return the reference level of a zoom level's colours: the median of columns from the whole bag."""
        with self._lock:  # neighbouring tiles are requested at the same time
            if level not in self._backgrounds:
                with open_reader(self.window.path, self.window.channel) as read:
                    read(self.window.first, 1)  # raises if the file cannot be read at all
                    self._backgrounds[level] = self._find_background(read, level)
            return self._backgrounds[level]

    def _find_background(self, read: Read, level: int) -> float:
        columns = self.columns(level)
        if self.settings.normalisation == "pcen":
            return background_level(self._pcen_sample(read, level, columns))
        if level == 0 and self.width <= WIDEST_PICTURE:
            return background_level(self._rows(self._audible(self._every(read, max(1, self.width // 512)))), self.width)
        spread = np.arange(0, columns, max(1, columns // _SAMPLED_COLUMNS))
        sample = np.concatenate(list(self._sampled(read, level, spread)), axis=1)
        return background_level(self._rows(self._audible(sample)), len(spread))

    def _every(self, read: Read, step: int) -> Floats:
        """Return every `step`th column of level 0."""
        at_once = max(1, _CHUNK // (self._layout.hop * step)) * step
        parts = []
        for left in range(0, self.width, at_once):
            frames = self._windows(read, left, min(left + at_once, self.width), step)
            parts.append(self._normalised(self._bands(_frame_power(frames, self._layout))))
        return np.concatenate(parts, axis=1)

    def _pcen_sample(self, read: Read, level: int, columns: int) -> Floats:
        """Return some pieces of the bag, or all of a short one: PCEN needs the columns before each column."""
        if self.width <= WIDEST_PICTURE and 1 << level <= self._frames:
            return self._rows(self._joined(read, level, 0, columns))
        stretch = max(1, min(columns // 8, _SAMPLED_COLUMNS))
        starts = np.linspace(0, columns - stretch, min(8, columns)).astype(int)
        if 1 << level <= self._frames:
            parts = [self._joined(read, level, int(start), int(start) + stretch) for start in starts]
        else:
            parts = list(self._sampled(read, level, np.arange(0, columns, max(1, columns // _SAMPLED_COLUMNS))))
        return self._rows(np.concatenate(parts, axis=1))

    # every frame of a column

    def _joined(self, read: Read, level: int, first: int, last: int) -> Floats:
        """Return columns computed from all of their frames."""
        begin, end = first << level, min(last << level, self.width)
        pcen = Pcen(self.band_medians, self._hop_seconds) if self.settings.normalisation == "pcen" else None
        run_up = 0 if pcen is None else min(begin, round(_PCEN_RUN_UP / self._hop_seconds))
        run_up -= run_up % (1 << level)
        parts = []
        step = max(1, (_CHUNK // self._layout.window) >> level) << level
        for left in range(begin - run_up, end, step):
            right = min(left + step, end)
            power = self._power(read, left, right)
            values = self._normalised(power) if pcen is None else pcen.levels(power)
            if right > begin:
                values = values[:, max(0, begin - left) :]
                parts.append(np.maximum.reduceat(values, np.arange(0, values.shape[1], 1 << level), axis=1))
        return np.concatenate(parts, axis=1)

    def _power(self, read: Read, left: int, right: int) -> Floats:
        """Return the (bands, frames) power of the frames from `left` to `right`."""
        return self._bands(_frame_power(self._windows(read, left, right), self._layout))

    def _windows(self, read: Read, left: int, right: int, step: int = 1) -> Floats:
        """Return (frames, window) samples of every `step`th frame from `left` to `right`."""
        layout = self._layout
        before = (layout.window - layout.hop) // 2
        samples = self._samples(read, left * layout.hop - before, (right - 1) * layout.hop - before + layout.window)
        return np.lib.stride_tricks.sliding_window_view(samples, layout.window)[:: layout.hop * step]

    def _samples(self, read: Read, begin: int, end: int) -> Floats:
        """Return samples of the window, mirrored at its ends as in `make_spectrogram`, and zeros if there are none."""
        count = self.window.count
        first, last = max(0, begin), min(count, end)
        if begin < 0:
            last = max(last, min(count, 1 - begin))
        if end > count:
            first = min(first, max(0, 2 * count - 1 - end))
        piece = _read_or_silence(read, self.window.first + first, last - first)
        if begin < 0 or end > count:
            mode = "reflect" if len(piece) > 1 else "edge"
            piece = np.pad(piece, (max(0, -begin), max(0, end - count)), mode=mode)  # type: ignore[call-overload]
        start = begin if begin < 0 else first
        return piece[begin - start : end - start]

    # some frames of a column

    def _sampled(self, read: Read, level: int, columns: NDArray[np.int64]) -> Iterator[Floats]:
        """Yield columns computed from at most `FRAMES_PER_COLUMN` frames each, some at a time."""
        at_once = max(1, _CHUNK // (self._layout.window * min(self._frames, 1 << level)))
        for begin in range(0, len(columns), at_once):
            chosen = columns[begin : begin + at_once]
            stretches = [self._stretches(level, int(column)) for column in chosen]
            frames = np.concatenate([self._windows(read, *one) for some in stretches for one in some])
            power = self._bands(_frame_power(frames, self._layout))
            sizes = [sum(right - left for left, right in some) for some in stretches]
            starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
            if self.settings.normalisation == "pcen":
                mean = np.add.reduceat(power, starts, axis=1) / np.asarray(sizes, dtype=np.float32)
                values = Pcen.levels_against(power, np.repeat(mean, sizes, axis=1))
            else:
                values = self._normalised(power)
            yield np.maximum.reduceat(values, starts, axis=1)

    def _stretches(self, level: int, column: int) -> list[tuple[int, int]]:
        """Return (first, last) of the frames to compute of a column: all, or those at two places."""
        begin, end = column << level, min((column + 1) << level, self.width)
        if end - begin <= self._frames:
            return [(begin, end)]
        if self._frames == 1:
            return [((begin + end) // 2, (begin + end) // 2 + 1)]
        half = self._frames // 2
        quarters = (begin + (end - begin) // 4, begin + 3 * (end - begin) // 4)
        return [(middle - half // 2, middle - half // 2 + half) for middle in quarters]

    # bands

    def _bands(self, power: Floats) -> Floats:
        if self.settings.scale != "mel":
            return power
        return np.asarray(_mel_filters(self._layout, self.settings.mel_bands) @ power, dtype=np.float32)

    def _normalised(self, power: Floats) -> Floats:
        values = _levels(power)
        if self.settings.normalisation == "band":
            values -= self.band_medians
        elif is_flattened(self.settings):
            values -= self.band_noise
        return values

    def _audible(self, values: Floats) -> Floats:
        """Leave out columns of digital silence, which are not background, unless there are no others."""
        if self.settings.normalisation == "band":
            return values[:, audible_columns(values + self.band_medians)]
        return values[:, audible_columns(values + self.band_noise if is_flattened(self.settings) else values)]

    @cached_property
    def band_medians(self) -> Floats:
        """(bands, 1) float: median level (median power for PCEN) of each band, of all columns or of a sample."""
        power = self._band_sample()
        values = power if self.settings.normalisation == "pcen" else _levels(power)
        return np.asarray(np.median(values, axis=1, keepdims=True), dtype=np.float32)

    @cached_property
    def band_noise(self) -> Floats:
        """(bands, 1) float: level of each band's noise, of all columns or of a sample."""
        return band_noise(_levels(self._band_sample()))

    def _band_sample(self) -> Floats:
        """Return the (bands, columns) power of all columns, or of some that are spread over the bag."""
        bands = self._layout.last_bin - self._layout.first_bin
        whole = self.width * bands <= _WHOLE_CELLS and self.window.count <= 2 * _WHOLE_CELLS
        most = self.width if whole else min(self.width, max(16, min(512, _WHOLE_CELLS // bands)))
        with open_reader(self.window.path, self.window.channel) as read:
            if whole:
                return self._power(read, 0, self.width)
            spread = np.linspace(0, self.width - 1, most).astype(int).tolist()
            frames = np.concatenate([self._windows(read, column, column + 1) for column in spread])
            return self._bands(_frame_power(frames, self._layout))

    @property
    def _hop_seconds(self) -> float:
        return self._layout.hop / self.window.rate

    @staticmethod
    def _rows(values: Floats) -> Floats:
        """Reduce levels to at most `TALLEST_TILE` rows."""
        joined = -(-values.shape[0] // TALLEST_TILE)
        return values if joined <= 1 else np.maximum.reduceat(values, np.arange(0, values.shape[0], joined), axis=0)


def _read_or_silence(read: Read, first: int, count: int) -> Floats:
    """Return samples, with zeros for the missing part of a damaged file, so that the rest can be seen."""
    try:
        samples = read(first, count)
    except BagtagError:
        return np.zeros(count, dtype=np.float32)
    samples = np.nan_to_num(samples, copy=False, posinf=0.0, neginf=0.0)
    return samples if len(samples) == count else np.pad(samples, (0, count - len(samples)))
