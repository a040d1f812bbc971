"""Tags: three-valued, finished or not, and always consistent with the labels of segments."""

from __future__ import annotations

import numpy as np
import pytest

from miml_core.bags import BACKGROUND, BagSet
from miml_core.errors import BagtagError
from miml_core.project import Gone, NeedsConfirmation, Project


def tags_matrix(project: Project) -> tuple[BagSet, list[list[int]]]:
    bags, _ = project.bags.bagset()
    return bags, bags.tags.tolist()


def test_tags_are_three_valued_in_the_bagset(small: Project) -> None:
    small.edits.tag(1, 1)
    small.edits.tag(1, 2, -1)
    small.edits.tag(2, 3)
    small.edits.tag(2, 2)
    assert tags_matrix(small)[1] == [[1, -1, 0], [0, 1, 1]]


def test_finishing_makes_the_rest_absent_unless_one_is_not_sure(small: Project) -> None:
    for class_id in (1, 2, 3):
        small.edits.tag(2, class_id)
    small.edits.tag(1, 1)
    small.edits.finish(1)
    assert tags_matrix(small)[1][0] == [1, -1, -1]
    small.edits.finish(1, rest="unknown")
    assert tags_matrix(small)[1][0] == [1, 0, 0]
    small.edits.unfinish(1)
    assert not small.bags.get(1).finished
    assert tags_matrix(small)[1][0] == [1, 0, 0]


def test_nothing_here_is_finished_and_empty(small: Project) -> None:
    small.edits.tag(1, 1)
    small.edits.tag(2, 1)
    small.edits.nothing_here(1)
    bag = small.bags.get(1)
    assert bag.finished and bag.closed and bag.tags == {}
    assert tags_matrix(small)[1][0] == [-1]


def test_a_new_class_is_absent_from_bags_already_finished(small: Project) -> None:
    small.edits.tag(1, 1)
    small.edits.finish(1)
    new = small.edits.add_class("Lark")
    small.edits.tag(2, new.id)
    assert tags_matrix(small)[1] == [[1, -1], [0, 1]]


def test_removing_a_tag_that_a_label_depends_on_needs_confirmation(small: Project) -> None:
    segment = small.segments.list(1)[0]
    small.edits.set_label(segment.id, 1)
    for ask in (
        lambda: small.edits.tag(1, 1, 0),
        lambda: small.edits.tag(1, 1, -1),
        lambda: small.edits.set_tags(1, {2: 1}),
        lambda: small.edits.nothing_here(1),
    ):
        with pytest.raises(NeedsConfirmation, match="Wren"):
            ask()
        assert small.bags.get(1).tags == {1: 1}
    small.edits.tag(1, 1, 0, confirm=True)
    assert small.bags.get(1).tags == {}
    assert small.segments.get(segment.id).label is None
    small.edits.undo()
    assert small.bags.get(1).tags == {1: 1}
    assert small.segments.get(segment.id).label == 1


def test_a_background_label_needs_no_tag(small: Project) -> None:
    small.edits.set_label(small.segments.list(1)[0].id, BACKGROUND)
    small.edits.nothing_here(1)
    assert small.bags.get(1).n_reviewed == 1


def test_saying_the_same_again_changes_nothing(small: Project) -> None:
    small.edits.tag(1, 1)
    revision, entries = small.revision, len(small.edits.history())
    small.edits.tag(1, 1)
    assert (small.revision, len(small.edits.history())) == (revision, entries)


def test_what_is_not_there_is_refused_in_a_sentence(small: Project) -> None:
    with pytest.raises(Gone, match="Bag 99 is not in the project"):
        small.edits.tag(99, 1)
    with pytest.raises(Gone, match="Class 99 is not in the project"):
        small.edits.tag(1, 99)
    with pytest.raises(BagtagError, match="cannot have 5 as its value"):
        small.edits.tag(1, 1, 5)  # type: ignore[arg-type]
    assert np.all([entry.act == "add_class" for entry in small.edits.history()])


def test_tagging_by_name_adds_the_class_in_the_same_edit(small: Project) -> None:
    result = small.edits.tag_by_name(1, " Great  Tit ", "Parus major")
    tit = small.classes.find("Parus major")
    assert tit is not None and (tit.name, tit.scientific_name, tit.n_bags) == ("Great Tit", "Parus major", 1)
    assert result.created == [tit.id] and result.bag_id == 1
    assert small.edits.history(limit=1)[0].sentence == "clip 0.wav: tagged Great Tit, a new class"
    small.edits.undo(bag_id=1)
    assert small.classes.find("Great Tit") is None and small.bags.get(1).tags == {}
    small.edits.redo(bag_id=1)
    assert small.bags.get(1).tags == {tit.id: 1}
    assert small.classes.find("Great Tit") == tit


def test_tagging_by_name_takes_the_class_that_exists(small: Project) -> None:
    small.edits.tag(1, 2, -1)
    for name, scientific in (("ROBIN", ""), ("Erithacus", "robin")):
        result = small.edits.tag_by_name(1, name, scientific)
        assert result.created == [2], "what @N means"
    assert small.bags.get(1).tags == {2: 1}
    assert len(small.classes.list()) == 3
    with pytest.raises(BagtagError, match="needs a name"):
        small.edits.tag_by_name(1, "  ")


def test_a_new_class_that_other_bags_use_is_not_undone(small: Project) -> None:
    (tit,) = small.edits.tag_by_name(1, "Great Tit").created
    small.edits.tag(2, tit)
    with pytest.raises(BagtagError, match="used by other bags now; remove the tag instead"):
        small.edits.undo(bag_id=1)
    assert small.bags.get(1).tags == {tit: 1}


def test_a_later_edit_of_the_screen_names_the_class_by_the_number_of_its_edit(small: Project) -> None:
    for number, name in ((1, "Great Tit"), (3, "Wren")):
        small.edits.apply_once("0123456789abcdef", number, {"act": "tag_by_name", "bag": 1, "name": name})
        off = {"act": "tag", "bag": 1, "class": f"@{number}", "value": 0}
        small.edits.apply_once("0123456789abcdef", number + 1, off)
    assert small.bags.get(1).tags == {}
