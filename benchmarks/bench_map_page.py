"""The page of a map of 50 000 segments and 20 classes in a real Chromium, and a bare Plotly chart of as many points.

Both are drawn by WebGL, which Chromium does in software where there is no graphics card. Frames are those of
`requestAnimationFrame` while the mouse zooms, moves the map or draws a lasso; their ratio to the bare chart is what the
page adds. Aims: a ratio of 1.5, 2 MB for the page, a second from the end of a lasso to the number of selected segments.
"""

from __future__ import annotations

import math
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
from playwright.sync_api import sync_playwright

from benchmarks.bench_project import PER_BAG, fill
from miml_core.project import Project
from miml_core.project.db import settings
from miml_core.project.similarity import segment_map
from pages.widgets.app.open_projects import key_of
from pages.widgets.app.recent_projects import remember
from tests.browser.conftest import ROOT, Server
from tests.conftest import FLAGS, found_chromium
from tests.project.conftest import store_run

N_SEGMENTS, N_CLASSES, N_KINDS = 50_000, 20, 25
WEBGL = [*(flag for flag in FLAGS if flag != "--disable-gpu"), "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
PLOT = ".js-plotly-plot .nsewdrag"
_DRAWN = "document.querySelector('.js-plotly-plot')?._fullData && document.querySelector('.js-plotly-plot canvas')"
_START = """() => {
  const frames = [];
  let last = performance.now();
  const note = () => {
    const now = performance.now();
    frames.push(now - last);
    last = now;
    window.frame = requestAnimationFrame(note);
  };
  window.frames_ = frames;
  window.frame = requestAnimationFrame(note);
}"""
_STOP = "() => { cancelAnimationFrame(window.frame); return window.frames_.slice(1); }"


def run() -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        places = _make_project(folder / "project")
        _write_bare_chart(folder / "bare.html", places)
        os.environ["BAGTAG_HOME"] = str(folder / "home")
        remember(folder / "project")  # so that the address finds it
        server = Server(ROOT / "app.py", {}, folder / "server.log").start()
        browser = playwright.chromium.launch(executable_path=found_chromium(), args=WEBGL)
        try:
            bare = _bare_figures(browser, folder / "bare.html")
            _page_figures(browser, server.url, folder / "project", bare)
        finally:
            browser.close()
            server.kill()


def _make_project(folder: Path) -> np.ndarray:
    """Make a project with predictions and a map, as jobs would have left them; return the places of the map."""
    rng = np.random.default_rng(0)
    kinds = rng.integers(N_KINDS, size=N_SEGMENTS)
    places = (rng.uniform(-0.9, 0.9, (N_KINDS, 2))[kinds] + rng.normal(0, 0.05, (N_SEGMENTS, 2))).astype(np.float32)

    def posterior(n: int) -> np.ndarray:
        table = 0.5 * rng.dirichlet(np.full(N_CLASSES + 1, 0.05), n)
        table[np.arange(n), np.minimum(kinds[:n], N_CLASSES)] += 0.5
        return table

    with Project.create(folder, annotator="Ann") as project:
        fill(project, N_SEGMENTS // PER_BAG, N_CLASSES)
        store_run(project, posterior)
        with project.store.read() as connection:
            key = settings.feature_key(connection)
        ids = np.arange(1, N_SEGMENTS + 1)
        made = segment_map.SegmentMap(ids, places, kinds.astype(np.int32), N_SEGMENTS, time.time(), key)
        segment_map.write_map(project.folder, made)
    return places


def _write_bare_chart(path: Path, places: np.ndarray) -> None:
    figure = go.Figure(go.Scattergl(x=places[:, 0], y=places[:, 1], mode="markers", marker={"size": 3}))
    figure.update_layout(width=960, height=640, dragmode="lasso", yaxis={"scaleanchor": "x"})
    figure.write_html(path, config={"scrollZoom": True})


def _bare_figures(browser: Any, path: Path) -> dict[str, float]:
    page = _new_page(browser)
    began = time.perf_counter()
    page.goto(path.as_uri())
    page.wait_for_function(_DRAWN)
    print(f"bare chart: {time.perf_counter() - began:.1f} s to the page", flush=True)
    figures = {"zoom": _frames(page, _zoom)}
    page.evaluate("document.querySelector('[data-val=pan]').click()")
    figures["move"] = _frames(page, _drag)
    page.evaluate("document.querySelector('[data-val=lasso]').click()")
    figures["lasso"] = _frames(page, _lasso)
    page.close()
    return figures


def _page_figures(browser: Any, url: str, folder: Path, bare: dict[str, float]) -> None:
    page = _new_page(browser)
    received: list[int] = []
    page.on("websocket", lambda socket: socket.on("framereceived", lambda frame: received.append(len(frame))))
    page.goto(f"{url}/library?project={key_of(folder)}")
    page.get_by_text("clip_00001.wav").first.wait_for(state="attached")
    received.clear()
    began = time.perf_counter()
    page.goto(f"{url}/map?project={key_of(folder)}")
    page.wait_for_function(_DRAWN)
    shown = time.perf_counter() - began
    print(f"map: {shown:.1f} s to the page, {sum(received) / 1e6:.2f} MB", flush=True)
    figures = {"zoom": _frames(page, _zoom)}
    _choose_tool(page, "Move", "pan")
    figures["move"] = _frames(page, _drag)
    _choose_tool(page, "Lasso", "lasso")
    figures["lasso"] = _frames(page, _lasso)
    began = time.perf_counter()
    page.mouse.up()
    page.get_by_text("selected", exact=False).first.wait_for()
    print(f"  lasso to selection: {time.perf_counter() - began:.2f} s")
    for name, seconds in figures.items():
        print(f"  {name}: {seconds:.0f} ms per frame, bare {bare[name]:.0f}, ratio {seconds / bare[name]:.2f}")
    page.close()


def _choose_tool(page: Any, name: str, mode: str) -> None:
    page.get_by_text(name, exact=True).first.click()
    page.wait_for_function(f"document.querySelector('.js-plotly-plot')?._fullLayout?.dragmode === '{mode}'")


def _new_page(browser: Any) -> Any:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.set_default_timeout(120_000)
    return page


def _frames(page: Any, move: Any) -> float:
    """Return the mean time of the frames, in milliseconds, during a movement of the mouse."""
    box = page.locator(PLOT).first.bounding_box()
    page.evaluate(_START)
    move(page, box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, 0.3 * box["height"])
    return statistics.fmean(page.evaluate(_STOP))


def _zoom(page: Any, x: float, y: float, size: float) -> None:
    page.mouse.move(x, y)
    for step in range(20):
        page.mouse.wheel(0, -60 if step < 10 else 60)
        page.wait_for_timeout(60)


def _drag(page: Any, x: float, y: float, size: float) -> None:
    page.mouse.move(x, y)
    page.mouse.down()
    for step in range(40):
        page.mouse.move(x + 4 * step, y + 2 * step)
        page.wait_for_timeout(16)
    page.mouse.up()


def _lasso(page: Any, x: float, y: float, size: float) -> None:
    """Draw a circle; the mouse button stays pressed."""
    for step in range(60):
        angle = 2 * math.pi * step / 60
        page.mouse.move(x + size * math.cos(angle), y + size * math.sin(angle))
        if step == 0:
            page.mouse.down()
        page.wait_for_timeout(16)
