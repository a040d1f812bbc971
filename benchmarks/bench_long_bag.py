"""A bag of three hours beside a clip of ten seconds: what the canvas fetches to open it, and to jump far into it.

Each is measured in a process of its own, through the app's routes and with empty caches, after another bag was opened
so that imports do not count. "Open" is the bag with its first segments and the tiles of the first view, "again" the
same from the caches; "jump" the segments and tiles around the last segment; "overview" the tile of the whole recording,
which the canvas fetches after the others. Aims: to open and to jump take at most twice the time of opening the clip,
and memory does not grow with the bag.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.peak_memory import peak_megabytes

HOURS = float(os.environ.get("BAGTAG_BENCH_HOURS", "3"))
SEGMENTS = 12_000
RATE = 44_100
PIXELS = 1200
REPEATS = 5


def run() -> None:
    """Print the figures."""
    from tests.browser.projects import long_project

    with tempfile.TemporaryDirectory() as name:
        long_project(Path(name) / "night", HOURS * 3600, SEGMENTS, rate=RATE, clips=(10.0, 5.0)).close()
        folder = Path(name) / "night" / "project"
        runs = [[_in_a_process(folder, bag) for bag in (1, 2)] for _ in range(REPEATS)]
    long, short = (_quickest([run[place] for run in runs]) for place in (0, 1))
    print(f"{HOURS:g} h with {SEGMENTS} segments, beside 10 s with {short['segments']:.0f} at the same density:")
    for what, beside in {"open": "open", "again": "again", "jump": "open", "overview": "open"}.items():
        print(f"  {what:9} {_times(long, what)}; the clip's {beside} {_times(short, beside)}: ", end="")
        print(f"{long[what] / short[beside]:.1f} times the time")
    print(f"  memory    at most {long['memory']:.0f} MB more than before; the clip's {short['memory']:.0f} MB")


def _times(figures: dict[str, float], what: str) -> str:
    return f"{1000 * figures[what]:.0f} ms, {figures[f'{what} bytes'] / 1e6:.2f} MB"


def _quickest(found: list[dict[str, float]]) -> dict[str, float]:
    """Return the least of each figure: other work on the machine only ever adds to a time."""
    return {name: min(one[name] for one in found) for name in found[0]}


def _in_a_process(folder: Path, bag: int) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.bench_long_bag", str(folder), str(bag)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def _measure(folder: Path, bag: int) -> dict[str, float]:
    from starlette.applications import Starlette
    from starlette.testclient import TestClient

    from miml_core.project import Project
    from pages.widgets.app import open_projects
    from pages.widgets.routes import canvas_routes

    project = open_projects.open_once(folder)
    assert isinstance(project, Project)
    last = project.segments.next(bag, step=-1)
    shutil.rmtree(project.cache_folder / "images", ignore_errors=True)
    with TestClient(Starlette(routes=canvas_routes()), base_url="http://localhost:8501") as client:
        canvas = _Canvas(client, f"/bagtag/{open_projects.key_of(folder)}", bag)
        _Canvas(client, canvas.root, 3).open()
        before = _resident()
        figures = {"segments": float(project.bags.get(bag).n_segments)}
        for what, act in {
            "open": canvas.open,
            "again": canvas.open,
            "overview": canvas.overview,
            "jump": lambda: canvas.jump(last),
        }.items():
            canvas.bytes = 0
            began = time.perf_counter()
            act()
            figures |= {what: time.perf_counter() - began, f"{what} bytes": float(canvas.bytes)}
        figures["memory"] = peak_megabytes() - before
    return figures


class _Canvas:
    """Sends the requests that a canvas of `PIXELS` sends."""

    def __init__(self, client: Any, root: str, bag: int) -> None:
        self.client, self.root, self.bag, self.bytes = client, root, bag, 0
        self.known: dict[str, Any] = {}

    def open(self) -> None:
        self.known = self._get(f"bag/{self.bag}").json()
        extent = self.known["extent"]
        first, last = self.known["opening"] or (extent["left"], extent["right"])
        self._tiles(first - extent["left"], last - extent["left"])

    def overview(self) -> None:
        self._tile(self.known["tiles"]["top"], 0)

    def jump(self, segment: int | None) -> None:
        self.known = self._get(f"bag/{self.bag}?segment={segment}&span=15").json()
        sent = next(one for one in self.known["segments"] if one["id"] == segment)
        extent = self.known["extent"]
        middle = sent["rings"][0][0] - extent["left"]
        self._tiles(max(0.0, middle - 15), min(extent["right"] - extent["left"], middle + 15))

    def _tiles(self, first: float, last: float) -> None:
        tiling, extent = self.known["tiles"], self.known["extent"]
        per_second = tiling["width"] / (extent["right"] - extent["left"])
        level = 0
        while (last - first) * per_second / 2 ** (level + 1) >= PIXELS and level < tiling["top"]:
            level += 1
        per_tile = tiling["columns"] << level
        for tile in range(int(first * per_second / per_tile), int((last * per_second - 1e-6) / per_tile) + 1):
            self._tile(level, tile)

    def _tile(self, level: int, tile: int) -> None:
        self._get(f"image/{self.bag}?v={self.known['image']}&level={level}&tile={tile}")

    def _get(self, path: str) -> Any:
        from pages.widgets.routes.auth import TOKEN

        response = self.client.get(f"{self.root}/{path}", headers={"X-Bagtag-Token": TOKEN})
        assert response.status_code == 200, (path, response.text)
        self.bytes += len(response.content)
        return response


def _resident() -> float:
    """Return the memory in use now, in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


if __name__ == "__main__":
    print(json.dumps(_measure(Path(sys.argv[1]), int(sys.argv[2]))))
