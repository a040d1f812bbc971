"""The canvas in a real Chromium: click to highlight, key to label, edit to stored, and bytes per click.

Times run from the browser's own event to the end of the frame that shows the change, or to the server's response that
the edit is on disk. Aims: a highlight within two frames (33 ms), an edit stored within 300 ms.
"""

from __future__ import annotations

import base64
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from tests.browser.conftest import Server
from tests.browser.editor import ROOT, Editor
from tests.browser.projects import sound_project
from tests.conftest import FLAGS, found_chromium

SIZES = (40, 300)
CANVAS_APP = Path(__file__).resolve().parent.parent / "tests" / "browser" / "canvas_app.py"
REPEATS = 30
_QUIET_S = 0.5
"""Longer than the editor puts anything off (`FETCH_AFTER` in counters.js), other than polling for news."""
_WATCH = """b => {
  const watch = { clicks: [], labels: [], stored: [] };
  const shown = (list, from) => requestAnimationFrame(() => setTimeout(() => list.push(performance.now() - from)));
  addEventListener('pointerup', e => shown(watch.clicks, e.timeStamp));
  let pressed = 0;
  const press = e => { pressed = e.timeStamp; shown(watch.labels, pressed); };
  addEventListener('keydown', e => e.key === 'ArrowRight' || press(e), true);
  b.outbox.addEventListener('stored', () => watch.stored.push(performance.now() - pressed));
  b.watch = watch;
}"""


def run() -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        sound_project(folder / "sound", SIZES).close()
        env = {"CANVAS_PROJECTS": str(folder), "BAGTAG_HOME": str(folder / "home")}
        server = Server(CANVAS_APP, env, folder / "server.log").start()
        browser = playwright.chromium.launch(executable_path=found_chromium(), args=FLAGS)
        try:
            for bag, size in enumerate(SIZES, start=1):
                page = browser.new_page(viewport={"width": 1280, "height": 800})
                _figures(Editor.open(page, server.url, streamlit=True, bag=bag), size)
                page.close()
        finally:
            browser.close()
            server.kill()


def _figures(editor: Editor, size: int) -> None:
    page = editor.page
    page.wait_for_function(f"{ROOT}.widget.queue.upcoming().every(([id]) => {ROOT}.widget.api.knownBag(id))")
    traffic = _Traffic(page)
    traffic.wait_until_quiet()
    before = traffic.total
    editor.ask(_WATCH)
    ids = editor.ask("b => b.bag.segments.map(s => s.id)")[:REPEATS]
    for number, segment in enumerate(ids, start=1):
        editor.click(segment)
        _wait_for_shown(page, "clicks", number)
        traffic.wait_until_quiet()
    clicked = (traffic.total - before) / len(ids)
    for place in range(REPEATS):
        editor.press("ArrowRight", "123"[place % 3])
        editor.saved()
        _wait_for_shown(page, "labels", place + 1)
    watch = page.evaluate(f"{ROOT}.widget.watch")
    print(f"{size} segments: click to highlight {_ms(watch['clicks'])}, key to label {_ms(watch['labels'])}, ", end="")
    print(f"edit to stored {_ms(watch['stored'])}, {clicked:.0f} bytes per click")


def _wait_for_shown(page: Any, kind: str, number: int) -> None:
    page.wait_for_function(f"{ROOT}.widget.watch.{kind}.length >= {number}")


def _ms(times: list[float]) -> str:
    ordered = sorted(times)
    return f"{statistics.median(ordered):.0f} ms (90 %: {ordered[int(0.9 * len(ordered))]:.0f})"


class _Traffic:
    """Bytes over the page's socket and requests, polling for news left out."""

    def __init__(self, page: Any) -> None:
        self.total = 0
        self._page = page
        session = page.context.new_cdp_session(page)
        session.send("Network.enable")
        session.on("Network.webSocketFrameSent", self._frame)
        session.on("Network.webSocketFrameReceived", self._frame)
        page.on("requestfinished", self._request)

    def wait_until_quiet(self) -> None:
        """Wait until nothing was sent or received for a while."""
        before, since = self.total, time.monotonic()
        while time.monotonic() - since < _QUIET_S:
            self._page.wait_for_timeout(50)  # events arrive meanwhile
            if self.total != before:
                before, since = self.total, time.monotonic()

    def _frame(self, event: dict[str, Any]) -> None:
        frame = event["response"]
        self.total += len(base64.b64decode(frame["payloadData"])) if frame["opcode"] == 2 else len(frame["payloadData"])

    def _request(self, request: Any) -> None:
        if "/news" not in request.url:
            sizes = request.sizes()
            self.total += sizes["requestBodySize"] + sizes["responseBodySize"]


if __name__ == "__main__":
    run()
