"""Every format: what was written is read back, as far as the format can hold it."""

import json
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from miml_core.errors import BagtagError
from miml_core.exchange import FORMATS
from miml_core.exchange.masks import row_region
from tests.exchange.examples import HOLE, NASTY_NAMES, PICTURE, PICTURES, SOUND, SOUNDS, SQUARE, texts


def in_order(rows):
    return sorted(rows, key=lambda row: (row.file, row.segment or 0, row.start_s or 0.0))


def as_kept(name, rows):
    """The rows as the format promises to give them back (its `keeps`); masks stand for outlines on whole pixels."""
    if name in ("csv", "parquet"):
        return [replace(row, outline=()) for row in rows]
    if name == "audacity":
        return [_as_audacity_keeps(row) for row in rows]
    if name == "label-studio":
        return [_as_label_studio_keeps(row) for row in rows]
    if name == "aoef":
        return [_as_aoef_keeps(row) for row in rows]
    if name in ("coco", "label-maps"):
        boxed = rows if name == "coco" else [replace(row, box=None) for row in rows]
        return [replace(row, outline=row_region(row).to_bytes()) for row in boxed]
    return list(rows)


def _as_label_studio_keeps(row):
    status = "predicted" if row.label else row.status
    return replace(
        row,
        bag="",
        segment=None,
        low_hz=None,
        high_hz=None,
        scientific_name="",
        probability=1.0 if row.probability is None else row.probability,
        said_by="" if status == "unlabelled" else "model",
        checked_by="",
        run="",
        recorded_at="",
        status=status,
    )


def _as_aoef_keeps(row):
    who = "" if row.said_by == "model" else row.who
    recorded_at = row.recorded_at if row.recorded_at.startswith("20") else ""
    file, scientific_name = Path(row.file).as_posix(), row.scientific_name if row.label else ""
    return replace(
        row, file=file, bag="", segment=None, run="", who=who, recorded_at=recorded_at, scientific_name=scientific_name
    )


def _as_audacity_keeps(row):
    said_by = "" if row.status == "unlabelled" else "person"
    status = "confirmed" if row.status == "predicted" else row.status
    return replace(
        row,
        bag="",
        segment=None,
        scientific_name="",
        probability=None,
        said_by=said_by,
        who="",
        run="",
        recorded_at="",
        status=status,
    )


@pytest.fixture(params=sorted(name for name in FORMATS if not FORMATS[name].also_writes))
def format(request):
    return FORMATS[request.param]


def rows_for(format):
    return SOUNDS if "sound" in format.kinds else PICTURES


def test_there_is_a_format_for_each_need():
    needed = {
        "csv": ("sound", "picture"),
        "parquet": ("sound", "picture"),
        "raven": ("sound",),
        "raven-combined": ("sound",),
        "audacity": ("sound",),
        "aoef": ("sound",),
        "label-studio": ("sound", "picture"),
        "coco": ("picture",),
        "label-maps": ("picture",),
        "cut-outs": ("sound", "picture"),
        "birdnet-training": ("sound",),
    }
    assert {name: FORMATS[name].kinds for name in needed} == needed
    assert all(name == format.name and format.keeps.endswith(".") for name, format in FORMATS.items())


@pytest.mark.parametrize("target", ["out", "out.zip"])
def test_read_back_equal(format, target, tmp_path):
    rows = rows_for(format)
    target = target if format.many_files or target.endswith("zip") else "out" + format.extensions[0]
    written = format.write(rows, tmp_path / target)
    assert all(path.is_file() for path in written)
    back = format.read(tmp_path / target)
    assert in_order(as_kept(format.name, back)) == in_order(as_kept(format.name, rows))


def test_pictures_as_csv(tmp_path):
    FORMATS["csv"].write(PICTURES, tmp_path / "a.csv")
    assert FORMATS["csv"].read(tmp_path / "a.csv") == as_kept("csv", PICTURES)
    assert "start_s" not in (tmp_path / "a.csv").read_text()


def test_coco_keeps_single_rings_exactly(tmp_path):
    FORMATS["coco"].write(PICTURES, tmp_path / "a.json")
    back = FORMATS["coco"].read(tmp_path / "a.json")
    assert [row for row in back if row.segment in (1, 2, 4)] == [PICTURES[0], PICTURES[1], PICTURES[3]]


def test_download_is_the_file_or_a_zip(format):
    name, content = format.write_bytes(rows_for(format))
    assert (name, content) == format.write_bytes(rows_for(format)), "the same bytes each time"
    assert content.startswith(b"PK") == format.many_files
    assert name.endswith(".zip") == format.many_files


def test_one_recording_is_downloaded_without_a_zip():
    name, content = FORMATS["audacity"].write_bytes([SOUND])
    assert name == "20250401_050000.wav.txt"
    assert content.decode() == "12.345678\t13.500000\tCopper trill\n\\\t1722.656000\t5000.000000\n"


def test_one_recording_may_be_written_to_a_file_of_any_name(tmp_path):
    (written,) = FORMATS["raven"].write([SOUND], tmp_path / "mine.txt")
    assert written == tmp_path / "mine.txt"
    assert FORMATS["raven"].read(written) == [SOUND]
    with pytest.raises(BagtagError, match=r"Several files.*two\.txt"):
        FORMATS["raven"].write(SOUNDS, tmp_path / "two.txt")
    assert not (tmp_path / "two.txt").exists()


def test_nasty_names_and_texts_survive(format, tmp_path):
    row = SOUND if "sound" in format.kinds else PICTURE
    rows = [replace(row, file=name, label=name, bag=name, who=name) for name in NASTY_NAMES]
    target = tmp_path / ("out" if format.many_files else "out.file")
    for path in format.write(rows, target):
        assert path.resolve().is_relative_to(target.resolve())
    back = format.read(target)
    assert in_order(as_kept(format.name, back)) == in_order(as_kept(format.name, rows))


micros = st.integers(0, 10**11).map(lambda micro: micro / 1e6)
of_labels = [("confirmed", "person"), ("accepted", "model"), ("predicted", "model")]
statuses = st.sampled_from([*of_labels, ("background", "person"), ("unlabelled", "")])
words = st.tuples(texts.filter(bool), texts, texts.filter(lambda text: text != "(background)"), texts, texts, statuses)
"""File, bag, label, annotator, run, and (status, source)."""


def row_of(row, number, word, probability):
    """Return a row with texts of any kind."""
    file, bag, label, who, run, (status, said_by) = word
    is_named = bool(label) and status not in ("background", "unlabelled")
    nameless = status if status in ("background", "unlabelled") else "unlabelled"
    return replace(
        row,
        file=file,
        bag=bag,
        segment=number,
        label=label if is_named else "",
        status=status if is_named else nameless,
        said_by=said_by if is_named or nameless == "background" else "",
        who=who,
        run=run,
        probability=round(probability, 6),
        other_tags=f'[["{number}", "quality"]]' if number % 2 else "",
    )


def as_written(name, rows):
    """Return what a format holds of rows, with what is the same for all left out."""
    if name in ("label-studio", "audacity"):  # they have no place for the rest
        boxes = [tuple(round(edge, 6) for edge in row.box or ()) for row in rows]  # percentages in Label Studio
        return [(row.file, row.start_s, row.end_s, box, row.label) for row, box in zip(rows, boxes)]
    return as_kept(name, rows)


@given(rows=st.lists(st.tuples(words, micros, st.integers(0, 10**7), st.floats(0, 1), st.floats(1, 1e4)), max_size=6))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.parametrize("name", ["csv", "parquet", "raven", "raven-combined", "audacity", "label-studio"])
def test_any_sound_rows_come_back(name, rows):
    sounds = [
        replace(
            row_of(SOUND, number, word, p),
            start_s=start,
            end_s=round(start + length / 1e6, 6),
            low_hz=None if number % 3 == 0 else 250.125,
            high_hz=None if number % 3 == 0 else 8000.0,
            duration_s=duration,
        )
        for number, (word, start, length, p, duration) in enumerate(rows)
    ]
    format = FORMATS[name]
    back = format.parse_files(format.make_files(sounds))
    assert sorted(as_written(name, back), key=repr) == sorted(as_written(name, sounds), key=repr)


@given(rows=st.lists(st.tuples(words, st.floats(0, 1), st.integers(0, 4), st.integers(0, 3)), max_size=4))
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.parametrize("name", ["csv", "parquet", "coco", "label-maps", "label-studio"])
def test_any_picture_rows_come_back(name, rows):
    pictures = []
    for number, (word, p, x, y) in enumerate(rows):
        left, top = 1.0 + x, 1.0 + y  # in pictures of their own: where segments overlap, the smaller one is on top
        ring = ((left, top), (left + 6.0, top), (left + 6.0, top + 4.0), (left, top + 4.0))
        made = row_of(PICTURE, number, word, p)
        pictures.append(
            replace(made, file=f"{number} {made.file}", outline=(ring,), box=(left, top, left + 6.0, top + 4.0))
        )
    format = FORMATS[name]
    back = format.parse_files(format.make_files(pictures))
    assert sorted(as_written(name, back), key=repr) == sorted(as_written(name, pictures), key=repr)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None)
def test_any_mask_comes_back(seed):
    rng = np.random.default_rng(seed)
    mask = rng.random((9, 12)) < 0.4
    mask[0, 0] = True
    from miml_core.exchange.masks import box_of, mask_outline

    rings = mask_outline(mask)
    row = replace(PICTURE, outline=rings, box=box_of(rings))
    for name in ("coco", "label-maps"):
        (back,) = FORMATS[name].parse_files(FORMATS[name].make_files([row]))
        assert row_region(back).equals(row_region(row))


def test_formulas_are_neutralised_in_every_table():
    row = replace(SOUND, label="=1+1", who="@me", file="+x.wav", run="-3")
    for name in ("csv", "raven"):
        content = b"".join(content for _, content in FORMATS[name].make_files([row])).decode()
        cells = content.replace('"', "").replace("\r", "").replace(",", "\t").split("\n")[1].split("\t")
        assert {"'=1+1", "'@me", "'+x.wav", "'-3"} <= set(cells)
        assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@"))]


def test_smaller_segments_lie_on_top_of_wider_ones():
    rows = [replace(PICTURE, segment=2, outline=(HOLE,), label="grass"), replace(PICTURE, outline=(SQUARE,))]
    back = {row.segment: row for row in FORMATS["label-maps"].parse_files(FORMATS["label-maps"].make_files(rows))}
    assert row_region(back[2]).area == 4
    assert row_region(back[1]).area == 24 - 4


def test_label_maps_come_with_the_meaning_of_their_values(tmp_path):
    from PIL import Image

    FORMATS["label-maps"].write(PICTURES, tmp_path / "maps")
    index = json.loads((tmp_path / "maps" / "classes.json").read_text())
    value = {row["name"]: row["value"] for row in index["classes"]}
    labels = np.asarray(Image.open(tmp_path / "maps" / "labels" / "pond.jpg.png"))
    assert labels.shape == (9, 12)
    assert (labels[1:5, 1:7] == value["water"]).all()
    assert labels[3, 8] == value["grass"]
    assert labels[0, 0] == index["nothing"] == 0
    other = np.asarray(Image.open(tmp_path / "maps" / "labels" / "sub" / "other.png.png"))
    assert other[1, 1] == index["background"]
    assert (other[2:4, 3:5] == 0).all()


def test_more_classes_than_fit_into_eight_bits():
    rows = [replace(PICTURE, file=f"{n}.png", label=f"class {n:03}") for n in range(300)]
    back = FORMATS["label-maps"].parse_files(FORMATS["label-maps"].make_files(rows))
    assert {row.label for row in back} == {row.label for row in rows}


def test_an_old_file_stays_when_writing_fails(format, tmp_path, monkeypatch):
    target = tmp_path / ("folder" if format.many_files else "file")
    old = format.write(rows_for(format), target)
    before = [path.read_bytes() for path in old]
    changed = [
        replace(row, who="somebody else", recorded_at="later", label=row.label and "x") for row in rows_for(format)
    ]

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(BagtagError, match="No space left"):
        format.write(changed, target)
    assert [path.read_bytes() for path in old] == before
    assert not [path for path in tmp_path.rglob("*") if path.name.startswith(".writing")]


def test_what_cannot_be_exported_is_an_error(tmp_path):
    with pytest.raises(BagtagError, match="no segments"):
        FORMATS["csv"].write([], tmp_path / "a.csv")
    with pytest.raises(BagtagError, match=r"pond\.jpg.*picture.*Raven"):
        FORMATS["raven"].write(PICTURES, tmp_path / "a")
    with pytest.raises(BagtagError, match=r"pond\.jpg.*size"):
        FORMATS["coco"].write([replace(PICTURE, width=None)], tmp_path / "a.json")
    with pytest.raises(BagtagError, match=r"Segment 1 of 'pond\.jpg'"):
        FORMATS["label-maps"].write([replace(PICTURE, outline=(), box=None)], tmp_path / "a")
    with pytest.raises(BagtagError, match="but has the label"):
        replace(SOUND, status="background")
    blocker = tmp_path / "file"
    blocker.write_text("x")
    with pytest.raises(BagtagError, match="could not be written"):
        FORMATS["raven"].write(SOUNDS, blocker / "folder")


def test_what_cannot_be_read_is_an_error(format, tmp_path):
    with pytest.raises(BagtagError, match="nowhere"):
        format.read(tmp_path / "nowhere.zip")
    random_bytes = tmp_path / "random"
    random_bytes.write_bytes(np.random.default_rng(0).bytes(5000))
    with pytest.raises(BagtagError):
        format.read(random_bytes)
    broken = tmp_path / "broken.zip"
    with zipfile.ZipFile(broken, "w") as archive:
        archive.writestr("classes.json" if format.name == "label-maps" else "a" + format.extensions[0], b"\xff{[\0")
    with pytest.raises(BagtagError):
        format.read(broken)


@pytest.mark.parametrize(
    ("name", "content", "reported"),
    [
        ("csv", "file,start_s\na.wav,x\n", "line 2: 'x' is not a number"),
        ("csv", "file,start_s\na.wav\n", "line 2 has another number of cells"),
        ("csv", "file,status\na.wav,perhaps\n", "line 2: the status 'perhaps'"),
        ("csv", "file,bag\n,b\n", "line 2 does not name its file"),
        ("raven", "Selection\tBegin Time (s)\tEnd Time (s)\n1\t2.0\t\n", "line 2 has no begin or end time"),
        ("raven", "Selection\tSpecies\n", "no column 'Begin Time"),
        ("audacity", "1.0\t2.0\tWren\nhello\n", "line 2: 'hello' is not a number"),
        ("audacity", "\\\t1.0\t2.0\n", "line 1 has frequencies before any label"),
        ("coco", '{"images": []}', "cannot be read as COCO JSON.*categories"),
        (
            "coco",
            '{"images": [{"id": 1}], "categories": [], "annotations": [{"image_id": 1}]}',
            "cannot be read as COCO JSON",
        ),
    ],
)
def test_errors_name_the_line(name, content, reported, tmp_path):
    path = tmp_path / "given.txt"
    path.write_text(content)
    with pytest.raises(BagtagError, match=f"given.txt.*{reported}"):
        FORMATS[name].read(path)
