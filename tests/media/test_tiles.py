"""Tiles of a spectrogram: one picture without seams at every level, at a cost that does not grow with the bag."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soundfile
from PIL import Image

from miml_core import BagtagError
from miml_core.media import tiles as tiles_module
from miml_core.media.rendering import LEVEL_RANGE, render_png
from miml_core.media.sound_blocks import SoundWindow
from miml_core.media.spectrogram import SpectrogramSettings, read_spectrogram
from miml_core.media.tiles import FRAMES_PER_COLUMN, TILE_COLUMNS, SpectrogramTiles

RATE = 8000
BIRDS = SpectrogramSettings(window=0.032, hop=0.008, low=80.0)


def pixels(png: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(png)))


def picture(tiles: SpectrogramTiles, level: int) -> np.ndarray:
    return np.concatenate([pixels(tiles.png(level, tile)) for tile in range(tiles.tiles(level))], axis=1)


@pytest.fixture(scope="module")
def recording(tmp_path_factory) -> Path:
    """Three minutes and a bit of noise that grows louder, with short calls."""
    rng = np.random.default_rng(3)
    n = int(182.37 * RATE)
    sound = rng.normal(0, 0.01, n) * np.linspace(0.5, 2, n)
    for start in rng.uniform(0, 181, 60):
        first = int(start * RATE)
        t = np.arange(400) / RATE
        sound[first : first + 400] += 0.3 * np.sin(2 * np.pi * rng.uniform(500, 3500) * t)
    path = tmp_path_factory.mktemp("tiles") / "night.wav"
    soundfile.write(path, sound, RATE, subtype="PCM_16")
    return path


SETTINGS = {
    "flat": BIRDS,
    "linear": replace(BIRDS, flat=False),
    "mel": replace(BIRDS, scale="mel", mel_bands=64),
    "band": replace(BIRDS, normalisation="band"),
    "pcen": replace(BIRDS, normalisation="pcen"),
    "odd": SpectrogramSettings(window=0.0213, hop=0.0091, low=0.0, high=3000.0, quiet_db=-5.0, colour_map="grey"),
}


def tiled(path: Path, start: float, end: float, settings: SpectrogramSettings) -> SpectrogramTiles:
    return SpectrogramTiles(SoundWindow.of(path, start, end, settings, "mix"))


def assert_same(found: np.ndarray, wanted: np.ndarray) -> None:
    """The same colours; sums in another order may turn a few of them to the next number of 256."""
    assert found.shape == wanted.shape
    apart = np.abs(found.astype(int) - wanted.astype(int))
    assert apart.max(initial=0) <= 1 and np.mean(apart > 0) < 1e-3


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize(("start", "end"), [(0.0, 30.0), (3.21, 100.0), (60.0, 60.05), (150.0, 400.0), (10.0, 120.001)])
def test_tiles_of_the_lowest_level_are_the_picture_of_the_whole_bag(recording, name, start, end):
    settings = SETTINGS[name]
    wanted = pixels(render_png(read_spectrogram(recording, start, end, settings), settings))
    assert_same(picture(tiled(recording, start, end, settings), 0), wanted)


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("level", range(6))
def test_tiles_of_three_minutes_have_no_seams(recording, name, level, monkeypatch):
    """A level in small tiles is the same level as one tile."""
    whole = tiled(recording, 0.0, 182.37, SETTINGS[name])
    monkeypatch.setattr(tiles_module, "TILE_COLUMNS", 1 << 20)
    one = picture(whole, 0) if level == 0 else pixels(_one_tile(whole, level))
    monkeypatch.setattr(tiles_module, "TILE_COLUMNS", 100 if level > 2 else 400)
    assert_same(picture(tiled(recording, 0.0, 182.37, SETTINGS[name]), level), one)


def _one_tile(tiles: SpectrogramTiles, level: int) -> bytes:
    from miml_core.media.rendering import encode_png

    return encode_png(tiles.values(level, 0, tiles.columns(level)), tiles.background(level), tiles.settings)


@pytest.mark.parametrize("name", ["flat", "linear"])
def test_a_higher_level_keeps_the_loudest_frame(recording, name):
    tiles = tiled(recording, 0.0, 182.37, SETTINGS[name])
    lowest = tiles.values(0, 0, tiles.columns(0))
    for level in (1, 3):
        starts = np.arange(0, tiles.width, 1 << level)
        assert np.allclose(tiles.values(level, 0, tiles.columns(level)), np.maximum.reduceat(lowest, starts, axis=1))
    sampled = tiles.values(5, 0, tiles.columns(5))
    most = np.maximum.reduceat(lowest, np.arange(0, tiles.width, 32), axis=1)
    assert np.all(sampled <= most + 1e-3) and np.median(most - sampled) < 6.0


def test_a_tile_of_any_level_computes_a_bounded_number_of_frames(recording, monkeypatch):
    counted: list[int] = []
    power = tiles_module._frame_power

    def count(frames, layout):
        counted.append(len(frames))
        return power(frames, layout)

    monkeypatch.setattr(tiles_module, "TILE_COLUMNS", 64)
    monkeypatch.setattr(tiles_module, "_frame_power", count)
    tiles = tiled(recording, 0.0, 182.37, replace(BIRDS, hop=0.001, window=0.016))
    assert tiles.width > 2000 * 64 and tiles.tiles(tiles.top_level) == 1 < tiles.tiles(tiles.top_level - 1)
    for level in range(tiles.top_level + 1):
        tiles.background(level)
        counted.clear()
        tiles.png(level, tiles.tiles(level) - 1)
        assert sum(counted) <= 64 * FRAMES_PER_COLUMN
    assert sum(counted) > 64


def test_only_tiles_that_exist_are_drawn(recording):
    tiles = tiled(recording, 0.0, 30.0, BIRDS)
    assert tiles.columns(0) == 3750 and tiles.tiles(0) == 4 and tiles.top_level == 2
    for level, tile in ((-1, 0), (0, -1), (0, 4), (3, 0), (2, 1)):
        with pytest.raises(BagtagError, match="no tile"):
            tiles.png(level, tile)
    assert TILE_COLUMNS == 1024


def test_a_file_cut_short_shows_what_there_is(recording, tmp_path):
    """The end of a FLAC was lost: its header still promises three minutes, and it is drawn to where it is cut."""
    sound, _ = soundfile.read(recording, dtype="float32")
    soundfile.write(tmp_path / "whole.flac", sound, RATE)
    content = (tmp_path / "whole.flac").read_bytes()
    (tmp_path / "cut.flac").write_bytes(content[: len(content) // 3])
    cut = tiled(tmp_path / "cut.flac", 0.0, 182.37, BIRDS)
    shown = picture(cut, 0)
    whole = picture(tiled(tmp_path / "whole.flac", 0.0, 182.37, BIRDS), 0)
    assert len(shown) == len(whole) and 0.2 < shown.shape[1] / whole.shape[1] < 0.5
    assert np.mean(shown > 0) > 0.2


def test_a_faint_call_stands_out_of_a_quiet_band_beside_loud_wind(tmp_path):
    """Each band is drawn against its own noise: wind at 400 Hz is as dark as the rest, a call 12 dB above it is not."""
    rng = np.random.default_rng(0)
    n = 20 * RATE
    t = np.arange(n) / RATE
    wind = np.convolve(rng.normal(0, 0.5, n), np.hanning(40) / 20, mode="same")
    call = 0.004 * np.sin(2 * np.pi * 3000 * t) * ((t > 10) & (t < 10.3))
    soundfile.write(tmp_path / "wind.wav", wind + call + rng.normal(0, 0.002, n), RATE, subtype="FLOAT")
    shown = {}
    for flat in (True, False):
        tiles = tiled(tmp_path / "wind.wav", 0.0, 20.0, replace(BIRDS, flat=flat))
        grey = np.concatenate([pixels(tiles.levels_png(0, tile)) for tile in range(tiles.tiles(0))], axis=1)
        rows = np.linspace(4000, 80, grey.shape[0])
        at = slice(round(10.05 / 0.008), round(10.25 / 0.008))
        wind_level, call_level = (np.median(grey[np.abs(rows - hertz).argmin(), at]) for hertz in (120, 3000))
        shown[flat] = (float(wind_level), float(call_level))
    assert shown[True][1] > shown[True][0] + 25 and shown[False][1] < shown[False][0]


def test_grey_levels_and_colours_show_the_same(recording):
    tiles = tiled(recording, 0.0, 30.0, BIRDS)
    low, high = LEVEL_RANGE
    decibels = low + pixels(tiles.levels_png(1, 0)) * (high - low) / 255
    expected = np.clip(decibels / BIRDS.loud_db * 255, 0, 255)
    apart = np.abs(pixels(tiles.png(1, 0)).astype(float) - expected)
    assert apart.max() <= 5, "a step of grey is less than half a decibel"
