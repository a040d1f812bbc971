"""Edits of a screen: applied once, in order, with the changes for other screens."""

from __future__ import annotations

import pytest

from miml_core.errors import BagtagError
from miml_core.project import Gone, NeedsConfirmation, Project
from tests.project.conftest import ring


def test_a_repeated_edit_does_nothing_and_returns_the_same(small: Project) -> None:
    act = {"act": "draw", "bag": 1, "rings": [ring(2.0, 4.0, 1000, 3000)]}
    first = small.edits.apply_once("screen", 1, act)
    again = small.edits.apply_once("screen", 1, act)
    assert again.repeated and not first.repeated
    assert again.created == first.created and again.revision == first.revision
    assert len(small.segments.list(1)) == 6
    assert small.edits.apply_once("other", 1, act).created != first.created


def test_a_screen_may_go_on_before_it_knows_the_new_ids(small: Project) -> None:
    small.edits.apply_once("s", 1, {"act": "draw", "bag": 1, "rings": [ring(2.0, 4.0, 1000, 3000)]})
    small.edits.apply_once("s", 2, {"act": "correct", "segments": ["@1"], "label": 3})
    small.edits.apply_once("s", 3, {"act": "split", "segment": "@1", "line": [[3.0, 0.0], [3.0, 8000.0]]})
    small.edits.apply_once("s", 4, {"act": "correct", "segments": ["@3.1"], "label": 2})
    small.edits.apply_once("s", 5, {"act": "add_class", "name": "Lark"})
    small.edits.apply_once("s", 6, {"act": "tag", "bag": 2, "class": "@5", "value": 1})
    assert [segment.label for segment in small.segments.list(1)][-2:] == [3, 2]
    lark = small.classes.find("lark")
    assert lark is not None and small.bags.get(2).tags == {lark.id: 1}
    with pytest.raises(BagtagError, match="never created"):
        small.edits.apply_once("s", 7, {"act": "delete", "segments": ["@6"]})


def test_undo_and_redo_are_edits_too(small: Project) -> None:
    small.edits.apply_once("s", 1, {"act": "tag", "bag": 1, "class": 1, "value": 1})
    small.edits.apply_once("s", 2, {"act": "undo"})
    small.edits.apply_once("s", 2, {"act": "undo"})
    assert small.bags.get(1).tags == {}
    small.edits.apply_once("s", 3, {"act": "redo"})
    assert small.bags.get(1).tags == {1: 1}


@pytest.mark.parametrize(
    "act",
    [
        {},
        {"act": None},
        {"act": "drop everything"},
        {"act": "tag"},
        {"act": "tag", "bag": "1", "class": 1},
        {"act": "tag", "bag": 1, "class": [1]},
        {"act": "tag", "bag": None, "class": None},
        {"act": "correct", "segments": ["x"], "label": 1},
        {"act": "correct", "segments": [], "label": 1},
        {"act": "correct", "segments": [1], "label": "Wren"},
        {"act": "split", "segment": 1, "line": 7},
        {"act": "draw", "bag": 1, "rings": {"a": 1}},
        {"act": "finish", "bag": 2**70},
        {"act": "delete", "segments": [2**70]},
        {"act": "delete", "segments": ["@x"]},
        {"act": "delete", "segments": ["@1.y"]},
        {"act": "add_class", "name": "half a letter \ud800"},
        {"act": "undo", "bag": 2**70},
    ],
)
def test_a_wrong_edit_is_refused_in_a_sentence_and_stores_nothing(small: Project, act: dict) -> None:
    revision = small.revision
    with pytest.raises(BagtagError):
        small.edits.apply_once("s", 1, act)
    assert small.revision == revision
    assert not small.edits.apply_once("s", 1, {"act": "add_class", "name": "Lark"}).repeated, "its number is free"


def test_a_confirmation_can_have_the_same_number(small: Project) -> None:
    small.edits.set_label(small.segments.list(1)[0].id, 1)
    act = {"act": "tag", "bag": 1, "class": 1, "value": 0}
    with pytest.raises(NeedsConfirmation):
        small.edits.apply_once("s", 1, act)
    small.edits.apply_once("s", 1, {**act, "confirm": True})
    assert small.bags.get(1).tags == {}


def test_two_tabs_the_later_wins_and_both_can_see_it(small: Project) -> None:
    segment = small.segments.list(1)[0].id
    seen = small.revision
    small.edits.apply_once(
        "tab A", 1, {"act": "correct", "segments": [segment], "label": 1}, annotator="Ann", seen=seen
    )
    late = small.edits.apply_once(
        "tab B", 1, {"act": "correct", "segments": [segment], "label": 2}, annotator="Bob", seen=seen
    )
    assert small.segments.get(segment).label == 2
    assert late.overtook == ["Ann: segment 1: no label -> Wren"]
    news = small.news(seen)
    assert news.bags == [1] and news.revision == small.revision
    assert [entry.annotator for entry in small.edits.history(limit=2)] == ["Bob", "Ann"]


def test_two_tabs_different_things_both_stand(small: Project) -> None:
    a, b, *_ = small.segments.list(1)
    seen = small.revision
    small.edits.apply_once("tab A", 1, {"act": "correct", "segments": [a.id], "label": 1}, annotator="Ann", seen=seen)
    other = small.edits.apply_once(
        "tab B", 1, {"act": "correct", "segments": [b.id], "label": 2}, annotator="Bob", seen=seen
    )
    assert other.overtook == []
    assert [small.segments.get(id_).label for id_ in (a.id, b.id)] == [1, 2]


def test_a_tabs_own_queue_does_not_overtake_itself(small: Project) -> None:
    segment = small.segments.list(1)[0].id
    seen = small.revision
    for number, label in enumerate((1, 2, 1)):
        act = {"act": "correct", "segments": [segment], "label": label}
        assert small.edits.apply_once("tab", number, act, seen=seen).overtook == []


def test_news_name_bags_and_topics(small: Project) -> None:
    start = small.revision
    assert small.news(start).bags == [] and small.news(start).topics == []
    small.edits.tag(2, 1)
    small.edits.change_class(1, note="loud")
    news = small.news(start)
    assert news.bags == [2] and news.topics == ["classes"]
    assert small.bags.get(2).revision > start >= small.bags.get(1).revision


def test_acts_on_another_projects_ids_are_refused(small: Project) -> None:
    for act in (
        {"act": "correct", "segments": [4711], "label": 1},
        {"act": "delete", "segments": [4711]},
        {"act": "finish", "bag": 4711},
    ):
        with pytest.raises(Gone):
            small.edits.apply_once("s", 1, act)


def test_a_class_another_screen_has_made_is_found_instead_of_made_again(small: Project) -> None:
    """A screen that does not show a class yet adds it by name; the tag that follows must find it."""
    goldcrest = small.edits.add_class("Goldcrest").id
    bag = small.bags.ids()[0]
    small.edits.apply_once("screen", 0, {"act": "add_class", "name": "goldcrest"})
    small.edits.apply_once("screen", 1, {"act": "tag", "bag": bag, "class": "@0", "value": 1})
    assert small.bags.get(bag).tags[goldcrest] == 1
    assert [one.name for one in small.classes.list()].count("Goldcrest") == 1
