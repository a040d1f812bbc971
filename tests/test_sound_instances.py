"""A window of a sound file becomes segments with features; an hour is gone through block by block."""

import numpy as np
import pytest
import soundfile

from miml_core.errors import BagtagError
from miml_core.features.acoustic import sound_features
from miml_core.instances import InstanceSettings, describe_regions, sound_instances
from miml_core.media import sound_blocks
from miml_core.media.spectrogram import PRESETS, hop_samples, make_spectrogram, spectrogram_grid
from miml_core.segments.regions import Region, resample

RATE = 22_050
CALLS = [(0.5, 0.8, 3000), (2.1, 2.3, 5000), (3.0, 3.4, 2000), (4.55, 4.7, 7000), (5.6, 5.8, 4000)]


@pytest.fixture
def recording(tmp_path):
    """Six seconds with five calls."""
    t = np.arange(6 * RATE) / RATE
    sound = 0.003 * np.random.default_rng(0).standard_normal(len(t))
    for start, end, pitch in CALLS:
        loud = np.interp(t, [start, start + 0.05, end - 0.05, end], [0, 1, 1, 0])
        sound += 0.2 * loud * np.sin(2 * np.pi * pitch * t)
    soundfile.write(tmp_path / "calls.wav", sound, RATE)
    return tmp_path / "calls.wav"


def found_calls(found):
    """Which of the calls lie in a segment, by their middle."""
    grid = found.grid
    boxes = [region.box for region in found.regions]
    times = [(grid.x_at(box[1]), grid.x_at(box[3]), grid.y_at(box[2]), grid.y_at(box[0])) for box in boxes]
    return [
        any(a < (start + end) / 2 < b and low < pitch < high for a, b, low, high in times)
        for start, end, pitch in CALLS
    ]


def test_a_window_in_seconds_of_the_recording(recording):
    settings = InstanceSettings.for_rate(RATE)
    assert all(found_calls(sound_instances(recording, 0.0, 6.0, settings)))
    part = sound_instances(recording, 2.0, 3.5, settings)
    assert found_calls(part) == [False, True, True, False, False]
    assert part.grid.left == 2.0 and part.grid.right == pytest.approx(3.5, abs=0.01)
    assert part.X.shape == (len(part.regions), len(part.names)) and np.isfinite(part.X).all()
    np.testing.assert_array_equal(describe_regions(recording, 2.0, 3.5, part.grid, part.regions, settings), part.X)


def test_a_long_window_is_gone_through_in_blocks_on_one_grid(recording, monkeypatch):
    settings = InstanceSettings.for_rate(RATE)
    whole = sound_instances(recording, 0.0, 6.0, settings)
    monkeypatch.setattr(sound_blocks, "BLOCK_SECONDS", 1.9)
    read = []
    plain = sound_blocks.read_audio
    monkeypatch.setattr(sound_blocks, "read_audio", lambda *a: read.append(a[2]) or plain(*a))
    found = sound_instances(recording, 0.0, 6.0, settings)
    assert len(read) == 4 and max(read) < 2.0
    assert found.grid == whole.grid and all(found_calls(found))
    again = describe_regions(recording, 0.0, 6.0, found.grid, found.regions, settings)
    np.testing.assert_allclose(again, found.X)


def test_blocks_show_what_the_whole_shows(recording, monkeypatch):
    monkeypatch.setattr(sound_blocks, "BLOCK_SECONDS", 1.5)
    window = sound_blocks.SoundWindow.of(recording, 0.0, 6.0, PRESETS["birds"], "mix")
    samples = soundfile.read(recording, dtype="float32")[0]
    whole = make_spectrogram(samples, RATE, PRESETS["birds"])
    assert whole.grid == window.grid == spectrogram_grid(len(samples), RATE, PRESETS["birds"])
    for block in window.blocks():
        grid, edge = block.spectrogram.grid, 4
        here = whole.values[:, block.left + edge : block.left + grid.width - edge]
        np.testing.assert_allclose(block.spectrogram.values[:, edge:-edge], here, atol=1e-3)
        assert grid.left == pytest.approx(whole.grid.x_at(block.left))


def test_drawn_regions_across_blocks_and_other_grids_are_described(recording, monkeypatch):
    """By their part in the block that has their middle: its columns, counted from the first one of the block."""
    settings = InstanceSettings.for_rate(RATE)
    grid = sound_instances(recording, 0.0, 6.0, settings).grid
    monkeypatch.setattr(sound_blocks, "BLOCK_SECONDS", 1.0)
    wide = Region(10, 20, np.ones((50, grid.width - 40), dtype=bool))
    coarse = spectrogram_grid(6 * RATE, RATE, PRESETS["frogs"])
    other = Region(5, 100, np.ones((25, 40), dtype=bool))
    hop = hop_samples(RATE, settings.spectrogram)
    columns = round(RATE / hop)
    samples = soundfile.read(recording, dtype="float32")[0]

    def described(block: int, part: Region) -> np.ndarray:
        of_block = samples[block * columns * hop : (block + 1) * columns * hop]
        return sound_features(make_spectrogram(of_block, RATE, settings.spectrogram), [part], settings.feature_set)

    part = Region(10, 0, np.ones((50, columns), dtype=bool))
    middle = described(grid.width // 2 // columns, part)
    np.testing.assert_allclose(describe_regions(recording, 0.0, 6.0, grid, [wide], settings), middle, rtol=1e-6)

    carried = resample(other, coarse, grid)
    assert carried.left < columns < carried.left + carried.mask.shape[1], "it crosses an edge"
    part = Region(carried.top, carried.left, carried.mask[:, : columns - carried.left])
    left = described(0, part)
    np.testing.assert_allclose(describe_regions(recording, 0.0, 6.0, coarse, [other], settings), left, rtol=1e-6)


def test_a_file_that_is_shorter_than_its_header_states_is_read_to_its_end(recording, monkeypatch):
    monkeypatch.setattr(sound_blocks, "BLOCK_SECONDS", 1.0)
    content = recording.read_bytes()
    cut = recording.with_name("cut.wav")
    cut.write_bytes(content[: 44 + 2 * int(2.6 * RATE)])
    assert found_calls(sound_instances(cut, 0.0, 6.0, InstanceSettings.for_rate(RATE)))[:2] == [True, True]


@pytest.mark.parametrize(
    ("name", "content"),
    [("empty.wav", b""), ("photo.wav", b"\xff\xd8\xff\xe0" + b"\0" * 500), ("head.wav", b"RIFF\0\0\0\0WAVEfmt ")],
)
def test_what_is_no_sound_is_refused_by_name(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BagtagError, match=name):
        sound_instances(tmp_path / name, 0.0, 1.0, InstanceSettings())


def test_samples_that_are_no_numbers_are_refused_by_name(tmp_path):
    sound = np.zeros(RATE, dtype=np.float32)
    sound[500] = np.nan
    soundfile.write(tmp_path / "nan.wav", sound, RATE, subtype="FLOAT")
    with pytest.raises(BagtagError, match=r"nan\.wav holds samples that are not numbers"):
        sound_instances(tmp_path / "nan.wav", 0.0, 1.0, InstanceSettings())


@pytest.mark.parametrize("n_samples", [1, 2, 300])
def test_silence_and_the_shortest_sounds_have_no_segments(tmp_path, n_samples):
    for level in (0.0, 0.5):
        soundfile.write(tmp_path / "short.wav", np.full(n_samples, level), RATE)
        found = sound_instances(tmp_path / "short.wav", 0.0, 1.0, InstanceSettings.for_rate(RATE))
        assert found.regions == [] and found.X.shape == (0, len(found.names))


def test_any_sensible_rate_and_many_channels(tmp_path):
    for rate in (8_000, 44_100, 192_000, 500_000):
        sound = np.random.default_rng(0).standard_normal((rate // 4, 3)) * 0.01
        soundfile.write(tmp_path / "many.wav", sound, rate)
        found = sound_instances(tmp_path / "many.wav", 0.0, 0.25, InstanceSettings.for_rate(rate))
        assert found.grid.top <= rate / 2 and np.isfinite(found.X).all()
