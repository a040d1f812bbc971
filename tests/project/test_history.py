"""History: one entry per edit, undone and redone, also after a restart, also among several people."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from sqlalchemy import select

from miml_core.bags import BACKGROUND
from miml_core.project import CannotUndo, Project
from miml_core.project.db.schema import metadata
from tests.project.conftest import ring

_FOLLOWS = {"revision", "tags_at", "edits", "history", "topics", "meta", "jobs", "job_log", "job_failures"}


def state(project: Project) -> dict[str, Any]:
    """Return all work of people, row by row (without revisions, which only grow)."""
    found = {}
    with project.store.read() as connection:
        for table in metadata.sorted_tables:
            if table.name in _FOLLOWS or table.name == "features":
                continue
            columns = [column for column in table.columns if column.name not in _FOLLOWS]
            found[table.name] = sorted(map(repr, connection.execute(select(*columns))))
    return found


def acts(project: Project) -> list[tuple[str, Any]]:
    """Return one edit of every kind."""
    s = [segment.id for segment in project.segments.list(1)]
    return [
        ("tag", lambda: project.edits.tag(1, 1)),
        ("tag absent", lambda: project.edits.tag(1, 3, -1)),
        ("set_tags", lambda: project.edits.set_tags(2, {1: 1, 2: -1})),
        ("finish", lambda: project.edits.finish(1)),
        ("unsure", lambda: project.edits.finish(1, rest="unknown")),
        ("unfinish", lambda: project.edits.unfinish(1)),
        ("correct", lambda: project.edits.set_label(s[0], 2)),
        ("background", lambda: project.edits.set_label([s[1], s[2]], BACKGROUND)),
        ("accept", lambda: project.edits.accept(s[3])),
        ("accept_bag", lambda: project.edits.accept_bag(1)),
        ("clear", lambda: project.edits.set_label(s[3], None)),
        ("draw", lambda: project.edits.draw(1, [ring(6.0, 7.0, 5000, 6000)], label=3)),
        ("redraw", lambda: project.edits.redraw(s[0], [ring(0.0, 1.0, 500, 900)])),
        ("merge", lambda: project.edits.merge([s[1], s[2]])),
        ("split", lambda: project.edits.split(s[4], [(4.4, 0.0), (4.4, 8000.0)])),
        ("delete", lambda: project.edits.delete(s[3])),
        ("nothing_here", lambda: project.edits.nothing_here(2)),
        ("note", lambda: project.edits.set_note(2, "windy")),
        ("add_class", lambda: project.edits.add_class("Lark", shortcut="l")),
        ("change_class", lambda: project.edits.change_class(1, name="Winter wren")),
        ("merge_classes", lambda: project.edits.merge_classes([2], 1)),
        ("remove_class", lambda: project.edits.remove_class(3, confirm=True)),
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
            project.edits.undo()
            assert state(project) == before
    with Project.open(folder, annotator="Ann") as project:
        for after in states[1:]:
            project.edits.redo()
            assert state(project) == after
        with pytest.raises(CannotUndo, match="nothing to redo"):
            project.edits.redo()


def test_a_random_walk_of_acts_undos_and_redos_keeps_its_promises(predicted: Project) -> None:
    rng = np.random.default_rng(7)
    states = [state(predicted)]
    place = 0
    steps = itertools.cycle([lambda c=c, b=b: predicted.edits.tag(b, c) for b in (1, 2) for c in (1, 2, 3)])
    for _ in range(60):
        choice = rng.integers(3)
        if choice == 0 and place > 0:
            predicted.edits.undo(bag_id=None)
            place -= 1
        elif choice == 1 and place < len(states) - 1:
            predicted.edits.redo()
            place += 1
        else:
            before = len(predicted.edits.history(limit=1000))
            next(steps)()
            if len(predicted.edits.history(limit=1000)) == before:
                continue
            del states[place + 1 :]
            states.append(state(predicted))
            place += 1
        assert state(predicted) == states[place]


def test_a_new_act_clears_redo(small: Project) -> None:
    small.edits.tag(1, 1)
    small.edits.undo()
    small.edits.tag(1, 2)
    with pytest.raises(CannotUndo):
        small.edits.redo()
    assert small.bags.get(1).tags == {2: 1}


def test_each_person_undoes_their_own_acts(small: Project) -> None:
    small.edits.tag(1, 1, annotator="Ann")
    small.edits.tag(1, 2, annotator="Bob")
    small.edits.undo(annotator="Ann")
    assert small.bags.get(1).tags == {2: 1}
    with pytest.raises(CannotUndo, match="nothing to undo"):
        small.edits.undo(annotator="Cem")


def test_undo_names_the_later_edit_that_depends_on_it(small: Project) -> None:
    drawn = small.edits.draw(1, [ring(2.0, 4.0, 1000, 3000)], annotator="Ann").created[0]
    small.edits.set_label(drawn, 1, annotator="Bob")
    with pytest.raises(CannotUndo, match=r"segment 6: no label -> Wren by Bob; undo that first"):
        small.edits.undo(annotator="Ann")
    small.edits.undo(annotator="Bob")
    small.edits.undo(annotator="Ann")
    assert len(small.segments.list(1)) == 5


def test_undo_of_a_label_that_somebody_changed_is_refused(small: Project) -> None:
    first = small.segments.list(1)[0].id
    small.edits.set_label(first, 1, annotator="Ann")
    small.edits.set_label(first, 2, annotator="Bob")
    with pytest.raises(CannotUndo, match="Robin"):
        small.edits.undo(annotator="Ann")
    assert small.segments.get(first).label == 2


def test_undo_of_a_tag_that_a_label_now_needs_is_refused(small: Project) -> None:
    small.edits.tag(1, 1, annotator="Ann")
    small.edits.set_label(small.segments.list(1)[0].id, 1, annotator="Bob")
    before = state(small)
    with pytest.raises(CannotUndo, match="labelled 'Wren'"):
        small.edits.undo(annotator="Ann")
    assert state(small) == before


def test_undo_can_keep_to_one_bag(small: Project) -> None:
    small.edits.tag(1, 1)
    small.edits.tag(2, 2)
    small.edits.undo(bag_id=1)
    assert small.bags.get(1).tags == {} and small.bags.get(2).tags == {2: 1}


def test_the_history_reads_like_what_happened(small: Project) -> None:
    first = small.segments.list(1)[0]
    small.edits.set_label(first.id, 1)
    small.edits.set_label(first.id, 2)
    small.edits.undo()
    entries = [(entry.sentence, entry.annotator, entry.undone) for entry in small.edits.history(bag_id=1, limit=3)]
    assert entries == [
        ("undid: segment 1: Wren -> Robin", "Ann", False),
        ("segment 1: Wren -> Robin", "Ann", True),
        ("segment 1: no label -> Wren", "Ann", False),
    ]


def test_one_chosen_act_can_be_undone(small: Project) -> None:
    small.edits.tag(1, 1)
    entry = small.edits.history(limit=1)[0]
    small.edits.tag(2, 2)
    small.edits.undo_entry(entry.id, annotator="Bob")
    assert small.bags.get(1).tags == {} and small.bags.get(2).tags == {2: 1}
    with pytest.raises(CannotUndo):
        small.edits.undo_entry(entry.id)
