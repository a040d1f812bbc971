"""The canvas as a test handles it: where things are on screen, what it has drawn, what it has stored."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

ROOT = """[...document.querySelectorAll('[data-testid="stBidiComponentIsolated"]')].map(
  node => node.shadowRoot?.querySelector('.bagtag')).find(Boolean)"""
EDITOR = f"({ROOT})?.widget"
_STATE = """b => b && b.bag && ({
  bag: b.bag.id, segments: b.bag.segments.length, selected: b.selection.ids, tool: b.tools.current, mode: b.mode,
  unsent: b.outbox.unsent.length, stored: b.outbox.stored, state: b.outbox.state, window: b.view.window,
  zoom: b.view.zoom, tags: b.bag.tags, labels: Object.fromEntries(b.bag.segments.map(s => [s.id, s.label])),
  guesses: Object.fromEntries(b.bag.segments.map(s => [s.id, s.guesses])), playing: b.player.playing,
  position: b.player.position, image: b.layers.painted, item: b.item, index: b.queue.index, total: b.queue.total,
  more: b.queue.more})"""


def poll_often(page: Any) -> None:
    """Let editors that the page opens look ten times as often for what others have changed (`bag_sync.js`)."""
    page.add_init_script("""const repeat = setInterval;
      window.setInterval = (act, ms, ...rest) => repeat(act, ms === 2000 ? ms / 10 : ms, ...rest);""")


class Editor:
    """The first canvas of a page."""

    def __init__(self, page: Any) -> None:
        self.page = page

    @classmethod
    def open(cls, page: Any, url: str, *, streamlit: bool = False, **asked: Any) -> Editor:
        """Go to a page with a canvas, of Streamlit or with nothing else, and wait until a bag is drawn."""
        page.goto(f"{url}/{'' if streamlit else 'canvas'}?{urlencode(asked)}")
        editor = cls(page)
        editor.wait("s")
        return editor

    def ask(self, script: str) -> Any:
        """Evaluate a function of the editor."""
        return self.page.evaluate(f"({script})({EDITOR})")

    @property
    def state(self) -> dict[str, Any]:
        return self.ask(_STATE)

    def wait(self, condition: str) -> dict[str, Any]:
        """Wait until a condition on the state `s` holds; return that state."""
        script = f"(() => {{ const s = ({_STATE})({EDITOR}); return s && ({condition}) && s; }})()"
        return self.page.wait_for_function(script).json_value()

    def saved(self) -> dict[str, Any]:
        return self.wait("s.state === 'saved'")

    def digit(self, class_id: int) -> str:
        """The number key of a class in tag mode, once the suggestions are there."""
        self.page.wait_for_function(f"!{EDITOR}.suggestions.waiting")
        return self.ask(f"b => b.bag.classes.get({class_id}).keys.at(-1)")

    def place(self, segment: int) -> tuple[float, float]:
        """The middle of a segment on the page, in pixels."""
        box = self.ask(f"b => b.bag.segments.find(s => s.id === {segment}).shape.box")
        return self._on_page((box["u0"] + box["u1"]) / 2, (box["v0"] + box["v1"]) / 2)

    def pixel(self, x: float, y: float) -> tuple[float, float]:
        """A real place (seconds and hertz, or pixels of the picture) on the page."""
        at = self.ask(f"b => b.view.toPlane({x}, {y})")
        return self._on_page(at["u"], at["v"])

    def real(self, x: float, y: float) -> tuple[float, float]:
        """What is at a place on the page, in seconds and hertz, or pixels of the picture."""
        box = self.ask("b => b.layers.canvases.base.getBoundingClientRect().toJSON()")
        at = self.ask(f"b => b.view.realAt({x - box['x']}, {y - box['y']})")
        return at["x"], at["y"]

    def _on_page(self, u: float, v: float) -> tuple[float, float]:
        at = self.ask(f"b => b.view.pixelAt({u}, {v})")
        box = self.ask("b => b.layers.canvases.base.getBoundingClientRect().toJSON()")
        return box["x"] + at["x"], box["y"] + at["y"]

    def click(self, segment: int, **how: Any) -> None:
        self.page.mouse.click(*self.place(segment), **how)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def drag(self, *points: tuple[float, float]) -> None:
        """Draw through real places."""
        first, *rest = [self.pixel(*point) for point in points]
        self.page.mouse.move(*first)
        self.page.mouse.down()
        for point in rest:
            self.page.mouse.move(*point, steps=6)
        self.page.mouse.up()

    def frames(self) -> None:
        """Wait until what was received is drawn: two frames."""
        self.page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def text(self, selector: str) -> str:
        return self.page.locator(f".bagtag {selector}").first.inner_text()

    def shot(self, path: Any) -> None:
        self.frames()
        self.page.screenshot(path=str(path))
