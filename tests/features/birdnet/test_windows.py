"""Windows of sound, as BirdNET takes them."""

import numpy as np
import pytest
import soundfile

from miml_core.errors import BagtagError
from miml_core.features.birdnet import (
    check_rate,
    cut_windows,
    read_windows,
    resample,
    run_windows,
    suitable_rate,
    window_starts,
)
from miml_core.features.birdnet.windows import WINDOW
from tests.birdnet import needs_birdnet


@pytest.mark.parametrize("rate", [16000, 22050, 32000, 44100, 48000, 96000])
def test_a_tone_is_the_same_tone_at_48_khz(rate):
    samples = np.sin(2 * np.pi * 1000 * np.arange(rate) / rate)
    heard = resample(samples, rate)
    assert heard.dtype == np.float32 and len(heard) == 48000
    expected = np.sin(2 * np.pi * 1000 * np.arange(48000) / 48000)
    np.testing.assert_allclose(heard[2000:-2000], expected[2000:-2000], atol=1e-3)


@pytest.mark.parametrize("rate", [4000, 8000, 11025, 192000, 384000])
def test_other_rates_are_refused_with_one_sentence(rate):
    assert not suitable_rate(rate)
    with pytest.raises(BagtagError, match=rf"^clip\.wav has a sample rate of {rate / 1000:g} kHz, but BirdNET .*\.$"):
        check_rate(rate, "clip.wav")
    with pytest.raises(BagtagError, match="BirdNET supports"):
        resample(np.zeros(100), rate)


@pytest.mark.parametrize("duration", [0.0, 0.2, 2.9, 3.0, 3.01, 6.0, 10.0, 3600.0])
@pytest.mark.parametrize("step", [0.5, 1.5, 3.0])
def test_windows_cover_the_clip(duration, step):
    starts = window_starts(duration, step)
    assert starts[0] == 0 and np.isclose(starts[-1], max(0.0, duration - 3))
    assert (np.diff(starts) > 0).all() and (np.diff(starts) <= step + 1e-9).all()
    assert len(starts) == max(0, int(np.ceil(round((duration - 3) / step, 6)))) + 1


def test_what_lies_outside_is_zero():
    samples = np.arange(1, 5 * 48000 + 1)
    windows = cut_windows(samples, [-1.0, 0.0, 3.0, 4.0, 9.0, -7.0])
    assert windows.shape == (6, WINDOW)
    assert (windows[0, :48000] == 0).all() and windows[0, 48000] == 1
    np.testing.assert_array_equal(windows[1], samples[:WINDOW])
    assert windows[2, 2 * 48000 - 1] == 5 * 48000 and (windows[2, 2 * 48000 :] == 0).all()
    assert (windows[3, 48000:] == 0).all() and not windows[4:].any()


@needs_birdnet
def test_a_clip_of_a_fifth_of_a_second_is_one_window():
    samples = resample(np.random.default_rng(0).normal(size=4410), 22050)
    embeddings, _ = run_windows(cut_windows(samples, window_starts(len(samples) / 48000)))
    assert embeddings.shape == (1, 1024) and np.isfinite(embeddings).all()


@pytest.mark.parametrize("rate", [22050, 44100, 48000])
def test_windows_of_a_file_are_those_of_its_sound(tmp_path, rate):
    time = np.arange(150 * rate) / rate
    sound = 0.3 * np.sin(2 * np.pi * 3000 * time) * np.sin(2 * np.pi * 0.3 * time)
    soundfile.write(tmp_path / "long.wav", sound, rate, subtype="FLOAT")
    starts = np.concatenate([[-1.0, 0.2], window_starts(150, 1.7)[1:], [20.25, 148.5]])
    read = list(read_windows(tmp_path / "long.wav", starts))
    assert max(len(some) for some in read) == 16
    expected = cut_windows(resample(sound, rate), starts)
    np.testing.assert_allclose(np.concatenate(read), expected, atol=2e-3)


def test_windows_end_where_their_bag_ends(tmp_path):
    soundfile.write(tmp_path / "ones.wav", np.full(20 * 48000, 0.5), 48000, subtype="FLOAT")
    (windows,) = read_windows(tmp_path / "ones.wav", [4.0, 9.0], start=5.25, end=10.5)
    filled = windows > 0.25
    assert filled.sum(axis=1).tolist() == [int(1.75 * 48000), int(1.5 * 48000)]
    assert filled[0, -1] and not filled[0, 0] and filled[1, 0] and not filled[1, -1]


def test_the_file_is_named_in_the_refusal(tmp_path):
    soundfile.write(tmp_path / "bat.wav", np.zeros(38400), 384000)
    with pytest.raises(BagtagError, match=r"^bat\.wav has a sample rate of 384 kHz"):
        list(read_windows(tmp_path / "bat.wav", [0.0]))
