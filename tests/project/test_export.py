"""Rows for export: labels of people, predictions of the run, and exact positions."""

from __future__ import annotations

import pytest

from miml_core.bags import BACKGROUND
from miml_core.errors import BagtagError
from miml_core.project import Project
from miml_core.segments.regions import from_polygon
from tests.project.conftest import grid_of, ring


def test_what_is_exported(predicted: Project) -> None:
    predicted.edits.change_class(2, scientific_name="Erithacus rubecula")
    predicted.edits.set_label(1, 2)
    predicted.edits.set_label(2, BACKGROUND)
    predicted.edits.accept(3)
    rows = [(row.segment, row.label, row.status, row.who) for row in predicted.exports.rows("confirmed")]
    assert rows == [(1, "Robin", "confirmed", "Ann"), (2, "", "background", "Ann"), (3, "Wren", "confirmed", "Ann")]
    assert predicted.exports.rows("confirmed")[0].scientific_name == "Erithacus rubecula"
    guessed = predicted.exports.rows("predicted")
    assert len(guessed) == 10
    fifth = guessed[4]
    assert (fifth.label, fifth.status, fifth.who, fifth.run) == ("Wren", "predicted", "ored-lr", "run 1")
    assert fifth.probability == pytest.approx(0.6, abs=1e-3)
    assert len(predicted.exports.rows("predicted", min_probability=0.7)) == 3
    everything = predicted.exports.rows("all", min_probability=0.7)
    assert len(everything) == 10 and everything[9].status == "unlabelled"
    assert len(predicted.exports.rows("all", limit=4)) == 4
    assert {row.bag for row in predicted.exports.rows("all", bag_ids=[2])} == {"clip 1.wav"}
    with pytest.raises(BagtagError, match="What to export"):
        predicted.exports.rows("some")  # type: ignore[arg-type]


def test_places_are_exact_and_in_real_units(small: Project) -> None:
    slanted = [(2.0, 1000.0), (4.0, 1500.0), (4.5, 3000.0), (2.2, 2500.0)]
    drawn = small.edits.draw(1, [slanted]).created[0]
    (row,) = [row for row in small.exports.rows("all") if row.segment == drawn]
    segment = small.segments.get(drawn)
    assert (row.start_s, row.end_s, row.low_hz, row.high_hz) == (segment.left, segment.right, segment.low, segment.high)
    grid = grid_of()
    rings = [[(float(grid.column_at(x)), float(grid.row_at(y))) for x, y in each] for each in row.outline]
    (region,) = [region for id_, region, _ in small.segments.regions(1) if id_ == drawn]
    assert from_polygon(rings, grid.height, grid.width).equals(region), "not a pixel is lost"
    assert small.exports.rows("all", outlines=False)[0].outline == ()
    assert row.file == "media/clip 0.wav"


def test_a_label_whose_class_was_merged_is_exported_under_its_new_name(predicted: Project) -> None:
    predicted.edits.set_label(1, 2)
    predicted.edits.merge_classes([2], 1)
    assert {row.label for row in predicted.exports.rows("predicted")} == {"Wren"}
    predicted.edits.draw(1, [ring(7.0, 8.0, 1000, 3000)])
    assert len(predicted.exports.rows("predicted")) == 10, "what has neither label nor prediction is left out"


def test_only_some_classes_days_and_sites_are_exported(small: Project) -> None:
    from miml_core.project.queries.export_rows import RowFilter

    for bag, label in ((1, 1), (2, 2)):
        small.edits.set_label(small.segments.list(bag)[0].id, label)

    def files(**only: object) -> list[str]:
        rows = small.exports.rows("confirmed", only=RowFilter(**only))  # type: ignore[arg-type]
        return [row.file.rsplit("/", 1)[-1] for row in rows]

    assert files() == ["clip 0.wav", "clip 1.wav"]
    assert files(classes=frozenset({"Robin"})) == ["clip 1.wav"]
    assert files(since="2024-05-02") == ["clip 1.wav"] and files(until="2024-05-01") == ["clip 0.wav"]
    assert files(site="MEDIA/clip 0") == ["clip 0.wav"] and files(site="elsewhere") == []
