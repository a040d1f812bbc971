"""A table of 100 000 labels of 1000 recordings: read, previewed, imported in each way, undone; beside Python's csv."""

from __future__ import annotations

import csv
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import numpy as np

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
    began = time.perf_counter()
    return action(), time.perf_counter() - began
