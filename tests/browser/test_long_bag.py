"""A long recording on the canvas: opened in part, paged, jumped through, labelled and undone far from its beginning."""

from __future__ import annotations

import pytest

from miml_core.project import Project
from tests.browser.board import ROOT, Board
from tests.browser.projects import long_project

pytestmark = pytest.mark.browser
MINUTES, SEGMENTS = 30, 2400
COMPLETE = f"{ROOT}.board.backdrop.complete"
LOADED = """b => ({ n: b.bag.segments.length, range: b.bag.range, window: b.view.window, counts: b.bag.counts,
  selected: b.selection.ids, visible: b.bag.segments.filter(s => s.shape.box.u1 > b.view.window.u0
    && s.shape.box.u0 < b.view.window.u1).length, strip: !b.overview.node.hidden })"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("long")
    long_project(folder / "sound", MINUTES * 60.0, SEGMENTS, rate=8000, clips=(10.0,)).close()
    return folder


@pytest.fixture(scope="module")
def server(start_server, folder):
    return start_server("tests/browser/canvas_app.py", CANVAS_PROJECTS=str(folder))


@pytest.fixture(scope="module")
def stored(folder):
    with Project.open(folder / "sound" / "project") as project:
        yield project


@pytest.fixture
def page(chromium):
    context = chromium.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    yield page
    context.close()
    assert problems == []


def settled(board: Board, condition: str = "true") -> dict:
    """Wait until the tiles in view are here, what is in view is loaded, and a condition on `l` holds."""
    end = f"Math.min(l.window.u1, {MINUTES * 60})"
    loaded = f"l.range.from <= l.window.u0 + 1e-3 && l.range.to >= {end} - 1e-3"
    script = f"(() => {{ const l = ({LOADED})({ROOT}.board); return {COMPLETE} && {loaded} && ({condition}) && l; }})()"
    return board.page.wait_for_function(script, timeout=20_000).json_value()


def test_a_long_bag_opens_in_part_and_is_paged_to_its_end(page, server):
    board = Board.open(page, server.url, bag=1)
    opened = settled(board)
    assert opened["window"]["u1"] == pytest.approx(20.0) and opened["strip"]
    assert 0 < opened["visible"] <= opened["n"] < 150 and opened["counts"]["segments"] == SEGMENTS
    assert "2\u202f400 segments" in board.text(".selection")
    board.press("PageDown")
    settled(board, "l.window.u0 > 17 && l.visible > 10")
    board.press("End")
    settled(board, f"l.window.u1 > {MINUTES * 60 - 0.1} && l.visible > 10")
    board.press("Home")
    settled(board, "l.window.u0 === 0 && l.visible > 10")
    board.press("Shift+Home")
    whole = settled(board, f"l.window.u1 > {MINUTES * 60 - 0.1} && l.range.detail === 'none'")
    assert whole["n"] == 0
    page.wait_for_function(f"{ROOT}.querySelector('.selection').textContent.includes('zoom in to see them')")
    box = page.locator(".bagtag .overview canvas").bounding_box()
    for _ in range(20):
        board.press("+")
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    middle = settled(board, "l.range.detail === 'outlines'")["window"]
    assert (middle["u0"] + middle["u1"]) / 2 == pytest.approx(MINUTES * 30, abs=5)
    for _ in range(30):
        board.press("+")
    assert board.state["window"]["u1"] - board.state["window"]["u0"] < 0.1


def test_a_far_segment_is_reached_labelled_and_undone(page, server, stored):
    order = sorted(stored.segments(1, outlines=False), key=lambda one: one.left)
    board = Board.open(page, server.url, bag=1)
    settled(board)
    board.press("ArrowLeft")
    nearest = max((one for one in order if one.left <= 20.0), key=lambda one: one.left)
    settled(board, f"l.selected[0] === {nearest.id}")
    far = order[1700]
    board.ask(f"b => {{ b.navigation.goToSegment({far.id}); }}")
    settled(board, f"l.selected[0] === {far.id} && l.window.u0 > {far.left - 20} && l.window.u1 < {far.left + 20}")
    wanted = stored.classes()[4]
    board.press("5")
    assert board.state["labels"][str(far.id)] == wanted.id, "the label is drawn before the server has answered"
    board.saved()
    assert stored.segment(far.id).label == wanted.id
    assert page.locator(".bagtag .chip", has_text=wanted.name).locator(".percent").inner_text() != ""
    board.press("Home")
    settled(board, "l.window.u0 === 0")
    assert board.state["selected"] == [far.id], "the selection stays, wherever the view goes"
    board.press("Control+z")
    board.wait(f"s.labels[{far.id}] === null")
    board.saved()
    assert stored.segment(far.id).label is None


def test_steps_go_on_beyond_what_is_loaded(page, server, stored):
    found = sorted(stored.segments(1, outlines=False), key=lambda one: (one.left, -one.high, one.id))
    order = [one.id for one in found]
    board = Board.open(page, server.url, bag=1)
    settled(board)
    for place in range(120):
        board.press("ArrowRight")
        board.wait(f"s.selected[0] === {order[place]}")
    last_loaded = settled(board)["range"]["to"]
    assert last_loaded > 80
    board.press("Enter")
    board.wait(f"s.selected[0] === {order[120]}")
    board.saved()
    assert stored.segment(order[119]).accepted
    board.press("Shift+Home")
    settled(board, "l.range.detail === 'none'")
    board.press("ArrowRight")
    settled(board, f"l.selected[0] === {order[121]} && l.range.detail === 'outlines' && l.window.u1 - l.window.u0 < 30")


def test_drawing_far_into_a_recording_and_news_of_others(page, server, stored):
    board = Board.open(page, server.url, bag=1)
    settled(board)
    board.press("End")
    settled(board, "l.visible > 10")
    end = MINUTES * 60.0
    board.press("d")
    board.drag((end - 8.0, 3_000), (end - 6.0, 3_600))
    board.wait("s.state === 'saved' && typeof s.selected[0] === 'number'")
    drawn = stored.segment(board.state["selected"][0])
    assert (drawn.left, drawn.right) == pytest.approx((end - 8.0, end - 6.0), abs=0.05)
    counted = settled(board, f"l.counts.segments === {SEGMENTS + 1}")
    assert counted["range"]["detail"] == "outlines"
    other = next(one for one in stored.segments(1, outlines=False) if end - 15 < one.left < end - 10)
    stored.correct(other.id, 2)
    board.wait(f"s.labels[{other.id}] === 2", timeout=8)
    assert board.state["selected"] == [drawn.id]
    board.press("x")
    board.saved()
    settled(board, f"l.counts.segments === {SEGMENTS}")
