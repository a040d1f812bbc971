"""Clips: the right stretch, speed and band, at rates a browser plays."""

import io

import numpy as np
import pytest
import soundfile

from miml_core import BagtagError
from miml_core.media.playback import HIGHEST_RATE, LOWEST_RATE, clip_wav

RATE = 48_000


@pytest.fixture(scope="module")
def two_tones(tmp_path_factory):
    """1 kHz for a second, then 6 kHz for a second, over a steady 12 kHz; faint."""
    t = np.arange(2 * RATE) / RATE
    sound = 0.02 * np.sin(2 * np.pi * np.where(t < 1, 1_000, 6_000) * t) + 0.02 * np.sin(2 * np.pi * 12_000 * t)
    path = tmp_path_factory.mktemp("playback") / "tones.wav"
    soundfile.write(path, sound, RATE, subtype="FLOAT")
    return path


def read_wav(wav: bytes) -> tuple[np.ndarray, int]:
    return soundfile.read(io.BytesIO(wav), dtype="float64")


def strength(wav: bytes, hertz: float) -> float:
    samples, rate = read_wav(wav)
    t = np.arange(len(samples)) / rate
    return float(2 * np.abs(np.mean(samples * np.exp(-2j * np.pi * hertz * t))))


def test_a_clip_is_the_stretch_asked_for(two_tones):
    clip = clip_wav(two_tones, 0.2, 0.7)
    samples, rate = read_wav(clip)
    assert (len(samples), rate) == (RATE // 2, RATE)
    assert strength(clip, 1_000) > 0.15 > 20 * strength(clip, 6_000)


def test_slowed_sound_is_lower_by_the_same_factor(two_tones):
    clip = clip_wav(two_tones, 1.2, 1.6, rate_factor=0.25)
    samples, rate = read_wav(clip)
    assert len(samples) / rate == pytest.approx(1.6, abs=1e-3)
    assert strength(clip, 1_500) > 0.15 > 20 * strength(clip, 6_000)


@pytest.mark.parametrize("factor", [0.01, 0.05, 0.1, 1.0, 20.0])
def test_every_speed_gives_a_rate_that_browsers_play(two_tones, factor):
    samples, rate = read_wav(clip_wav(two_tones, 0.5, 0.8, rate_factor=factor))
    assert LOWEST_RATE <= rate <= HIGHEST_RATE
    assert len(samples) / rate == pytest.approx(0.3 / factor, rel=0.01)


def test_a_band_leaves_only_itself(two_tones):
    clip = clip_wav(two_tones, 0.2, 0.8, band=(800, 1_300))
    assert strength(clip, 1_000) > 100 * strength(clip, 12_000)
    upper = clip_wav(two_tones, 0.2, 0.8, band=(9_000, 30_000))
    assert strength(upper, 12_000) > 100 * strength(upper, 1_000)
    with pytest.raises(BagtagError, match="above the highest frequency of the recording"):
        clip_wav(two_tones, 0.2, 0.8, band=(40_000, 50_000))


def test_faint_sound_is_raised_and_ends_softly(two_tones):
    samples, _ = read_wav(clip_wav(two_tones, 0.2, 0.8))
    assert 0.3 < np.abs(samples).max() <= 0.75
    assert abs(samples[0]) < 0.01 and abs(samples[-1]) < 0.02
