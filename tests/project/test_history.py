"""History: every act one entry, undone and redone, also after a restart, also among several people."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from sqlalchemy import select

from miml_core.bags import BACKGROUND
from miml_core.project import CannotUndo, Project
from miml_core.project.schema import metadata
from tests.project.conftest import ring

_FOLLOWS = {"revision", "tags_at", "edits", "history", "topics", "meta", "jobs", "job_log", "job_failures"}


def state(project: Project) -> dict[str, Any]:
    """Everything people made, row by row (without revisions, which only grow)."""
    found = {}
    with project.store.read() as connection:
        for table in metadata.sorted_tables:
            if table.name in _FOLLOWS or table.name == "features":
                continue
            columns = [column for column in table.columns if column.name not in _FOLLOWS]
            found[table.name] = sorted(map(repr, connection.execute(select(*columns))))
    return found


def acts(project: Project) -> list[tuple[str, Any]]:
    """One of every act there is."""
    s = [segment.id for segment in project.segments(1)]
    return [
        ("tag", lambda: project.tag(1, 1)),
        ("tag absent", lambda: project.tag(1, 3, -1)),
        ("set_tags", lambda: project.set_tags(2, {1: 1, 2: -1})),
        ("finish", lambda: project.finish(1)),
        ("unsure", lambda: project.finish(1, rest="unknown")),
        ("unfinish", lambda: project.unfinish(1)),
        ("correct", lambda: project.correct(s[0], 2)),
        ("background", lambda: project.correct([s[1], s[2]], BACKGROUND)),
        ("accept", lambda: project.accept(s[3])),
        ("accept_bag", lambda: project.accept_bag(1)),
        ("clear", lambda: project.correct(s[3], None)),
        ("draw", lambda: project.draw(1, [ring(6.0, 7.0, 5000, 6000)], label=3)),
        ("redraw", lambda: project.redraw(s[0], [ring(0.0, 1.0, 500, 900)])),
        ("merge", lambda: project.merge([s[1], s[2]])),
        ("split", lambda: project.split(s[4], [(4.4, 0.0), (4.4, 8000.0)])),
        ("delete", lambda: project.delete(s[3])),
        ("nothing_here", lambda: project.nothing_here(2)),
        ("note", lambda: project.set_bag_note(2, "windy")),
        ("add_class", lambda: project.add_class("Lark", shortcut="l")),
        ("change_class", lambda: project.change_class(1, name="Winter wren")),
        ("merge_classes", lambda: project.merge_classes([2], 1)),
        ("remove_class", lambda: project.remove_class(3, confirm=True)),
    ]


def test_every_act_can_be_undone_and_redone_exactly_also_after_a_restart(predicted: Project) -> None:
    states = [state(predicted)]
    for name, act in acts(predicted):
        act()
        states.append(state(predicted))
        assert states[-1] != states[-2], f"{name} did nothing"
    folder = predicted.folder
    predicted.close()
    with Project.open(folder, annotator="Ann") as project:
        for before in reversed(states[:-1]):
            project.undo()
            assert state(project) == before
    with Project.open(folder, annotator="Ann") as project:
        for after in states[1:]:
            project.redo()
            assert state(project) == after
        with pytest.raises(CannotUndo, match="nothing to do again"):
            project.redo()


def test_a_random_walk_of_acts_undos_and_redos_keeps_its_promises(predicted: Project) -> None:
    rng = np.random.default_rng(7)
    states = [state(predicted)]
    place = 0
    steps = itertools.cycle([lambda c=c, b=b: predicted.tag(b, c) for b in (1, 2) for c in (1, 2, 3)])
    for _ in range(60):
        choice = rng.integers(3)
        if choice == 0 and place > 0:
            predicted.undo(bag_id=None)
            place -= 1
        elif choice == 1 and place < len(states) - 1:
            predicted.redo()
            place += 1
        else:
            before = len(predicted.history(limit=1000))
            next(steps)()
            if len(predicted.history(limit=1000)) == before:
                continue
            del states[place + 1 :]
            states.append(state(predicted))
            place += 1
        assert state(predicted) == states[place]


def test_a_new_act_clears_redo(small: Project) -> None:
    small.tag(1, 1)
    small.undo()
    small.tag(1, 2)
    with pytest.raises(CannotUndo):
        small.redo()
    assert small.bag(1).tags == {2: 1}


def test_each_person_undoes_their_own_acts(small: Project) -> None:
    small.tag(1, 1, annotator="Ann")
    small.tag(1, 2, annotator="Bob")
    small.undo(annotator="Ann")
    assert small.bag(1).tags == {2: 1}
    with pytest.raises(CannotUndo, match="nothing to undo"):
        small.undo(annotator="Cem")


def test_undo_of_what_a_later_act_stands_on_says_which(small: Project) -> None:
    drawn = small.draw(1, [ring(2.0, 4.0, 1000, 3000)], annotator="Ann").created[0]
    small.correct(drawn, 1, annotator="Bob")
    with pytest.raises(CannotUndo, match=r"segment 6: no label -> Wren by Bob; undo that first"):
        small.undo(annotator="Ann")
    small.undo(annotator="Bob")
    small.undo(annotator="Ann")
    assert len(small.segments(1)) == 5


def test_undo_of_a_label_that_somebody_changed_is_refused(small: Project) -> None:
    first = small.segments(1)[0].id
    small.correct(first, 1, annotator="Ann")
    small.correct(first, 2, annotator="Bob")
    with pytest.raises(CannotUndo, match="Robin"):
        small.undo(annotator="Ann")
    assert small.segment(first).label == 2


def test_undo_of_a_tag_that_a_label_now_needs_is_refused(small: Project) -> None:
    small.tag(1, 1, annotator="Ann")
    small.correct(small.segments(1)[0].id, 1, annotator="Bob")
    before = state(small)
    with pytest.raises(CannotUndo, match="labelled 'Wren'"):
        small.undo(annotator="Ann")
    assert state(small) == before


def test_undo_can_keep_to_one_bag(small: Project) -> None:
    small.tag(1, 1)
    small.tag(2, 2)
    small.undo(bag_id=1)
    assert small.bag(1).tags == {} and small.bag(2).tags == {2: 1}


def test_the_history_reads_like_what_happened(small: Project) -> None:
    first = small.segments(1)[0]
    small.correct(first.id, 1)
    small.correct(first.id, 2)
    small.undo()
    said = [(entry.sentence, entry.annotator, entry.undone) for entry in small.history(bag_id=1, limit=3)]
    assert said == [
        ("undid: segment 1: Wren -> Robin", "Ann", False),
        ("segment 1: Wren -> Robin", "Ann", True),
        ("segment 1: no label -> Wren", "Ann", False),
    ]


def test_one_chosen_act_can_be_undone(small: Project) -> None:
    small.tag(1, 1)
    entry = small.history(limit=1)[0]
    small.tag(2, 2)
    small.undo_entry(entry.id, annotator="Bob")
    assert small.bag(1).tags == {} and small.bag(2).tags == {2: 1}
    with pytest.raises(CannotUndo):
        small.undo_entry(entry.id)
