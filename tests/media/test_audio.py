"""Sound files in, whole and broken."""

import itertools
import struct
from pathlib import Path

import numpy as np
import pytest
import soundfile

from miml_core.errors import BagtagError
from miml_core.media.audio import audio_info, cut_windows, read_audio


def tone(seconds: float = 1.0, rate: int = 44100, channels: int = 1, hertz: float = 1000.0) -> np.ndarray:
    time = np.arange(round(seconds * rate)) / rate
    waves = [0.5 * np.sin(2 * np.pi * hertz * (k + 1) * time) for k in range(channels)]
    return np.stack(waves, axis=1).astype(np.float32)


CONTAINERS = [
    ("wav", "PCM_U8", 44100, 0.02),
    ("wav", "PCM_16", 8000, 1e-3),
    ("wav", "PCM_24", 48000, 1e-5),
    ("wav", "PCM_32", 500000, 1e-5),
    ("wav", "FLOAT", 96000, 1e-6),
    ("wav", "DOUBLE", 22000, 1e-6),
    ("rf64", "PCM_16", 44100, 1e-3),
    ("flac", "PCM_16", 384000, 1e-3),
    ("flac", "PCM_24", 44100, 1e-5),
    ("aiff", "PCM_16", 44100, 1e-3),
    ("ogg", "VORBIS", 44100, 0.1),
    ("ogg", "OPUS", 48000, 0.1),
    ("mp3", "MPEG_LAYER_III", 44100, 0.1),
]


@pytest.mark.parametrize(("suffix", "subtype", "rate", "tolerance"), CONTAINERS)
def test_every_container_gives_the_sound_back_by_window(tmp_path, suffix, subtype, rate, tolerance):
    sound = tone(2.0, rate, 2)
    path = tmp_path / f"call.{suffix}"
    soundfile.write(path, sound, rate, subtype=subtype)

    info = audio_info(path)
    assert (info.rate, info.channels) == (rate, 2)
    assert info.duration == pytest.approx(2.0, abs=0.06)

    window, read_rate = read_audio(path, 0.5, 0.25, channel=1)
    assert read_rate == rate
    assert window.dtype == np.float32
    assert len(window) == round(0.25 * rate)
    original = sound[round(0.5 * rate) : round(0.75 * rate), 1]
    assert np.abs(window - original).max() < tolerance


def test_channels_are_chosen_or_mixed(tmp_path):
    sound = tone(0.5, 16000, 5)
    path = tmp_path / "array.wav"
    soundfile.write(path, sound, 16000, subtype="FLOAT")
    assert np.allclose(read_audio(path)[0], sound.mean(axis=1), atol=1e-6)
    assert np.allclose(read_audio(path, channel=3)[0], sound[:, 3])
    with pytest.raises(BagtagError, match=r"array\.wav has 5 channel"):
        read_audio(path, channel=5)


def test_window_is_cut_at_the_end_and_refused_beyond_it(tmp_path):
    path = tmp_path / "short.wav"
    soundfile.write(path, tone(1.0), 44100)
    assert len(read_audio(path, 0.9, 5.0)[0]) == 4410
    with pytest.raises(BagtagError, match=r"short\.wav is 1\.000 s long"):
        read_audio(path, 1.0, 1.0)
    with pytest.raises(BagtagError, match=r"short\.wav"):
        read_audio(path, -0.5, 1.0)


def test_one_sample_and_silence_are_sound(tmp_path):
    soundfile.write(tmp_path / "one.wav", np.zeros(1), 44100)
    assert len(read_audio(tmp_path / "one.wav")[0]) == 1
    soundfile.write(tmp_path / "silence.flac", np.zeros(4410), 44100)
    assert not read_audio(tmp_path / "silence.flac")[0].any()


def truncated_flac(path: Path) -> None:
    soundfile.write(path, np.random.default_rng(0).normal(0, 0.1, 441000), 44100, format="FLAC")
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


BROKEN = {
    "empty.wav": lambda path: path.write_bytes(b""),
    "header_only.wav": lambda path: path.write_bytes(
        b"RIFF\x24\0\0\0WAVEfmt " + struct.pack("<IHHIIHH", 16, 1, 1, 44100, 88200, 2, 16) + b"data\0\0\0\0"
    ),
    "cut_header.wav": lambda path: path.write_bytes(b"RIFF\x24\x00"),
    "photo.wav": lambda path: path.write_bytes(b"\xff\xd8\xff\xe0\x00\x10JFIF" + bytes(2000)),
    "text.flac": lambda path: path.write_text("not a sound at all\n" * 50),
    "nan.wav": lambda path: soundfile.write(path, np.array([0.1, np.nan, 0.2] * 100), 44100, subtype="FLOAT"),
    "infinite.wav": lambda path: soundfile.write(path, np.array([0.1, np.inf, 0.2] * 100), 44100, subtype="FLOAT"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files_are_refused_with_their_name(tmp_path, name):
    path = tmp_path / name
    BROKEN[name](path)
    with pytest.raises(BagtagError, match=name.replace(".", r"\.")):
        read_audio(path)


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    for path in (tmp_path / "gone.wav", tmp_path):
        with pytest.raises(BagtagError, match=path.name):
            audio_info(path)


def test_a_truncated_file_is_read_as_far_as_it_goes(tmp_path):
    path = tmp_path / "cut_off.flac"
    truncated_flac(path)
    samples, rate = read_audio(path)
    assert 2 * rate < len(samples) < 8 * rate
    with pytest.raises(BagtagError, match=r"cut_off\.flac"):
        read_audio(path, 9.0, 0.5)

    wav = tmp_path / "cut_off.wav"
    soundfile.write(wav, tone(2.0), 44100)
    wav.write_bytes(wav.read_bytes()[:44100])
    assert audio_info(wav).duration == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize(
    ("duration", "length", "overlap", "remainder", "expected"),
    [
        (30.0, 10.0, 0.0, "keep", [(0, 10), (10, 20), (20, 30)]),
        (25.0, 10.0, 0.0, "keep", [(0, 10), (10, 20), (20, 25)]),
        (25.0, 10.0, 0.0, "drop", [(0, 10), (10, 20)]),
        (25.0, 10.0, 0.0, "merge", [(0, 10), (10, 25)]),
        (25.0, 10.0, 5.0, "keep", [(0, 10), (5, 15), (10, 20), (15, 25)]),
        (26.0, 10.0, 5.0, "keep", [(0, 10), (5, 15), (10, 20), (15, 25), (20, 26)]),
        (4.0, 10.0, 0.0, "drop", [(0, 4)]),
        (10.0 + 1e-9, 10.0, 2.0, "keep", [(0, 10)]),
        (20.004, 10.0, 0.0, "keep", [(0, 10), (10, 20.004)]),
    ],
)
def test_cutting_into_bags(duration, length, overlap, remainder, expected):
    windows = cut_windows(duration, length, overlap, remainder)
    assert np.allclose(windows, expected, atol=1e-6)


def test_cutting_leaves_no_sound_out():
    rng = np.random.default_rng(1)
    for _ in range(200):
        duration, length = rng.uniform(0.5, 500), rng.uniform(0.3, 60)
        overlap = rng.uniform(0, 0.95) * length
        windows = cut_windows(duration, length, overlap, rng.choice(["keep", "merge"]))
        assert windows[0][0] == 0
        assert windows[-1][1] == pytest.approx(duration, abs=1e-5)
        assert all(later[0] <= earlier[1] + 1e-6 for earlier, later in itertools.pairwise(windows))
        assert all(end > start for start, end in windows)


def test_impossible_cuts_are_refused():
    with pytest.raises(BagtagError):
        cut_windows(10, 5, 5)
    with pytest.raises(BagtagError):
        cut_windows(0, 5)
    with pytest.raises(BagtagError):
        cut_windows(12, 5, remainder="burn")
