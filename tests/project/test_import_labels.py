"""Importing labels of other programs: which bag, which class, what happens to segments, and undo."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from miml_core import BagtagError
from miml_core.bags import BACKGROUND
from miml_core.exchange.labels import LabelNote, LabelTable
from miml_core.exchange.reading import read_labels
from miml_core.exchange.rows import SegmentRow
from miml_core.project import Project
from miml_core.project.edits import label_shapes
from miml_core.project.edits.label_plan import ImportOptions
from miml_core.project.media import files as media_files
from tests.project.conftest import add_bags, grid_of

LABEL = SegmentRow("clip 0.wav", start_s=1.0, end_s=2.0, low_hz=1000.0, high_hz=3000.0, label="Wren",
                   status="confirmed", said_by="person", who="Eve")  # fmt: skip


def table_of(*rows: SegmentRow) -> LabelTable:
    return LabelTable(rows=list(rows), places=[f"'t.csv', line {k}" for k in range(2, len(rows) + 2)])


def bring_in(project: Project, *rows: SegmentRow, **options: object) -> None:
    shown = project.edits.preview_labels(table_of(*rows), ImportOptions(**options))  # type: ignore[arg-type]
    project.edits.import_labels(shown)


@pytest.fixture
def cut(project: Project) -> Project:
    """Return a project with one recording of 25 s in three bags, the last of 5 s; no segments."""
    path = project.folder / "media" / "night.wav"
    path.parent.mkdir()
    path.write_bytes(b"night")
    size, mark = media_files.fingerprint(path)
    medium = {"path": media_files.stored_path(project.folder, path), "size": size, "fingerprint": mark,
              "missing": False, "duration": 25.0, "rate": 16000}  # fmt: skip
    spans = ((0.0, 10.0), (10.0, 20.0), (20.0, 25.0))
    bags = [{"name": f"night {a:g}", "start": a, "end": b, "recorded_at": None} for a, b in spans]
    with project.store.write() as connection:
        made = media_files.store_file(connection, media_files.FileFacts(medium, bags))
        from miml_core.project.db.schema import bags as table
        from miml_core.project.edits.grids import store_grid

        for bag_id, (start, _) in zip(made, spans):
            grid_id = store_grid(connection, grid_of(start))
            connection.execute(table.update().where(table.c.id == bag_id).values(grid_id=grid_id))
    return project


def test_a_box_becomes_a_confirmed_segment_and_a_tag(small: Project) -> None:
    before = len(small.segments.list(1))
    bring_in(small, LABEL)
    new = small.segments.list(1)[-1]
    assert len(small.segments.list(1)) == before + 1
    assert (new.left, new.right, new.low, new.high) == (1.0, 2.0, 1000.0, 3000.0)
    assert (new.label, new.annotator, new.origin) == (1, "Eve", "drawn")
    assert small.bags.get(1).tags == {1: 1} and not small.bags.get(1).finished
    assert small.check() == []


def test_one_undo_takes_everything_back_and_redo_brings_it_again(small: Project) -> None:
    before = [small.segments.list(bag) for bag in (1, 2)]
    nothing = replace(LABEL, start_s=0.1, end_s=0.7, low_hz=5000.0, high_hz=7000.0, label="", status="background")
    bring_in(small, LABEL, replace(LABEL, file="CLIP 1", label="Nightjar"), nothing, rest="absent")
    assert small.bags.get(2).tags == {4: 1} and small.bags.get(2).closed
    after = [small.segments.list(bag) for bag in (1, 2)]
    assert BACKGROUND in [segment.label for segment in after[0]]
    small.edits.undo()
    assert [small.segments.list(bag) for bag in (1, 2)] == [
        [replace(one, revision=two.revision) for one, two in zip(bag, now)]
        for bag, now in zip(before, [small.segments.list(bag) for bag in (1, 2)])
    ]
    assert small.bags.get(2).tags == {} and not small.bags.get(2).finished
    assert [one.name for one in small.classes.list()] == ["Wren", "Robin", "Owl"]
    assert small.check() == []
    small.edits.redo()
    assert [len(small.segments.list(bag)) for bag in (1, 2)] == [len(bag) for bag in after]
    assert small.check() == []


def test_a_second_import_of_the_same_file_adds_nothing(small: Project) -> None:
    bring_in(small, LABEL)
    shown = small.edits.preview_labels(table_of(LABEL, replace(LABEL, label="Robin")))
    assert shown.shapes.n_there == 1 and [each.piece.class_name for each in shown.shapes.new] == ["Robin"]


@pytest.mark.parametrize(("overlaps", "n_left", "n_new"), [("keep", 5, 1), ("replace", 3, 1), ("skip", 5, 0)])
def test_what_happens_to_detected_segments(small: Project, overlaps: str, n_left: int, n_new: int) -> None:
    """Segments are 0.8 s wide, from 5000 to 7000 Hz, one per second; the label covers the second and the third."""
    wide = replace(LABEL, start_s=1.0, end_s=3.0, low_hz=4900.0, high_hz=7100.0)
    shown = small.edits.preview_labels(table_of(wide), ImportOptions(overlaps=overlaps))  # type: ignore[arg-type]
    assert shown.shapes.n_overlapping == 1
    small.edits.import_labels(shown)
    alive = small.segments.list(1)
    assert sum(one.origin == "automatic" for one in alive) == n_left
    assert sum(one.origin == "drawn" for one in alive) == n_new


def test_labelled_segments_and_time_only_labels_replace_nothing(small: Project) -> None:
    second = small.segments.list(1)[1]
    small.edits.set_label(second.id, 2)
    bring_in(small, replace(LABEL, start_s=1.0, end_s=2.0, low_hz=4900.0, high_hz=7100.0))
    assert second.id in [one.id for one in small.segments.list(1)]
    bring_in(small, replace(LABEL, start_s=2.0, end_s=4.0, low_hz=None, high_hz=None))
    assert len(small.segments.list(1)) == 7
    new = small.segments.list(1)[-1]
    assert (new.low, new.high) == (0.0, 8000.0)


def test_a_box_across_a_border_goes_to_both_bags_cut(cut: Project) -> None:
    bring_in(cut, replace(LABEL, file="night", start_s=8.0, end_s=21.5))
    spans = [[(one.left, one.right) for one in cut.segments.list(bag)] for bag in (1, 2, 3)]
    assert spans == [[(8.0, 10.0)], [(10.0, 20.0)], [(20.0, 21.5)]]
    assert [cut.bags.get(bag).tags for bag in (1, 2, 3)] == [{1: 1}] * 3


def test_labels_without_a_place_here_are_listed(cut: Project) -> None:
    rows = [
        replace(LABEL, file="night.wav", start_s=25.5, end_s=26.0),
        replace(LABEL, file="elsewhere.wav"),
        replace(LABEL, file="night.wav", start_s=3.0, end_s=2.0),
        replace(LABEL, file="night.wav", start_s=None, end_s=None),
        replace(LABEL, file="night.wav", low_hz=9000.0, high_hz=9500.0),
        replace(LABEL, file="night.wav", start_s=24.0, end_s=30.0),
    ]
    shown = cut.edits.preview_labels(table_of(*rows))
    reasons = {problem.where: problem.reason for problem in shown.left_out}
    assert reasons == {
        "'t.csv', line 2": "The time is outside the recording",
        "'t.csv', line 3": "The file is not in the project",
        "'t.csv', line 4": "The label ends before it starts",
        "'t.csv', line 5": "The label has no time, and the recording has several bags",
        "'t.csv', line 6": "The frequencies are outside the analysed band",
    }
    assert [each.edges["right"] for each in shown.shapes.new] == [25.0], "the last one is cut at the end"
    assert shown.plan.n_cut == 1
    elsewhere = replace(LABEL, file="elsewhere.wav", label="Crane")
    cut.edits.import_labels(cut.edits.preview_labels(table_of(*rows, elsewhere)))
    assert [one.name for one in cut.classes.list()] == ["Wren"], "no class of a file that is not here"


def test_notes_are_added_to_those_of_the_bags_they_lie_in(cut: Project) -> None:
    cut.edits.set_note(2, "windy")
    table = table_of(replace(LABEL, file="night.wav"))
    table.notes = [
        LabelNote("night.wav", "faint", 9.5, 10.5),
        LabelNote("night", "a\nlong\0 note", 21.0, 21.0),
        LabelNote("night.wav", "of all"),
        LabelNote("other.wav", "of no recording"),
        LabelNote("night.wav", "windy", 12.0, 13.0),
    ]
    shown = cut.edits.preview_labels(table, ImportOptions(way="tags"))
    cut.edits.import_labels(shown)
    notes = [cut.bags.get(bag).note for bag in (1, 2, 3)]
    assert notes == ["faint\nof all", "windy\nfaint\nof all", "a long\ufffd note\nof all"]
    assert cut.edits.preview_labels(table).plan.notes == {}
    cut.edits.undo()
    assert [cut.bags.get(bag).note for bag in (1, 2, 3)] == ["", "windy", ""]


def test_tags_only(cut: Project) -> None:
    rows = [replace(LABEL, file="night.wav", start_s=9.0, end_s=11.0), replace(LABEL, file="night.wav", label="Owl")]
    bring_in(cut, *rows, way="tags", rest="absent")
    assert all(cut.segments.list(bag) == [] for bag in (1, 2, 3))
    names = {one.id: one.name for one in cut.classes.list()}
    tags = [{names[each]: value for each, value in cut.bags.get(bag).tags.items()} for bag in (1, 2, 3)]
    assert tags == [{"Wren": 1, "Owl": 1}, {"Wren": 1}, {}]
    assert all(cut.bags.get(bag).closed for bag in (1, 2, 3)), "the recording is complete: nothing is in its last bag"


def test_suggestions_are_reviewed_like_predictions_and_undone(predicted: Project) -> None:
    run = predicted.runs.current()
    assert run is not None
    rows = [replace(LABEL, status="predicted", said_by="model", probability=0.75),
            replace(LABEL, label="Robin", start_s=5.0, end_s=6.0, probability=0.3, low_hz=100.0)]  # fmt: skip
    bring_in(predicted, *rows, way="suggestions")
    assert predicted.bags.get(1).tags == {}, "a suggestion is no tag"
    new = predicted.segments.list(1)[-2:]
    assert [(one.label, one.prediction.top) for one in new if one.prediction] == [(None, 1), (None, 2)]
    assert new[0].prediction is not None and new[0].prediction.probability == pytest.approx(0.75, abs=1e-3)
    queue = predicted.review.queue("newest", limit=10)
    assert {item.segment_id for item in queue} <= {one.id for one in new}
    predicted.edits.accept(new[0].id)
    assert predicted.segments.get(new[0].id).label == 1 and predicted.bags.get(1).tags == {1: 1}
    assert [problem.sentence for problem in predicted.check()] == ["The model file of run 1 is missing; train again."]
    predicted.edits.undo()
    predicted.edits.undo()
    again = predicted.runs.current()
    assert again is not None and again.id == run.id and len(predicted.runs.list()) == 1
    assert predicted.segments.list(1)[0].prediction is not None
    assert [problem.kind for problem in predicted.check()] == ["model"]


def test_labels_are_renamed_merged_and_left_out_and_this_is_remembered(small: Project) -> None:
    names = ["TROTRO", "wren", "noise"]
    rows = [replace(LABEL, label=name, start_s=k + 0.85, end_s=k + 0.95) for k, name in enumerate(names)]
    bring_in(small, *rows, classes={"TROTRO": "Wren", "noise": ""})
    assert [one.label for one in small.segments.list(1) if one.origin == "drawn"] == [1, 1]
    shown = small.edits.preview_labels(table_of(*rows))
    assert {use.label: use.class_name for use in shown.plan.labels} == {"TROTRO": "Wren", "wren": "Wren", "noise": ""}
    shown = small.edits.preview_labels(table_of(*rows), ImportOptions(classes={"noise": "Rain"}))
    assert next(use for use in shown.plan.labels if use.label == "noise").is_new


def test_nothing_is_imported_of_a_file_with_errors(small: Project, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("file,start_s,end_s,label\nclip 0.wav,0,1,Wren\nclip 0.wav,zero,1,Wren\n")
    before = small.revision
    shown = small.edits.preview_labels(read_labels([path]))
    with pytest.raises(BagtagError, match=r"^1 line cannot be read, so nothing was imported; correct it,"):
        small.edits.import_labels(shown)
    assert small.revision == before
    small.edits.import_labels(shown, leave_out_errors=True)
    assert len(small.segments.list(1)) == 6


def test_names_of_any_kind_become_classes(small: Project) -> None:
    names = ["עפרוני", "a\tb\n c", "\ud800 half", "zero\0", "🐦 emoji", "=1+1"]
    bring_in(small, *[replace(LABEL, label=name, start_s=0.1 * k, who="\ud800") for k, name in enumerate(names)])
    stored = {"עפרוני", "a b c", "\ufffd half", "zero\ufffd", "🐦 emoji", "=1+1"}
    assert {one.name for one in small.classes.list()} == {"Wren", "Robin", "Owl", *stored}
    assert small.check() == []


def test_a_project_of_whombat_comes_in_complete_and_goes_out_equal(tmp_path: Path, data_dir: Path) -> None:
    pytest.importorskip("soundevent")
    bats = data_dir / "audio" / "bats"
    from miml_core.exchange import FORMATS

    came = read_labels([bats / "example_annotation_project.json"])
    with Project.create(tmp_path / "bats", annotator="Ann") as project:
        project.media.add(sorted((bats / "audio").glob("*.wav")))
        shown = project.edits.preview_labels(came)
        assert shown.left_out == [] and len(shown.shapes.new) == 433
        project.edits.import_labels(shown)
        assert len(project.classes.list()) == 10 and project.progress().n_reviewed == 433
        notes = [bag.note for bag in project.bags.list().bags if bag.note]
        assert any("Very faint" in note for note in notes), "a note of a box"
        assert any("Is a very short clip, do not include" in note for note in notes), "a note of a clip"
        assert not project.edits.preview_labels(came).plan.notes, "they are there already"
        FORMATS["aoef"].write(project.exports.rows("confirmed"), tmp_path / "out.json")
        assert project.check() == []

    def content(table: LabelTable) -> list[tuple[object, ...]]:
        return sorted(
            (Path(row.file).name, row.start_s, row.end_s, row.low_hz, row.high_hz, row.label, row.who)
            for row in table.rows
        )

    left = read_labels([tmp_path / "out.json"])
    assert left.problems == [] and content(left) == content(came)
    tags = [tags_of_boxes(path) for path in (bats / "example_annotation_project.json", tmp_path / "out.json")]
    assert len(tags[0]) == 433 and tags[0] == tags[1] and sum(len(each) > 4 for each in tags[0]) == 3


def tags_of_boxes(path: Path) -> list[tuple[object, ...]]:
    """Return time, band and all tags of each box of an annotation project, as soundevent reads them."""
    from soundevent.io import load

    project = load(path, type="annotation_project")
    return sorted(
        (Path(clip.clip.recording.path).name, *event.sound_event.geometry.coordinates[::2],
         *sorted((tag.key, tag.value) for tag in event.tags))
        for clip in project.clip_annotations for event in clip.sound_events
    )  # fmt: skip


def test_pictures(tmp_path: Path) -> None:
    from PIL import Image

    with Project.create(tmp_path / "p", kind="picture", annotator="Ann") as project:
        Image.new("RGB", (60, 40), "white").save(project.folder / "pond.png")
        project.media.add([project.folder / "pond.png"])
        duck = SegmentRow("labels/pond", kind="picture", box=(10.0, 5.0, 30.0, 25.0), width=60, height=40, label="duck",
                          status="confirmed", said_by="person")  # fmt: skip
        reed = replace(duck, box=None, outline=(((0.0, 0.0), (9.0, 0.0), (9.0, 9.0), (0.0, 9.0)),), label="reed")
        other = replace(duck, width=600, height=400)
        shown = project.edits.preview_labels(table_of(duck, reed, other))
        assert [problem.where for problem in shown.left_out] == ["'t.csv', line 4"]
        project.edits.import_labels(shown)
        first, second = project.segments.list(1)
        assert (first.left, first.low, first.right, first.high) == (10.0, 5.0, 30.0, 25.0)
        assert (second.left, second.low, second.right, second.high) == (0.0, 0.0, 9.0, 9.0)


def test_sounds_do_not_take_labels_of_pictures(project: Project) -> None:
    add_bags(project, 1, 1)
    shown = project.edits.preview_labels(table_of(SegmentRow("clip 0.wav", kind="picture", box=(0, 0, 9, 9))))
    assert "label of a picture" in shown.left_out[0].reason
    with pytest.raises(BagtagError, match="nothing to import"):
        project.edits.import_labels(shown)


def test_imported_scores_are_not_judged_by_checked_predictions_of_a_model_nor_the_other_way(predicted: Project) -> None:
    run = predicted.runs.current()
    assert run is not None
    predicted.edits.accept([one.id for one in predicted.segments.list(1)[:2]])
    assert len(predicted.review.checked_predictions()) == 2
    bring_in(predicted, replace(LABEL, status="predicted", said_by="model", probability=0.75), way="suggestions")
    assert len(predicted.review.checked_predictions()) == 0
    predicted.edits.accept(predicted.segments.list(1)[-1].id)
    (probability,) = predicted.review.checked_predictions().probability
    assert probability == pytest.approx(0.75, abs=1e-3)
    predicted.runs.choose(run.id)
    checked = predicted.review.checked_predictions()
    assert len(checked) == 2 and checked.n_of_earlier_runs == 0


def test_many_labels_of_a_long_bag_are_compared_with_what_is_near(
    small: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All pairs of the labels of a day and its segments would take minutes."""
    rows = [replace(LABEL, start_s=k * 2e-3, end_s=k * 2e-3 + 0.05) for k in range(4000)]
    bring_in(small, *rows)
    pairs: list[int] = []
    original = label_shapes.shared_areas
    monkeypatch.setattr(
        label_shapes, "shared_areas", lambda one, two: [pairs.append(len(one) * len(two)), original(one, two)][1]
    )
    shown = small.edits.preview_labels(table_of(*rows, replace(LABEL, label="Owl")))
    assert shown.shapes.n_there == 4000 and [each.piece.row.label for each in shown.shapes.new] == ["Owl"]
    assert sum(pairs) < 4000 * 400
