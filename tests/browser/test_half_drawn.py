"""Runs are complete, whenever the next one is asked for: see `pages/widgets/app/complete_runs.py`."""

import pytest

from tests.browser.stalled_script import LINES
from tests.browser.test_pages import settled

pytestmark = pytest.mark.browser
PAGES = ("Evening", "Morning") * 2


@pytest.fixture(scope="module")
def server(start_server):
    return start_server("tests/browser/stalled_app.py")


@pytest.fixture
def page(tab, server):
    tab.goto(server.url)
    tab.get_by_text(f"Morning line {LINES - 1}", exact=True).wait_for()
    return tab


CLICK_WHILE_DRAWN = """([link, first]) => new Promise(resolve => {
  link.click();
  const look = () => {
    const lines = [...document.querySelectorAll("[data-testid=stText]")];
    if (!lines.some(line => line.textContent === first)) return setTimeout(look, 5);
    document.querySelector(".st-key-click button").click();
    resolve();
  };
  look();
})"""


def test_a_click_in_a_fragment_while_its_page_is_drawn_is_done_and_the_page_completed(page):
    for clicks, name in enumerate(PAGES, start=1):
        link = page.get_by_role("link", name=name, exact=True).element_handle()
        page.evaluate(CLICK_WHILE_DRAWN, [link, f"{name} line 3"])
        page.get_by_text(f"{name} line {LINES - 1}", exact=True).wait_for()
        page.get_by_text(f"{clicks} clicks", exact=True).wait_for()
    settled(page)
    assert page.get_by_text("Morning line").count() == LINES


def test_a_callback_runs_to_its_end_when_a_link_is_clicked_meanwhile(page):
    for times, name in enumerate(PAGES, start=1):
        page.get_by_role("button", name="Wait to be overtaken").click()
        page.get_by_role("link", name=name, exact=True).click()
        page.get_by_text(f"{name} line {LINES - 1}", exact=True).wait_for()
        page.get_by_text(f"{times} overtaken", exact=True).wait_for()
