"""Classes: names, colours, shortcuts; renamed, merged, removed, read from a list."""

from __future__ import annotations

from pathlib import Path

import pytest

from miml_core.errors import BagtagError
from miml_core.project import NeedsConfirmation, Project
from miml_core.project.palette import is_colour, next_colour


def test_colours_are_chosen_apart(project: Project) -> None:
    made = [project.add_class(f"Species {k}") for k in range(24)]
    assert len({one.colour for one in made}) == 24
    assert all(is_colour(one.colour) for one in made)
    assert is_colour(next_colour([one.colour for one in made])), "a 25th gets one too"


def test_names_are_unique_whatever_their_case_and_kept_as_written(project: Project) -> None:
    project.add_class("  Größer   Adler ")
    assert [one.name for one in project.classes()] == ["Größer Adler"]
    for twin in ("größer adler", "GRÖSSER ADLER"):
        with pytest.raises(BagtagError, match="already a class"):
            project.add_class(twin)
    found = project.find_class("GRÖßER ADLER")
    assert found is not None and found.id == 1
    for wrong in ("", "   ", "x" * 300):
        with pytest.raises(BagtagError):
            project.add_class(wrong)


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "a\"b'c", "\\", "日本語", "שלום", "=1+1", "%_"])
def test_any_text_is_a_name(project: Project, name: str) -> None:
    made = project.add_class(name)
    assert project.classes() == [made] and made.name == name


def test_shortcuts_are_one_key_each(small: Project) -> None:
    small.change_class(1, shortcut="w")
    with pytest.raises(BagtagError, match="already stands for 'Wren'"):
        small.change_class(2, shortcut="W")
    with pytest.raises(BagtagError, match="one key"):
        small.change_class(2, shortcut="ab")
    with pytest.raises(BagtagError, match="no smell"):
        small.change_class(2, smell="sweet")
    with pytest.raises(BagtagError, match="#RRGGBB"):
        small.change_class(2, colour="red; background: url(x)")


def test_renaming_keeps_everything_that_hangs_on_a_class(small: Project) -> None:
    small.correct(small.segments(1)[0].id, 1)
    small.change_class(1, name="Eurasian wren", scientific_name="Troglodytes troglodytes")
    assert small.bag(1).tags == {1: 1}
    found = small.find_class("troglodytes TROGLODYTES")
    assert found is not None and (found.name, found.n_bags, found.n_segments) == ("Eurasian wren", 1, 1)
    with pytest.raises(BagtagError, match="already a class"):
        small.change_class(2, name="eurasian Wren")


def test_merging_moves_tags_and_labels(small: Project) -> None:
    small.correct(small.segments(1)[0].id, 2)
    small.tag(1, 1, -1)
    small.tag(2, 2, -1)
    small.tag(2, 1, -1)
    small.merge_classes([2, 3], 1)
    assert [one.name for one in small.classes()] == ["Wren"]
    assert small.bag(1).tags == {1: 1}, "present wins"
    assert small.bag(2).tags == {}, "of the owl, nothing was known"
    assert small.segments(1)[0].label == 1
    small.add_class("Robin")
    small.undo()
    small.undo()
    assert [one.name for one in small.classes()] == ["Wren", "Robin", "Owl"]
    assert small.bag(2).tags == {1: -1, 2: -1}
    assert small.segments(1)[0].label == 2


def test_removing_a_class_in_use_asks_first(small: Project) -> None:
    small.correct(small.segments(1)[0].id, 2)
    with pytest.raises(NeedsConfirmation, match="1 bags and the label of 1 segments"):
        small.remove_class(2)
    small.remove_class(2, confirm=True)
    assert small.bag(1).tags == {} and small.segments(1)[0].label is None
    small.undo()
    assert small.bag(1).tags == {2: 1} and small.segments(1)[0].label == 2
    small.remove_class(3)
    assert len(small.classes()) == 2


def test_a_species_list_adds_what_is_new(small: Project, tmp_path: Path) -> None:
    path = tmp_path / "species.csv"
    path.write_text("name;scientific name;shortcut\nwren;;\nLark;Alauda arvensis;l\n", encoding="utf-8-sig")
    result = small.import_classes(path)
    assert len(result.created) == 1
    lark = small.find_class("Alauda arvensis")
    assert lark is not None and lark.shortcut == "l"
    small.undo()
    assert small.find_class("Lark") is None
