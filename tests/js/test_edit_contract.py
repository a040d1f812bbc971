"""One contract for edits: what the browser shows at once is what the server returns afterwards."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from miml_core import BACKGROUND, BagtagError
from miml_core.project import Project
from pages.widgets.routes.bags import AskedRange, bag_json
from pages.widgets.routes.wall import _item as wall_item
from tests.project.conftest import add_bags, store_run

N_SEQUENCES, N_STACKS, MOST_STACKED = 40, 5, 5
_WITH_EDITS = "text => JSON.stringify(edits.withEdits(...JSON.parse(text)))"
"""As text, because Playwright converts values slowly."""
_NEEDS_FETCH = "([act, partly]) => edits.needsFetch(act, partly)"
_ONLY_ON_SERVER = {
    "draw": {"id", "rings", "guesses", "contradicts", "conflict"},
    "merge": {"id", "rings", "guesses", "contradicts", "conflict"},
    "redraw": {"rings"},
}
"""What only the server knows of a new or changed segment: its id and exact outline, and what is predicted of it."""
_OF_ALL_SEGMENTS = {"accept_bag", "tag", "finish", "nothing_here"}
"""What may change segments of a long bag that are not in the browser."""


@pytest.fixture
def project(tmp_path):
    """A bag of six segments, five of them with a prediction, and another bag; Wren, Robin and Owl."""
    import numpy as np

    with Project.create(tmp_path / "project", annotator="Ann") as made:
        add_bags(made, 2, n_segments=5)
        for name in ("Wren", "Robin", "Owl"):
            made.edits.add_class(name)
        rng = np.random.default_rng(0)
        store_run(made, lambda n: rng.dirichlet(np.ones(4), n))
        made.edits.draw(1, [[(9.2, 1000.0), (9.8, 1000.0), (9.8, 3000.0), (9.2, 3000.0)]])
        yield made


@pytest.fixture
def browser(modules):
    """A page with `edits.js` as `edits` and `wall_marks.js` as `wall`."""
    modules.goto("http://modules.invalid/")
    modules.evaluate("""async () => {
      window.edits = await import('/assets/edits.js');
      window.wall = await import('/assets/wall_marks.js');
    }""")
    return modules


def random_edit(rng: random.Random, bag: dict[str, Any], number: int) -> dict[str, Any]:
    """Return an act on the bag as the browser shows it; classes and segments may be ones not stored yet ("@7")."""
    segments = [each["id"] for each in bag["segments"]]
    classes = [one["id"] for one in bag["classes"]]
    new = [one for one in classes if isinstance(one, str)]
    given = [each["label"] for each in bag["segments"] if each["label"] in classes]
    one_class = rng.choice(rng.choice([group for group in (new, given, classes) if group]))
    some = sorted(rng.sample(segments, rng.randint(1, min(3, len(segments)))), key=str) if segments else []
    sure = rng.random() < 0.5
    acts: list[dict[str, Any]] = [
        {"act": "tag", "bag": 1, "class": one_class, "value": rng.choice([-1, 0, 1]), "confirm": sure},
        {"act": "finish", "bag": 1, "rest": rng.choice(["absent", "unknown"])},
        {"act": "unfinish", "bag": 1},
        {"act": "nothing_here", "bag": 1, "confirm": sure},
        {"act": "accept_bag", "bag": 1, "sure_from": rng.choice([0, 0.4, 1])},
        {"act": rng.choice(["finish", "unfinish", "nothing_here"]), "bag": 2},
    ]
    names = [("Great Tit", "Parus major"), ("parus  MAJOR", ""), ("robin", ""), ("Kauz", "owl"), ("Ü", ""), (" ", "")]
    names += 2 * len(names) * [(f"New {number}", "")]
    name, scientific_name = rng.choice(names)
    acts += (2 if new else 5) * [{"act": "tag_by_name", "bag": 1, "name": name, "scientific_name": scientific_name}]
    if some:
        acts += (12 if one_class in new else 2) * [
            {
                "act": "correct",
                "segments": some,
                "label": rng.choice([one_class, one_class, one_class, BACKGROUND, None]),
            }
        ]
        acts += [{"act": "accept", "segments": some}]
        if len(some) > 1 and len(segments) > 3:
            acts.append({"act": "merge", "segments": rng.sample(some, len(some))})
        left = round(rng.uniform(0, 9), 1)
        box = [[left, 4000.0], [left + 0.5, 4000.0], [left + 0.5, 6000.0], [left, 6000.0]]
        acts += [{"act": "draw", "bag": 1, "rings": [box], "label": rng.choice([one_class, BACKGROUND, None])}]
        acts += [{"act": "redraw", "segment": some[0], "rings": [box]}]
        acts += [{"act": "delete", "segments": some[:1]}] if len(segments) > 3 else []
    return rng.choice(acts)


def add_conflicts(project: Project) -> int:
    """Let Bo have answered all tags and labels of the bag differently, and nothing else; return how many."""
    bag = project.bags.get(1)
    absent = -1 if bag.finished and not bag.rest_unknown else 0
    answers = {one.id: bag.tags.get(one.id, absent) for one in project.classes.list()}
    rows = [(None, class_id, answer, -answer) for class_id, answer in answers.items() if answer]
    with project.store.write() as connection:
        run = connection.exec_driver_sql
        of_bag = "SELECT id FROM segments WHERE bag_id = 1"
        labels = run(f"SELECT segment_id, class_id, at FROM verdicts WHERE segment_id IN ({of_bag})").all()
        run("DELETE FROM conflicts")
        run("INSERT OR IGNORE INTO merges VALUES (1, 0, 'Ann', 'copy', '[]', '{}', '{}')")
        insert = "INSERT INTO conflicts VALUES (NULL, 1, 1, ?, ?, ?, 'Ann', ?, ?, 'Bo', 0, 0)"
        for segment, class_id, ours, theirs in rows:
            run(insert, (segment, class_id, ours, 0.0, theirs))
        for segment, label, at in labels:
            run(insert, (segment, None, BACKGROUND if label is None else label, at, 3))
    return len(rows) + len(labels)


def shown(bag: dict[str, Any], acts: set[str]) -> dict[str, Any]:
    """What a person sees of a bag: its tags and state, and each segment's outline, label and status.

    What only the server knows after these acts, and the id and colour of a new class, are left out.
    """
    named = {str(one["id"]): one["name"] for one in bag["classes"]}
    by_name = [each | {"label": named.get(str(each["label"]), each["label"])} for each in bag["segments"]]
    unknown = set().union(*(_ONLY_ON_SERVER.get(act, set()) for act in acts))
    known = [name for name in ("id", "rings", "guesses", "contradicts", "conflict") if name not in unknown]
    names = ("label", "accepted", "annotator", "checked_by", *known)
    return {
        "classes": [[one["name"], one["scientific_name"], one["shortcut"]] for one in bag["classes"]],
        "tags": {named[one]: value for one, value in bag["tags"].items()},
        "finished": bag["finished"],
        "rest_unknown": bag["rest_unknown"],
        "conflicts": bag["conflicts"],
        "segments": sorted(([each[name] for name in names] for each in by_name), key=repr),
    }


def counts_by_name(bag: dict[str, Any]) -> dict[str, Any]:
    """How many segments of a bag have which label and status; where they lie is counted by the server only."""
    named = {str(one["id"]): one["name"] for one in bag["classes"]}
    labels = {named.get(label, label): number for label, number in bag["counts"]["labels"].items()}
    return {**bag["counts"], "labels": labels, "density": None}


def apply(project: Project, edit: dict[str, Any]) -> bool:
    """Apply an edit of the browser; return False if the server refuses it."""
    try:
        project.edits.apply_once("contract-test", edit["number"], edit["act"], annotator=edit["annotator"])
    except BagtagError:
        return False
    return True


def undo_some(project: Project, rng: random.Random, before: int) -> None:
    """Undo edits, at most those after the history entry `before`."""
    while project.edits.history(limit=1)[0].id != before and rng.random() < 0.7:
        try:
            project.edits.undo()
        except BagtagError:
            break


@pytest.mark.browser
def test_edits_look_at_once_as_the_server_returns_them(browser, project):
    """Also several edits one upon another, that refer to what the ones before create; edits of another bag too."""
    rng = random.Random(1)
    seen: set[tuple[str, bool]] = set()
    number = differing = of_new_classes = 0
    for _ in range(N_SEQUENCES):
        before = project.edits.history(limit=1)[0].id
        if rng.random() < 0.5:
            project.edits.accept_above(0.4)
        differing += add_conflicts(project)
        returned = bag_json(project, project.bags.get(1), "")
        for _ in range(N_STACKS):
            at_once, stack = returned, []
            for _ in range(rng.randint(1, MOST_STACKED)):
                number += 1
                act = random_edit(rng, at_once, number)
                stack.append({"number": number, "bag": 1, "annotator": rng.choice(["Ann", "Bo"]), "act": act})
                at_once = json.loads(browser.evaluate(_WITH_EDITS, json.dumps([returned, stack])))
            done = [apply(project, edit) for edit in stack]
            acts = [edit["act"]["act"] for edit in stack]
            seen |= set(zip(acts, done))
            of_new_classes += sum(str(edit["act"].get("label")).startswith("@") for edit in stack)
            returned = bag_json(project, project.bags.get(1), "")
            assert shown(at_once, set(acts)) == shown(returned, set(acts)), (stack, done)
        undo_some(project, rng, before)
    refused = {("nothing_here", False), ("tag", False), ("accept", False)}
    assert refused | {("nothing_here", True), ("draw", True), ("redraw", True), ("merge", True)} <= seen
    assert {("tag_by_name", True), ("tag_by_name", False)} <= seen
    assert differing > N_SEQUENCES and of_new_classes > 10


@pytest.mark.browser
def test_a_class_that_is_not_stored_yet_counts_as_a_class(browser, project):
    """A new class, then edits of its tag and of labels with it, none of them acknowledged before the last."""
    rng = random.Random(5)
    number = 0
    seen: set[tuple[str, bool]] = set()
    for _ in range(N_SEQUENCES):
        returned = bag_json(project, project.bags.get(1), "")
        number += 1
        new, segment = f"@{number}", rng.choice(returned["segments"])["id"]
        box = [[1.0, 4000.0], [2.0, 4000.0], [2.0, 6000.0], [1.0, 6000.0]]
        acts: list[dict[str, Any]] = [
            {"act": "tag", "bag": 1, "class": new, "value": 0},
            {"act": "correct", "segments": [segment], "label": new},
            {"act": "draw", "bag": 1, "rings": [box], "label": new},
            {"act": "nothing_here", "bag": 1},
        ]
        chosen = [{"act": "tag_by_name", "bag": 1, "name": f"New {number}"}, *rng.choices(acts, k=3)]
        stack = [
            {"number": number + place, "bag": 1, "annotator": "Ann", "act": act} for place, act in enumerate(chosen)
        ]
        number += len(stack)
        at_once = json.loads(browser.evaluate(_WITH_EDITS, json.dumps([returned, stack])))
        done = [apply(project, edit) for edit in stack]
        seen |= set(zip([act["act"] for act in chosen], done))
        returned = bag_json(project, project.bags.get(1), "")
        assert shown(at_once, {"draw"}) == shown(returned, {"draw"}), (stack, done)
        project.edits.nothing_here(1, confirm=True)
    assert {("nothing_here", False), ("nothing_here", True), ("tag", False), ("tag", True), ("draw", True)} <= seen


@pytest.mark.browser
def test_counts_of_a_long_bag_are_at_once_as_the_server_returns_them(browser, project):
    """Unless an edit may change segments that are not in the browser: then the bag is fetched."""
    rng = random.Random(2)
    part = AskedRange(0.0, 6.0)
    number = 0
    known: set[str] = set()
    project.edits.accept_above(0.6)
    for _ in range(N_SEQUENCES):
        before = project.edits.history(limit=1)[0].id
        for _ in range(N_STACKS):
            returned = bag_json(project, project.bags.get(1), "", part)
            at_once, stack = returned, []
            for _ in range(rng.randint(1, MOST_STACKED)):
                number += 1
                act = random_edit(rng, at_once, number)
                if act["act"] in _OF_ALL_SEGMENTS:
                    assert browser.evaluate(_NEEDS_FETCH, [act, True])
                    continue
                stack.append({"number": number, "bag": 1, "annotator": "Ann", "act": act})
                at_once = json.loads(browser.evaluate(_WITH_EDITS, json.dumps([returned, stack])))
            done = [apply(project, edit) for edit in stack]
            after = bag_json(project, project.bags.get(1), "", part)
            assert counts_by_name(at_once) == counts_by_name(after), (stack, done)
            known |= {edit["act"]["act"] for edit in stack}
        undo_some(project, rng, before)
    assert {"correct", "accept", "delete", "draw", "merge", "redraw", "tag_by_name"} <= known


@pytest.mark.browser
def test_what_only_the_server_can_do_changes_nothing_at_once_and_is_fetched(browser, project):
    """Split, undo and redo, between edits that the browser knows."""
    rng = random.Random(3)
    number = 0
    for _ in range(N_SEQUENCES):
        returned = bag_json(project, project.bags.get(1), "")
        first = returned["segments"][0]["id"] if returned["segments"] else 1
        line = [[0.0, 3000.0], [10.0, 3000.0]]
        act = rng.choice(
            [{"act": "undo", "bag": 1}, {"act": "redo", "bag": 1}, {"act": "split", "segment": first, "line": line}]
        )
        edits = []
        for each in (random_edit(rng, returned, number + 1), act, random_edit(rng, returned, number + 3)):
            number += 1
            edits.append({"number": number, "bag": 1, "annotator": "Ann", "act": each})
        with_it, without = (
            json.loads(browser.evaluate(_WITH_EDITS, json.dumps([returned, stack]))) for stack in (edits, edits[::2])
        )
        assert with_it == without
        assert browser.evaluate(_NEEDS_FETCH, [act, False])
        for edit in edits:
            apply(project, edit)


@pytest.mark.browser
def test_a_screen_of_the_wall_looks_at_once_as_the_server_returns_it(browser, project):
    rng = random.Random(4)
    script = """([items, marked]) => {
      const marks = new Map(marked);
      const act = wall.screenEdit(items, { has: (id) => marks.has(id), labelOf: (id) => marks.get(id) });
      return [act, act && items.map((item) => wall.afterEdit(item, act))];
    }"""
    ids = [each.id for bag in (1, 2) for each in project.segments.list(bag)]
    for number in range(1, N_SEQUENCES):
        if rng.random() < 0.3:
            project.edits.accept_above(0.4)
        screen = rng.sample(ids, 6)
        items = [wall_item(one) for one in project.review.wall_items(screen)]
        marked = [[one, rng.choice([1, 2, BACKGROUND, None])] for one in rng.sample(screen, 3)]
        act, at_once = browser.evaluate(script, [items, marked])
        if act is None:
            continue
        assert apply(project, {"number": number, "act": act, "annotator": "Ann"})
        assert [wall_item(one) for one in project.review.wall_items(screen)] == at_once, (items, marked)
        if rng.random() < 0.5:
            project.edits.undo()
