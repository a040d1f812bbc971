"""Cut-outs of segments: faint calls are visible, long recordings are not read, segments of any shape are drawn."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
import soundfile
from PIL import Image

from miml_core.media.grid import Grid
from miml_core.media.image import Picture
from miml_core.media.sound_blocks import SoundWindow
from miml_core.media.spectrogram import SpectrogramSettings
from miml_core.media.tiles import SpectrogramTiles
from miml_core.segments.cutouts import HEIGHT, WIDTH, picture_cutout, picture_side, sound_cutout
from miml_core.segments.regions import Region

RATE = 22_050


def tiles_of(path: Path, seconds: float, loudness: float) -> SpectrogramTiles:
    """Return a recording with a call of 3 kHz from 2.0 to 2.3 s over a hum that is louder the lower it is."""
    rng = np.random.default_rng(0)
    sound = np.cumsum(rng.normal(0, 0.0004, round(seconds * RATE)))
    sound -= np.convolve(sound, np.ones(200) / 200, "same")
    t = np.arange(round(0.3 * RATE)) / RATE
    first = 2 * RATE
    sound[first : first + len(t)] += loudness * np.hanning(len(t)) * np.sin(2 * np.pi * 3000 * t)
    soundfile.write(path, sound, RATE, subtype="FLOAT")
    return SpectrogramTiles(SoundWindow.of(path, 0.0, seconds, SpectrogramSettings(), "mix"))


def region_of(grid: Grid, left: float, right: float, low: float, high: float) -> Region:
    top, bottom = int(grid.row_at(high)), int(grid.row_at(low)) + 1
    first, last = int(grid.column_at(left)), int(grid.column_at(right)) + 1
    return Region(top, first, np.ones((bottom - top, last - first), dtype=bool))


def light(content: bytes) -> np.ndarray:
    picture = Image.open(io.BytesIO(content))
    assert picture.size == (WIDTH, HEIGHT)
    return np.asarray(picture.convert("L"), dtype=float)


@pytest.mark.parametrize("loudness", [0.5, 0.02])
def test_a_faint_call_is_as_bright_as_a_loud_one(tmp_path: Path, loudness: float) -> None:
    tiles = tiles_of(tmp_path / "a.wav", 5.0, loudness)
    pixels = light(sound_cutout(tiles, tiles.window.grid, region_of(tiles.window.grid, 2.0, 2.3, 2500.0, 3500.0)))
    call = pixels[:, WIDTH // 3 : -WIDTH // 3].mean(axis=1).max()
    around = np.median(pixels[:, : WIDTH // 8])
    assert call > 120 > 3 * around


def test_of_a_long_recording_only_what_is_around_the_segment_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiles = tiles_of(tmp_path / "long.wav", 120.0, 0.1)
    read: list[int] = []
    values = SpectrogramTiles.values

    def counted(self: SpectrogramTiles, level: int, first: int, last: int) -> np.ndarray:
        read.append(last - first)
        return values(self, level, first, last)

    monkeypatch.setattr(SpectrogramTiles, "values", counted)
    grid = tiles.window.grid
    sound_cutout(tiles, grid, region_of(grid, 60.0, 60.4, 2000.0, 4000.0))
    sound_cutout(tiles, grid, region_of(grid, 0.0, 119.9, 400.0, 9000.0))
    assert max(read) <= 8 * WIDTH + 2 and min(read) < 2 * WIDTH


@pytest.mark.parametrize("edges", [(0.0, 0.01), (0.0, 5.0), (4.99, 5.0)])
def test_segments_at_the_edges_are_drawn(tmp_path: Path, edges: tuple[float, float]) -> None:
    tiles = tiles_of(tmp_path / "b.wav", 5.0, 0.1)
    grid = tiles.window.grid
    pixels = light(sound_cutout(tiles, grid, region_of(grid, *edges, 300.0, 11_000.0)))
    assert pixels.min() < 20 and pixels.max() > 150, "its levels are seen, also where the recording ends"


def test_a_segment_of_a_picture_is_in_its_own_colours_and_the_rest_is_dark() -> None:
    grid = Grid(400, 300, 0.0, 4000.0, 0.0, 3000.0)
    small = Picture(np.full((300, 400, 3), 200, dtype=np.uint8), grid)
    pixels = light(picture_cutout(small, grid, Region(100, 100, np.ones((60, 80), dtype=bool))))
    assert pixels[HEIGHT // 2, WIDTH // 2] > 190 and pixels[3, 3] < 110
    whole = light(picture_cutout(small, grid, Region(0, 0, np.ones((300, 400), dtype=bool))))
    assert whole.min() > 150, "no frame around it"
    assert picture_side(grid, Region(0, 0, np.ones((5, 5), dtype=bool))) == 4096
