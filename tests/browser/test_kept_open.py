"""What a person has open or is typing stays, whatever happens in the background.

A job begins, goes on and ends, and another program edits the project, while a select box, a popover, a dialog and text
that is not committed yet are on the screen.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from miml_core import installation
from miml_core.archive.bundle import SUFFIX
from miml_core.archive.cluster import is_installed
from miml_core.project import Project
from miml_core.project.jobs import launch
from miml_core.project.jobs import queue as job_queue
from miml_core.project.jobs.context import JobContext
from miml_core.project.services.jobs import JobKind
from pages.widgets.routes.assets import version
from tests.browser.conftest import repeat_until
from tests.browser.editor import EDITOR, Editor
from tests.browser.projects import sound_project
from tests.browser.test_pages import LONG_TRAINING, choose, go, open_in, settled

pytestmark = pytest.mark.browser
needs_dask = pytest.mark.skipif(not is_installed(), reason="needs Dask (make cluster)")


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("open")
    with sound_project(folder / "nasty", (5, 4)) as project:
        project.edits.unfinish(project.bags.ids()[1])  # the Tag page shows bags whose tagging is not finished
        add_model(folder / "archive")
        installation.allow_folder(project.folder, folder / "archive", "archive")
    return folder


def add_model(archive: Path) -> None:
    """Let an archive have one more model: as much of it as the Survey page reads."""
    models = archive / "models"
    models.mkdir(parents=True, exist_ok=True)
    (models / f"{time.monotonic_ns():x}{SUFFIX}").touch()


@pytest.fixture(scope="module")
def server(start_server, home):
    return start_server("app.py", BAGTAG_HOME=str(home / "home"), BAGTAG_ROOTS=str(home))


@pytest.fixture(scope="module")
def page(window, server, home) -> Any:
    tab = window.new_page()
    tab.set_viewport_size({"width": 1280, "height": 900})
    open_in(tab, server, home)
    follow_often(tab)
    return tab


def follow_often(page: Any) -> None:
    """Let the parts of a page ask ten times as often whether they are up to date, until the page is loaded again."""
    address = f"/bagtag/assets/{version()}/follow.js"
    page.evaluate("async address => { (await import(address)).timing.every = 50; }", address)


@pytest.fixture(scope="module")
def project(page, home) -> Iterator[Project]:
    """The project as another program has it open."""
    with Project.open(home / "nasty" / "project", annotator="Bob") as project:
        yield project


@pytest.fixture(autouse=True)
def _at_rest(page: Any) -> Iterator[None]:
    """Leave the page when what a test closed at its end has reached the server: a link may overtake it."""
    yield
    wait_until_current(page)
    settled(page)


@contextmanager
def working(project: Project, kind: JobKind, params: dict[str, Any], ending: str = "cancelled") -> Iterator[JobContext]:
    """A job whose worker is this process, which reports steps and ends when the test wants it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(launch, "start_worker", lambda folder, job_id: os.getpid())
        job = project.jobs.start(kind, params)
    with project.store.write() as connection:
        assert job_queue.begin(connection, job.id, os.getpid())
    try:
        yield JobContext(project.store, job.id)
    finally:
        with project.store.write() as connection:
            job_queue.finish(connection, job.id, ending, ending)  # one that is done covers buttons by a toast


def disturb(page: Any, project: Project) -> None:
    """Have a job begin, go on and end, and edit the project, and wait until the page shows each of it."""
    name = f"Species {time.monotonic_ns()}"
    with working(project, "train", {}) as context:
        strip = page.locator(f".st-key-job-{context.job_id}")
        strip.wait_for()
        context.report(37, 100, "training")
        context.flush()
        strip.get_by_text("37").wait_for()
        project.edits.tag(project.bags.ids()[0], project.edits.add_class(name).id)
        project.edits.set_note(project.bags.ids()[-1], name)
    strip.wait_for(state="detached")
    wait_until_current(page)


CHECKS = """() => Object.fromEntries([...document.querySelectorAll("[data-follow]")].map(one => [
  one.closest("[class*=st-key-follow-]").className, Number(one.dataset.follow.split(" ")[1])]))"""
CHECKED_AGAIN = f"before => Object.entries(({CHECKS})()).every(([name, checks]) => checks > (before[name] ?? 0))"


def wait_until_current(page: Any) -> None:
    """Wait until every part of the page that follows the project was found to be up to date once more."""
    before = page.evaluate(CHECKS)
    assert before, "the strip of jobs is on every page"
    page.wait_for_function(CHECKED_AGAIN, arg=before, polling=20)


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


def test_a_select_box_stays_open_while_a_real_worker_trains_and_is_cancelled(page, project):
    """The other tests stand in for the worker, so that each step is seen; here it is a process of its own."""
    go(page, "Train")
    combobox(page, "Model").click()
    page.get_by_role("option").first.wait_for()
    page.evaluate("window.held = document.querySelector('[role=option]')")
    job = project.jobs.start("train", LONG_TRAINING)
    strip = page.locator(f".st-key-job-{job.id}")
    strip.wait_for()
    strip.get_by_text(re.compile(r"[1-9]\d* of \d+")).wait_for()
    project.jobs.cancel(job.id)
    strip.wait_for(state="detached")
    wait_until_current(page)
    assert project.jobs.get(job.id).state == "cancelled"
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
    table = page.get_by_test_id("data-grid-canvas").first
    note_button = page.get_by_role("button", name="Note")
    repeat_until(lambda: table.click(position={"x": 260, "y": 60}, force=True), note_button, 30.0)
    note_button.click()
    note = page.get_by_role("textbox", name="Note")
    note.press_sequentially("half a sen")
    disturb(page, project)
    assert note.input_value() == "half a sen"
    note.press_sequentially("tence")
    page.get_by_role("button", name="Save", exact=True).click()
    note.wait_for(state="detached")
    assert [bag.note for bag in project.bags.list().bags].count("half a sentence") == 1


def test_a_note_that_is_being_typed_stays_when_no_bag_matches_the_filter_any_more(page, project):
    """Another annotator finishes the only bag in the list; the note of a bag that left the list can be saved."""
    bag_id = project.bags.ids()[1]
    go(page, "Library")
    choose(page, "Show", "Tagging unfinished")
    page.get_by_text("1 bag", exact=True).wait_for()
    table = page.get_by_test_id("data-grid-canvas").first
    note_button = page.get_by_role("button", name="Note")
    repeat_until(lambda: table.click(position={"x": 260, "y": 60}, force=True), note_button, 30.0)
    note_button.click()
    note = page.get_by_role("textbox", name="Note")
    note.fill("")
    note.press_sequentially("half a wo")
    page.evaluate("window.held = document.activeElement")
    project.edits.finish(bag_id)
    page.get_by_text("No bag matches this search").wait_for()
    wait_until_current(page)
    assert page.evaluate("window.held === document.activeElement && window.held.isConnected"), "the cursor stays in it"
    note.press_sequentially("rd")
    page.get_by_role("button", name="Save", exact=True).click()
    note.wait_for(state="detached")
    assert project.bags.get(bag_id).note == "half a word"
    project.edits.unfinish(bag_id)
    choose(page, "Show", "All")


def draw_a_sample(page: Any, project: Project, archive: Path) -> None:
    """Have a sample be drawn in another tab, fail, and the archive get one more model, and wait for each of it."""
    draw = page.locator(".st-key-survey-draw button")
    with working(project, "sample", {"archive": str(archive), "per_class": 3}, ending="failed") as context:
        context.report(37, 100, f"reading {context.job_id}")
        context.flush()
        page.get_by_test_id("stMainBlockContainer").get_by_text(f"reading {context.job_id}").wait_for()
        expect(draw).to_be_disabled()
    page.get_by_test_id("stAlert").get_by_text("failed", exact=True).wait_for()
    expect(draw).to_be_enabled()
    add_model(archive)
    wait_until_current(page)


@needs_dask
def test_a_name_in_the_form_of_a_sample_stays_while_one_is_drawn(page, project, home):
    go(page, "Survey")
    page.get_by_text("A new project", exact=True).click()
    box = page.get_by_label("Name of the project's folder")
    box.fill("check")
    box.press("Enter")
    box.press("End")
    box.press_sequentially("-half")
    page.evaluate("window.held = document.activeElement")
    draw_a_sample(page, project, home / "archive")
    assert page.evaluate("window.held === document.activeElement && window.held.isConnected"), "the cursor stays in it"
    assert box.input_value() == "check-half"


@needs_dask
def test_a_select_box_in_the_form_of_a_sample_stays_open_while_one_is_drawn(page, project, home):
    go(page, "Survey")
    combobox(page, "Archive").click()
    page.get_by_role("option").first.wait_for()
    page.evaluate("window.held = document.querySelector('[role=option]')")
    draw_a_sample(page, project, home / "archive")
    assert page.evaluate("window.held.isConnected"), "the list was closed, or closed and opened again"
    page.keyboard.press("Escape")


_STEP_AND_CLICK = """async ([name, bag, step]) => {
  const shown = () => %s.bag.id;
  %s.goBy(step);
  while (shown() === bag) await new Promise((resolve) => setTimeout(resolve, 1));
  document.querySelector(`.st-key-${name} button`).click();
}""".replace("%s", EDITOR)


def test_a_click_made_right_after_a_step_to_another_bag_does_not_act_on_the_one_before(page, project):
    """The editor reports the bag on screen only when the person stays at it, but always before a click."""
    go(page, "Segment")
    state = Editor(page).wait("s.image && s.total > 1")
    bag, step = state["bag"], 1 if state["index"] + 1 < state["total"] else -1
    n_jobs = len(project.jobs.list(limit=100))
    page.get_by_role("button", name="To this bag").click()
    named = page.get_by_text(f"Segments of {project.bags.get(bag).name} are detected again.", exact=True)
    named.wait_for()
    settled(page)
    page.evaluate(_STEP_AND_CLICK, [f"apply-this-{bag}", bag, step])
    refused = page.get_by_test_id("stToast").filter(has_text="Another bag is on screen now")
    refused.get_by_role("button", name="Close").click()  # it would cover buttons of the next page for ten seconds
    named.wait_for(state="detached")
    settled(page)
    assert len(project.jobs.list(limit=100)) == n_jobs and Editor(page).state["bag"] != bag
    Editor(page).ask(f"b => b.goBy({-step})")


POPOVERS = [("Segment", "Spectrogram", "Window (ms)"), ("Segment", "To all unreviewed", "Detect segments")]


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
