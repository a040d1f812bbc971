"""Queue, side panel and counters of the canvas: they work without page runs, and keep their place."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from miml_core.project import Project
from tests.browser.editor import Editor
from tests.browser.projects import sound_project

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def projects(tmp_path_factory):
    folder = tmp_path_factory.mktemp("queue")
    sound_project(folder / "sound", (50, 40, 45)).close()
    sound_project(folder / "small", (4, 3)).close()
    sound_project(folder / "many", (12, 12), classes=tuple(f"Species {k}" for k in range(1, 25))).close()
    make_conflicts(folder / "merged")
    return folder


def make_conflicts(folder: Path) -> None:
    """Make a project into which a copy was merged whose annotator labelled two segments otherwise, and a tag."""
    with sound_project(folder, (3,)) as made:
        mine = Project(made.store, "Ann")
        copy = shutil.copytree(mine.folder, folder / "copy")
        mine.edits.set_label([1, 2], 1)
        mine.edits.tag(1, 4, -1)
        with Project.open(copy, annotator="Bob") as other:
            other.edits.set_label([1, 2], 2)
            other.edits.tag(1, 4)
        mine.edits.merge_copy(mine.edits.preview_merge(copy))


@pytest.fixture(scope="module")
def server(start_server, projects):
    return start_server("tests/browser/canvas_app.py", CANVAS_PROJECTS=str(projects))


def panel(page: Any, text: str) -> None:
    page.locator(".bagtag .side", has_text=re.compile(text)).wait_for()


def test_selecting_accepting_correcting_and_moving_on_run_no_page_script(page, server, projects):
    editor = Editor.open(page, server.url, streamlit=True, order="random")
    checked: dict[int, int | None] = {}
    bags = set()
    for place in range(30):
        state = editor.wait(f"s.index === {place} && s.selected[0] === s.item[1]")
        segment = state["selected"][0]
        bags.add(state["bag"])
        if place % 3 == 1:
            editor.press("5")
            editor.wait(f"s.labels[{segment}] !== null")
            checked[segment] = None
        elif place % 3 == 2:
            editor.press("Enter")
            checked[segment] = None
            continue
        else:
            editor.press("ArrowRight", "ArrowLeft")
        editor.press("n")
    editor.saved()
    panel(page, "This session20 checked")
    panel(page, "Checked20 of 135")
    for place in range(30, 105):
        editor.press("n")
        editor.wait(f"s.index > {place}")
    state = editor.wait("s.total === 135 && s.index === 105")
    assert bags == {1, 2, 3} and len(checked) == 20
    with Project.open(projects / "sound" / "project") as project:
        assert all(project.segments.get(segment).label is not None for segment in checked)
    assert page.get_by_text("page runs: 1", exact=True).count() == 1
    page.get_by_role("button", name="Run again").click()
    page.get_by_text("page runs: 2", exact=True).wait_for()
    assert editor.state["item"] == state["item"]


def test_enter_goes_on_in_the_list_and_ctrl_enter_in_the_bag(page, server, projects):
    editor = Editor.open(page, server.url, order="least_sure", **{"in": "many"})
    items = editor.ask("b => b.queue.items")
    assert len({bag for bag, _ in items[:5]}) == 2, "the list changes bags"
    for place in range(4):
        editor.wait(f"s.index === {place} && s.selected[0] === {items[place][1]}")
        editor.press("Enter")
    editor.wait(f"s.index === 4 && s.selected[0] === {items[4][1]}")
    editor.press("ArrowRight", "Enter")  # a neighbour: the list goes on where it was
    editor.wait(f"s.index === 4 && s.selected[0] === {items[4][1]}")
    editor.press("Control+Enter")
    editor.wait(f"s.labels[{items[4][1]}] !== null && s.selected[0] !== {items[4][1]} && s.index === 4")
    editor.saved()
    with Project.open(projects / "many" / "project") as project:
        assert all(project.segments.get(segment).accepted for _, segment in items[:5])


def test_numbers_follow_what_is_likely_and_an_uncertain_guess_is_no_label(page, server, projects):
    with Project.open(projects / "many" / "project") as project:
        project.review.set_sure_from(0.5)
    editor = Editor.open(page, server.url, bag=2, **{"in": "many"})
    editor.press("ArrowRight")
    (segment,) = editor.wait("s.selected.length === 1")["selected"]
    keys = editor.ask("b => [...b.bag.classes.values()].filter(c => c.keys.length).map(c => [c.keys[0], c.id])")
    guesses = editor.state["guesses"][str(segment)]
    assert {guesses[0][0], guesses[1][0]} - {-2} <= {class_id for _, class_id in keys}
    page.locator(".bagtag .chip.unsure", has_text=re.compile(r"\? uncertain\s*\d+")).wait_for()
    unsure = next(
        int(one)
        for one, found in editor.state["guesses"].items()
        if found[0][1] < 0.5 and editor.state["labels"][one] is None
    )
    editor.ask(f"b => b.selection.select([{unsure}])")
    panel(page, r"Segment \d+\s*\? uncertain")
    page.locator(".bagtag .selection", has_text=re.compile(r"\? .+ \d+ % · .+ \d+ %, uncertain")).wait_for()
    kept = dict(keys)
    later = editor.ask("b => [...b.bag.classes.values()].filter(c => c.keys.length).map(c => [c.keys[0], c.id])")
    assert kept.items() <= dict(later).items(), "numbers keep their classes while the bag is on screen"
    digit, class_id = later[-1]
    editor.press(digit)
    editor.saved()
    with Project.open(projects / "many" / "project") as project:
        assert project.segments.get(unsure).label == class_id


def test_the_place_in_the_list_survives_another_page_and_a_reload(page, server):
    editor = Editor.open(page, server.url, streamlit=True, order="newest", **{"in": "small"})
    items = editor.ask("b => b.queue.items")
    editor.press("n", "n", "n")
    editor.wait("s.index === 3")
    away = page.locator("label", has_text="Away")
    away.click()
    page.locator(".bagtag").wait_for(state="detached")
    away.click()
    editor.wait(f"s.index === 3 && s.selected[0] === {items[3][1]}")
    page.reload()
    editor.wait(f"s.index === 3 && s.selected[0] === {items[3][1]}")
    editor.press("0")
    editor.saved()
    page.reload()
    editor.wait("s.index === 3")
    assert editor.ask("b => b.queue.items") == items, "a checked segment keeps its place in the list"
    page.get_by_role("button", name="Refresh list").click()
    editor.wait("s.index === 0 && s.total === 6")
    assert editor.ask("b => b.queue.items") == [item for item in items if item != items[3]]


@pytest.mark.parametrize("width", [800, 1280])
def test_every_guess_of_the_selected_segment_has_a_key_in_sight(page, server, projects, width):
    page.set_viewport_size({"width": width, "height": 800})
    editor = Editor.open(page, server.url, bag=1, **{"in": "many"})
    editor.press("ArrowRight")
    editor.wait("s.selected.length === 1")
    keys = page.locator(".bagtag .side .guess kbd")
    keys.first.wait_for()
    shown = keys.all_inner_texts()
    assert all(shown), "without a number of its own, a class has that of its place among the guesses"
    place = next(place for place, key in enumerate(shown) if key.startswith("⇧"))
    assert shown[place] == f"⇧{place + 1}"
    bottom = page.locator(".bagtag .segment-panel").bounding_box()
    stage = page.locator(".bagtag .layers").bounding_box()
    assert bottom["y"] + bottom["height"] < 800 and stage["height"] > 200
    (segment,) = editor.state["selected"]
    label, _ = editor.state["guesses"][str(segment)][place]
    editor.press(f"Shift+Digit{place + 1}")
    editor.saved()
    with Project.open(projects / "many" / "project") as project:
        assert project.segments.get(segment).label == label


def test_the_panel_shows_the_segment_its_label_and_who_gave_it(page, server, projects):
    editor = Editor.open(page, server.url, bag=2, **{"in": "small"})
    panel(page, "Click a segment")
    editor.press("ArrowRight")
    panel(page, r"Segment \d.*not checked")
    names = page.locator(".bagtag .side .guess .name").all_inner_texts()
    (segment,) = editor.state["selected"]
    with Project.open(projects / "small" / "project") as project:
        likely = project.segments.get(segment).prediction.probabilities
        known = {one.id: one.name for one in project.classes.list()} | {-2: "background"}
        assert names == [known[one] for one in sorted(likely, key=lambda one: -likely[one])][: len(names)]
        wanted = project.classes.list()[4].name
    editor.press("5")
    panel(page, f"{wanted}, corrected by Ann")
    editor.saved()
    page.reload()
    editor.wait("s.bag === 2")
    editor.click(segment)
    panel(page, f"{wanted}, corrected by Ann")


def test_an_empty_list_is_reported_and_another_list_can_be_chosen(page, server):
    page.goto(f"{server.url}/canvas?in=small&show=untagged&mode=tag")
    page.locator(".bagtag .empty", has_text="Every bag of this list is finished").wait_for()
    editor = Editor.open(page, server.url, mode="tag", **{"in": "small"})
    assert editor.state["bag"] == 1
    assert not page.locator(".bagtag .empty").is_visible()


def test_tagging_counts_finished_bags(page, server, projects):
    with Project.open(projects / "small" / "project") as project:
        project.edits.unfinish(1)
    editor = Editor.open(page, server.url, mode="tag", bag=1, **{"in": "small"})
    panel(page, "1 of 2 bags finished")
    editor.press("Enter")
    editor.wait("s.bag === 2")
    panel(page, "2 of 2 bags finished")
    panel(page, "This session1 finished")


def test_a_bag_that_was_removed_leaves_the_list(page, server, projects):
    sound_project(projects / "removed", (3, 3, 3)).close()
    editor = Editor.open(page, server.url, **{"in": "removed"})
    with Project.open(projects / "removed" / "project") as project:
        project.edits.remove_bags([2], confirm=True)
    editor.press("n")
    editor.wait("s.bag === 3 && s.total === 2")


def test_conflicts_of_two_annotators_show_both_answers_and_are_decided(page, server, projects):
    editor = Editor.open(page, server.url, order="conflicts", **{"in": "merged"})
    editor.wait("s.total === 2 && s.selected[0] === 1")
    panel(page, "The annotators disagree. Ann: Wren · Bob: Robin. Enter keeps Wren.")
    editor.press("Enter")  # keeps the label, and goes on to the other conflict
    editor.wait("s.index === 1 && s.selected[0] === 2")
    editor.press("2")
    editor.wait("s.labels[2] === 2")
    editor.saved()
    with Project.open(projects / "merged" / "project") as project:
        assert [project.segments.get(number).label for number in (1, 2)] == [1, 2]
        assert project.review.count_conflicts() == (1, 0)
    editor = Editor.open(page, server.url, mode="tag", show="tag conflicts", **{"in": "merged"})
    panel(page, "absent .Ann., present .Bob.")
    editor.press("Enter")
    editor.saved()
    with Project.open(projects / "merged" / "project") as project:
        assert project.review.conflicts() == [] and project.bags.get(1).tags[4] == -1
