"""When a recording was made."""

import os
import struct
from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest
import soundfile

from miml_core.media.audio import audio_info
from miml_core.media.recording_time import recording_time, time_in_name

SEVEN = datetime(2019, 4, 1, 7, 0, 0)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("20190401_070000.WAV", SEVEN),
        ("20190401_070000T.WAV", SEVEN),
        ("SITE-12_20190401_070000.wav", SEVEN),
        ("S4A09999_20190401_070000_000.flac", SEVEN),
        ("2019-04-01T07:00:00.wav", SEVEN),
        ("meadow 2019-04-01 07-00-00.mp3", SEVEN),
        ("2019-04-01_07.00.00.wav", SEVEN),
        ("20190401T070000Z.flac", SEVEN.replace(tzinfo=UTC)),
        ("20190401T070000+1000.flac", SEVEN.replace(tzinfo=timezone(timedelta(hours=10)))),
        ("20190401T070000-0330_rec.flac", SEVEN.replace(tzinfo=timezone(-timedelta(hours=3, minutes=30)))),
        ("5CA1B870.WAV", datetime(2019, 4, 1, 7, 6, 24, tzinfo=UTC)),
        ("20191301_070000.wav", None),
        ("20190401_250000.wav", None),
        ("deadbeef.wav", None),
        ("0000002A.WAV", None),
        ("call 17.wav", None),
        ("XC826198-Carollia_sowelli-2013.02.15-CL00829.wav", None),
        ("123456789012345678.wav", None),
    ],
)
def test_names_of_recorders(name, expected):
    found = time_in_name(name)
    assert found == expected
    if expected is not None:
        assert found.tzinfo == expected.tzinfo


def add_chunk(path, name: bytes, content: bytes) -> None:
    stored = path.read_bytes() + name + struct.pack("<I", len(content)) + content + bytes(len(content) % 2)
    path.write_bytes(stored[:4] + struct.pack("<I", len(stored) - 8) + stored[8:])


def quiet_wav(path) -> None:
    soundfile.write(path, np.zeros(441), 44100)


def test_guano_comes_before_the_name(tmp_path):
    path = tmp_path / "20200202_020202.wav"
    quiet_wav(path)
    add_chunk(path, b"guan", b"GUANO|Version: 1.0\nMake: Wildlife\nTimestamp: 2019-04-01T07:00:00+02:00\nTE: 1\n")
    moment, source = recording_time(path)
    assert source == "GUANO"
    assert moment == SEVEN.replace(tzinfo=timezone(timedelta(hours=2)))
    assert audio_info(path).recorded_from == "GUANO"


def test_wildlife_acoustics_and_audiomoth_comments(tmp_path):
    path = tmp_path / "songmeter.wav"
    quiet_wav(path)
    stamp = b"2019-04-01 07:00:00"
    add_chunk(path, b"wamd", struct.pack("<HIH", 0, 2, 1) + struct.pack("<HI", 5, len(stamp)) + stamp)
    assert recording_time(path) == (SEVEN, "recorder")

    path = tmp_path / "audiomoth.wav"
    quiet_wav(path)
    comment = b"Recorded at 07:00:00 01/04/2019 (UTC+5:30) by AudioMoth 24F3190361DA4E5A at gain setting 2\0"
    content = b"INFOICMT" + struct.pack("<I", len(comment)) + comment
    add_chunk(path, b"LIST", content)
    assert recording_time(path) == (SEVEN.replace(tzinfo=timezone(timedelta(hours=5, minutes=30))), "recorder")


def test_damaged_metadata_falls_back_to_the_name_then_the_file(tmp_path):
    path = tmp_path / "20190401_070000.wav"
    quiet_wav(path)
    add_chunk(path, b"guan", b"\xff\xfe nonsense\nTimestamp: yesterday\n")
    assert recording_time(path) == (SEVEN, "file name")

    path = tmp_path / "garden.wav"
    quiet_wav(path)
    os.utime(path, (1_554_102_000, 1_554_102_000))
    moment, source = recording_time(path)
    assert source == "file time"
    assert moment.timestamp() == 1_554_102_000


@pytest.mark.parametrize("form", [b"RIFF", b"RF64"])
def test_headers_are_read_without_the_samples(tmp_path, form):
    """A chunk behind two gigabytes of (sparse) samples is found at once, behind five in the format of long files."""
    path = tmp_path / "long.wav"
    is_long = form != b"RIFF"
    size = 5 * 10**9 if is_long else 2 * 10**9
    text = b"Timestamp: 2019-04-01T07:00:00\n"
    lengths = b"ds64" + struct.pack("<IQQQI", 28, size, size, size // 2, 0) if is_long else b""
    unknown = 0xFFFFFFFF
    with path.open("wb") as file:
        file.write(
            form + struct.pack("<I", unknown if is_long else 44 + size + len(text)) + b"WAVE" + lengths + b"fmt "
        )
        file.write(struct.pack("<IHHIIHH", 16, 1, 1, 44100, 88200, 2, 16))
        file.write(b"data" + struct.pack("<I", unknown if is_long else size))
        file.seek(size, 1)
        file.write(b"guan" + struct.pack("<I", len(text)) + text)
    info = audio_info(path)
    assert info.recorded_from == "GUANO"
    assert info.recorded_at == SEVEN
    assert info.frames == size // 2
