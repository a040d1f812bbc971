"""The wall in a real browser: screens are accepted, marked and undone; ten thousand segments; listening by hovering."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from miml_core.project import Project
from pages.widgets.app.open_projects import key_of
from pages.widgets.app.recent_projects import remember
from tests.browser.conftest import Server
from tests.browser.projects import long_project, sound_project

pytestmark = pytest.mark.browser
WALL = "document.querySelector('[data-bagtag=wall]')?.shadowRoot.querySelector('.wall')?.widget"
READY = f"""(() => {{ const w = {WALL}; return w && w.list.ids.length > 0 && w.outbox.state === 'saved'
  && w.grid.screen.every(id => w.list.isShown(id)) && [...w.grid.space.children].length > 0; }})()"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("wall")


@pytest.fixture(scope="module")
def server(start_server: Any, home: Path) -> Server:
    return start_server(BAGTAG_HOME=str(home))


@pytest.fixture(scope="module")
def birds(home: Path) -> Project:
    """Two recordings of 180 calls, about 50 of each class."""
    return sound_project(home / "birds", (180, 180))


class Wall:
    """The wall of a page."""

    def __init__(self, page: Any, server: Server, project: Project) -> None:
        self.page = page
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("BAGTAG_HOME", server.env["BAGTAG_HOME"])
            remember(project.folder)  # so that the address finds it
        page.goto(f"{server.url}/wall?project={key_of(project.folder)}")
        self.ready()

    def ready(self) -> None:
        """Wait until everything on screen is drawn and stored."""
        self.page.wait_for_function(READY)

    def ask(self, script: str) -> Any:
        return self.page.evaluate(f"({script})({WALL})")

    def tile(self, segment: int) -> Any:
        return self.page.locator(f"#segment-{segment}")

    @property
    def screen(self) -> list[int]:
        return self.ask("w => w.grid.screen")


def labels(project: Project) -> dict[int, tuple[int, bool]]:
    return {s.id: (s.label, s.accepted) for bag in (1, 2) for s in project.segments.list(bag) if s.label is not None}


def test_a_screen_is_one_edit_by_keys_and_is_undone_by_one_key(page: Any, server: Server, birds: Project) -> None:
    wall = Wall(page, server, birds)
    wren = wall.ask("w => w.query.predicted")
    screen, before = wall.screen, len(birds.edits.history())
    assert len(screen) >= 60
    other = wall.ask("w => [...w.classes.values()].find(c => c.keys.includes('1')).id")
    wall.tile(screen[3]).click()
    page.keyboard.press("1")
    wall.tile(screen[5]).click()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    page.keyboard.press("0")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("x")
    expect(wall.tile(screen[7])).to_have_attribute("aria-selected", "true", timeout=60_000)  # drawn with the next frame
    expect(page.locator(".wall .statusbar")).to_contain_text("1 marked without a class", timeout=60_000)
    page.keyboard.press("Enter")
    wall.ready()
    stored = labels(birds)
    assert stored[screen[3]] == (other, False) and stored[screen[5]] == stored[screen[6]] == (-2, False)
    assert screen[7] not in stored, "nobody has said what it is"
    assert all(stored[one] == (wren, True) for one in screen if one not in (screen[3], *screen[5:8]))
    assert len(birds.edits.history()) == before + 1
    page.keyboard.press("Control+z")
    wall.ready()
    assert labels(birds) == {}
    marks = [[screen[3], other], [screen[5], -2], [screen[6], -2], [screen[7], None]]
    assert sorted(wall.ask("w => w.marks.of(w.marks.ids)")) == sorted(marks)
    wall.ask("w => w.marks.unmark(w.marks.ids)")


def test_marked_tiles_are_dragged_to_a_class_and_wait_under_marked(page: Any, server: Server, birds: Project) -> None:
    wall = Wall(page, server, birds)
    screen = wall.screen
    chip = page.locator(".wall-chips [data-class='-2']")
    wall.tile(screen[0]).drag_to(chip)
    assert wall.ask("w => w.marks.of(w.grid.screen)") == [[screen[0], -2]]
    wall.tile(screen[1]).click()
    page.reload()
    page.get_by_text("Marked 2").click()
    page.wait_for_function(f"{WALL}?.list.ids.length === 2")
    wall.ready()
    page.keyboard.press("Enter")
    wall.ready()
    assert labels(birds)[screen[0]] == (-2, False) and screen[1] not in labels(birds)
    page.keyboard.press("Control+z")
    wall.ready()
    assert labels(birds) == {}


def test_resting_on_a_tile_plays_it_and_the_list_of_classes_filters(page: Any, server: Server, birds: Project) -> None:
    wall = Wall(page, server, birds)
    with page.expect_request("**/sound/*") as asked:
        wall.tile(wall.screen[2]).hover()
    assert "start=" in asked.value.url
    page.locator(".class-button").click()
    page.keyboard.type("rob")
    page.keyboard.press("Enter")
    page.wait_for_function(f"{WALL}?.title === 'Robin'")
    wall.ready()
    assert page.locator(".class-button").inner_text().startswith("Robin")


def test_a_guess_that_is_not_sure_has_a_question_mark(page: Any, server: Server, birds: Project) -> None:
    wall = Wall(page, server, birds)
    wall.ask("w => w.open({ predicted: w.query.predicted, show: 'unsure' })")
    page.wait_for_function(f"({WALL}).query.show === 'unsure'")
    wall.ready()
    segment = wall.screen[0]
    assert birds.segments.get(segment).prediction.probability < birds.review.sure_from()
    expect(wall.tile(segment).locator(".name")).to_have_text("?")
    expect(page.locator(".wall .statusbar .selection")).to_contain_text("best guesses only (“?”)")
    wall.ask("w => w.open({ predicted: w.query.predicted, show: 'open' })")
    page.wait_for_function(f"({WALL}).query.show === 'open'")
    wall.ready()
    expect(wall.tile(wall.screen[0]).locator(".name")).to_be_hidden()


def test_ten_thousand_segments_are_a_few_elements(page: Any, server: Server, home: Path) -> None:
    with long_project(home / "many", 60.0, 13_000) as project:
        project.edits.merge_classes([2, 3, 4, 5, 6], into=1)
        wall = Wall(page, server, project)
        assert wall.ask("w => w.list.ids.length") > 10_000
        count = "w => w.grid.space.childElementCount"
        assert wall.ask(count) < 150
        wall.ask("w => { w.grid.node.scrollTop = w.grid.node.scrollHeight / 2; }")
        wall.ready()
        assert wall.ask(count) < 150 and wall.ask("w => w.list.ids.indexOf(w.grid.screen[0])") > 4_000
        page.keyboard.press("Enter")
        wall.ready()
        assert project.progress().n_reviewed >= 60
