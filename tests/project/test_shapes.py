"""Drawing, redrawing, merging, splitting and deleting segments."""

from __future__ import annotations

import pytest

from miml_core.errors import BagtagError
from miml_core.project import Gone, Project, Segment
from tests.project.conftest import ring


def box(segment: Segment) -> tuple[float, float, float, float]:
    return segment.left, segment.right, segment.low, segment.high


def test_a_drawn_segment_is_where_it_was_drawn(small: Project) -> None:
    made = small.edits.draw(1, [ring(2.0, 4.0, 1000, 3000)], label=2).created[0]
    segment = small.segments.get(made)
    assert box(segment) == pytest.approx((2.0, 4.0, 1000, 3000))
    assert segment.origin == "drawn" and segment.label == 2 and segment.number == 6
    (outline,) = segment.outline
    assert set(outline) == {(2.0, 1000.0), (4.0, 1000.0), (4.0, 3000.0), (2.0, 3000.0)}
    assert small.bags.get(1).tags == {2: 1}
    small.edits.undo()
    assert len(small.segments.list(1)) == 5 and small.bags.get(1).tags == {}
    small.edits.redo()
    assert small.segments.get(made).label == 2


def test_a_hole_stays_a_hole(small: Project) -> None:
    made = small.edits.draw(1, [ring(2.0, 6.0, 1000, 5000), ring(3.0, 4.0, 2000, 3000)]).created[0]
    (_, region, _) = next(each for each in small.segments.regions(1) if each[0] == made)
    assert region.area == 40 * 40 - 10 * 10
    assert len(small.segments.get(made).outline) == 2


def test_redrawing_keeps_id_and_label_and_forgets_the_features(small: Project) -> None:
    first = small.segments.list(1)[0]
    small.edits.set_label(first.id, 1)
    assert first.id in small.segments.features(1)[0]
    small.edits.redraw(first.id, [ring(0.0, 5.0, 1000, 2000)])
    again = small.segments.get(first.id)
    assert box(again) == pytest.approx((0.0, 5.0, 1000, 2000))
    assert again.label == 1 and again.origin == "edited"
    assert first.id not in small.segments.features(1)[0]
    assert small.segments.n_to_describe() == 1
    small.edits.undo()
    assert box(small.segments.get(first.id)) == pytest.approx(box(first))
    assert small.segments.get(first.id).origin == "automatic"


def test_merging_keeps_a_label_on_which_all_agree(small: Project) -> None:
    a, b, c, *_ = small.segments.list(1)
    small.edits.set_label([a.id, b.id], 1)
    made = small.edits.merge([a.id, b.id, c.id])
    merged = small.segments.get(made.created[0])
    assert (merged.left, merged.right) == (a.left, c.right)
    assert merged.label == 1
    assert [segment.number for segment in small.segments.list(1)] == [4, 5, 6]
    small.edits.undo()
    assert [segment.label for segment in small.segments.list(1)] == [1, 1, None, None, None]


def test_merging_segments_that_disagree_leaves_no_label(small: Project) -> None:
    a, b, *_ = small.segments.list(1)
    small.edits.set_label(a.id, 1)
    small.edits.set_label(b.id, 2)
    made = small.edits.merge([a.id, b.id]).created[0]
    assert small.segments.get(made).label is None
    with pytest.raises(BagtagError, match="same bag"):
        small.edits.merge([made, small.segments.list(2)[0].id])


def test_splitting_loses_no_pixel_and_hands_the_label_on(small: Project) -> None:
    first = small.segments.list(1)[0]
    area = next(region.area for id_, region, _ in small.segments.regions(1) if id_ == first.id)
    small.edits.set_label(first.id, 1)
    parts = small.edits.split(first.id, [(0.4, 0.0), (0.4, 8000.0)]).created
    areas = [region.area for id_, region, _ in small.segments.regions(1) if id_ in parts]
    assert len(parts) == 2 and sum(areas) == area
    assert [small.segments.get(part).label for part in parts] == [1, 1]
    small.edits.undo()
    assert small.segments.get(first.id).label == 1
    with pytest.raises(BagtagError, match="in two"):
        small.edits.split(first.id, [(9.0, 0.0), (9.0, 8000.0)])


def test_a_deleted_segment_comes_back_with_its_label_and_features(small: Project) -> None:
    first = small.segments.list(1)[0]
    small.edits.set_label(first.id, 1)
    small.edits.delete([first.id, small.segments.list(1)[1].id])
    assert small.bags.get(1).n_segments == 3
    assert len(small.segments.features(1)[0]) == 3
    assert small.segments.n_to_describe() == 0, "nothing is missing, only something is too many"
    small.edits.undo()
    assert small.segments.get(first.id).label == 1
    assert len(small.segments.features(1)[0]) == 5


@pytest.mark.parametrize(
    "rings", [[], [[]], [[(1.0, 2.0)]], [[(1.0, float("nan")), (2.0, 3.0), (3.0, 4.0)]], [["abc"]], "nonsense"]
)
def test_an_outline_that_is_none_is_refused(small: Project, rings: object) -> None:
    with pytest.raises(BagtagError):
        small.edits.draw(1, rings)  # type: ignore[arg-type]
    assert len(small.segments.list(1)) == 5


def test_a_segment_is_not_drawn_with_a_class_that_is_gone(small: Project) -> None:
    gone = small.edits.add_class("Gone soon").id
    small.edits.merge_classes([gone], 1)
    for label in (gone, 999):
        with pytest.raises(Gone, match=r"Class \d+ is not in the project"):
            small.edits.draw(1, [ring(2.0, 4.0, 1000, 3000)], label=label)
    assert len(small.segments.list(1)) == 5


def test_tags_of_other_programs_stay_with_what_is_made_of_a_segment(small: Project) -> None:
    a, b, *_ = small.segments.list(1)
    given = {a.id: '[["quality", "A"]]', b.id: '[["sex", "male"], ["quality", "A"]]'}
    with small.store.write() as connection:
        for segment_id, tags in given.items():
            connection.exec_driver_sql("UPDATE segments SET other_tags = ? WHERE id = ?", (tags, segment_id))
    (merged,) = small.edits.merge([a.id, b.id]).created
    assert small.segments.get(merged).other_tags == '[["quality", "A"], ["sex", "male"]]'
    found = small.segments.get(merged)
    middle = found.left + 0.4
    parts = small.edits.split(merged, [(middle, found.low - 100), (middle, found.high + 100)]).created
    assert [small.segments.get(one).other_tags for one in parts] == [found.other_tags] * len(parts)
