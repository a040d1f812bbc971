"""The way from one page to another: what was done on the page that is left counts, and nothing brings it back.

Without `assets/page/page_change.js` four of these tests fail.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import soundfile
from playwright.sync_api import expect

from miml_core.project import Project
from tests.browser.conftest import wait_until
from tests.browser.editor import EDITOR, Editor
from tests.browser.projects import sound_project
from tests.browser.test_pages import go, open_in, settled

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page_change")
    with sound_project(folder / "nasty", (12, 20)) as project:
        noise = np.random.default_rng(0).normal(0, 0.01, 44_100)
        soundfile.write(folder / "nasty/untagged.wav", noise, 44_100)
        project.media.add([folder / "nasty/untagged.wav"])
    return folder


@pytest.fixture(scope="module")
def server(start_server, home):
    return start_server("app.py", BAGTAG_HOME=str(home / "home"), BAGTAG_ROOTS=str(home))


@pytest.fixture
def page(tab, server, home):
    """A tab with the project open."""
    open_in(tab, server, home)
    return tab


def link_to(page: Any, name: str) -> Any:
    return page.get_by_role("link", name=name, exact=True)


LATE = """({editor, link, wait}) => new Promise(resolve => {
  const report = () => editor.component.setStateValue("shown", Math.random());
  link.click();
  setTimeout(() => { report(); resolve(); }, wait);
})"""


def test_a_canvas_that_reports_while_its_page_is_left_does_not_bring_the_page_back(page):
    """Between the click on another page and its arrival: Streamlit takes this for a request of the old page."""
    for wait, name in zip((0, 0, 10, 30, 60, 100), ("Segment", "Tag") * 3, strict=True):
        go(page, "Review")
        link = link_to(page, name).element_handle()
        page.evaluate(LATE, {"editor": page.evaluate_handle(EDITOR), "link": link, "wait": wait})
        editor = Editor(page)
        editor.wait(f"s.image && s.mode === '{name.lower()}'")
        settled(page)
        assert page.url.split("?")[0].endswith(name.lower()), f"{name}, {wait} ms"
        assert editor.state["mode"] == name.lower()


def test_keys_pressed_after_a_click_on_another_page_do_nothing_on_the_page_left(page, home):
    with Project.open(home / "nasty" / "project") as project:
        go(page, "Review")
        editor = Editor(page)
        editor.press("ArrowRight")
        (segment,) = editor.wait("s.selected.length === 1")["selected"]
        page.evaluate(
            """link => {
          link.click();
          document.dispatchEvent(new KeyboardEvent("keydown", {key: "x", bubbles: true, cancelable: true}));
        }""",
            link_to(page, "Segment").element_handle(),
        )
        editor.wait("s.image && s.mode === 'segment'")
        editor.saved()
        assert project.segments.get(segment).id == segment, "it was not deleted"
        editor.press("p", "n")


def test_a_click_is_not_lost_when_the_page_is_left_at_once(page, home):
    with Project.open(home / "nasty" / "project") as project:
        before = len(project.jobs.list(limit=100))
        go(page, "Train")
        start = page.get_by_role("button", name="Start training")
        start.evaluate(
            "(button, link) => { button.click(); link.click(); }",
            link_to(page, "Review").element_handle(),
        )
        Editor(page).wait("s.image && s.mode === 'review'")
        wait_until(page, lambda: len(project.jobs.list(limit=100)) == before + 1)
        project.jobs.cancel(project.jobs.list()[0].id)
        wait_until(page, lambda: not project.jobs.list(active=True))


def test_what_was_typed_last_is_kept(page, home):
    page.locator(".st-key-project-menu button").click()
    page.get_by_role("textbox", name="Your name").fill("Anna")
    link_to(page, "Export").click()
    page.locator("a[aria-current=page]").filter(has_text="Export").wait_for()
    wait_until(page, lambda: (home / "home" / "annotator.txt").exists())
    assert (home / "home" / "annotator.txt").read_text() == "Anna"


def test_the_last_link_counts_also_the_one_of_the_page_that_is_left(page):
    go(page, "Train")
    page.evaluate(
        "([first, last]) => { first.click(); last.click(); }",
        [link_to(page, name).element_handle() for name in ("Export", "Import")],
    )
    page.locator("a[aria-current=page]").filter(has_text="Import").wait_for()
    settled(page)
    page.evaluate(
        "([first, last]) => { first.click(); last.click(); }",
        [link_to(page, name).element_handle() for name in ("Export", "Import")],
    )
    expect(page.get_by_test_id("stMain")).not_to_have_attribute("inert", "")
    settled(page)
    assert page.url.split("?")[0].endswith("import_labels")


def test_the_page_can_be_used_again_when_the_other_one_never_comes(page, server):
    go(page, "Train")
    server.kill()
    link_to(page, "Export").evaluate("link => link.click()")  # before Streamlit notices
    main = page.get_by_test_id("stMain")
    expect(main).to_have_attribute("inert", "")
    expect(main).not_to_have_attribute("inert", "")
    server.start()
    go(page, "Export")


def test_back_and_forward_of_the_browser_arrive(page):
    for name in ("Review", "Train"):
        go(page, name)
    page.go_back()
    Editor(page).wait("s.image && s.mode === 'review'")
    expect(page.get_by_test_id("stMain")).not_to_have_attribute("inert", "")
    page.go_forward()
    page.get_by_role("button", name="Start training").wait_for()
    expect(page.get_by_test_id("stMain")).not_to_have_attribute("inert", "")
