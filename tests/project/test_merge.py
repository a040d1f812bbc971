"""Merging another annotator's copy: compared with a brute-force model; one edit, undone exactly; conflicts decided."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from miml_core.bags import BACKGROUND
from miml_core.evaluation.agreement import cohen_kappa
from miml_core.project import Project
from miml_core.project.packing.pack import pack
from tests.project.conftest import ring
from tests.project.copies import N_BAGS, N_SEGMENTS, SHARED, content

# against a model


class Answers:
    """Random tags and labels of one annotator, by names."""

    def __init__(self, rng: np.random.Generator, classes: list[str], who: str) -> None:
        self.classes, self.who = classes, who
        self.state = {bag: str(rng.choice(["open", "absent", "unknown"])) for bag in range(1, N_BAGS + 1)}
        self.tags: dict[tuple[int, str], int] = {}
        self.labels: dict[int, tuple[str, str]] = {}
        self.at = rng.permutation(1000)[: N_BAGS * N_SEGMENTS + 1] + (2000.0 if who == "Ann" else 5000.0)
        for bag in self.state:
            for name in classes:
                if value := int(rng.integers(-1, 2)) * int(rng.integers(0, 2)):
                    self.tags[bag, name] = value
            for segment in segments_of(bag):
                kind, label = str(rng.choice(["none", "eye", "threshold"])), str(rng.choice([*classes, ""]))
                if kind == "eye" and label:
                    self.tags[bag, label] = 1
                if kind == "eye" or (kind == "threshold" and label):
                    self.labels[segment] = label, kind
        for segment, (label, kind) in list(self.labels.items()):
            if kind == "threshold" and self.answer(bag_of(segment), label) < 0:
                del self.labels[segment]

    def answer(self, bag: int, name: str) -> int:
        return self.tags.get((bag, name), -1 if self.state[bag] == "absent" else 0) if name in self.classes else 0

    def write(self, project: Project) -> None:
        with project.store.write() as connection:
            run = connection.exec_driver_sql
            for number, name in enumerate(self.classes, start=1):
                run("INSERT OR REPLACE INTO classes (id, name, name_key, colour, shortcut, scientific_name, note, "
                    "removed) VALUES (?, ?, ?, '#123456', '', '', '', 0)", (number, name, name.lower()))  # fmt: skip
            ids = {name: number for number, name in enumerate(self.classes, start=1)}
            for bag, state in self.state.items():
                run("UPDATE bags SET finished = ?, rest_unknown = ?, tags_at = ? WHERE id = ?",
                    (state != "open", state == "unknown", float(self.at[0]) + bag, bag))  # fmt: skip
            for (bag, name), value in self.tags.items():
                run("INSERT INTO tags VALUES (?, ?, ?)", (bag, ids[name], value))
            for segment, (label, kind) in self.labels.items():
                run("INSERT INTO verdicts VALUES (?, ?, 0, 0, NULL, NULL, NULL, ?, ?, ?)",
                    (segment, ids.get(label), self.who, float(self.at[segment]), kind))  # fmt: skip


def segments_of(bag: int) -> range:
    return range(1 + (bag - 1) * N_SEGMENTS, 1 + bag * N_SEGMENTS)


def bag_of(segment: int) -> int:
    return 1 + (segment - 1) // N_SEGMENTS


def stored(project: Project) -> tuple[dict[Any, int], dict[int, tuple[str, str]], set[Any]]:
    """Return the answers, labels and conflicts of a project, by names."""
    names = {one.id: one.name for one in project.classes.list()} | {BACKGROUND: ""}
    answers: dict[Any, int] = {}
    labels = {}
    for bag in project.bags.list().bags:
        absent = -1 if bag.finished and not bag.rest_unknown else 0
        answers |= {(bag.id, name): bag.tags.get(key, absent) for key, name in names.items() if key > 0}
        for one in project.segments.list(bag.id):
            if one.label is not None:
                labels[one.id] = names[one.label], str(one.checked_by), one.annotator
    conflicts = {
        (each.bag_id, names[each.class_id], each.ours, each.theirs)
        if each.segment_id is None
        else (each.segment_id, None if each.ours is None else names[each.ours], names[each.theirs])
        for each in project.review.conflicts()
    }
    return answers, labels, conflicts


@pytest.mark.parametrize("seed", range(8))
def test_random_copies_are_united_as_a_brute_force_model_says(ours: Project, theirs: Project, seed: int) -> None:
    rng = np.random.default_rng(seed)
    mine = Answers(rng, [*SHARED, *(["Jay"] if seed % 2 else [])], "Ann")
    other = Answers(rng, ["Wren", "ROBIN", "Owl", "Kite"], "Bob")
    mine.write(ours)
    other.write(theirs)
    same = {"Wren": "Wren", "Robin": "ROBIN", "Owl": "Owl"}
    back = {b: a for a, b in same.items()} | {"Kite": "Kite", "": ""}
    kite_used = any(name == "Kite" for _, name in other.tags)
    expected: dict[Any, int] = {}
    conflicts: set[Any] = set()
    pairs: dict[str, list[tuple[int, int]]] = {name: [] for name in same}
    for bag in mine.state:
        for name in mine.classes:
            a, b = mine.answer(bag, name), other.answer(bag, same.get(name, "nothing"))
            expected[bag, name] = a or b
            if a * b < 0:
                conflicts.add((bag, name, a, b))
            if a and b:
                pairs[name].append((a, b))
        if kite_used:
            b = other.answer(bag, "Kite")
            expected[bag, "Kite"] = b or (-1 if mine.state[bag] == "absent" else 0)
    labels: dict[int, Any] = {}
    rated = []
    for segment in range(1, 1 + N_BAGS * N_SEGMENTS):
        bag, la = bag_of(segment), mine.labels.get(segment)
        lb = other.labels.get(segment)
        if la is not None and (la[1] == "eye" or la[0] == "" or expected[bag, la[0]] >= 0):
            labels[segment] = *la, "Ann"
        if lb is None or lb[1] != "eye":
            continue
        label = back[lb[0]]
        if la is not None and la[1] == "eye":
            rated.append((la[0], label))
            if la[0] != label:
                conflicts.add((segment, la[0], label))
        elif label in mine.classes and mine.answer(bag, label) < 0:
            conflicts.add((segment, None if la is None else la[0], label))
        else:
            labels[segment] = label, "eye", "Bob"

    before = content(ours.folder)
    untouched = (theirs.folder / "project.db").read_bytes()
    plan = ours.edits.preview_merge(theirs.folder)
    assert content(ours.folder) == before, "a preview changes nothing"
    result = ours.edits.merge_copy(plan)
    answers, found_labels, found_conflicts = stored(ours)
    # A conflict is open only while the segment has the label it had: one that a threshold gave may have been cleared.
    cleared = {one for one in conflicts if len(one) == 3 and one[1] is not None and one[0] not in labels}
    assert (answers, found_labels, found_conflicts) == (expected, labels, conflicts - cleared)
    overall = cohen_kappa(*zip(*[pair for some in pairs.values() for pair in some]))
    assert plan.tag_agreement.overall == overall
    assert plan.tag_agreement.classes == {name: cohen_kappa(*zip(*some)) for name, some in pairs.items() if some}
    assert plan.label_agreement.overall == (cohen_kappa(*zip(*rated)) if rated else cohen_kappa([], []))
    assert (theirs.folder / "project.db").read_bytes() == untouched, "the copy is only read"

    after = content(ours.folder)
    again = ours.edits.preview_merge(theirs.folder)
    assert not again.changes_anything and again.n_known_conflicts == len(conflicts)
    assert ours.edits.merge_copy(again).history_id is None
    assert content(ours.folder) == after, "merging twice changes nothing"
    assert ours.check() == []
    ours.edits.undo_entry(result.history_id or 0)
    assert content(ours.folder) == before


# by hand


def test_segments_match_by_region_and_others_are_added_if_a_person_made_them(ours: Project, theirs: Project) -> None:
    theirs.edits.set_label(1, 1)  # the same region
    theirs.edits.redraw(2, [ring(1.0, 1.8, 5050.0, 7000.0)])  # .8 x 2000 before: IoU .975
    theirs.edits.set_label(2, 2)
    theirs.edits.redraw(3, [ring(2.0, 2.8, 6000.0, 7000.0)])  # half of it: another segment, which replaces ours
    drawn = theirs.edits.draw(1, [ring(6.0, 8.0, 1000.0, 2000.0)], label=3)
    plain = theirs.edits.draw(1, [ring(8.5, 9.5, 1000.0, 2000.0)])
    plan = ours.edits.preview_merge(theirs.folder)
    assert [(each.segment_id, each.label, each.annotator) for each in plan.labels] == [(1, 1, "Bob"), (2, 2, "Bob")]
    assert [each.label for each in plan.segments] == [None, 3, None] and plan.replaced == [3]
    before = content(ours.folder)
    ours.edits.merge_copy(plan)
    shapes = {one.id: (one.left, one.right, one.low, one.high, one.label) for one in ours.segments.list(1)}
    assert 3 not in shapes and len(shapes) == N_SEGMENTS - 1 + 3
    (added,) = [one for one in ours.segments.list(1) if one.label == 3]
    model = theirs.segments.get(drawn.created[0])
    assert (added.outline, added.origin, added.annotator) == (model.outline, "drawn", "Bob")
    assert plain.created[0] and ours.bags.get(1).tags == {1: 1, 2: 1, 3: 1}
    when = {one.segment_id: one.at for one in plan.labels}
    with ours.store.read() as connection:
        assert dict(connection.exec_driver_sql("SELECT segment_id, at FROM verdicts").all()).items() >= when.items()
    assert ours.segments.get(2).low == 5000.0, "our outline stays"
    assert not ours.edits.preview_merge(theirs.folder).changes_anything
    ours.edits.undo()
    assert content(ours.folder) == before


def test_a_segment_that_only_the_other_deleted_goes_unless_it_was_labelled_here_since(
    base: Path, tmp_path: Path
) -> None:
    shared = Path(shutil.copytree(base, tmp_path / "shared" / "project"))
    with Project.open(shared, annotator="Ann") as project:
        project.edits.set_label([2], 1)
        project.edits.delete([5])
    copy = Path(shutil.copytree(shared, tmp_path / "copy" / "project"))
    with Project.open(shared, annotator="Ann") as one, Project.open(copy, annotator="Bob") as two:
        two.edits.delete([1, 2, 3])
        two.edits.split(6, [(1.4, 4000.0), (1.4, 8000.0)])
        two.edits.delete([7])
        two.edits.undo()
        one.edits.set_label(3, 2)  # since the copies were separated
        one.edits.undo_entry(next(each.id for each in one.edits.history() if each.act == "delete"))
        plan = one.edits.preview_merge(copy)
        assert set(plan.deleted) == {1, 2, 6} and plan.n_kept == 1 and plan.replaced == []
        before = content(shared)
        one.edits.set_label(1, 2)  # after the plan was made
        one.edits.merge_copy(plan)
        assert [each.id for each in one.segments.list(1)] == [1, 3, 4], "5 was deleted before, and restored here"
        assert {5, 7, 8} <= {each.id for each in one.segments.list(2)} and len(one.segments.list(2)) == N_SEGMENTS + 1
        one.edits.undo()
        one.edits.undo()
        assert content(shared) == before
        sentence = one.edits.merge_copy(one.edits.preview_merge(copy)).sentence
        assert "3 segments deleted" in sentence and [each.id for each in one.segments.list(1)] == [3, 4]
        assert not one.edits.preview_merge(copy).changes_anything


def test_a_tag_that_a_merge_took_has_the_name_of_its_annotator(ours: Project, theirs: Project, tmp_path: Path) -> None:
    third = Path(shutil.copytree(ours.folder, tmp_path / "third" / "project"))
    theirs.edits.tag(1, 1, 1)
    ours.edits.merge_copy(ours.edits.preview_merge(theirs.folder))
    with Project.open(third, annotator="Cleo") as cleo:
        cleo.edits.tag(1, 1, -1)
    ours.edits.merge_copy(ours.edits.preview_merge(third))
    (found,) = ours.review.conflicts()
    assert (found.ours_by, found.theirs_by) == ("Bob", "Cleo")


def test_a_packed_copy_is_merged_and_conflicts_are_decided(ours: Project, theirs: Project, tmp_path: Path) -> None:
    for project, label in ((ours, 1), (theirs, 2)):
        project.edits.set_label([1, 2, 5], label)
        project.edits.finish(1)
        project.edits.set_note(2, f"note of {project.annotator}")
    packed = pack(theirs.store, tmp_path / "bob.zip").path
    plan = ours.edits.preview_merge(packed)
    assert plan.source == "Marsh" and plan.people == ["Bob"]
    assert plan.counts()["tag_conflicts"] == 2, "each is absent for the other, in the finished bag"
    sentence = ours.edits.merge_copy(plan).sentence
    assert sentence == "merged Marsh of Bob: 1 tag, 0 labels, 0 segments; 5 conflicts"
    assert ours.review.count_conflicts() == (1, 3)
    assert ours.review.sizes()["conflicts"] == 3
    assert [item.segment_id for item in ours.review.page("conflicts", limit=2)] == [1, 2]
    assert [item.segment_id for item in ours.review.page("conflicts", after=(1, 2))] == [5]
    assert ours.bags.ids(show="conflicts") == [1, 2] and ours.bags.ids(show="tag conflicts") == [1]
    (first, *_) = ours.review.conflicts(bag_id=2)
    assert (first.ours, first.ours_by, first.theirs, first.theirs_by, first.bag) == (1, "Ann", 2, "Bob", "clip 1.wav")
    assert {(each.ours_by, each.theirs_by) for each in ours.review.conflicts()} == {("Ann", "Bob")}
    (merge,) = ours.review.merges()
    assert (merge.people, merge.counts["label_conflicts"]) == (["Bob"], 3)
    assert merge.agreement["labels"]["overall"]["n"] == 3 and merge.agreement["labels"]["overall"]["agreed"] == 0

    ours.edits.set_label(5, 1)  # the same label again: decided
    assert ours.review.count_conflicts() == (1, 2)
    ours.edits.undo()
    assert ours.review.count_conflicts() == (1, 3)
    of_tags = [each for each in ours.review.conflicts() if each.segment_id is None]
    taken = next(each for each in of_tags if each.theirs == 1)
    ours.edits.resolve_conflicts([taken.id], take_theirs=True)
    assert ours.bags.get(1).tags == {1: 1, 2: 1}
    ours.edits.finish(1)  # says that the rest is decided
    assert ours.review.count_conflicts()[0] == 0
    ours.edits.undo()
    assert ours.review.count_conflicts()[0] == 1
    of_labels = [each.id for each in ours.review.conflicts() if each.segment_id is not None]
    ours.edits.resolve_conflicts(of_labels[:1], take_theirs=True)
    ours.edits.resolve_conflicts(of_labels[1:])
    assert [ours.segments.get(number).label for number in (1, 2, 5)] == [2, 1, 1]
    assert ours.review.count_conflicts()[1] == 0 and ours.bags.get(2).note == "note of Ann"
    assert not ours.edits.preview_merge(packed).changes_anything, "what was decided is not asked again"
    before = content(ours.folder)
    ours.edits.remove_bags([1], confirm=True)
    ours.edits.undo()
    assert content(ours.folder) == before


def test_what_both_copies_had_before_is_no_agreement(base: Path, tmp_path: Path) -> None:
    shared = Path(shutil.copytree(base, tmp_path / "shared" / "project"))
    with Project.open(shared, annotator="Ann") as project:
        project.edits.set_label([1, 2], 1)
        project.edits.finish(1)
    copy = Path(shutil.copytree(shared, tmp_path / "copy" / "project"))
    with Project.open(shared, annotator="Ann") as one, Project.open(copy, annotator="Bob") as two:
        one.edits.set_label(3, 1)
        two.edits.set_label(3, 1)
        two.edits.set_label(2, 2)  # only Bob answered since: a conflict, but no second opinion
        plan = one.edits.preview_merge(copy)
        assert plan.n_agreed_labels == 2 and plan.label_agreement.overall.n == 1
        assert [each.segment_id for each in plan.conflicts if each.segment_id is not None] == [2]
        assert plan.tag_agreement.overall.n == 0 and plan.people == ["Bob"]


def test_an_answer_from_before_the_copies_were_separated_does_not_come_back(base: Path, tmp_path: Path) -> None:
    shared = Path(shutil.copytree(base, tmp_path / "shared" / "project"))
    with Project.open(shared, annotator="Ann") as project:
        project.edits.set_label([1, 2], 1)
        project.edits.tag(3, 2)
        project.edits.finish(3)
        drawn = project.edits.draw(2, [ring(6.0, 8.0, 1000.0, 2000.0)], label=3).created[0]
    copy = Path(shutil.copytree(shared, tmp_path / "copy" / "project"))
    with Project.open(shared, annotator="Ann") as one, Project.open(copy, annotator="Bob") as two:
        one.edits.set_label(1, 2)
        one.edits.set_label(2, None)
        one.edits.tag(3, 2, 0)
        one.edits.tag(3, 1)
        one.edits.delete(drawn)
        two.edits.set_label(9, 3)  # in bag 3, which was finished without it
        plan = one.edits.preview_merge(copy)
        assert [each.segment_id for each in plan.labels] == [] and plan.segments == []
        assert [(each.bag_id, each.segment_id) for each in plan.conflicts] == [(3, None), (3, 9)]
        backwards = two.edits.preview_merge(shared)
        assert {each.segment_id: each.theirs for each in backwards.conflicts if each.class_ref is None} == {1: 2}
