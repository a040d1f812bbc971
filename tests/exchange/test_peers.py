"""What we write is read by the programs it is for, and what they write by us: counts, times and labels are equal."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miml_core.exchange import FORMATS, SegmentRow
from miml_core.exchange.masks import row_region
from miml_core.exchange.reading import read_labels
from tests.exchange.examples import PICTURES, SOUNDS, texts

CALLS = [
    SegmentRow("a.wav", start_s=0.5 + k, end_s=1.25 + k, low_hz=500.0 * (k + 1), high_hz=4000.0 + k, label=label,
               status="confirmed", said_by="person", who="Ann", duration_s=60.0, rate=48000, channels=1)
    for k, label in enumerate(["Wren", "Eule \u05e2", "🐦"])
]  # fmt: skip


def test_raven_tables_are_read_by_crowsetta(tmp_path: Path) -> None:
    crowsetta = pytest.importorskip("crowsetta")
    FORMATS["raven"].write(CALLS, tmp_path / "a.selections.txt")
    table = crowsetta.formats.bbox.Raven.from_file(tmp_path / "a.selections.txt", annot_col="Label")
    boxes = table.to_bbox()
    assert [(box.onset, box.offset, box.low_freq, box.high_freq, box.label) for box in boxes] == [
        (row.start_s, row.end_s, row.low_hz, row.high_hz, row.label) for row in CALLS
    ]


def test_audacity_labels_are_read_by_crowsetta(tmp_path: Path) -> None:
    crowsetta = pytest.importorskip("crowsetta")
    FORMATS["audacity"].write(CALLS, tmp_path / "a.txt")
    boxes = crowsetta.formats.bbox.AudBBox.from_file(tmp_path / "a.txt").to_bbox()
    assert [(box.onset, box.offset, box.low_freq, box.high_freq, box.label) for box in boxes] == [
        (row.start_s, row.end_s, row.low_hz, row.high_hz, row.label) for row in CALLS
    ]
    timed = [replace(row, low_hz=None, high_hz=None) for row in CALLS]
    FORMATS["audacity"].write(timed, tmp_path / "b.txt")
    sequence = crowsetta.formats.seq.AudSeq.from_file(tmp_path / "b.txt").to_seq()
    assert [(one.onset_s, one.offset_s, one.label) for one in sequence.segments] == [
        (row.start_s, row.end_s, row.label) for row in timed
    ]


def test_sequences_that_crowsetta_writes_are_read(tmp_path: Path) -> None:
    crowsetta = pytest.importorskip("crowsetta")
    sequence = crowsetta.Sequence.from_keyword(
        labels=np.array(["a", "b", "c"]), onsets_s=np.array([0.0, 1.5, 2.25]), offsets_s=np.array([1.0, 2.0, 3.125])
    )
    annotation = crowsetta.Annotation(seq=sequence, annot_path="x.csv", notated_path="sub/dawn.wav")
    crowsetta.formats.seq.GenericSeq(annots=[annotation]).to_file(tmp_path / "generic.csv")
    table = read_labels([tmp_path / "generic.csv"])
    assert table.files == {"generic.csv": "crowsetta"} and table.problems == []
    assert [(row.file, row.start_s, row.end_s, row.label) for row in table.rows] == [
        ("sub/dawn.wav", 0.0, 1.0, "a"), ("sub/dawn.wav", 1.5, 2.0, "b"), ("sub/dawn.wav", 2.25, 3.125, "c")
    ]  # fmt: skip
    (tmp_path / "dusk.csv").write_text("onset_s,offset_s,label\n0.5,1.0,a\n")
    simple = read_labels([tmp_path / "dusk.csv"])
    assert simple.files == {"dusk.csv": "crowsetta"} and simple.rows[0].file == "dusk"


def test_tables_that_crowsetta_writes_are_read(tmp_path: Path) -> None:
    crowsetta = pytest.importorskip("crowsetta")
    FORMATS["raven"].write(CALLS, tmp_path / "a.selections.txt")
    FORMATS["audacity"].write(CALLS, tmp_path / "b.txt")
    FORMATS["audacity"].write([replace(row, low_hz=None, high_hz=None) for row in CALLS], tmp_path / "c.txt")
    made = {
        "raven": crowsetta.formats.bbox.Raven.from_file(tmp_path / "a.selections.txt", annot_col="Label"),
        "boxes": crowsetta.formats.bbox.AudBBox.from_file(tmp_path / "b.txt"),
        "times": crowsetta.formats.seq.AudSeq.from_file(tmp_path / "c.txt"),
    }
    for name, one in made.items():
        one.to_file(tmp_path / f"{name}.txt")
        table = read_labels([tmp_path / f"{name}.txt"])
        assert table.problems == []
        assert [(row.start_s, row.end_s, row.label) for row in table.rows] == [
            (row.start_s, row.end_s, row.label) for row in CALLS
        ]
        bands = [(row.low_hz, row.high_hz) for row in table.rows]
        assert bands == [(None, None) if name == "times" else (row.low_hz, row.high_hz) for row in CALLS]


def test_a_project_that_soundevent_writes_is_read_with_all_its_tags(tmp_path: Path) -> None:
    data = pytest.importorskip("soundevent.data")
    from soundevent.io import load, save

    recording = data.Recording(path=Path("/a/night.wav"), duration=10.0, samplerate=48000, channels=1)
    shapes = [
        data.BoundingBox(coordinates=[1.0, 2000.0, 2.0, 4000.0]),
        data.TimeInterval(coordinates=[3.0, 3.5]),
        data.Polygon(coordinates=[[[4.0, 1000.0], [5.0, 1000.0], [5.0, 3000.0], [4.0, 1000.0]]]),
    ]
    tags = [
        [("species", "Myotis myotis"), ("event", "Echolocation"), ("quality", "A"), ("quality", "B")],
        [("event", "Social"), ("checked", "yes")],
        [],
    ]
    events = [
        data.SoundEventAnnotation(
            sound_event=data.SoundEvent(recording=recording, geometry=shape),
            tags=[data.Tag(key=key, value=value) for key, value in each],
        )
        for shape, each in zip(shapes, tags)
    ]
    clip = data.Clip(recording=recording, start_time=0.0, end_time=10.0)
    annotated = data.ClipAnnotation(clip=clip, sound_events=events)
    task = data.AnnotationTask(clip=clip)
    save(data.AnnotationProject(name="bats", clip_annotations=[annotated], tasks=[task]), tmp_path / "bats.json")
    table = read_labels([tmp_path / "bats.json"])
    assert table.problems == []
    assert [(row.start_s, row.end_s, row.low_hz, row.label) for row in table.rows] == [
        (1.0, 2.0, 2000.0, "Myotis myotis"), (3.0, 3.5, None, "Social"), (4.0, 5.0, 1000.0, "")
    ]  # fmt: skip
    rows = [replace(row, duration_s=10.0, rate=48000) for row in table.rows]
    FORMATS["aoef"].write([*rows[:1], replace(rows[1], label="Feeding"), rows[2]], tmp_path / "out.json")
    (again,) = load(tmp_path / "out.json", type="annotation_project").clip_annotations
    found = [sorted((tag.key, tag.value) for tag in event.tags) for event in again.sound_events]
    assert found == [
        [("dwc:scientificName", "Myotis myotis"), ("event", "Echolocation"), ("quality", "A"), ("quality", "B")],
        [("checked", "yes"), ("event", "Feeding")],
        [],
    ], "a new label replaces the tag that the old one came from"


def test_alternatives_of_a_prediction_keep_their_scores(tmp_path: Path) -> None:
    pytest.importorskip("soundevent")
    tags = '[["dwc:scientificName", "Myotis nattereri", 0.25], ["quality", "A"]]'
    row = replace(CALLS[0], status="predicted", said_by="model", probability=0.5, who="", other_tags=tags)
    FORMATS["aoef"].write([row], tmp_path / "out.json")
    (back,) = read_labels([tmp_path / "out.json"]).rows
    assert (back.label, back.probability, sorted(json.loads(back.other_tags))) == ("Wren", 0.5, json.loads(tags))
    FORMATS["aoef"].write([replace(row, status="confirmed", said_by="person")], tmp_path / "checked.json")
    (checked,) = read_labels([tmp_path / "checked.json"]).rows
    assert json.loads(checked.other_tags) == [["quality", "A"]], "nobody confirmed the alternative"


def test_tables_that_pandas_writes_are_read(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"recording": ["a.wav", "b\tc.wav"], "onset": [0.125, 1.000001], "offset_s": [0.5, 2.0],
         "Species": ["🐦", "x,y"], "confidence": [0.5, None]}
    )  # fmt: skip
    frame.to_csv(tmp_path / "calls.csv", index=False)
    frame.to_parquet(tmp_path / "calls.parquet")
    for name in ("calls.csv", "calls.parquet"):
        table = read_labels([tmp_path / name])
        assert table.problems == []
        assert [(row.file, row.start_s, row.end_s, row.label, row.probability, row.status) for row in table.rows] == [
            ("a.wav", 0.125, 0.5, "🐦", 0.5, "predicted"), ("b\tc.wav", 1.000001, 2.0, "x,y", None, "confirmed")
        ]  # fmt: skip
    frame.drop(columns="Species").to_parquet(tmp_path / "calls.parquet")
    assert "no column of labels" in read_labels([tmp_path / "calls.parquet"]).problems[0].reason


def test_aoef_is_read_by_soundevent(tmp_path: Path) -> None:
    soundevent_io = pytest.importorskip("soundevent.io")
    rows = [*CALLS, replace(CALLS[0], status="predicted", said_by="model", probability=0.25, low_hz=None, high_hz=None)]
    FORMATS["aoef"].write(rows, tmp_path / "aoef")
    project = soundevent_io.load(tmp_path / "aoef" / "annotations.json", type="annotation_project")
    events = [event for clip in project.clip_annotations for event in clip.sound_events]
    assert sorted((tuple(event.sound_event.geometry.coordinates), event.tags[0].value) for event in events) == sorted(
        ((row.start_s, row.low_hz, row.end_s, row.high_hz), row.label) for row in CALLS
    )
    assert {event.created_by.username for event in events} == {"Ann"}
    predictions = soundevent_io.load(tmp_path / "aoef" / "predictions.json", type="prediction_set")
    event = predictions.clip_predictions[0].sound_events[0]
    assert event.score == 0.25 and event.sound_event.geometry.coordinates == [0.5, 1.25]


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.builds(
            SegmentRow,
            file=texts.filter(lambda text: text.strip(" ./\\") and "\n" not in text).map(lambda text: f"{text}.wav"),
            start_s=st.integers(0, 10**9).map(lambda micro: micro / 1e6),
            end_s=st.just(2000.0),
            low_hz=st.floats(0, 1000),
            high_hz=st.floats(1000, 20000),
            label=texts.filter(lambda text: text and text != "(background)"),
            who=texts,
            status=st.just("confirmed"),
            said_by=st.just("person"),
            duration_s=st.just(3000.0),
            rate=st.just(44100),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_any_rows_come_back_from_aoef(rows: list[SegmentRow]) -> None:
    pytest.importorskip("soundevent")
    from miml_core.exchange.labels import LabelTable

    _, content = FORMATS["aoef"].write_bytes(rows)
    table = LabelTable()
    FORMATS["aoef"].read_file("a.json", content, table)
    assert table.problems == []
    wanted = [replace(row, file=Path(row.file).as_posix()) for row in rows]

    def key(row: SegmentRow) -> str:
        return repr(row)

    assert sorted(table.rows, key=key) == sorted(wanted, key=key)


def test_coco_is_read_by_pycocotools(tmp_path: Path) -> None:
    coco_module = pytest.importorskip("pycocotools.coco")
    FORMATS["coco"].write(PICTURES, tmp_path / "p.json")
    coco = coco_module.COCO(str(tmp_path / "p.json"))
    assert len(coco.getImgIds()) == 2 and len(coco.getAnnIds()) == len(PICTURES)
    found = {each["attributes"]["segment"]: each for each in coco.loadAnns(coco.getAnnIds())}
    for row in PICTURES:
        left, top, width, height = found[row.segment]["bbox"]
        assert (left, top, left + width, top + height) == row.box
        if row.segment != 2:  # slanted edges are drawn differently
            assert (coco.annToMask(found[row.segment]) > 0).sum() == row_region(row).area
    names = {each["id"]: each["name"] for each in coco.loadCats(coco.getCatIds())}
    assert names[found[1]["category_id"]] == "water"


@pytest.mark.parametrize("seed", range(3))
def test_run_lengths_that_pycocotools_writes_are_read(seed: int, tmp_path: Path) -> None:
    masks = pytest.importorskip("pycocotools.mask")
    mask = np.random.default_rng(seed).random((17, 23)) < 0.4
    coded = masks.encode(np.asfortranarray(mask.astype(np.uint8)))
    content = {
        "images": [{"id": 1, "file_name": "a.png", "width": 23, "height": 17}],
        "categories": [{"id": 5, "name": "duck"}],
        "annotations": [{"id": 1, "image_id": 1, "category_id": 5, "bbox": masks.toBbox(coded).tolist(),
                         "segmentation": {"size": coded["size"], "counts": coded["counts"].decode()}}],
    }  # fmt: skip
    (tmp_path / "c.json").write_text(json.dumps(content))
    table = read_labels([tmp_path / "c.json"])
    assert table.files == {"c.json": "coco"}
    assert (row_region(table.rows[0]).within((0, 0, 17, 23)) == mask).all()


def test_csv_is_read_by_pandas() -> None:
    pandas = pytest.importorskip("pandas")
    _, content = FORMATS["csv"].write_bytes(SOUNDS)
    frame = pandas.read_csv(io.BytesIO(content), encoding="utf-8-sig")
    assert len(frame) == len(SOUNDS) and frame["start_s"].tolist() == [row.start_s for row in SOUNDS]
    assert frame["label"].fillna("").tolist() == [row.label for row in SOUNDS]


def test_parquet_is_read_by_pandas(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    FORMATS["parquet"].write(SOUNDS, tmp_path / "a.parquet")
    frame = pandas.read_parquet(tmp_path / "a.parquet")
    assert frame["start_s"].tolist() == [row.start_s for row in SOUNDS]
    assert frame["label"].tolist() == [row.label for row in SOUNDS]
    assert read_labels([tmp_path / "a.parquet"]).rows == SOUNDS


def test_a_combined_raven_table_is_read_by_crowsetta_and_by_us(tmp_path: Path) -> None:
    crowsetta = pytest.importorskip("crowsetta")
    rows = [*CALLS, *(replace(row, file="b.wav") for row in CALLS)]
    FORMATS["raven-combined"].write(rows, tmp_path / "all.txt")
    boxes = crowsetta.formats.bbox.Raven.from_file(tmp_path / "all.txt", annot_col="Label").to_bbox()
    began = [0.0] * 3 + [60.0] * 3
    assert [box.onset for box in boxes] == [(row.start_s or 0.0) + start for row, start in zip(rows, began)]
    assert read_labels([tmp_path / "all.txt"]).rows == rows


def test_pictures_come_back_from_label_studio(tmp_path: Path) -> None:
    FORMATS["label-studio"].write(PICTURES, tmp_path / "ls.json")
    table = read_labels([tmp_path / "ls.json"])
    assert table.files == {"ls.json": "label-studio"} and table.problems == []
    found = sorted(table.rows, key=lambda row: (row.file, row.box))
    wanted = sorted(PICTURES, key=lambda row: (row.file, row.box))
    assert [(row.file, row.label) for row in found] == [(row.file, row.label) for row in wanted]
    assert all(row_region(one).equals(row_region(two)) for one, two in zip(found, wanted))
