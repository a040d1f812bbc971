"""A long recording on the canvas: opened in part, paged, jumped through, labelled and undone far from its beginning."""

from __future__ import annotations

import pytest

from miml_core.project import Project
from tests.browser.editor import ROOT, Editor, poll_often
from tests.browser.projects import long_project

pytestmark = pytest.mark.browser
MINUTES, SEGMENTS = 30, 2400
COMPLETE = f"{ROOT}.widget.backdrop.complete"
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


def settled(editor: Editor, condition: str = "true") -> dict:
    """Wait until the tiles in view are here, what is in view is loaded, and a condition on `l` holds."""
    end = f"Math.min(l.window.u1, {MINUTES * 60})"
    loaded = f"l.range.from <= l.window.u0 + 1e-3 && l.range.to >= {end} - 1e-3"
    found = f"{COMPLETE} && {loaded} && ({condition}) && l"
    script = f"(() => {{ const l = ({LOADED})({ROOT}.widget); return {found}; }})()"
    return editor.page.wait_for_function(script).json_value()


def test_a_long_bag_opens_in_part_and_is_paged_to_its_end(page, server):
    editor = Editor.open(page, server.url, bag=1)
    opened = settled(editor)
    assert opened["window"]["u1"] == pytest.approx(20.0) and opened["strip"]
    assert 0 < opened["visible"] <= opened["n"] < 150 and opened["counts"]["segments"] == SEGMENTS
    assert "2\u202f400 segments" in editor.text(".selection")
    editor.press("PageDown")
    settled(editor, "l.window.u0 > 17 && l.visible > 10")
    editor.press("End")
    settled(editor, f"l.window.u1 > {MINUTES * 60 - 0.1} && l.visible > 10")
    editor.press("Home")
    settled(editor, "l.window.u0 === 0 && l.visible > 10")
    editor.press("Shift+Home")
    whole = settled(editor, f"l.window.u1 > {MINUTES * 60 - 0.1} && l.range.detail === 'none'")
    assert whole["n"] == 0
    page.wait_for_function(f"{ROOT}.querySelector('.selection').textContent.includes('zoom in to see them')")
    box = page.locator(".bagtag .overview canvas").bounding_box()
    for _ in range(20):
        editor.press("+")
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    middle = settled(editor, "l.range.detail === 'outlines'")["window"]
    assert (middle["u0"] + middle["u1"]) / 2 == pytest.approx(MINUTES * 30, abs=5)
    for _ in range(30):
        editor.press("+")
    assert editor.state["window"]["u1"] - editor.state["window"]["u0"] < 0.1


def test_a_far_segment_is_reached_labelled_and_undone(page, server, stored):
    order = sorted(stored.segments.list(1, outlines=False), key=lambda one: one.left)
    editor = Editor.open(page, server.url, bag=1)
    settled(editor)
    editor.press("ArrowLeft")
    nearest = max((one for one in order if one.left <= 20.0), key=lambda one: one.left)
    settled(editor, f"l.selected[0] === {nearest.id}")
    far = order[1700]
    editor.ask(f"b => {{ b.navigation.goToSegment({far.id}); }}")
    settled(editor, f"l.selected[0] === {far.id} && l.window.u0 > {far.left - 20} && l.window.u1 < {far.left + 20}")
    wanted = stored.classes.list()[4]
    editor.press("5")
    assert editor.state["labels"][str(far.id)] == wanted.id, "the label is drawn before the server has responded"
    editor.saved()
    assert stored.segments.get(far.id).label == wanted.id
    assert page.locator(".bagtag .chip", has_text=wanted.name).locator(".percent").inner_text() == "1"
    editor.press("Home")
    settled(editor, "l.window.u0 === 0")
    assert editor.state["selected"] == [far.id], "the selection stays, wherever the view goes"
    editor.press("Control+z")
    editor.wait(f"s.labels[{far.id}] === null")
    editor.saved()
    assert stored.segments.get(far.id).label is None


def test_steps_go_on_beyond_what_is_loaded(page, server, stored):
    found = sorted(stored.segments.list(1, outlines=False), key=lambda one: (one.left, -one.high, one.id))
    order = [one.id for one in found]
    editor = Editor.open(page, server.url, bag=1)
    settled(editor)
    for place in range(120):
        editor.press("ArrowRight")
        editor.wait(f"s.selected[0] === {order[place]}")
    last_loaded = settled(editor)["range"]["to"]
    assert last_loaded > 80
    editor.press("Enter")
    editor.wait(f"s.selected[0] === {order[120]}")
    editor.saved()
    assert stored.segments.get(order[119]).accepted
    editor.press("Shift+Home")
    settled(editor, "l.range.detail === 'none'")
    editor.press("ArrowRight")
    near = "l.range.detail === 'outlines' && l.window.u1 - l.window.u0 < 30"
    settled(editor, f"l.selected[0] === {order[121]} && {near}")


def test_drawing_far_into_a_recording_and_news_of_others(page, server, stored):
    poll_often(page)
    editor = Editor.open(page, server.url, bag=1)
    settled(editor)
    editor.press("End")
    settled(editor, "l.visible > 10")
    end = MINUTES * 60.0
    editor.press("d")
    editor.drag((end - 8.0, 3_000), (end - 6.0, 3_600))
    editor.wait("s.state === 'saved' && typeof s.selected[0] === 'number'")
    drawn = stored.segments.get(editor.state["selected"][0])
    assert (drawn.left, drawn.right) == pytest.approx((end - 8.0, end - 6.0), abs=0.05)
    counted = settled(editor, f"l.counts.segments === {SEGMENTS + 1}")
    assert counted["range"]["detail"] == "outlines"
    other = next(one for one in stored.segments.list(1, outlines=False) if end - 15 < one.left < end - 10)
    stored.edits.set_label(other.id, 2)
    editor.wait(f"s.labels[{other.id}] === 2")
    assert editor.state["selected"] == [drawn.id]
    editor.press("x")
    editor.saved()
    settled(editor, f"l.counts.segments === {SEGMENTS}")
