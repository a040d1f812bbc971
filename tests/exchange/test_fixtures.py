"""Files in each format as other programs write them: what is read is what they say."""

from pathlib import Path

from miml_core.exchange import FORMATS
from miml_core.exchange.masks import row_region

FIXTURES = Path(__file__).parent / "fixtures"


def test_fixture_csv():
    rows = FORMATS["csv"].read(FIXTURES / "segments.csv")
    assert [row.segment for row in rows] == [7, 8, 9]
    assert rows[0].label == "Copper trill" and rows[0].probability == 0.93 and rows[0].high_hz == 5100.5
    assert rows[1].status == "background"
    assert (rows[2].file, rows[2].label, rows[2].who) == ('=HYPERLINK("x").wav', "-Robin?", "@ana")


def test_fixture_raven_with_two_views_and_several_files():
    rows = FORMATS["raven"].read(FIXTURES / "raven.selections.txt")
    assert [(row.file, row.start_s, row.end_s, row.low_hz, row.label, row.status) for row in rows] == [
        ("second.wav", 1.5, 2.25, 2100.0, "Wren", "confirmed"),
        ("first.wav", 3.0, 4.0, 500.0, "", "unlabelled"),
    ]


def test_fixture_audacity():
    rows = FORMATS["audacity"].read(FIXTURES / "clip.wav.txt")
    assert [(row.file, row.start_s, row.low_hz, row.label, row.status) for row in rows] == [
        ("clip.wav", 1.0, 2100.0, "Wren", "confirmed"),
        ("clip.wav", 2.0, None, "click", "confirmed"),
        ("clip.wav", 3.0, None, "", "background"),
    ]


def test_fixture_coco_with_polygons_and_both_kinds_of_run_lengths():
    rows = FORMATS["coco"].read(FIXTURES / "pictures.coco.json")
    assert [row.label for row in rows] == ["water", "grass", "grass"]
    assert [row.status for row in rows] == ["confirmed", "predicted", "confirmed"]
    assert rows[0].outline == (((2.0, 3.0), (12.0, 3.0), (2.0, 8.0)),)
    assert row_region(rows[1]).area == 800 and len(rows[1].outline) == 2
    assert row_region(rows[2]).area == 3


def test_fixture_label_maps():
    rows = FORMATS["label-maps"].read(FIXTURES / "label-maps")
    assert [(row.label, row.status, row_region(row).area) for row in rows] == [
        ("water", "predicted", 20),
        ("", "background", 4),
    ]
