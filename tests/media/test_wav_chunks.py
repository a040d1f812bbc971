"""The chunks of WAV files, complete and unfinished ones."""

import struct

import pytest

from miml_core.media.recorder_notes import recorder_notes
from miml_core.media.wav_chunks import UNKNOWN_32, wav_chunks

NOTE = b"guan" + struct.pack("<I", 4) + b"text"
START = b"WAVE" + b"fmt " + struct.pack("<I", 16) + bytes(16)


@pytest.mark.parametrize("length", [0, UNKNOWN_32])
def test_nothing_behind_samples_of_unknown_length_is_taken_for_a_chunk(tmp_path, length):
    path = tmp_path / "unfinished.wav"
    with path.open("wb") as file:
        file.write(b"RIFF" + bytes(4) + START + b"data" + struct.pack("<I", length))
        file.seek(length + length % 2, 1)
        file.write(NOTE)
    with path.open("rb") as file:
        assert [chunk.name for chunk in wav_chunks(file)] == [b"fmt ", b"data"]
    assert recorder_notes(path) == []


@pytest.mark.parametrize(("form", "is_long"), [(b"RIFF", False), (b"RF64", True), (b"BW64", True)])
def test_a_length_of_64_bits_is_read_in_files_that_may_have_one(tmp_path, form, is_long):
    path = tmp_path / "long.wav"
    lengths = b"ds64" + struct.pack("<IQQQI", 28, 0, 6, 3, 0)
    samples = b"data" + struct.pack("<I", UNKNOWN_32) + bytes(6)
    path.write_bytes(form + bytes(4) + START[:4] + lengths + START[4:] + samples + NOTE)
    with path.open("rb") as file:
        data = next(chunk for chunk in wav_chunks(file) if chunk.name == b"data")
    assert (data.length, data.is_long) == ((6, True) if is_long else (UNKNOWN_32, False))
    assert recorder_notes(path) == ([(b"guan", b"text")] if is_long else [])
