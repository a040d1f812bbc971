"""A window of a sound file as blocks with spectrograms, so that an hour takes no more memory than some minutes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from miml_core.media.audio import Channel, read_audio, window_frames
from miml_core.media.grid import Grid
from miml_core.media.spectrogram import (
    Spectrogram,
    SpectrogramSettings,
    hop_samples,
    make_spectrogram,
    spectrogram_grid,
)

BLOCK_SECONDS = 60.0


@dataclass(frozen=True, eq=False)
class SoundBlock:
    """Samples and spectrogram of a piece of a window; `left` is its first column on the window's grid."""

    samples: NDArray[np.float32]
    spectrogram: Spectrogram
    left: int


@dataclass(frozen=True)
class SoundWindow:
    """Blocks of equal length that lie on one grid; a window of up to two blocks' length is one block.

    Attributes
    ----------
    first, count : int
        Samples of the file that the window covers.
    grid : Grid
        Of the whole window, as its header promises it.
    """

    path: Path
    settings: SpectrogramSettings
    channel: Channel
    first: int
    count: int
    rate: int
    grid: Grid

    @classmethod
    def of(
        cls, path: str | Path, start: float, end: float, settings: SpectrogramSettings, channel: Channel
    ) -> SoundWindow:
        """The window from `start` to `end` (seconds) of a file, cut at its end; nothing is decoded yet."""
        path = Path(path)
        rate, first, count = window_frames(path, start, end - start)
        return cls(path, settings, channel, first, count, rate, spectrogram_grid(count, rate, settings, start))

    @property
    def block_columns(self) -> int:
        if self.count <= 2 * BLOCK_SECONDS * self.rate:
            return self.grid.width
        return max(1, round(BLOCK_SECONDS * self.rate / hop_samples(self.rate, self.settings)))

    def blocks(self) -> Iterator[SoundBlock]:
        """From left to right, as far as there is sound: a file may end before its header says."""
        for number in range(-(-self.grid.width // self.block_columns)):
            block = self.block(number)
            yield block
            if block.spectrogram.grid.width < min(self.block_columns, self.grid.width - block.left):
                return

    def block(self, number: int) -> SoundBlock:
        hop = hop_samples(self.rate, self.settings)
        left = number * self.block_columns
        first = self.first + left * hop
        count = min(self.block_columns * hop, self.first + self.count - first)
        samples, rate = read_audio(self.path, first / self.rate, count / self.rate, self.channel)
        start = self.grid.left + left * hop / rate
        return SoundBlock(samples, make_spectrogram(samples, rate, self.settings, start), left)
