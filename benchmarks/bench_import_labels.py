"""100 000 labels of 1000 recordings: written and read in every format, previewed, imported in each way, undone.

Seconds of processor time, beside those that Python's csv needs for the table.
"""

from __future__ import annotations

import csv
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import numpy as np

from miml_core.exchange import FORMATS, SegmentRow
from miml_core.exchange.reading import read_labels
from miml_core.project import Project
from miml_core.project.edits.label_plan import ImportOptions, Way
from tests.project.conftest import add_bags

N_BAGS, N_CLASSES = 1000, 30


def run(labels: int = 100_000) -> None:
    with tempfile.TemporaryDirectory() as folder, Project.create(Path(folder) / "project") as project:
        add_bags(project, N_BAGS, 2)
        path = _write_table(Path(folder) / "labels.csv", labels)
        rows, bare = _timed(lambda: list(csv.reader(path.open(newline=""))))
        print(f"{len(rows) - 1} labels of {N_BAGS} recordings; Python's csv alone takes {bare:.2f} s")
        table, seconds = _timed(lambda: read_labels([path]))
        print(f"read      {seconds:6.2f} s  {seconds / bare:.0f} x csv")
        for way in get_args(Way):
            shown, seconds = _timed(lambda way=way: project.edits.preview_labels(table, ImportOptions(way=way)))
            print(f"{way}: preview {seconds:6.2f} s", end="")
            for name, action in (("import", lambda shown=shown: project.edits.import_labels(shown)),
                                 ("undo", project.edits.undo)):  # fmt: skip
                _, seconds = _timed(action)
                print(f", {name} {seconds:6.2f} s", end="")
            print(flush=True)
    _time_formats(labels, bare)


def _time_formats(n: int, bare: float) -> None:
    """Write and read as many segments in every format; cut-outs are measured by their table only."""
    for name, format in FORMATS.items():
        if format.also_writes:
            continue
        for kind in format.kinds:
            rows = list(_rows(kind, n))
            (file, content), written = _timed(lambda format=format, rows=rows: format.write_bytes(rows))
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / file
                path.write_bytes(content)
                back, read = _timed(lambda format=format, path=path: format.read(path))
            assert len(back) == n
            megabytes = len(content) / 1e6
            print(f"{name:<15} {kind:<8} write {written:6.2f} s ({written / bare:.0f} x csv), read {read:6.2f} s "
                  f"({read / bare:.0f} x), {megabytes:.0f} MB", flush=True)  # fmt: skip


def _rows(kind: str, n: int) -> Iterator[SegmentRow]:
    """Yield confirmed segments in turn of each of `N_BAGS` files; pictures of 1000 x 800 pixels with boxes."""
    for k in range(n):
        word = {"label": f"Species {k % N_CLASSES}", "status": "confirmed", "said_by": "person", "who": "Ann"}
        start, left, top = k // N_BAGS * 0.6, float(k // N_BAGS % 30 * 30), float(k // N_BAGS // 30 % 30 * 25)
        if kind == "sound":
            yield SegmentRow(f"clip {k % N_BAGS}.wav", segment=k, start_s=start, end_s=start + 0.5, low_hz=500.0,
                             high_hz=1400.0, duration_s=600.0, rate=48_000, channels=1, **word)  # fmt: skip
        else:
            box = (left, top, left + 20.0, top + 15.0)
            ring = ((box[0], box[1]), (box[2], box[1]), (box[2], box[3]), (box[0], box[3]))
            yield SegmentRow(f"pond {k % N_BAGS}.png", kind="picture", segment=k, box=box, outline=(ring,), width=1000,
                             height=800, **word)  # fmt: skip


def _write_table(path: Path, n: int) -> Path:
    rng = np.random.default_rng(0)
    start, low = rng.uniform(0, 9, n), rng.uniform(0, 6000, n)
    lines = ["file,start_s,end_s,low_hz,high_hz,label,confidence"]
    lines += [
        f"clip {k % N_BAGS},{s:.6f},{s + 0.5:.6f},{f:.1f},{f + 900:.1f},Species {k % N_CLASSES},0.7"
        for k, (s, f) in enumerate(zip(start, low))
    ]
    path.write_text("\n".join(lines))
    return path


def _timed(action: Callable[..., Any]) -> tuple[Any, float]:
    began = time.process_time()
    return action(), time.process_time() - began
