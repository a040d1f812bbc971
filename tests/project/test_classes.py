"""Classes: names, colours, shortcuts; renamed, merged, removed, read from a list."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from miml_core.bags import BACKGROUND
from miml_core.errors import BagtagError
from miml_core.project import NeedsConfirmation, Project
from miml_core.project.edits.classes import AddClass
from miml_core.project.edits.palette import is_colour, next_colour
from miml_core.project.errors import CannotUndo
from miml_core.project.learning import review_index
from miml_core.project.queries import bagset
from miml_core.project.records import EditResult
from tests.project.conftest import store_run


def test_colours_are_chosen_apart(project: Project) -> None:
    made = [project.edits.add_class(f"Species {k}") for k in range(24)]
    assert len({one.colour for one in made}) == 24
    assert all(is_colour(one.colour) for one in made)
    assert is_colour(next_colour([one.colour for one in made])), "a 25th gets one too"


def test_names_are_unique_whatever_their_case_and_kept_as_written(project: Project) -> None:
    project.edits.add_class("  Größer   Adler ")
    assert [one.name for one in project.classes.list()] == ["Größer Adler"]
    for twin in ("größer adler", "GRÖSSER ADLER"):
        with pytest.raises(BagtagError, match="already a class"):
            project.edits.add_class(twin)
    found = project.classes.find("GRÖßER ADLER")
    assert found is not None and found.id == 1
    for wrong in ("", "   ", "x" * 300):
        with pytest.raises(BagtagError):
            project.edits.add_class(wrong)


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "a\"b'c", "\\", "日本語", "שלום", "=1+1", "%_"])
def test_any_text_is_a_name(project: Project, name: str) -> None:
    made = project.edits.add_class(name)
    assert project.classes.list() == [made] and made.name == name


def test_shortcuts_are_one_key_each(small: Project) -> None:
    small.edits.change_class(1, shortcut="w")
    with pytest.raises(BagtagError, match="already the shortcut of 'Wren'"):
        small.edits.change_class(2, shortcut="W")
    with pytest.raises(BagtagError, match="one key"):
        small.edits.change_class(2, shortcut="ab")
    with pytest.raises(BagtagError, match="#RRGGBB"):
        small.edits.change_class(2, colour="red; background: url(x)")


def test_renaming_keeps_everything_that_hangs_on_a_class(small: Project) -> None:
    small.edits.set_label(small.segments.list(1)[0].id, 1)
    small.edits.change_class(1, name="Eurasian wren", scientific_name="Troglodytes troglodytes")
    assert small.bags.get(1).tags == {1: 1}
    found = small.classes.find("troglodytes TROGLODYTES")
    assert found is not None and (found.name, found.n_bags, found.n_segments) == ("Eurasian wren", 1, 1)
    with pytest.raises(BagtagError, match="already a class"):
        small.edits.change_class(2, name="eurasian Wren")


def test_merging_moves_tags_and_labels(small: Project) -> None:
    small.edits.set_label(small.segments.list(1)[0].id, 2)
    small.edits.tag(1, 1, -1)
    small.edits.tag(2, 2, -1)
    small.edits.tag(2, 1, -1)
    small.edits.merge_classes([2, 3], 1)
    assert [one.name for one in small.classes.list()] == ["Wren"]
    assert small.bags.get(1).tags == {1: 1}, "present wins"
    assert small.bags.get(2).tags == {}, "of the owl, nothing was known"
    assert small.segments.list(1)[0].label == 1
    small.edits.add_class("Robin")
    small.edits.undo()
    small.edits.undo()
    assert [one.name for one in small.classes.list()] == ["Wren", "Robin", "Owl"]
    assert small.bags.get(2).tags == {1: -1, 2: -1}
    assert small.segments.list(1)[0].label == 2


def test_removing_a_class_in_use_asks_first(small: Project) -> None:
    small.edits.set_label(small.segments.list(1)[0].id, 2)
    with pytest.raises(NeedsConfirmation, match="1 bag and the label of 1 segment"):
        small.edits.remove_class(2)
    small.edits.remove_class(2, confirm=True)
    assert small.bags.get(1).tags == {} and small.segments.list(1)[0].label is None
    small.edits.undo()
    assert small.bags.get(1).tags == {2: 1} and small.segments.list(1)[0].label == 2
    small.edits.remove_class(3)
    assert len(small.classes.list()) == 2


def test_a_species_list_adds_what_is_new(small: Project, tmp_path: Path) -> None:
    path = tmp_path / "species.csv"
    path.write_text("name;scientific name;shortcut\nwren;;\nLark;Alauda arvensis;l\n", encoding="utf-8-sig")
    result = small.edits.import_classes(path)
    assert len(result.created) == 1
    lark = small.classes.find("Alauda arvensis")
    assert lark is not None and lark.shortcut == "l"
    small.edits.undo()
    assert small.classes.find("Lark") is None


@pytest.fixture
def crane(small: Project) -> EditResult:
    """Add a class that the current run predicts for all segments."""
    added = small.edits.apply(AddClass("Crane"))
    store_run(small, lambda n: np.tile([0.2, 0.0, 0.0, 0.7, 0.1], (n, 1)))
    return added


def test_a_class_that_a_run_has_learnt_is_not_deleted_by_undo(small: Project, crane: EditResult) -> None:
    with pytest.raises(CannotUndo, match="Run 1 has learnt the class Crane; remove its tags, or the class, instead"):
        small.edits.undo_entry(crane.history_id)
    assert small.classes.find("Crane")
    with small.store.write() as connection:
        connection.exec_driver_sql("UPDATE runs SET state = 'failed'")
    small.edits.undo_entry(crane.history_id)
    assert small.classes.find("Crane") is None


def test_a_run_works_without_a_class_that_an_earlier_version_deleted(small: Project, crane: EditResult) -> None:
    with small.store.write() as connection:
        connection.exec_driver_sql("DELETE FROM classes WHERE id = ?", tuple(crane.created))
    with small.store.read() as connection:
        assert not review_index.is_complete(connection), "which `check` finds"
        bags, _ = bagset.load(connection, [1], class_ids=[1, *crane.created])
    assert bags.classes == ["Wren", "deleted class 4"]
    assert small.review.count_above(0.5) == {} and small.edits.accept_above(0.5).bags == []
    review_index.summarise_all(small.store)
    assert small.review.count_above(0.5) == {BACKGROUND: 10}
