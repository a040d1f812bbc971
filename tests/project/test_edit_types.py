"""Edits as typed values: what they take, their JSON schema, and who acts on their events."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from miml_core.bags import BACKGROUND
from miml_core.project import Project
from miml_core.project.edits.apply import EDITS, parse_edit, screen_schema
from miml_core.project.errors import BadEdit
from miml_core.project.events import BagsChanged, EditStored, publish, subscribe

SCREEN_EDITS = sorted(name for name, kind in EDITS.items() if kind.from_screen)
SCHEMA = jsonschema.Draft202012Validator(screen_schema())

references = st.sampled_from(["@7", "@7.1", "@", "@1.", "7", "@x"])
numbers = st.integers(-3, 5) | st.sampled_from([2**53 - 1, 2**53, 2**80])
points = st.lists(st.lists(st.floats(-1e13, 1e13) | st.just(1), min_size=1, max_size=3), max_size=3)
texts = st.text(st.characters(codec=None, exclude_categories=()), max_size=5) | st.just("a\0b") | st.just("x" * 1001)
values = (
    st.none() | st.booleans() | numbers | references | texts | points | st.lists(points, max_size=2)
    | st.lists(numbers | references, max_size=3) | st.sampled_from(["absent", "unknown", BACKGROUND])
)  # fmt: skip


@st.composite
def sent_edits(draw: st.DrawFn) -> dict[str, Any]:
    """Edits as a browser might send them: of a known name, with fields that may be missing, wrong or unknown."""
    name = draw(st.sampled_from(SCREEN_EDITS))
    fields = list(EDITS[name].json_schema()["properties"])
    chosen = [field for field in fields if draw(st.integers(0, 5)) > 0] + draw(st.sampled_from([[], [], ["more"]]))
    return {"act": name, **{field: draw(values) for field in chosen}}


def is_accepted(edit: dict[str, Any]) -> bool:
    try:
        parse_edit(edit)
    except BadEdit:
        return False
    return True


@given(sent_edits())
def test_what_is_accepted_matches_the_schema(edit: dict[str, Any]) -> None:
    assert is_accepted(edit) == SCHEMA.is_valid(edit)


@pytest.mark.parametrize(
    "edit",
    [
        {"act": "tag", "bag": 1, "class": "@3", "value": -1},
        {"act": "correct", "segments": [4, "@2.1"], "label": BACKGROUND, "sampled": True},
        {"act": "draw", "bag": 1, "rings": [[[0, 1.5], [1, 2], [2, 0]]], "label": None},
        {"act": "add_class", "name": "Wren"},
        {"act": "tag_by_name", "bag": 1, "name": "Great Tit", "scientific_name": "Parus major"},
        {"act": "undo"},
    ],
)
def test_edits_of_the_browser_are_accepted(edit: dict[str, Any]) -> None:
    parsed = parse_edit(json.loads(json.dumps(edit)))
    assert parsed.name == edit["act"]
    assert SCHEMA.is_valid(edit)


def test_only_edits_of_the_editor_come_from_a_screen() -> None:
    for name in ("remove_bags", "set_tags", "merge_classes", "", "apply"):
        with pytest.raises(BadEdit):
            parse_edit({"act": name, "bags": [1], "confirm": True})


def test_every_edit_is_a_frozen_value_with_a_schema() -> None:
    for name, kind in EDITS.items():
        assert kind.name == name
        assert dataclasses.fields(kind) and kind.__dataclass_params__.frozen  # type: ignore[attr-defined]
        jsonschema.Draft202012Validator.check_schema(kind.json_schema())


def test_references_are_replaced_by_what_earlier_edits_created() -> None:
    edit = parse_edit({"act": "correct", "segments": [4, "@2.1"], "label": "@1"})
    assert edit.resolve({"@2.1": 21, "@1": 9}.__getitem__) == dataclasses.replace(edit, segments=[4, 21], label=9)  # type: ignore[call-arg]


def test_an_edit_publishes_its_bags_before_and_after_the_commit(small: Project, monkeypatch: Any) -> None:
    from miml_core.project import events

    seen: list[tuple[str, list[int], bool | list[int]]] = []
    copied = {kind: list(handlers) for kind, handlers in events._subscribers.items()}
    monkeypatch.setattr(events, "_subscribers", copied)
    subscribe(BagsChanged, lambda event: seen.append(("changed", event.bag_ids, event.connection.in_transaction())))
    subscribe(EditStored, lambda event: seen.append(("stored", event.bag_ids, event.bags_to_predict)))
    goldcrest = small.edits.add_class("Goldcrest")
    bag = small.bags.ids()[0]
    small.edits.tag(bag, goldcrest.id)
    assert seen == [("changed", [], True), ("stored", [], []), ("changed", [bag], True), ("stored", [bag], [bag])]


def test_subscribers_get_an_event_in_order_and_once_each(monkeypatch: Any) -> None:
    from collections import defaultdict

    from miml_core.project import events

    monkeypatch.setattr(events, "_subscribers", defaultdict(list))
    event, got = BagsChanged(None, [1]), []  # type: ignore[arg-type]
    publish(event)  # nobody subscribed
    first, second = (lambda event, name=name: got.append((name, event)) for name in ("first", "second"))
    for handler in (first, second, first):
        events.subscribe(BagsChanged, handler)
    publish(event)
    assert got == [("first", event), ("second", event)]
