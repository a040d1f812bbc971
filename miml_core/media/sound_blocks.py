"""Read a window of a sound file in blocks with spectrograms, so that memory does not grow with its length."""

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
    """Samples and spectrogram of a piece of a window.

    Attributes
    ----------
    samples : (n,) float32
    spectrogram : Spectrogram
    left : int
        Its first column on the window's grid.
    first : int
        Its first sample in the file.
    """

    samples: NDArray[np.float32]
    spectrogram: Spectrogram
    left: int
    first: int


@dataclass(frozen=True)
class SoundWindow:
    """A window of a sound file, read in blocks of equal length on one grid; up to two minutes are one block.

    Attributes
    ----------
    first, count : int
        First sample of the window in the file, and their number.
    grid : Grid
        Grid of the whole window, by the header of the file.
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
        """Return the window from `start` to `end` (seconds) of a file, which ends with the file; decodes nothing."""
        path = Path(path)
        rate, first, count = window_frames(path, start, end - start)
        return cls(path, settings, channel, first, count, rate, spectrogram_grid(count, rate, settings, start))

    @property
    def block_columns(self) -> int:
        """Number of spectrogram columns per block."""
        if self.count <= 2 * BLOCK_SECONDS * self.rate:
            return self.grid.width
        return max(1, round(BLOCK_SECONDS * self.rate / hop_samples(self.rate, self.settings)))

    def blocks(self) -> Iterator[SoundBlock]:
        """Yield the blocks from left to right; they end early if the file is shorter than its header states."""
        for number in range(self.n_blocks):
            block = self.block(number)
            yield block
            if block.spectrogram.grid.width < min(self.block_columns, self.grid.width - block.left):
                return

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return -(-self.grid.width // self.block_columns)

    def block(self, number: int) -> SoundBlock:
        """Return samples and spectrogram of one block."""
        first, _ = self.block_samples(number)
        samples = self.read_block(number)
        left = number * self.block_columns
        start = self.grid.left + left * hop_samples(self.rate, self.settings) / self.rate
        return SoundBlock(samples, make_spectrogram(samples, self.rate, self.settings, start), left, first)

    def block_samples(self, number: int) -> tuple[int, int]:
        """Return the first sample of a block in the file, and their number by the header."""
        hop = hop_samples(self.rate, self.settings)
        first = self.first + number * self.block_columns * hop
        return first, min(self.block_columns * hop, self.first + self.count - first)

    def read_block(self, number: int) -> NDArray[np.float32]:
        """Return the samples of one block; fewer than its number if the file is shorter than its header states."""
        first, count = self.block_samples(number)
        return read_audio(self.path, first / self.rate, count / self.rate, self.channel)[0]
