"""Every page in a real browser: names that look like code, work that outlives its tab, and a picture of each page."""

from __future__ import annotations

import re
import time
from typing import Any

import numpy as np
import pytest
import soundfile

from miml_core.project import Project
from tests.browser.conftest import repeat_until
from tests.browser.editor import EDITOR, Editor, poll_often
from tests.browser.projects import sound_project
from tests.conftest import PATIENCE

pytestmark = pytest.mark.browser
BUSY = """setTimeout(() => {
  console.log("busy");
  const begin = Date.now();
  const isClicked = () => navigator.scheduling.isInputPending();
  while (Date.now() < begin + 600 || (Date.now() < begin + 10_000 && !isClicked()));
})"""
"""One task that says that it has begun, and lasts until a click waits for its end, and a poll of the page as well."""
LONG_TRAINING = {"model": "gp-probit", "params": {"inference": "gibbs", "n_samples": 2_000_000}}
PAGES = ("Library", "Segment", "Tag", "Train", "Review", "Wall", "Export")
NASTY = ("<script>document.title='owned'</script>", "O\"Neil's \\ **tit**", "שלום עולם", "Grünfink :red[x]", "白鹡鸰")
RAVEN = """Selection\tBegin Time (s)\tEnd Time (s)\tLow Freq (Hz)\tHigh Freq (Hz)\tBegin File\tSpecies
1\t8.5\t9.0\t2000.0\t4000.0\tgarden_1.wav\tTROTRO
2\t0.5\t9.75\t500.0\t1500.0\tGARDEN_2\tWaldkauz
3\t12.5\t13.0\t500.0\t1500.0\tgarden_1.wav\tWaldkauz
4\t2.5\t3.0\t500.0\t1500.0\tnowhere.wav\tWaldkauz
"""
FILE = "<img src=x onerror=\"document.title='owned'\"> & 'dawn' 日出.wav"


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    project = sound_project(folder / "nasty", (12, 20), classes=NASTY)
    soundfile.write(folder / "nasty" / FILE, np.random.default_rng(0).normal(0, 0.01, 44_100), 44_100)
    project.media.add([folder / "nasty" / FILE])
    project.close()
    return folder


@pytest.fixture(scope="module")
def server(start_server, home):
    return start_server("app.py", BAGTAG_HOME=str(home / "home"), BAGTAG_ROOTS=str(home))


def open_in(page: Any, server: Any, home: Any) -> None:
    """Open the project from the start page, by typing its folder."""
    page.goto(server.url)
    known = page.get_by_role("button", name="project", exact=True)
    box = page.get_by_label("Project folder")
    known.or_(box).first.wait_for()
    if known.count():
        known.first.click()
    else:
        box.fill(str(home / "nasty" / "project"))
        box.press("Enter")
        page.get_by_test_id("stBaseButton-secondary").filter(has_text=re.compile("^Open$")).click()
    page.get_by_role("link", name="Review", exact=True).wait_for()


@pytest.fixture
def page(tab, server, home):
    """A tab with the project open."""
    open_in(tab, server, home)
    return tab


def go(page: Any, name: str) -> None:
    """Go to a page by its link, unless it is the current one, and wait until it is drawn."""
    link = page.get_by_role("link", name=name, exact=True)
    if link.get_attribute("aria-current") != "page":
        link.click()
        page.locator("a[aria-current=page]").filter(has_text=name).wait_for()
    if name in ("Segment", "Tag", "Review"):
        Editor(page).wait(f"s.image && s.mode === '{name.lower()}'")
    if name == "Wall":
        page.locator(".tile:not(.waiting)").first.wait_for()
    settled(page)


def choose(page: Any, label: str, option: str) -> None:
    """Take an option of a select box: one click opens it, and it stays open."""
    page.get_by_role("combobox", name=re.compile(label, re.I)).click()
    page.get_by_role("option", name=re.compile(option, re.I)).click()


def settled(page: Any) -> None:
    """Wait until the page's script has run to its end."""
    page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for()


def expand(page: Any, key: str) -> None:
    """Open an expander and wait until it has: while it opens it scrolls, and scrolling closes a select box."""
    page.locator(f".st-key-{key} summary").click()
    page.wait_for_function(
        """key => { const details = document.querySelector(`.st-key-${key} details`);
          return details?.open && details.getAnimations({ subtree: true }).length === 0; }""",
        arg=key,
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_shows_names_as_text_and_has_its_picture_taken(tab, server, home, screenshots, scheme):
    page = tab
    page.set_viewport_size({"width": 1280, "height": 720})
    page.emulate_media(color_scheme=scheme)
    page.goto(server.url)
    page.get_by_role("button", name="Birds at dawn").wait_for()
    page.screenshot(path=str(screenshots / f"page-welcome-{scheme}.png"))
    open_in(page, server, home)
    for name in PAGES:
        go(page, name)
        page.screenshot(path=str(screenshots / f"page-{name.lower()}-{scheme}.png"))
        assert page.get_by_test_id("stException").count() == 0, name
        assert page.locator("img[onerror], .bagtag script").count() == 0, name
        assert page.title() != "owned", name
    go(page, "Tag")
    assert FILE in page.locator(".bagtag").first.inner_text()
    shown = page.locator(".bagtag .chip .name").all_inner_texts()
    assert [name for name in NASTY if name in shown] == list(NASTY)
    go(page, "Train")
    page.get_by_text("Start training").wait_for()


def test_training_goes_on_without_its_tab_and_can_be_stopped_from_another(window, server, home):
    first = window.new_page()
    open_in(first, server, home)
    with Project.open(home / "nasty" / "project") as project:
        before = project.runs.current()
        go(first, "Train")
        choose(first, "Model", "Gaussian process")
        first.get_by_text("Estimates its own uncertainty").wait_for()
        settled(first)
        expand(first, "train-experts")
        choose(first, "inference", "gibbs")
        samples = first.get_by_role("spinbutton", name=re.compile("samples", re.I))
        samples.fill("2000000")
        samples.press("Enter")
        first.get_by_role("button", name="Start training").click()
        _until(lambda: any(job.state == "running" and job.done > 0 for job in project.jobs.list(active=True)))
        first.close()
        (job,) = [job for job in project.jobs.list(active=True) if job.kind == "train"]
        _until(lambda: project.jobs.get(job.id).done > job.done)
        second = window.new_page()
        open_in(second, server, home)
        go(second, "Train")
        second.get_by_role("button", name="Cancel").first.click()
        _until(lambda: project.jobs.get(job.id).state == "cancelled")
        assert project.runs.current().id == before.id, "a cancelled run leaves the model before it in place"
        _stop_and_keep(second, project)
        second.close()


def _stop_and_keep(page: Any, project: Project) -> None:
    """A training that is stopped, not cancelled, is kept."""
    before = project.runs.current()
    project.jobs.start("train", LONG_TRAINING)
    keep = page.get_by_role("button", name="Stop and keep the result")
    keep.wait_for()
    _until(lambda: any(job.state == "running" and job.done > 60 for job in project.jobs.list(active=True)))
    keep.click()
    _until(lambda: not project.jobs.list(active=True))
    kept = project.runs.current()
    assert kept.id > before.id and (kept.state, kept.message) == ("done", "stopped early")


def test_a_click_on_a_busy_page_is_done_once(page, home):
    with Project.open(home / "nasty" / "project") as project:
        go(page, "Library")
        table = page.get_by_test_id("data-grid-canvas").first
        again = page.get_by_role("button", name="Detect segments again")
        repeat_until(lambda: table.click(position={"x": 260, "y": 60}, force=True), again, 30.0)
        for clicks in (1, 2, 3):
            settled(page)
            box = again.bounding_box()
            with page.expect_console_message(lambda message: message.text == "busy"):
                page.evaluate(BUSY)
            page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
            _until(lambda n=clicks: sum(job.kind == "segment" for job in project.jobs.list()) >= n)
            _until(lambda: not project.jobs.list(active=True))
        wait_for_runs(page)
        assert sum(job.kind == "segment" for job in project.jobs.list()) == 3


def wait_for_runs(page: Any) -> None:
    """Wait until the page has run again, after whatever the browser had sent before."""
    go(page, "Export")
    go(page, "Library")


def test_zoom_and_selection_survive_a_job_that_ends(page, home):
    with Project.open(home / "nasty" / "project") as project:
        go(page, "Review")
        editor = Editor(page)
        editor.press("ArrowRight", "+", "+")
        editor.wait("s.zoom.x > 2 && s.selected.length === 1")
        page.evaluate(f"window.was = {EDITOR}")
        seen = editor.state
        job = project.jobs.start("train", LONG_TRAINING)
        strip = page.locator(f".st-key-job-{job.id}")
        strip.wait_for()
        project.jobs.cancel(job.id)
        _until(lambda: not project.jobs.get(job.id).active)
        strip.wait_for(state="detached")
        settled(page)
        now = editor.state
        assert (now["bag"], now["window"], now["selected"]) == (seen["bag"], seen["window"], seen["selected"])
        assert page.evaluate(f"window.was === {EDITOR}"), "it is the same canvas, not a new one"


def test_two_tabs_see_each_others_tags(window, server, home):
    pages, editors = [], []
    for _ in range(2):
        page = window.new_page()  # the tab in front: one in the background draws no frames
        pages.append(page)
        poll_often(page)
        open_in(page, server, home)
        go(page, "Tag")
        page.get_by_test_id("stButtonGroup").get_by_text("All", exact=True).click()
        editors.append(Editor(page))
        editors[-1].wait("s.image && s.total === 3")
        editors[-1].press("p", "p")
        editors[-1].wait("s.index === 0")
    here, there = editors
    bag = here.state["bag"]
    there.wait(f"s.bag === {bag}")
    tagged = here.state["tags"].get("4") == 1
    pages[0].bring_to_front()
    here.press(here.digit(4))
    here.saved()
    pages[1].bring_to_front()
    there.wait(f"(s.tags['4'] === 1) === {'false' if tagged else 'true'}")
    for page in pages:
        page.close()


def _until(condition: Any, seconds: float = PATIENCE) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.1)


def test_a_table_of_raven_is_previewed_imported_under_another_class_and_undone(page, home):
    """From the upload to the undo: files and lines that do not fit are listed, and a class is renamed in the table."""
    page.set_viewport_size({"width": 1800, "height": 900})
    go(page, "Import")
    page.locator("input[type=file]").set_input_files(
        {"name": "dawn.selections.txt", "mimeType": "text/plain", "buffer": RAVEN.encode()}
    )
    page.get_by_text("2 labels cannot be imported").wait_for()
    settled(page)
    shown = page.inner_text("body")
    assert "4 labels read, in 3 files; 2 files found in the project, 2 bags affected." in shown
    assert "2 new classes: TROTRO, Waldkauz" in shown
    table = page.get_by_test_id("stDataFrame").first
    table.scroll_into_view_if_needed()
    cell = page.locator("textarea.gdg-input")

    def open_first_class():
        box = table.bounding_box()
        page.mouse.click(box["x"] + box["width"] - 60, box["y"] + 35 + 17)
        page.keyboard.press("Enter")

    repeat_until(open_first_class, cell)
    cell.fill("Zaunkönig")
    cell.press("Enter")
    page.get_by_text("2 new classes: Waldkauz, Zaunkönig").wait_for()
    settled(page)
    page.get_by_role("button", name="Import 2 segments").click()
    undo = page.get_by_role("button", name="Undo this import")
    undo.wait_for()
    with Project.open(home / "nasty" / "project") as project:
        names = {one.id: one.name for one in project.classes.list()}
        new = [one for bag in project.bags.ids() for one in project.segments.list(bag) if one.origin == "drawn"]
        assert sorted((names[one.label or 0], one.left, one.right, one.low) for one in new) == [
            ("Waldkauz", 0.5, 9.75, 500.0), ("Zaunkönig", 8.5, 9.0, 2000.0)
        ]  # fmt: skip
        undo.click()
        page.get_by_text("Undo this import").wait_for(state="detached")
        assert [one.name for one in project.classes.list()] == list(NASTY)
        assert not [one for bag in project.bags.ids() for one in project.segments.list(bag) if one.origin == "drawn"]
