"""A page whose server was restarted is run again, without a click: see `assets/page/page_run.js`."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from miml_core.project import Project
from tests.browser.conftest import wait_until
from tests.browser.editor import Editor
from tests.browser.projects import sound_project
from tests.browser.test_pages import go, open_in, settled

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("restarted")
    sound_project(folder / "nasty", (12, 20)).close()
    return folder


@pytest.fixture(scope="module")
def server(start_server, home):
    return start_server("app.py", BAGTAG_HOME=str(home / "home"), BAGTAG_ROOTS=str(home))


@pytest.fixture
def page(tab, server, home):
    """A tab with the project open."""
    open_in(tab, server, home)
    return tab


def restart(page, server):
    """Start the server again, and wait until the page has run without anybody having touched it."""
    strip = page.locator(".st-key-follow-job-strip [data-follow]")
    settled(page)
    before = strip.get_attribute("data-follow")
    server.kill()
    server.start()
    wait_until(page, lambda: int(strip.get_attribute("data-follow").split()[0]) > int(before.split()[0]))
    settled(page)


def test_parts_that_follow_go_on(page, server, home):
    restart(page, server)
    with Project.open(home / "nasty" / "project", annotator="Ann") as project:
        project.edits.unfinish(project.bags.ids()[0])
    expect(page.locator(".st-key-progress-row")).to_contain_text("1 50 %")


def test_the_editor_saves_and_its_page_can_be_used(page, server, home):
    go(page, "Review")
    editor = Editor(page)
    settled(page)
    server.kill()
    editor.press("n")
    server.start()
    editor.press("ArrowRight", "Enter")
    editor.saved()
    go(page, "Train")
    with Project.open(home / "nasty" / "project") as project:
        before = len(project.jobs.list(limit=100))
        restart(page, server)
        page.get_by_role("button", name="Start training").click()
        wait_until(page, lambda: len(project.jobs.list(limit=100)) == before + 1)
        project.jobs.cancel(project.jobs.list()[0].id)
        wait_until(page, lambda: not project.jobs.list(active=True))
