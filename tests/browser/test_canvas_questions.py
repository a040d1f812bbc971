"""A question of the server belongs to the bag it was asked for, whichever bag is on screen when it is answered."""

from __future__ import annotations

import pytest

from miml_core.project import Project
from tests.browser.editor import Editor
from tests.browser.projects import sound_project

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("questions")
    sound_project(folder / "sound", (5, 5)).close()
    return folder


@pytest.fixture(scope="module")
def server(start_server, folder):
    return start_server("tests/browser/canvas_app.py", CANVAS_PROJECTS=str(folder))


@pytest.fixture
def stored(folder):
    """The project, both bags tagged Wren, not finished, and the first segment of the second labelled Wren."""
    with Project.open(folder / "sound" / "project") as project:
        wren = project.classes.list()[0].id
        for bag in (1, 2):
            project.edits.nothing_here(bag, confirm=True)
            project.edits.unfinish(bag)
            project.edits.tag(bag, wren, 1)
        project.edits.set_label(project.segments.list(2)[0].id, wren)
        yield project


def is_cleared(project: Project, bag: int) -> bool:
    found = project.bags.get(bag)
    return found.finished and not found.tags and all(each.label is None for each in project.segments.list(bag))


def test_yes_clears_the_bag_of_the_question_and_leaves_the_one_on_screen(page, server, stored):
    page.route("**/news*", lambda route: route.abort())
    editor = Editor.open(page, server.url, bag=1, mode="tag")
    wren = stored.classes.list()[0].id
    stored.edits.set_label(stored.segments.list(1)[0].id, wren)  # in another tab: this one does not know of it
    editor.press("0")
    editor.wait("s.bag === 2")
    page.locator(".bagtag .outbox button", has_text="Yes").wait_for()
    assert "mark as nothing here in garden_1" in editor.text(".outbox")
    editor.press("Enter")  # finishes the bag on screen, and answers nothing
    editor.saved()
    assert stored.bags.get(2).finished and not is_cleared(stored, 1)
    before = editor.state
    page.locator(".bagtag .outbox button", has_text="Yes").click()
    editor.saved()
    assert is_cleared(stored, 1)
    assert stored.bags.get(2).tags == {wren: 1}
    after = editor.state
    assert (after["bag"], after["tags"], after["labels"]) == (2, before["tags"], before["labels"])
    assert editor.ask("b => b.outboxPanel.node.hidden")
    page.route("**/bag/1", lambda route: route.abort())  # what is shown now is the copy of the browser
    editor.press("p")
    assert editor.wait("s.bag === 1")["tags"] == {} and editor.ask("b => b.bag.finished")


def test_a_question_that_can_be_foreseen_keeps_the_bag_and_then_goes_with_the_person(page, server, stored):
    stored.edits.set_label(stored.segments.list(1)[0].id, stored.classes.list()[0].id)
    editor = Editor.open(page, server.url, bag=1, mode="tag")
    editor.press("0")
    page.locator(".bagtag .notice button", has_text="Yes").wait_for()
    assert editor.state["bag"] == 1
    editor.press("n")
    editor.wait("s.bag === 2")
    page.locator(".bagtag .outbox", has_text="mark as nothing here in garden_1").wait_for()
    page.reload()
    editor.wait("s")
    page.locator(".bagtag .outbox button", has_text="No").click()
    editor.saved()
    assert editor.ask("b => b.outboxPanel.node.hidden") and not stored.bags.get(1).finished


def test_the_next_bag_is_opened_after_yes(page, server, stored):
    stored.edits.set_label(stored.segments.list(1)[0].id, stored.classes.list()[0].id)
    editor = Editor.open(page, server.url, bag=1, mode="tag")
    editor.press("0")
    page.locator(".bagtag .notice button", has_text="Yes").wait_for()
    editor.press("Enter")
    editor.wait("s.bag === 2 && s.state === 'saved'")
    assert is_cleared(stored, 1) and not stored.bags.get(2).finished
