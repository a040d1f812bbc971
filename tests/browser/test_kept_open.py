"""What a person has open or is typing stays, whatever happens in the background.

A job begins, goes on and ends, and another program edits the project, while a select box, a popover, a dialog and text
that is not committed yet are on the screen.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any

import pytest

from miml_core.project import Project
from tests.browser.projects import sound_project
from tests.browser.test_pages import LONG_TRAINING, go, open_in

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("open")
    with sound_project(folder / "nasty", (5, 4)) as project:
        project.edits.unfinish(project.bags.ids()[1])  # the Tag page shows bags whose tagging is not finished
    return folder


@pytest.fixture(scope="module")
def server(start_server, home):
    return start_server("app.py", BAGTAG_HOME=str(home / "home"), BAGTAG_ROOTS=str(home))


@pytest.fixture(scope="module")
def page(chromium, server, home) -> Iterator[Any]:
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    tab = context.new_page()
    open_in(tab, server, home)
    yield tab
    context.close()


@pytest.fixture(scope="module")
def project(page, home) -> Iterator[Project]:
    """The project as another program has it open."""
    with Project.open(home / "nasty" / "project", annotator="Bob") as project:
        yield project


def disturb(page: Any, project: Project) -> None:
    """Have a job begin, go on and end, and edit the project, and wait until the page shows each of it."""
    name = f"Species {time.monotonic_ns()}"
    job = project.jobs.start("train", LONG_TRAINING)
    strip = page.locator(f".st-key-job-{job.id}")
    strip.wait_for()
    text = strip.inner_text()
    page.wait_for_function(
        "([selector, text]) => document.querySelector(selector).innerText !== text", arg=[f".st-key-job-{job.id}", text]
    )
    first = project.bags.ids()[0]
    project.edits.tag(first, project.edits.add_class(name).id)
    project.edits.set_note(project.bags.ids()[-1], name)
    project.jobs.cancel(job.id)
    strip.wait_for(state="detached")
    _wait_for_polls(page)


def _wait_for_polls(page: Any) -> None:
    """Wait for more runs than the parts of a page that poll can make before each of them has run."""
    page.evaluate(
        """() => new Promise(resolve => {
          const app = document.querySelector("[data-testid=stApp]");
          let runs = 0;
          const seen = new MutationObserver(() => {
            runs += app.dataset.testScriptState === "running";
            if (runs >= 8) { seen.disconnect(); resolve(); }
          });
          seen.observe(app, {attributes: true, attributeFilter: ["data-test-script-state"]});
        })"""
    )


def combobox(page: Any, label: str) -> Any:
    return page.get_by_role("combobox", name=re.compile(label)).first


SELECT_BOXES = [
    ("Library", "Show"),
    ("Library", "Tagged with"),
    ("Library", "Sort"),
    ("Tag", "Sort"),
    ("Train", "Model"),
    ("Export", "Format"),
    ("Export", "folder"),
]


@pytest.mark.parametrize(("where", "label"), SELECT_BOXES)
def test_a_select_box_stays_open(page, project, where, label):
    go(page, where)
    combobox(page, label).click()
    options = page.get_by_role("option")
    options.first.wait_for()
    page.evaluate("window.held = document.querySelector('[role=option]')")
    disturb(page, project)
    assert page.evaluate("window.held.isConnected"), "the list was closed, or closed and opened again"
    page.keyboard.press("Escape")


TEXTS = [
    ("Library", "Search"),
    ("Train", "Seed"),
    ("Export", "Folder"),
]


@pytest.mark.parametrize(("where", "label"), TEXTS)
def test_text_that_is_being_typed_stays(page, project, where, label):
    go(page, where)
    if where == "Train":
        page.get_by_text("Advanced settings").click()
    box = page.get_by_label(label, exact=True).first
    box.click()
    box.press("End")
    box.press_sequentially("7")
    before = box.input_value()
    page.evaluate("window.held = document.activeElement")
    disturb(page, project)
    assert page.evaluate("window.held === document.activeElement && window.held.isConnected"), "the cursor stays in it"
    assert box.input_value() == before
    box.press("Backspace")


def test_a_note_that_is_being_typed_stays_in_its_popover(page, project):
    go(page, "Library")
    table = page.get_by_test_id("data-grid-canvas").first.bounding_box()
    page.mouse.click(table["x"] + 260, table["y"] + 60)
    page.get_by_role("button", name="Note").click()
    note = page.get_by_role("textbox", name="Note")
    note.press_sequentially("half a sen")
    disturb(page, project)
    assert note.input_value() == "half a sen"
    note.press_sequentially("tence")
    page.get_by_role("button", name="Save", exact=True).click()
    note.wait_for(state="detached")
    assert [bag.note for bag in project.bags.list().bags].count("half a sentence") == 1


POPOVERS = [("Segment", "Spectrogram", "Window (ms)"), ("Segment", "To all unreviewed", "Find segments")]


@pytest.mark.parametrize(("where", "label", "inside"), POPOVERS)
def test_a_popover_stays_open(page, project, where, label, inside):
    go(page, where)
    page.get_by_role("button", name=label).click()
    shown = page.get_by_text(inside, exact=True).first
    shown.wait_for()
    held = shown.element_handle()
    disturb(page, project)
    assert held.evaluate("node => node.isConnected"), "it was closed"
    page.keyboard.press("Escape")


DIALOGS = [
    ("Library", "Classes", "New class"),
    ("Library", "Add recordings", "Folder"),
    ("Tag", "Classes", "New class"),
]


@pytest.mark.parametrize(("where", "button", "label"), DIALOGS)
def test_a_dialog_with_half_typed_text_stays_open(page, project, where, button, label):
    go(page, where)
    page.get_by_role("button", name=button, exact=True).click()
    dialog = page.get_by_role("dialog")
    box = dialog.get_by_label(label, exact=True).first
    box.press("End")
    box.press_sequentially("Half a na")
    typed = box.input_value()
    disturb(page, project)
    assert box.input_value() == typed and typed.endswith("Half a na")
    assert box.evaluate("node => node === document.activeElement"), "the cursor stays in it"
    page.keyboard.press("Escape")
    dialog.wait_for(state="detached")


def test_the_project_menu_with_a_half_typed_name_stays_open(page, project):
    go(page, "Train")
    page.locator(".st-key-project-menu button").first.click()
    box = page.get_by_label("Your name", exact=True)
    box.press("End")
    box.press_sequentially(" Smi")
    typed = box.input_value()
    disturb(page, project)
    assert box.input_value() == typed and typed.endswith(" Smi")
    page.keyboard.press("Escape")


def test_a_page_that_does_not_follow_jobs_offers_to_show_what_they_changed(page, project):
    go(page, "Review")
    offer = page.get_by_role("button", name="Show changes")
    assert offer.count() == 0
    disturb(page, project)
    offer.click()
    offer.wait_for(state="detached")
