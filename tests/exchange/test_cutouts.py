"""Cut-outs per class and training folders of BirdNET: sounds, pictures, names, marks, and the table with them."""

from __future__ import annotations

import tracemalloc
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soundfile
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from miml_core.errors import BagtagError
from miml_core.exchange import FORMATS, SegmentRow, base, cut_media
from miml_core.exchange.birdnet_training import BirdnetTraining
from miml_core.exchange.cutouts import CutOuts
from miml_core.exchange.marking import is_marked
from miml_core.exchange.names import is_safe_name
from miml_core.exchange.reading import read_labels
from tests.exchange.examples import NASTY_NAMES, texts

RATE = 22050
TONE = 1000.0


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return ten seconds in two channels, with a tone from 4 to 5 s in the second."""
    path = tmp_path_factory.mktemp("sounds") / "dawn.wav"
    time = np.arange(10 * RATE) / RATE
    tone = np.where((time >= 4) & (time < 5), 0.5 * np.sin(2 * np.pi * TONE * time), 0.0)
    soundfile.write(path, np.column_stack([np.zeros_like(tone), tone]), RATE)
    return path


@pytest.fixture(scope="module")
def call(recording: Path) -> SegmentRow:
    return SegmentRow(
        str(recording), segment=7, start_s=4.0, end_s=5.0, low_hz=900.0, high_hz=1100.0, label="Wren",
        scientific_name="Troglodytes troglodytes", status="confirmed", said_by="person", who="Ann", duration_s=10.0,
        rate=RATE, channels=2,
    )  # fmt: skip


def relative(files: list[Path], folder: Path) -> list[str]:
    return sorted(file.relative_to(folder).as_posix() for file in files)


def test_a_clip_has_padding_the_chosen_rate_and_channel_and_the_call_in_its_middle(
    call: SegmentRow, tmp_path: Path
) -> None:
    files = CutOuts(padding=0.25, rate=32000, channel=1).write([call], tmp_path / "out")
    assert relative(files, tmp_path / "out") == ["Wren/dawn_4.000s_7.wav", "segments.csv"]
    samples, rate = soundfile.read(files[0])
    assert rate == 32000 and samples.shape == (round(1.5 * 32000),)
    loud = np.flatnonzero(np.abs(samples) > 0.1)
    assert abs(loud[0] / rate - 0.25) < 0.005 and abs(loud[-1] / rate - 1.25) < 0.005
    spectrum = np.abs(np.fft.rfft(samples))
    assert abs(np.argmax(spectrum) * rate / len(samples) - TONE) < 2
    quiet = soundfile.read(CutOuts(channel=0).write([call], tmp_path / "first")[0])[0]
    assert not quiet.any()


def test_training_clips_are_three_seconds_at_48_khz_inside_the_recording(call: SegmentRow, tmp_path: Path) -> None:
    early = replace(call, segment=8, start_s=0.1, end_s=0.4)
    long = replace(call, segment=9, start_s=2.0, end_s=8.0)
    files = BirdnetTraining().write([call, early, long], tmp_path / "train")
    lengths = {file.name: soundfile.info(file).frames for file in files if file.suffix == ".wav"}
    assert lengths == {"dawn_4.000s_7.wav": 144_000, "dawn_0.100s_8.wav": 144_000, "dawn_2.000s_9.wav": 288_000}
    assert {file.parent.name for file in files if file.suffix == ".wav"} == {"Troglodytes troglodytes_Wren"}
    table = (tmp_path / "train" / "segments.csv").read_text().splitlines()
    assert table[0].endswith("cut_out,cut_start_s,cut_end_s")
    assert [line.split(",")[-2:] for line in table[1:]] == [["3", "6"], ["0", "3"], ["2", "8"]]


def test_a_recording_shorter_than_a_training_clip_is_padded_on_both_sides(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "short.wav", np.full(48000, 0.5), 48000)
    row = SegmentRow(str(tmp_path / "short.wav"), start_s=0.2, end_s=0.4, label="Wren", status="confirmed")
    clip, _ = soundfile.read(BirdnetTraining().write([row], tmp_path / "out")[0])
    assert len(clip) == 144_000 and np.flatnonzero(clip)[[0, -1]].tolist() == [48_000, 95_999]


def test_background_goes_to_noise_unless_a_call_is_near(call: SegmentRow, tmp_path: Path) -> None:
    nothing = replace(call, label="", scientific_name="", status="background", segment=1, start_s=0.0, end_s=0.5)
    near, far = replace(nothing, segment=2, start_s=6.0, end_s=7.0), replace(nothing, segment=3, start_s=9.0, end_s=9.5)
    blank = replace(nothing, segment=4, status="unlabelled", said_by="")
    negative = replace(call, label="-Wren, juvenile", scientific_name="", segment=5)
    files = BirdnetTraining().write([call, nothing, near, far, blank, negative], tmp_path / "out")
    assert relative(files, tmp_path / "out") == [
        "%2DWren%2C juvenile/dawn_4.000s_5.wav",
        "Noise/dawn_0.000s_1.wav",
        "Noise/dawn_9.000s_3.wav",
        "Troglodytes troglodytes_Wren/dawn_4.000s_7.wav",
        "segments.csv",
    ]
    files = CutOuts().write([nothing, blank], tmp_path / "all")
    assert [name.split("/")[0] for name in relative(files, tmp_path / "all")] == [
        "(background)", "(no label)", "segments.csv"
    ]  # fmt: skip


def test_pictures_are_cut_by_their_boxes(tmp_path: Path) -> None:
    pixels = np.zeros((40, 60, 3), dtype=np.uint8)
    pixels[10:20, 30:50] = (255, 0, 0)
    Image.fromarray(pixels).save(tmp_path / "pond.png")
    row = SegmentRow(str(tmp_path / "pond.png"), kind="picture", segment=3, box=(30.2, 10.0, 49.5, 20.0), width=60,
                     height=40, label="duck", status="confirmed", said_by="person")  # fmt: skip
    (cut, table) = CutOuts(padding=0).write([row], tmp_path / "out")
    assert cut.name == "pond_3.png" and (np.asarray(Image.open(cut)) == (255, 0, 0)).all()
    assert Image.open(cut).size == (20, 10) and is_marked(cut)
    wide = CutOuts(padding=15).write([row], tmp_path / "wide")[0]
    assert Image.open(wide).size == (60 - 15, 35)
    assert CutOuts().read(tmp_path / "out") == [row] and "cut_left_px" in table.read_text()


def test_marked_sounds_are_left_out_of_imports_also_after_they_were_copied(call: SegmentRow, tmp_path: Path) -> None:
    clip = CutOuts().write([call], tmp_path / "out")[0]
    copy = tmp_path / "COPY.WAV"
    copy.write_bytes(clip.read_bytes())
    assert is_marked(clip) and is_marked(copy) and not is_marked(Path(call.file))


def test_names_are_safe_and_unique_on_every_system(call: SegmentRow, tmp_path: Path) -> None:
    names = [*NASTY_NAMES, "wren", "WREN", "Wren", "e\u0301", "\u00e9", "🐦" * 90, "NUL", "a/b", "a\\b"]
    rows = [replace(call, label=name, segment=None) for name in names for _ in range(2)]
    for chosen in (CutOuts(padding=0), BirdnetTraining(rate=8000)):
        files = chosen.write(rows, tmp_path / chosen.name)
        found = relative(files, tmp_path / chosen.name)
        assert len({name.casefold() for name in found}) == len(rows) + 1
        assert all(is_safe_name(part) and len(part.encode()) < 200 for name in found for part in name.split("/"))
        assert chosen.read(tmp_path / chosen.name) == rows


@settings(max_examples=15, deadline=None)
@given(
    st.lists(
        st.builds(
            SegmentRow,
            file=st.just("here"),
            segment=st.integers(1, 10**9),
            start_s=st.integers(0, 9 * 10**6).map(lambda micro: micro / 1e6),
            end_s=st.just(9.5),
            label=texts.filter(bool),
            who=texts,
            bag=texts,
            status=st.just("confirmed"),
            said_by=st.just("person"),
        ),
        min_size=1,
        max_size=3,
    ),
)
def test_any_rows_come_back_from_the_table_with_the_clips(recording: Path, rows: list[SegmentRow]) -> None:
    for kind in (CutOuts, BirdnetTraining):
        chosen = kind(lambda _: recording, rate=8000)
        table = [(name, content) for name, content in chosen.make_files(rows) if name.endswith(".csv")]
        assert chosen.parse_files((name, content) for name, content in table if isinstance(content, bytes)) == rows


def test_files_that_cannot_be_used_are_listed_and_the_others_written(call: SegmentRow, tmp_path: Path) -> None:
    (tmp_path / "text.wav").write_text("no sound")
    rows = [call, replace(call, file=str(tmp_path / "text.wav")), replace(call, file=str(tmp_path / "gone.wav")),
            replace(call, file=str(tmp_path / "gone.wav"), start_s=1.0), replace(call, low_hz=5000.0)]  # fmt: skip
    listed: list[tuple[str, str]] = []
    chosen = CutOuts(rate=8000, on_failure=lambda file, reason: listed.append((Path(file).name, reason)))
    files = chosen.write(rows, tmp_path / "out")
    assert len(files) == 2 and chosen.written == [call]
    assert sorted(name for name, _ in listed) == ["dawn.wav", "gone.wav", "text.wav"]
    assert "above 4000 Hz; choose a higher sample rate" in dict(listed)["dawn.wav"]
    with pytest.raises(BagtagError, match="None of the segments can be cut out"):
        chosen.write(rows[2:], tmp_path / "none")
    with pytest.raises(BagtagError, match=r"gone\.wav"):
        CutOuts().write(rows, tmp_path / "none")
    assert not (tmp_path / "none").exists(), "all files or none"


def test_memory_does_not_grow_with_the_length_of_a_segment_or_of_an_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (base, cut_media):
        monkeypatch.setattr(module, "IN_MEMORY", 1 << 20)
    soundfile.write(tmp_path / "night.wav", np.zeros(8000 * 300, dtype=np.int16), 8000)
    row = SegmentRow(str(tmp_path / "night.wav"), start_s=0.0, end_s=300.0, label="Rain", status="confirmed")
    tracemalloc.start()
    (written,) = CutOuts(rate=48000).write([row], tmp_path / "out.zip")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 14e6, "the clip alone has 29 MB"
    with zipfile.ZipFile(written) as archive, archive.open("Rain/night_0.000s.wav") as clip:
        assert soundfile.info(clip).frames == 48000 * 300


def test_the_folder_is_imported_by_its_table_alone(call: SegmentRow, tmp_path: Path) -> None:
    FORMATS["cut-outs"].write([call], tmp_path / "out")
    (tmp_path / "out" / "bagtag.provenance.json").write_text("{}")
    table = read_labels([tmp_path / "out"])
    assert table.files == {"segments.csv": "csv"} and table.rows == [call] and table.problems == []
