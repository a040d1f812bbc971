"""Where a recording was made."""

import struct

import pytest

from miml_core.errors import BagtagError
from miml_core.media.audio import audio_info
from miml_core.media.recording_place import Place, recording_place
from tests.media.test_recording_time import add_chunk, quiet_wav


@pytest.mark.parametrize(
    "text, latitude, longitude",
    [
        ("43.61,3.88", 43.61, 3.88),
        (" 43.61 , 3.88 ", 43.61, 3.88),
        ("43.61 -3.88", 43.61, -3.88),
        ("-33.9;151.2", -33.9, 151.2),
        ("(43.61, 3.88)", 43.61, 3.88),
        ("33.9° S, 151.2° E", -33.9, 151.2),
        ("33.9s 70w", -33.9, -70.0),
        ("+.5, 0", 0.5, 0.0),
        ("90 -180", 90.0, -180.0),
    ],
)
def test_places_as_people_write_them(text, latitude, longitude):
    place = Place.parse(text)
    assert place == Place(latitude, longitude) and Place.parse(str(place)) == place


@pytest.mark.parametrize(
    "text",
    ["", "43.61", "here", "43,61 3,88", "91, 0", "0, 181", "nan nan", "inf 0", "1e400 0", "1 2 3", "9" * 400 + " 0"],
)
def test_no_places(text):
    with pytest.raises(BagtagError, match="degrees"):
        Place.parse(text)


@pytest.mark.parametrize(
    "content",
    [
        b"GUANO|Version: 1.0\nMake: Wildlife\nLoc Position: 43.611900 -3.877200\nTE: 1\n",
        b"GUANO|Version:1.0\nLoc Position:43.611900 -3.877200\nOAD|Loc Source:GPS\n",  # AudioMoth
        b"GUANO|Version:1.0\r\nLoc Position: 43.6119 -3.8772\0",
        b"Loc Position: (43.6119, -3.8772)",
    ],
)
def test_guano(tmp_path, content):
    path = tmp_path / "20200202_020202.wav"
    quiet_wav(path)
    assert recording_place(path) is None
    add_chunk(path, b"guan", content)
    assert recording_place(path) == Place(43.6119, -3.8772) == audio_info(path).place
    assert audio_info(path).recorded_from == "file name"


@pytest.mark.parametrize(
    "value",
    [
        "",
        "0 0",  # before the first fix
        "0.000000 -0.000000",
        "43.6",
        "north of the river",
        "143.6 3.9",
        "43.6 nan",
        "43,6 3,9",
        "\xff\xfe",
        "9" * 10000,
    ],
)
def test_damaged_positions_are_none(tmp_path, value):
    path = tmp_path / "quiet.wav"
    quiet_wav(path)
    add_chunk(path, b"guan", b"GUANO|Version: 1.0\nLoc Position: " + value.encode("latin-1") + b"\n")
    assert recording_place(path) is None and audio_info(path).place is None


@pytest.mark.parametrize(
    "value, expected",
    [
        (b"WGS84,42.36000,N,71.05000,W,14", Place(42.36, -71.05)),
        (b"WGS84, 33.9, S, 151.2, E", Place(-33.9, 151.2)),
        (b"WGS84,42.36,-71.05,14", Place(42.36, -71.05)),
        (b"WGS84,942.36,N,71.05,W", None),
        (b"WGS84,,,", None),
        (b"", None),
    ],
)
def test_wildlife_acoustics(tmp_path, value, expected):
    path = tmp_path / "songmeter.wav"
    quiet_wav(path)
    add_chunk(path, b"wamd", struct.pack("<HIH", 0, 2, 1) + struct.pack("<HI", 6, len(value)) + value)
    assert recording_place(path) == expected


def test_guano_comes_first_unless_it_has_no_place(tmp_path):
    path = tmp_path / "both.wav"
    quiet_wav(path)
    value = b"WGS84,42.36,N,71.05,W"
    add_chunk(path, b"wamd", struct.pack("<HI", 6, len(value)) + value)
    add_chunk(path, b"guan", b"Loc Position: 0 0\n")
    assert recording_place(path) == Place(42.36, -71.05)
    add_chunk(path, b"guan", b"Loc Position: 1 2\n")
    assert recording_place(path) == Place(1.0, 2.0)


def test_files_without_chunks_have_none(tmp_path):
    (tmp_path / "no.wav").write_bytes(b"no sound")
    (tmp_path / "cut.wav").write_bytes(b"RIFF\xff\xff\xff\xffWAVEguan\xff\xff\x00\x00Loc Pos")
    assert recording_place(tmp_path / "no.wav") is None and recording_place(tmp_path / "cut.wav") is None
