"""Sound files that were not finished, or whose headers are wrong: read as far as they go, or refused."""

from __future__ import annotations

import struct
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile

from miml_core.errors import BagtagError
from miml_core.media.audio import audio_info, read_audio
from miml_core.media.sound_repair import find_repair

RATE = 22050
SOUND = (3000 * np.random.default_rng(0).normal(size=4 * RATE)).astype("<i2")
BYTES = SOUND.nbytes


def wav(length: int, *, rate: int = RATE, channels: int = 1, long_length: int | None = None) -> bytes:
    """A WAV whose header says `length` bytes of sound; with `long_length` an RF64, whose ds64 chunk says that."""
    form = struct.pack("<HHIIHH", 1, channels, rate, 2 * rate & 0xFFFFFFFF, 2 * channels & 0xFFFF, 16)
    ds64 = b"" if long_length is None else b"ds64" + struct.pack("<IQQQI", 28, long_length, long_length, 0, 0)
    head = b"WAVE" + ds64 + b"fmt " + struct.pack("<I", 16) + form + b"data" + struct.pack("<I", length)
    return (b"RIFF" if long_length is None else b"RF64") + struct.pack("<I", 0) + head + SOUND.tobytes()


def flac(folder: Path, *, total: int | None = None, subtype: str = "PCM_16") -> bytes:
    soundfile.write(folder / "whole.flac", SOUND, RATE, subtype=subtype)
    whole = (folder / "whole.flac").read_bytes()
    if total is None:
        return whole
    packed = int.from_bytes(whole[18:26], "big") >> 36 << 36 | total
    return whole[:18] + packed.to_bytes(8, "big") + whole[26:]


UNFINISHED: dict[str, tuple[Callable[[], bytes], str]] = {
    "no length": (lambda: wav(0), "does not state its length"),
    "length of all ones": (lambda: wav(0xFFFFFFFF), "does not state its length"),
    "RF64 without length": (lambda: wav(0xFFFFFFFF, long_length=0), "does not state its length"),
    "RF64 of all ones": (lambda: wav(0xFFFFFFFF, long_length=2**64 - 1), "does not state its length"),
    "RF64 of 2^60 bytes": (lambda: wav(0xFFFFFFFF, long_length=2**60), "is truncated"),
    "length of another file": (lambda: wav(2 * BYTES), "is truncated"),
}


@pytest.mark.parametrize("what", UNFINISHED)
def test_a_wav_of_unknown_length_is_read_to_its_end(tmp_path: Path, what: str) -> None:
    content, note = UNFINISHED[what]
    path = tmp_path / "night.wav"
    path.write_bytes(content())
    info = audio_info(path)
    assert info.frames == len(SOUND) and note in info.note and "night.wav" in info.note
    np.testing.assert_array_equal(read_audio(path)[0] * 32768, SOUND)
    np.testing.assert_array_equal(read_audio(path, 1.0, 0.5)[0] * 32768, SOUND[RATE : RATE + RATE // 2])
    assert path.read_bytes() == content(), "nothing on disk may change"


@pytest.mark.parametrize(("total", "keep"), [(None, 0.5), (None, 0.999), (0, 1.0), (0, 0.4), (2**36 - 1, 1.0)])
@pytest.mark.parametrize("subtype", ["PCM_16", "PCM_24"])
def test_a_flac_is_read_to_where_it_is_cut(tmp_path: Path, total: int | None, keep: float, subtype: str) -> None:
    whole = flac(tmp_path, total=total, subtype=subtype)
    path = tmp_path / "night.flac"
    path.write_bytes(whole[: int(keep * len(whole))])
    info = audio_info(path)
    assert "night.flac" in info.note
    assert info.frames == len(SOUND) if keep == 1 else 0.8 * keep * len(SOUND) < info.frames < len(SOUND)
    samples = read_audio(path)[0]
    np.testing.assert_array_equal(samples * 32768, SOUND[: info.frames])
    tail, _ = read_audio(path, info.duration - 0.2, 0.2)
    np.testing.assert_array_equal(tail, samples[-len(tail) :])


@pytest.mark.parametrize("suffix", ["wav", "flac"])
def test_damaged_files_are_read_or_refused_and_nothing_else(tmp_path: Path, suffix: str) -> None:
    """Bytes changed anywhere, and cuts anywhere: no other error than a sentence."""
    whole = wav(BYTES) if suffix == "wav" else flac(tmp_path)
    rng = np.random.default_rng(0)
    path = tmp_path / f"odd.{suffix}"
    n_read = n_refused = 0
    for trial in range(150):
        content = np.frombuffer(whole, dtype=np.uint8).copy()
        places = rng.integers(0, [64, len(content)][trial % 2], size=8)
        content[places] = rng.choice([0, 1, 0x1F, 0x7F, 0xF8, 0xFF], size=8)
        path.write_bytes(content.tobytes()[: rng.integers(20, len(content))])
        try:
            read_audio(path, 0.0, 0.5)
            n_read += 1
        except BagtagError as error:
            assert "odd" in str(error)
            n_refused += 1
    assert n_read > 10 and n_refused > 10


def test_synchronisation_bytes_inside_a_frame_are_distinguished(tmp_path: Path) -> None:
    """Frames are searched by bytes that also occur in them; every kind of header that could be meant is tried."""
    whole = flac(tmp_path)
    for third in range(256):
        path = tmp_path / f"{third}.flac"
        path.write_bytes(whole + bytes([0xFF, 0xF8, third, 0x08]) + bytes(20))
        assert audio_info(path).frames == len(SOUND)


def test_whole_files_have_no_note(tmp_path: Path) -> None:
    (tmp_path / "a.wav").write_bytes(wav(BYTES))
    (tmp_path / "a.flac").write_bytes(flac(tmp_path))
    soundfile.write(tmp_path / "stereo.flac", np.stack([SOUND, SOUND], axis=1), 96_000, subtype="PCM_24")
    for name in ("a.wav", "a.flac", "stereo.flac"):
        assert find_repair(tmp_path / name) is None and audio_info(tmp_path / name).note == ""


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(lambda: wav(BYTES, rate=4_000_000_000), id="4 GHz"),
        pytest.param(lambda: wav(BYTES, rate=2_000_000_000), id="2 GHz"),
        pytest.param(lambda: wav(BYTES, rate=0), id="no rate"),
        pytest.param(lambda: wav(BYTES, channels=65_535), id="65 535 channels"),
        pytest.param(lambda: wav(BYTES, channels=0), id="no channel"),
    ],
)
def test_impossible_headers_are_refused(tmp_path: Path, content: Callable[[], bytes]) -> None:
    path = tmp_path / "odd.wav"
    path.write_bytes(content())
    with pytest.raises(BagtagError, match=r"odd\.wav"):
        audio_info(path)


def test_more_samples_than_the_file_can_hold_are_refused(tmp_path: Path) -> None:
    """An OGG whose last page states 2^60 samples."""
    path = tmp_path / "odd.ogg"
    soundfile.write(path, SOUND[:RATE], RATE, format="OGG", subtype="VORBIS")
    content = bytearray(path.read_bytes())
    page = content.rindex(b"OggS")
    content[page + 6 : page + 14] = struct.pack("<q", 2**60)
    content[page + 22 : page + 26] = bytes(4)
    content[page + 22 : page + 26] = struct.pack("<I", ogg_crc(bytes(content[page:])))
    path.write_bytes(content)
    with pytest.raises(BagtagError, match=r"odd\.ogg"):
        read_audio(path)


def ogg_crc(page: bytes) -> int:
    crc = 0
    for byte in page:
        crc ^= byte << 24
        for _ in range(8):
            crc = (crc << 1 ^ 0x04C11DB7 if crc & 0x80000000 else crc << 1) & 0xFFFFFFFF
    return crc


def test_a_window_of_many_channels_takes_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "array.wav"
    soundfile.write(path, np.zeros((20_000, 500), dtype=np.int16), 48_000)
    tracemalloc.start()
    try:
        samples, _ = read_audio(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(samples) == 20_000 and peak < 8_000_000, "at once, its samples take 40 MB"
