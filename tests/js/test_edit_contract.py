"""One contract for edits: what the browser shows at once is what the server returns afterwards."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from miml_core import BACKGROUND, BagtagError
from miml_core.project import Project
from pages.widgets.routes.bags import described
from tests.project.conftest import add_bags, store_run

N_SEQUENCES, N_EDITS = 40, 12
_WITH_EDIT = "text => JSON.stringify(edits.withEdit(...JSON.parse(text)))"  # as text: Playwright converts values slowly


@pytest.fixture
def project(tmp_path):
    """A bag of six segments, five of them with a prediction; Wren, Robin and Owl."""
    import numpy as np

    with Project.create(tmp_path / "project", annotator="Ann") as made:
        add_bags(made, 1, n_segments=5)
        for name in ("Wren", "Robin", "Owl"):
            made.edits.add_class(name)
        rng = np.random.default_rng(0)
        store_run(made, lambda n: rng.dirichlet(np.ones(4), n))
        made.edits.draw(1, [[(9.2, 1000.0), (9.8, 1000.0), (9.8, 3000.0), (9.2, 3000.0)]])
        yield made


def random_edit(rng: random.Random, segments: list[int]) -> dict[str, Any]:
    some = sorted(rng.sample(segments, rng.randint(1, min(3, len(segments))))) if segments else []
    sure = rng.random() < 0.5
    acts: list[dict[str, Any]] = [
        {"act": "tag", "bag": 1, "class": rng.randint(1, 3), "value": rng.choice([-1, 0, 1]), "confirm": sure},
        {"act": "finish", "bag": 1, "rest": rng.choice(["absent", "unknown"])},
        {"act": "unfinish", "bag": 1},
        {"act": "nothing_here", "bag": 1, "confirm": sure},
        {"act": "accept_bag", "bag": 1, "sure_from": rng.choice([0, 0.4, 1])},
    ]
    names = (("Great Tit", "Parus major"), ("parus  MAJOR", ""), ("robin", ""), ("Kauz", "owl"), ("Ü", ""), (" ", ""))
    name, scientific_name = rng.choice(names)
    acts += 2 * [{"act": "tag_by_name", "bag": 1, "name": name, "scientific_name": scientific_name}]
    if some:
        acts += 2 * [{"act": "correct", "segments": some, "label": rng.choice([1, 2, 3, BACKGROUND, None])}]
        acts += [{"act": "accept", "segments": some}]
        if len(some) > 1 and len(segments) > 3:
            acts.append({"act": "merge", "segments": rng.sample(some, len(some))})
        left = round(rng.uniform(0, 9), 1)
        box = [[left, 4000.0], [left + 0.5, 4000.0], [left + 0.5, 6000.0], [left, 6000.0]]
        acts += [{"act": "draw", "bag": 1, "rings": [box], "label": rng.choice([1, 2, BACKGROUND, None])}]
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
        labels = run("SELECT segment_id, class_id, at FROM verdicts").all()
        run("DELETE FROM conflicts")
        run("INSERT OR IGNORE INTO merges VALUES (1, 0, 'Ann', 'copy', '[]', '{}', '{}')")
        insert = "INSERT INTO conflicts VALUES (NULL, 1, 1, ?, ?, ?, 'Ann', ?, ?, 'Bo', 0, 0)"
        for segment, class_id, ours, theirs in rows:
            run(insert, (segment, class_id, ours, 0.0, theirs))
        for segment, label, at in labels:
            run(insert, (segment, None, BACKGROUND if label is None else label, at, 3))
    return len(rows) + len(labels)


def shown(bag: dict[str, Any], act: str) -> dict[str, Any]:
    """What a person sees of a bag: its tags and state, and each segment's outline, label and standing.

    The exact outline of a new segment and what is predicted of it, the colour of a new class, and the ids of both, only
    the server knows.
    """
    named = {str(one["id"]): one["name"] for one in bag["classes"]}
    made = act in ("draw", "merge")
    known = () if made else ("id", "rings", "guesses", "contradicts", "conflict")
    names = ("label", "accepted", "annotator", "checked_by", *known)
    return {
        "classes": [[one["name"], one["scientific_name"], one["shortcut"]] for one in bag["classes"]],
        "tags": {named[one]: value for one, value in bag["tags"].items()},
        "finished": bag["finished"],
        "rest_unknown": bag["rest_unknown"],
        "conflicts": bag["conflicts"],
        "segments": sorted(([each[name] for name in names] for each in bag["segments"]), key=repr),
    }


@pytest.mark.browser
def test_every_edit_looks_at_once_as_the_server_returns_it(modules, project):
    modules.goto("http://modules.invalid/")
    modules.evaluate("async () => { window.edits = await import('/canvas/edits.js'); }")
    rng = random.Random(1)
    seen: set[tuple[str, bool]] = set()
    number = differing = 0
    for _ in range(N_SEQUENCES):
        before = project.edits.history(limit=1)[0].id
        if rng.random() < 0.5:
            project.edits.accept_above(0.4)
        differing += add_conflicts(project)
        returned = described(project, project.bags.get(1), "")
        for _ in range(N_EDITS):
            before_it = returned
            number += 1
            act = random_edit(rng, [each["id"] for each in before_it["segments"]])
            annotator = rng.choice(["Ann", "Bo"])
            edit = {"number": number, "bag": 1, "annotator": annotator, "act": act}
            at_once = json.loads(modules.evaluate(_WITH_EDIT, json.dumps([before_it, edit])))
            try:
                project.edits.apply_once("contract-test", number, act, annotator=annotator)
                done = True
            except BagtagError:
                done = False
            seen.add((act["act"], done))
            returned = described(project, project.bags.get(1), "")
            assert shown(at_once, act["act"]) == shown(returned, act["act"]), (act, done)
        while project.edits.history(limit=1)[0].id != before and rng.random() < 0.7:
            try:
                project.edits.undo()
            except BagtagError:
                break
    refused = {("nothing_here", False), ("tag", False), ("accept", False)}
    assert refused | {("nothing_here", True), ("draw", True), ("merge", True)} <= seen
    assert {("tag_by_name", True), ("tag_by_name", False)} <= seen
    assert differing > N_SEQUENCES
