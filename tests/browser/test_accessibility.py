"""Every page by axe-core, light and dark: nothing serious, first of all text with too little contrast (WCAG AA)."""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe

from pages.widgets.app.open_projects import key_of
from pages.widgets.app.recent_projects import remember
from pages.widgets.frame import PAGES
from tests.browser.projects import sound_project

pytestmark = pytest.mark.browser
RULES = {
    "light": {"type": "tag", "values": ["wcag2a", "wcag2aa"]},
    "dark": {"type": "rule", "values": ["color-contrast"]},  # only the colours are others
}
SERIOUS = ("serious", "critical")
AT_REST = """
*, *::before, *::after { transition: none !important; animation: none !important; }
[data-stale="true"] { opacity: 1 !important; }
"""
"""Colours as they are once they stopped changing: Streamlit blends those of buttons in, and fades what a fragment that
polls (the runs of the Train page) is about to draw again."""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A project with predictions, some of them checked, so that every page has something to show."""
    project = sound_project(tmp_path_factory.mktemp("axe") / "garden", (12, 20))
    segments = [one.id for bag in project.bags.ids() for one in project.segments.list(bag)]
    project.edits.accept(segments[:8])
    project.edits.set_label(segments[8:12], project.classes.list()[0].id)
    project.set_preference("hints", {"on": True, "read": []})
    project.close()
    return project.folder


@pytest.fixture(scope="module")
def server(start_server, project):
    home = str(project.parent)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BAGTAG_HOME", home)
        remember(project)  # so that the address finds it
    return start_server("app.py", BAGTAG_HOME=home, BAGTAG_ROOTS=home)


STYLED = "() => getComputedStyle(document.documentElement).getPropertyValue('--project-menu') !== ''"
"""Whether the app's own styles have arrived, which come with a page."""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_has_serious_violations(page, server, project, scheme):
    page.set_viewport_size({"width": 1280, "height": 900})
    page.emulate_media(color_scheme=scheme)
    page.goto(server.url)
    page.get_by_text("Birds at dawn").first.wait_for()
    found = {"welcome": violations(page, scheme)}
    page.goto(f"{server.url}/?project={key_of(project)}")
    for name, (title, _) in PAGES.items():
        page.get_by_role("link", name=title, exact=True).click()
        page.locator("a[aria-current=page]").filter(has_text=title).wait_for()
        if name in ("segment", "tag", "review", "wall"):
            page.locator(".bagtag .statusbar").first.wait_for()
        found[name] = violations(page, scheme)
    assert {name: each for name, each in found.items() if each} == {}


def violations(page: Any, scheme: str) -> list[str]:
    """Return what axe finds serious, with the elements, once the page has its final state.

    A part that is drawn again at this moment may be shown half faded: what lasts is found the third time as well.
    """
    page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for()
    page.wait_for_function(STYLED)
    page.add_style_tag(content=AT_REST)
    for _ in range(3):
        if not (found := serious(page, scheme)):
            break
    return found


def serious(page: Any, scheme: str) -> list[str]:
    """Return what axe finds serious now."""
    response = Axe().run(page, options={"resultTypes": ["violations"], "runOnly": RULES[scheme]}).response
    return [
        f"{one['id']}: {node['target']} {node['html'][:120]} {[each.get('message') for each in node['any']]}"
        for one in response["violations"]
        if one["impact"] in SERIOUS
        for node in one["nodes"]
    ]


def test_the_navigation_ends_where_the_menu_of_the_project_begins(page, server, project):
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto(f"{server.url}/?project={key_of(project)}")
    menu = page.locator(".st-key-project-menu button")
    name = menu.locator("p")
    name.wait_for()
    page.wait_for_function(STYLED)
    assert name.evaluate("one => one.scrollWidth <= one.clientWidth"), "a short name is shown in full"
    name.evaluate("one => { one.textContent = 'Birds of the northern hardwood forest '.repeat(3) }")
    shown = page.locator("[data-testid=stTopNav] > :not([aria-hidden=true])")
    for width, last in ((1280, "Export"), (1000, "Export"), (800, "2 more")):
        page.set_viewport_size({"width": width, "height": 900})
        shown.filter(has_text=last).wait_for()
        box = menu.bounding_box()
        assert box["x"] + box["width"] <= width
        assert max(shown.evaluate_all("all => all.map(one => one.getBoundingClientRect().right)")) <= box["x"]
    page.get_by_text("2 more").click()
    page.get_by_text("Export", exact=True).last.click()
    page.get_by_role("button", name="Export", exact=True).wait_for()
