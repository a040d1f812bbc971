"""Readers of other programs' files: what each format holds, and what is wrong in a file, line by line."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from miml_core.errors import BagtagError
from miml_core.exchange.brush_rle import decode_brush, encode_brush
from miml_core.exchange.labels import LabelTable
from miml_core.exchange.reading import READABLE, read_labels, recognise

BIRDNET = """Start (s),End (s),Scientific name,Common name,Confidence,File
0.0,3.0,Turdus merula,Eurasian Blackbird,0.8123,/data/dawn.wav
3.0,6.0,Strix aluco,Tawny Owl,0.25,/data/dawn.wav
"""
BIRDNET_RAVEN = (
    "Selection\tView\tChannel\tBegin Time (s)\tEnd Time (s)\tLow Freq (Hz)\tHigh Freq (Hz)\tCommon Name\tSpecies Code\t"
    "Confidence\tBegin Path\tFile Offset (s)\n"
    "1\tSpectrogram 1\t1\t60.0\t63.0\t0\t15000\tTawny Owl\ttawowl1\t0.71\t/data/b.wav\t0.0\n"
)
BIRDNET_KALEIDOSCOPE = """INDIR,FOLDER,IN FILE,OFFSET,DURATION,scientific_name,common_name,confidence,lat,lon,week
/data,night,dawn.wav,3.0,3.0,Strix aluco,Tawny Owl,0.71,-1,-1,-1
"""
KALEIDOSCOPE = """INDIR,OUTDIR,FOLDER,IN FILE,CHANNEL,OFFSET,DURATION,Fmin,Fmean,Fmax,TOP1MATCH,TOP1DIST,MANUAL ID
C:\\in,,Site 1,a.wav,0,12.5,0.75,2000.0,3000.0,4100.0,cluster3,0.12,Wren
C:\\in,,Site 1,a.wav,0,20.0,0.5,2000.0,3000.0,4100.0,cluster3,0.12,
C:\\in,,Site 1,b.wav,0,1.0,0.5,2000.0,3000.0,4100.0,NoID,0.12,
"""
CVAT = """<?xml version="1.0" encoding="utf-8"?>
<annotations><version>1.1</version>
 <image id="0" name="sub/pond.jpg" width="40" height="30">
  <box label="duck" source="manual" occluded="0" xtl="1.5" ytl="2" xbr="11.5" ybr="8" z_order="0"></box>
  <polygon label="reed" source="auto" points="0,0;10,0;10,10"></polygon>
  <mask label="water" source="manual" rle="1, 2, 1, 2" left="3" top="4" width="3" height="2"></mask>
  <polyline label="shore" points="0,0;1,1"></polyline>
  <tag label="calm" source="manual"></tag>
 </image>
</annotations>
"""


def read(tmp_path: Path, name: str, content: str | bytes, **options: object) -> LabelTable:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_labels([path], **options)  # type: ignore[arg-type]


def test_birdnet_results(tmp_path: Path) -> None:
    table = read(tmp_path, "dawn.BirdNET.results.csv", BIRDNET)
    assert table.files == {"dawn.BirdNET.results.csv": "birdnet"} and not table.problems
    first = table.rows[0]
    assert (first.file, first.start_s, first.end_s) == ("/data/dawn.wav", 0.0, 3.0)
    assert (first.label, first.scientific_name) == ("Eurasian Blackbird", "Turdus merula")
    assert first.probability == 0.8123 and first.status == "predicted"


def test_birdnet_results_of_older_versions_name_no_file(tmp_path: Path) -> None:
    content = "\n".join(line.rpartition(",")[0] for line in BIRDNET.splitlines())
    assert {row.file for row in read(tmp_path, "dawn.BirdNET.results.csv", content).rows} == {"dawn"}


def test_birdnet_tables_for_raven_and_kaleidoscope(tmp_path: Path) -> None:
    raven = read(tmp_path, "BirdNET_SelectionTable.txt", BIRDNET_RAVEN)
    row = raven.rows[0]
    assert (row.file, row.start_s, row.end_s, row.label) == ("/data/b.wav", 0.0, 3.0, "Tawny Owl"), "offset in its file"
    assert row.probability == 0.71 and row.status == "predicted"
    kaleidoscope = read(tmp_path, "k.csv", BIRDNET_KALEIDOSCOPE)
    row = kaleidoscope.rows[0]
    assert (row.file, row.start_s, row.end_s, row.label) == ("night/dawn.wav", 3.0, 6.0, "Tawny Owl")
    assert row.scientific_name == "Strix aluco" and row.probability == 0.71


def test_manual_ids_of_kaleidoscope_are_confirmed_and_clusters_are_not(tmp_path: Path) -> None:
    table = read(tmp_path, "cluster.csv", KALEIDOSCOPE)
    assert [(row.label, row.status) for row in table.rows] == [
        ("Wren", "confirmed"), ("cluster3", "predicted"), ("", "unlabelled")
    ]  # fmt: skip
    assert (table.rows[0].low_hz, table.rows[0].high_hz, table.rows[0].end_s) == (2000.0, 4100.0, 13.25)
    assert table.rows[0].file == "Site 1/a.wav"


def test_a_folder_of_tables_of_many_formats(tmp_path: Path) -> None:
    folder = tmp_path / "labels"
    raven = "Selection\tView\tChannel\tBegin Time (s)\tEnd Time (s)\tLow Freq (Hz)\tHigh Freq (Hz)\tAnnotation\n"
    read(tmp_path, "labels/dawn.Table.1.selections.txt", f"{raven}1\tSpectrogram 1\t1\t1\t2\t500\t900\tWren\n")
    read(tmp_path, "labels/dusk.txt", "1.0\t2.5\tOwl\n\\\t300.0\t900.0\n3.0\t4.0\tOwl\n")
    read(tmp_path, "labels/sub/noon.csv", "start,end,species\n0;1\n1,2,Robin\n")
    table = read_labels([folder])
    assert [(row.file, row.label) for row in table.rows] == [
        ("dawn", "Wren"), ("dusk", "Owl"), ("dusk", "Owl"), ("sub/noon", "Robin")
    ]  # fmt: skip
    assert [row.low_hz for row in table.rows] == [500.0, 300.0, None, None]
    assert table.problems[0].where == "'sub/noon.csv', line 2" and "'0;1'" in table.problems[0].reason
    with zipfile.ZipFile(tmp_path / "labels.zip", "w") as archive:
        for file in sorted(folder.rglob("*.*")):
            archive.write(file, file.relative_to(folder).as_posix())
    assert read_labels([tmp_path / "labels.zip"]).rows == table.rows


def test_columns_chosen_by_hand(tmp_path: Path) -> None:
    content = "Aufnahme;von;Dauer;Art;Güte\nA.wav;1,25;0,5;Amsel;0,9\n"
    columns = {"file": "Aufnahme", "start_s": "von", "duration_s": "Dauer", "label": "Art", "score": "Güte"}
    row = read(tmp_path, "t.csv", content, columns=columns).rows[0]
    assert (row.file, row.start_s, row.end_s, row.label, row.probability) == ("A.wav", 1.25, 1.75, "Amsel", 0.9)
    assert "not recognised" in read(tmp_path, "t.csv", content).problems[0].reason
    assert "no column 'Typ'" in read(tmp_path, "t.csv", content, columns={"label": "Typ"}).problems[0].reason
    with pytest.raises(BagtagError, match="no field 'colour'"):
        read_labels([tmp_path / "t.csv"], columns={"colour": "x"})


def test_columns_of_a_parquet_table_are_chosen_by_hand_too(tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {"Aufnahme": ["A.wav", "B.wav"], "von": [1.25, 2.0], "Dauer": [0.5, None], "Art": ["Amsel", None]}
    pq.write_table(pa.table({**columns, "status": [1, 2]}), tmp_path / "t.parquet")
    chosen = {"file": "Aufnahme", "start_s": "von", "duration_s": "Dauer", "label": "Art"}
    table = read_labels([tmp_path / "t.parquet"], columns=chosen)
    assert [(row.file, row.start_s, row.end_s, row.label) for row in table.rows] == [
        ("A.wav", 1.25, 1.75, "Amsel"), ("B.wav", 2.0, None, "")
    ]  # fmt: skip
    assert table.problems == [] and table.files == {"t.parquet": "parquet"}
    missing = read_labels([tmp_path / "t.parquet"], columns={"label": "Typ"}).problems
    assert "no column 'Typ'" in missing[0].reason
    pq.write_table(pa.table(columns), tmp_path / "u.parquet")
    (problem,) = read_labels([tmp_path / "u.parquet"]).problems
    assert "--column label=HEADING" in problem.reason and "'Art'" in problem.reason


def test_a_raven_table_without_times_names_the_columns_it_needs(tmp_path: Path) -> None:
    table = read(tmp_path, "a.txt", "Selection\tView\tChannel\tBegin (samples)\n1\tSpectrogram 1\t1\t0\n")
    assert "'Begin Time (s)'" in table.problems[0].reason and "save it again" in table.problems[0].reason
    table = read(tmp_path, "b.csv", "who;when\nAnn;today\n")
    assert "Its first line has 'who', 'when'" in table.problems[0].reason


def test_zip_archives_that_are_damaged_or_lead_out_are_refused(tmp_path: Path) -> None:
    (tmp_path / "damaged.zip").write_bytes(b"PK\x03\x04 and no more")
    with pytest.raises(BagtagError, match="is damaged, or no zip archive"):
        read_labels([tmp_path / "damaged.zip"])
    for name in ("../../evil.csv", "/etc/evil.csv", "C:\\evil.csv", "a/../../evil.csv"):
        with zipfile.ZipFile(tmp_path / "slip.zip", "w") as archive:
            archive.writestr(name, "file,start,end,label\na.wav,0,1,Wren\n")
        with pytest.raises(BagtagError, match="outside itself"):
            read_labels([tmp_path / "slip.zip"])


def test_annotations_of_coco_that_cannot_be_read_say_why(tmp_path: Path) -> None:
    runs = {"size": [20, 30], "counts": [5, -3, 598]}
    huge = {"size": [10**8, 10**8], "counts": [10**16]}
    annotations: list[dict[str, object]] = [
        {"segmentation": {"size": [20, 30], "counts": "zz~\x7f\x01"}},
        {"segmentation": runs},
        {"segmentation": huge},
        {"image_id": 9},
        {"category_id": 9},
        {},
        {"segmentation": [[0, 0, 10, 0, 10, 5]]},
    ]
    content = {
        "images": [{"id": 1, "file_name": "a.jpg", "width": 30, "height": 20}],
        "categories": [{"id": 1, "name": "cow"}],
        "annotations": [{"id": k, "image_id": 1, "category_id": 1, **each} for k, each in enumerate(annotations)],
    }
    table = read(tmp_path, "coco.json", json.dumps(content))
    reasons = [each.reason for each in table.problems]
    assert len(reasons) == 6 and all("run lengths" in each for each in reasons[:2]) and "too large" in reasons[2]
    assert "lists no picture 9" in reasons[3] and "lists no category 9" in reasons[4]
    assert "neither a box nor an outline" in reasons[5]
    assert table.rows[0].box == (0, 0, 10, 5), "a polygon without a box"


def test_every_line_that_cannot_be_read_is_listed(tmp_path: Path) -> None:
    content = "file,start_s,end_s,label\na.wav,x,1,Wren\na.wav,0,1,Wren\na.wav,0,1,Wren,more\n,nan,1,Wren\n"
    table = read(tmp_path, "t.csv", content)
    assert len(table.rows) == 1
    assert [problem.where for problem in table.problems] == [f"'t.csv', line {n}" for n in (2, 4, 5)]


def test_cvat(tmp_path: Path) -> None:
    table = read(tmp_path, "annotations.xml", CVAT)
    box, polygon, mask, tag = table.rows
    assert table.files == {"annotations.xml": "cvat"}
    assert (box.file, box.box, box.label) == ("sub/pond.jpg", (1.5, 2.0, 11.5, 8.0), "duck")
    assert (box.width, box.height) == (40, 30)
    assert polygon.outline == (((0.0, 0.0), (10.0, 0.0), (10.0, 10.0)),) and polygon.status == "predicted"
    assert mask.box == (4.0, 4.0, 6.0, 6.0) and tag.box is None and tag.label == "calm"
    assert [(each.where, each.reason) for each in table.problems] == [
        ("'annotations.xml', line 7", "A polyline has no area")
    ]


@pytest.mark.parametrize(
    "bad",
    [
        '<!DOCTYPE a [<!ENTITY x "lol"><!ENTITY y "&x;&x;">]><annotations>&y;</annotations>',
        '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><annotations>&x;</annotations>',
    ],
)
def test_xml_with_entities_is_refused(bad: str, tmp_path: Path) -> None:
    table = read(tmp_path, "a.xml", bad)
    assert not table.rows and "document type declaration" in table.problems[0].reason


def test_label_studio(tmp_path: Path) -> None:
    mask = np.zeros((20, 40), dtype=bool)
    mask[3:9, 5:17] = True
    size = {"original_width": 40, "original_height": 20}
    regions = [
        {"type": "rectanglelabels", **size,
         "value": {"x": 10, "y": 50, "width": 25, "height": 20, "rotation": 0, "rectanglelabels": ["duck"]}},
        {"type": "polygonlabels", **size, "value": {"points": [[0, 0], [50, 0], [50, 50]], "polygonlabels": ["reed"]}},
        {"type": "brushlabels", **size, "value": {"format": "rle", "rle": encode_brush(mask), "brushlabels": ["pond"]}},
    ]  # fmt: skip
    song = {"type": "labels", "value": {"start": 1.5, "end": 2.25, "labels": ["Wren"]}}
    tasks = [
        {"id": 1, "data": {"image": "/data/upload/1/0a1b2c3d-pond.jpg"},
         "annotations": [{"completed_by": {"email": "ann@example.org"}, "result": regions},
                         {"was_cancelled": True, "result": regions}]},
        {"id": 2, "data": {"audio": "s3://bucket/dawn.wav"}, "predictions": [{"score": 0.4, "result": [song]}]},
    ]  # fmt: skip
    table = read(tmp_path, "export.json", json.dumps(tasks))
    assert table.files == {"export.json": "label-studio"} and not table.problems
    duck, reed, pond, wren = table.rows
    assert duck.box == pytest.approx((4.0, 10.0, 14.0, 14.0)) and duck.who == "ann@example.org"
    assert reed.box == (0.0, 0.0, 20.0, 10.0) and duck.file == "pond.jpg"
    assert pond.box == (5.0, 3.0, 17.0, 9.0)
    assert (wren.file, wren.start_s, wren.end_s, wren.probability) == ("dawn.wav", 1.5, 2.25, 0.4)


@pytest.mark.parametrize("seed", range(6))
def test_any_brush_comes_back(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mask = rng.random((rng.integers(1, 30), rng.integers(1, 30))) < [0.01, 0.5, 0.99][seed % 3]
    assert (decode_brush(encode_brush(mask), *mask.shape) == mask).all()


def test_a_brush_of_another_length_is_listed(tmp_path: Path) -> None:
    rle = encode_brush(np.ones((4, 4), dtype=bool))
    for wrong in (rle[:6], [], [255] * 40):
        region = {"type": "brushlabels", "original_width": 4, "original_height": 4,
                  "value": {"rle": wrong, "brushlabels": ["a"]}}  # fmt: skip
        content = json.dumps([{"id": 7, "data": {"image": "a.png"}, "annotations": [{"result": [region]}]}])
        table = read(tmp_path, "a.json", content)
        assert not table.rows and table.problems[0].where == "'a.json', task 7"


def test_indexed_label_maps_with_a_list_of_classes(tmp_path: Path) -> None:
    folder = tmp_path / "maps"
    (folder / "labels").mkdir(parents=True)
    values = np.zeros((10, 12), dtype=np.uint8)
    values[1:4, 1:5], values[6:9, 6:11], values[6:9, 1:4] = 1, 1, 2
    Image.fromarray(values).save(folder / "labels" / "pond.png")
    Image.new("RGB", (12, 10)).save(folder / "pond.png")
    (folder / "classes.json").write_text(json.dumps({"classes": ["void", "duck", "reed"]}))
    table = read_labels([folder])
    assert table.files == {"maps": "indexed-maps"} and not table.problems
    assert sorted((row.label, row.box) for row in table.rows) == [
        ("duck", (1.0, 1.0, 5.0, 4.0)), ("duck", (6.0, 6.0, 11.0, 9.0)), ("reed", (1.0, 6.0, 4.0, 9.0))
    ]  # fmt: skip
    assert {row.file for row in table.rows} == {"labels/pond"}


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.json", "[" * 100_000), ("a.json", "{}"), ("a.csv", ""), ("a.csv", "\0\0"), ("a.xml", "<annotations>"),
     ("a.json", '{"collection_type": 3}'), ("a.json", '[{"annotations": 3}]'), ("a.json", '[{"data": [1]}]'),
     ("a.json", '{"images": [], "annotations": [{}], "categories": []}'), ("a.txt", "no labels here"),
     ("a.TextGrid", "nothing"), ("a.csv", 'file,label,start_s\n"a.wav')],
)  # fmt: skip
def test_files_of_no_sense_are_listed_and_never_an_accident(name: str, content: str, tmp_path: Path) -> None:
    table = read(tmp_path, name, content)
    assert not table.rows and table.problems


def test_the_format_can_be_given(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("1\t2\tWren\n")
    assert recognise("a.txt", path.read_bytes()).name == "audacity"
    assert "Raven" in read_labels([path], format="raven").problems[0].reason
    with pytest.raises(BagtagError, match="no format called 'x'"):
        read_labels([path], format="x")


def test_all_formats_can_be_chosen() -> None:
    of_bagtag = {"csv", "parquet", "raven", "audacity", "aoef", "label-studio", "coco", "label-maps"}
    assert READABLE.keys() >= of_bagtag | {"birdnet", "kaleidoscope", "crowsetta", "cvat", "table", "indexed-maps"}
