"""The canvas in a real Chromium: looking, labelling, drawing, playing, and the routes behind it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from miml_core import BACKGROUND
from miml_core.project import Project
from tests.browser.conftest import wait_until
from tests.browser.editor import EDITOR, ROOT, Editor, poll_often
from tests.browser.projects import bat_project, picture_project, sound_project

pytestmark = pytest.mark.browser
NASTY = ("<script>document.title='owned'</script>", "O\"Neil's \\ 'tit'", "שלום עולם", "Grünfink", "白鹡鸰")
LISTENERS = f"{ROOT}.activeListeners()"


@pytest.fixture(scope="module")
def projects(tmp_path_factory):
    folder = tmp_path_factory.mktemp("canvas")
    sound_project(folder / "sound", (5, 40, 300)).close()
    sound_project(folder / "nasty", (5,), classes=NASTY).close()
    picture_project(folder / "picture").close()
    bat_project(folder / "bats").close()
    return folder


@pytest.fixture(scope="module")
def server(start_server, projects):
    return start_server("tests/browser/canvas_app.py", CANVAS_PROJECTS=str(projects))


@pytest.fixture(scope="module")
def stored(projects):
    """The sound project as it is on disk."""
    with Project.open(projects / "sound" / "project") as project:
        yield project


def label_of(project: Project, segment: int) -> int | None:
    return project.segments.get(segment).label


def test_click_key_and_enter_select_label_and_accept(page, server, stored):
    editor = Editor.open(page, server.url, bag=1)
    first, second = (segment.id for segment in sorted(stored.segments.list(1), key=lambda s: s.left)[:2])
    editor.click(first)
    assert editor.wait(f"s.selected[0] === {first}")["selected"] == [first]
    wanted = stored.classes.list()[4]
    editor.press("5")
    assert editor.state["labels"][str(first)] == wanted.id, "the label is drawn before the server has responded"
    editor.saved()
    assert label_of(stored, first) == wanted.id
    assert stored.bags.get(1).tags[wanted.id] == 1, "a label the bag was not tagged with adds the tag"
    editor.press("Enter")
    editor.wait(f"s.selected[0] === {second}")
    editor.press("Enter")
    editor.wait(f"s.labels[{second}] !== null")
    editor.saved()
    assert stored.segments.get(second).accepted
    editor.press("ArrowLeft", "0")
    editor.saved()
    assert label_of(stored, first) == wanted.id
    editor.wait("s.stored === 3")


def test_find_box_labels_by_typing_without_accents(page, server, projects):
    editor = Editor.open(page, server.url, **{"in": "nasty"})
    editor.press("ArrowRight", "/")
    page.keyboard.type("grun")
    editor.press("Enter")
    state = editor.saved()
    with Project.open(projects / "nasty" / "project") as project:
        assert label_of(project, state["selected"][0]) == project.classes.find("Grünfink").id


def test_names_are_text_whatever_they_hold(page, server):
    editor = Editor.open(page, server.url, **{"in": "nasty"})
    shown = page.locator(".bagtag .chip .name").all_inner_texts()
    assert [name for name in NASTY if name in shown] == list(NASTY)
    assert page.locator(".bagtag script").count() == 0
    editor.press("/")
    assert page.title() == "Canvas"


def test_shapes_are_drawn_merged_split_redrawn_deleted_and_undone(page, server, stored):
    editor = Editor.open(page, server.url, bag=2)
    before = editor.state["segments"]
    editor.press("d")
    editor.drag((1.0, 17_000), (2.0, 19_500))
    (drawn,) = editor.wait(f"s.segments === {before + 1} && typeof s.selected[0] === 'number'")["selected"]
    segment = stored.segments.get(drawn)
    assert (segment.left, segment.right) == pytest.approx((1.0, 2.0), abs=0.03)
    assert (segment.low, segment.high) == pytest.approx((17_000, 19_500), abs=250)
    editor.press("2")
    editor.press("d", "d", "s")
    editor.drag((1.5, 16_500), (1.5, 20_000))
    state = editor.wait(f"s.segments === {before + 2} && s.state === 'saved'")
    halves = [s for s in stored.segments.list(2) if s.low > 16_000]
    assert len(halves) == 2 and {s.label for s in halves} == {stored.classes.list()[1].id}
    editor.click(halves[0].id)
    _shift_click(editor, halves[1].id)
    editor.press("m")
    editor.wait(f"s.segments === {before + 1} && s.state === 'saved' && typeof s.selected[0] === 'number'")
    editor.press("e")
    editor.drag((1.2, 17_500), (1.8, 17_500), (1.8, 18_500), (1.2, 18_500))
    state = editor.saved()
    editor.wait("s.state === 'saved'")
    assert stored.segments.get(state["selected"][0]).right == pytest.approx(1.8, abs=0.05)
    editor.press("x")
    editor.wait(f"s.segments === {before}")
    editor.saved()
    editor.press("Control+z")
    editor.wait(f"s.segments === {before + 1}")
    editor.press("Control+Shift+z")
    editor.wait(f"s.segments === {before}")
    editor.saved()


def _shift_click(editor: Editor, segment: int) -> None:
    editor.page.keyboard.down("Shift")
    editor.click(segment)
    editor.page.keyboard.up("Shift")


def test_label_of_a_segment_drawn_a_moment_ago_finds_it(page, server, stored):
    """Draw and label leave before the server has returned the new segment's id."""
    editor = Editor.open(page, server.url, bag=1)
    before = {s.id for s in stored.segments.list(1)}
    editor.press("d")
    editor.drag((0.3, 18_000), (0.7, 20_000))
    editor.press("3")
    editor.wait("s.state === 'saved' && typeof s.selected[0] === 'number'")
    (new,) = {s.id for s in stored.segments.list(1)} - before
    assert label_of(stored, new) == stored.classes.list()[2].id


def test_wheel_zooms_about_the_pointer_drag_pans_double_click_resets(page, server):
    editor = Editor.open(page, server.url, bag=2)
    x, y = map(round, editor.pixel(4.0, 8_000))  # events of the mouse have whole pixels
    at = editor.real(x, y)
    page.mouse.move(x, y)
    assert float(editor.text(".readout").split()[0]) == pytest.approx(at[0], abs=0.011)
    page.mouse.wheel(0, -800)
    state = editor.wait("s.zoom.x > 2")
    assert state["zoom"]["y"] == pytest.approx(1.0)
    assert editor.pixel(*at) == pytest.approx((x, y), abs=1.5)
    page.mouse.down()
    page.mouse.move(x + 120, y, steps=4)
    page.mouse.up()
    assert editor.pixel(*at)[0] == pytest.approx(x + 120, abs=2)
    page.mouse.dblclick(*editor.pixel(3.95, 20_500))
    editor.wait("s.zoom.x === 1")


def test_zoom_and_selection_survive_reruns_theme_and_news(page, server, stored):
    poll_often(page)
    editor = Editor.open(page, server.url, streamlit=True, bag=3)
    segment = stored.segments.list(3)[10].id
    editor.click(segment)
    editor.press("+", "+")
    seen = editor.wait("s.zoom.x > 2")
    page.get_by_role("button", name="Run again").click()
    page.get_by_text("page runs: 2").wait_for()
    page.emulate_media(color_scheme="dark")
    stored.edits.set_label(stored.segments.list(3)[0].id, BACKGROUND)
    editor.wait(f"s.labels[{stored.segments.list(3)[0].id}] === {BACKGROUND}")
    now = editor.state
    assert (now["window"], now["selected"]) == (seen["window"], seen["selected"])


def test_a_slow_page_does_not_fade_the_canvas(page, server, tmp_path):
    Editor.open(page, server.url, streamlit=True, bag=1, hold=tmp_path / "held")
    (tmp_path / "held").touch()
    page.get_by_role("button", name="Run again").click()
    outer = page.locator("[data-testid=stElementContainer][data-stale=true]", has=page.locator("[data-bagtag=canvas]"))
    outer.wait_for()
    assert outer.evaluate("node => getComputedStyle(node).opacity") == "1"
    (tmp_path / "held").unlink()


def test_keys_leave_text_fields_alone(page, server):
    editor = Editor.open(page, server.url, streamlit=True, bag=1)
    page.get_by_label("Note").fill("")
    page.get_by_label("Note").press_sequentially("nnx5")
    state = editor.state
    assert (state["bag"], state["unsent"], state["selected"]) == (1, 0, [])
    assert page.get_by_label("Note").input_value() == "nnx5"


def test_next_and_previous_go_through_the_queue_and_the_bag_is_reported_to_a_page_that_asks(page, server):
    editor = Editor.open(page, server.url, streamlit=True, bag=1, report="yes")
    editor.press("n")
    editor.wait("s.bag === 2")
    editor.press("n", "n", "n")
    editor.wait("s.bag === 3")
    page.get_by_text("bag 3").wait_for()
    editor.press("p")
    page.get_by_text("bag 2").wait_for()
    page.get_by_role("button", name="Run again").click()
    page.get_by_text(re.compile(r"page runs: [4-9]")).wait_for()
    assert editor.state["bag"] == 2, "page runs that follow do not bring an earlier bag back"


def test_tag_mode_toggles_creates_and_finishes(page, server, stored):
    stored.edits.unfinish(2)
    editor = Editor.open(page, server.url, bag=2, mode="tag")
    had = stored.bags.get(2).tags.get(6)
    editor.press(editor.digit(6))
    editor.saved()
    assert (stored.bags.get(2).tags.get(6) == 1) != (had == 1)
    editor.press("/")
    page.keyboard.type("Nachtigall")
    editor.press("Enter")
    editor.saved()
    new = stored.classes.find("Nachtigall")
    assert stored.bags.get(2).tags[new.id] == 1
    page.locator(".bagtag .chip.tagged", has_text="Nachtigall").wait_for()
    editor.press("Enter")
    editor.wait("s.bag === 3")
    editor.saved()
    assert stored.bags.get(2).finished


def test_removing_a_tag_that_segments_carry_asks_first(page, server, stored):
    wren = stored.classes.list()[0]
    segment = stored.segments.list(2)[0].id
    stored.edits.set_label(segment, wren.id)
    editor = Editor.open(page, server.url, bag=2, mode="tag")
    editor.press(editor.digit(wren.id))
    page.locator(".bagtag .notice button", has_text="Yes").wait_for()
    assert stored.bags.get(2).tags[wren.id] == 1
    page.locator(".bagtag .notice button", has_text="Yes").click()
    editor.saved()
    assert stored.bags.get(2).tags.get(wren.id) != 1 and label_of(stored, segment) is None


def test_leaving_and_coming_back_leaks_no_listeners(page, server):
    editor = Editor.open(page, server.url, streamlit=True, bag=2)
    away = page.locator("label", has_text="Away")
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    first, own = None, []
    for _ in range(4):
        own.append(page.evaluate(LISTENERS))
        away.click()
        page.locator(".bagtag").wait_for(state="detached")
        first = _listeners(session) if first is None else first
        # Some of Streamlit's own are removed a moment later.
        wait_until(page, lambda most=first: _listeners(session) <= most)
        away.click()
        editor.wait("s")
    assert len(set(own)) == 1, own


def _listeners(session) -> int:
    """All listeners of the page."""
    session.send("HeapProfiler.collectGarbage")
    metrics = {m["name"]: m["value"] for m in session.send("Performance.getMetrics")["metrics"]}
    return int(metrics["JSEventListeners"])


def test_fingers_pinch_to_zoom_and_tap_to_select(chromium, server, stored):
    context = chromium.new_context(viewport={"width": 800, "height": 900}, has_touch=True)
    page = context.new_page()
    editor = Editor.open(page, server.url, bag=1)
    segment = stored.segments.list(1)[1].id
    page.touchscreen.tap(*editor.place(segment))
    editor.wait(f"s.selected[0] === {segment}")
    session = context.new_cdp_session(page)
    x, y = editor.pixel(5.0, 10_000)
    for kind, spread in [("touchStart", 40), ("touchMove", 60), ("touchMove", 120)]:
        points = [{"x": x - spread, "y": y, "id": 0}, {"x": x + spread, "y": y, "id": 1}]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    assert editor.state["zoom"]["x"] > 2
    assert editor.pixel(5.0, 10_000)[0] == pytest.approx(x, abs=2)
    context.close()


def test_focus_is_visible_and_the_selection_is_announced(page, server):
    editor = Editor.open(page, server.url, bag=1)
    layers = page.locator(".bagtag .layers")
    layers.focus()
    assert "segments" in layers.get_attribute("aria-label")
    assert layers.evaluate("node => getComputedStyle(node).boxShadow") != "none"
    editor.press("Tab")
    assert "Segment" in page.locator(".bagtag .live").text_content()
    for _ in range(editor.state["segments"]):
        editor.press("Tab")
    assert not layers.evaluate("node => node.matches(':focus')"), "Tab leaves the canvas after the last segment"


def test_a_segment_is_played_with_a_moving_cursor_in_its_band_slowed_and_looped(page, server, stored):
    editor = Editor.open(page, server.url, bag=1)
    segment = stored.segments.list(1)[0]
    editor.click(segment.id)
    editor.press("l")  # played again and again, so that a slow machine does not miss it
    editor.press("Space")
    editor.wait(f"s.playing && s.position > {segment.left + 0.05}")
    editor.press("l")
    editor.wait("!s.playing")
    editor.press("l")
    with page.expect_request("**/sound/**") as request:
        editor.press("Shift+Space")
    low, high = (float(re.search(rf"{end}=(\d+)", request.value.url)[1]) for end in ("low", "high"))
    assert (low, high) == pytest.approx((segment.low, segment.high), abs=120)
    editor.wait("s.playing")
    editor.press("Space")
    assert not editor.state["playing"]
    page.locator(".bagtag .toolbar select").select_option(label="TE 20")
    with page.expect_request("**/sound/**") as request:
        editor.press("Space")
    assert "factor=0.05" in request.value.url
    state = editor.wait(f"s.playing && s.position > {segment.left}")
    assert state["position"] < segment.right
    editor.press("Space")


def test_the_list_of_keys_opens_and_closes(page, server):
    editor = Editor.open(page, server.url, bag=1)
    shown = page.locator(".bagtag .help")
    assert not shown.is_visible()
    editor.press("?")
    text = shown.inner_text()
    assert all(key in text for key in ("Shift+Enter", "Ctrl+Z", "Space", "label with a class", "next bag", "undo"))
    editor.press("?")
    assert not shown.is_visible()


_COLOURS_AT_BOTH_ENDS = """(b) => {
  const { base } = b.layers.canvases;
  const colours = (x) => {
    const { data } = base.getContext("2d").getImageData(x, 0, 40, base.height);
    return new Set(new Uint32Array(data.buffer)).size;
  };
  return [colours(200), colours(base.width - 240)];
}"""


def test_a_view_of_4000_pixels_with_300_segments(page, server, stored):
    page.set_viewport_size({"width": 4000, "height": 1000})
    editor = Editor.open(page, server.url, bag=3, height=700, mode="segment")
    assert editor.ask("b => b.layers.canvases.base.width") > 3800
    page.wait_for_function(f"({_COLOURS_AT_BOTH_ENDS})({EDITOR}).every((colours) => colours > 20)")
    segment = max(stored.segments.list(3), key=lambda one: one.left).id
    editor.click(segment)
    editor.wait(f"s.selected[0] === {segment}")


def test_a_bat_is_expanded_in_time_from_the_start(page, server, projects):
    """A recording at 192 kHz: what plays is ten times slower, so that its 40 kHz are heard as 4."""
    editor = Editor.open(page, server.url, **{"in": "bats"})
    with page.expect_request("**/sound/**") as request:
        editor.press("Space")
    assert "factor=0.1" in request.value.url
    response = page.request.get(request.value.url)
    rate = int.from_bytes(response.body()[24:28], "little")
    assert response.ok and rate == 19_200
    editor.press("Space")
    x, y = editor.pixel(0.5, 40_000)
    page.mouse.move(x, y)
    assert "40.0" in editor.text(".readout")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_screenshots(page, server, projects, screenshots: Path, scheme: str):
    page.set_viewport_size({"width": 1280, "height": 720})
    page.emulate_media(color_scheme=scheme)
    views = {"5": {"bag": 1}, "40": {"bag": 2}, "300": {"bag": 3}, "picture": {"in": "picture"}}
    for name, asked in views.items():
        editor = Editor.open(page, server.url, streamlit=True, height=380, **asked)
        editor.press("ArrowRight")
        state = editor.wait("s.image && s.selected.length === 1")
        with Project.open(projects / asked.get("in", "sound") / "project") as project:
            assert state["bag"] == asked.get("bag", 1)
            assert state["segments"] == len(project.segments.list(state["bag"])) > 0
        page.mouse.move(*editor.place(state["selected"][0]))
        editor.shot(screenshots / f"canvas-{name}-{scheme}.png")
    assert all((screenshots / f"canvas-{name}-{scheme}.png").stat().st_size > 20_000 for name in views)
