"""More like this, and the map, in a real browser: by key from Review and from the wall, by a lasso from the map."""

from __future__ import annotations

import time
from typing import Any

import pytest
from playwright.sync_api import TimeoutError

from miml_core.project import Project
from miml_core.project.similarity import layout
from miml_core.project.similarity.segment_map import make_map
from pages.widgets.app.open_projects import key_of
from pages.widgets.app.recent_projects import remember
from tests.browser.conftest import repeat_until
from tests.browser.editor import Editor
from tests.browser.projects import sound_project
from tests.conftest import PATIENCE

pytestmark = pytest.mark.browser
WALL = "document.querySelector('[data-bagtag=wall]')?.shadowRoot.querySelector('.wall')?.widget"


_POINT = """() => {
  const plot = document.querySelector('.js-plotly-plot');
  const { xaxis, yaxis } = plot._fullLayout;
  const box = plot.querySelector('.nsewdrag').getBoundingClientRect();
  const [trace] = plot._fullData;
  return [trace.customdata[0], box.left + xaxis.d2p(trace.x[0]), box.top + yaxis.d2p(trace.y[0])];
}"""


_KEPT_SIZE = """() => new Promise((resolve) => {
  let last = "", since = performance.now();
  const look = () => {
    const now = JSON.stringify(document.querySelector('.js-plotly-plot .nsewdrag')?.getBoundingClientRect() ?? "");
    if (now !== last || now === '""') [last, since] = [now, performance.now()];
    if (performance.now() - since > 500) resolve();
    else requestAnimationFrame(look);
  };
  look();
})"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two recordings with 32 segments, and their map; one class has a name that looks like code."""
    home = tmp_path_factory.mktemp("similar")
    project = sound_project(home / "garden", (12, 20), classes=("<b>Wren</b>", "Robin"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(layout, "_EARLY", 50)
        patch.setattr(layout, "_LATER", 50)
        make_map(project.store, lambda done, of, message: None)
        patch.setenv("BAGTAG_HOME", str(home))
        remember(project.folder)  # so that the address finds it
    project.close()
    return project.folder


@pytest.fixture(scope="module")
def server(start_server, folder):
    return start_server("app.py", BAGTAG_HOME=str(folder.parent.parent))


def wall_of(page: Any, condition: str) -> dict[str, Any]:
    """Wait for a wall of which a condition holds; return its title and segments."""
    script = f"(() => {{ const w = {WALL}; return w?.list?.ids.length && ({condition}) && "
    return page.wait_for_function(script + "({title: w.title, ids: w.list.ids}); })()").json_value()


def drawn(page: Any) -> None:
    """Wait until the map is drawn and has kept its size for a while: it grows to the height of the window."""
    page.wait_for_function("document.querySelector('.js-plotly-plot')?._fullLayout?.dragmode === 'lasso'")
    page.evaluate(_KEPT_SIZE)


def hover_point(page: Any) -> tuple[int, float, float]:
    """Move the mouse to a point until Plotly names it, which it does not while it draws; a click picks that point."""
    drawn(page)
    until = time.monotonic() + PATIENCE
    while True:
        segment, x, y = page.evaluate(_POINT)
        page.mouse.move(x - 30, y)
        page.mouse.move(x, y, steps=5)
        try:
            page.locator(".hoverlayer .hovertext").wait_for(timeout=2000)
        except TimeoutError:
            assert time.monotonic() < until, "no point is named"
        else:
            return segment, x, y


def test_f_shows_the_segments_most_like_one(page, server, folder):
    with Project.open(folder) as project:
        page.goto(f"{server.url}/review?project={key_of(folder)}")
        editor = Editor(page)
        editor.wait("s.image && s.mode === 'review'")
        editor.press("ArrowRight")
        (segment,) = editor.wait("s.selected.length === 1")["selected"]
        editor.press("f")
        shown = wall_of(page, "w.title.startsWith('Like segment')")
        assert shown["ids"] == [segment, *(each for each, _ in project.similarity.nearest(segment))]
        bag = project.bags.get(project.segments.get(segment).bag_id)
        assert shown["title"] == f"Like segment {project.segments.get(segment).number} of {bag.name}"
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        second = page.evaluate(f"{WALL}.cursor")
        page.keyboard.press("f")
        shown = wall_of(page, f"w.list.ids[0] === {second}")
        assert shown["ids"][1:] == [each for each, _ in project.similarity.nearest(second)]


def test_a_point_of_the_map_opens_in_review_and_a_part_of_it_on_the_wall(page, server, folder, screenshots):
    page.goto(f"{server.url}/map?project={key_of(folder)}")
    segment, x, y = hover_point(page)
    page.mouse.click(x, y)  # one click, although dragging draws a lasso
    page.locator(".bagtag-picked-point").wait_for()
    page.get_by_role("button", name="Open in Review").click()
    assert Editor(page).wait("s.image && s.selected.length === 1")["selected"] == [segment]
    page.goto(f"{server.url}/map?project={key_of(folder)}")
    drawn(page)
    plot = page.locator(".js-plotly-plot .nsewdrag").first
    page.locator(".legendtext").first.wait_for()
    names = page.locator(".legendtext").all_text_contents()  # of SVG
    assert "<b>Wren</b>" in names, "a name is text"

    def draw_around_all():
        box = plot.bounding_box()
        corners = [(0.02, 0.02), (0.98, 0.02), (0.98, 0.98), (0.02, 0.98), (0.02, 0.05)]
        places = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in corners]
        page.mouse.move(*places[0])
        page.mouse.down()
        for place in places[1:]:
            page.mouse.move(*place, steps=5)
        page.mouse.up()

    repeat_until(draw_around_all, page.get_by_text("32 segments selected"))
    page.screenshot(path=str(screenshots / "map-selection.png"))
    page.get_by_role("button", name="Show on the wall").click()
    shown = wall_of(page, "w.title.startsWith('From the map')")
    with Project.open(folder) as project:
        assert sorted(shown["ids"]) == project.similarity.map().segment_ids.tolist()
