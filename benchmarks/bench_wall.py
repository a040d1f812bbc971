"""The wall: cut-outs per second, a screen of 77, and accepting 100 000 predictions by a threshold.

Aims: a screen that was never shown before within a second, one from the cache within 100 ms, whatever the length of the
recording; an edit of 100 000 labels, and its undo, within 10 s.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
from sqlalchemy import text

from miml_core.project import Project
from miml_core.project.queries.wall import WallQuery
from tests.browser.projects import long_project, picture_project, sound_project
from tests.project.conftest import add_bags, store_run

SCREEN = 77
Value = TypeVar("Value")


def run() -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _cutouts("clips of 10 s", sound_project(folder / "clips", (60,) * 4))
        _cutouts("one recording of 30 min", long_project(folder / "long", 1800.0, 400))
        _cutouts("pictures of 900 x 600", picture_project(folder / "pictures", n_pictures=12))
        _accept_above(folder / "many")


def _cutouts(what: str, project: Project) -> None:
    ids = [segment.id for bag in project.bags.ids() for segment in project.segments.list(bag)]
    project.segments.cutouts(ids[:2])  # imports, and the header of a file
    mixed = np.random.default_rng(0).permutation(ids[2:])[:SCREEN].tolist()
    fresh, _ = _timed(lambda: project.segments.cutouts(mixed))
    again, _ = _timed(lambda: project.segments.cutouts(mixed))
    facts, _ = _timed(lambda: project.review.wall_items(mixed))
    n = len(mixed)
    print(f"{what}: {n / fresh:5.0f} cut-outs/s, a screen of {n} in {fresh * 1e3:.0f} ms; cached {again * 1e3:.0f} ms")
    print(f"  label, prediction and place of a screen: {facts * 1e3:.0f} ms")
    project.close()


def _accept_above(folder: Path, n_bags: int = 500, n_segments: int = 200) -> None:
    with Project.create(folder, annotator="Ann") as project:
        add_bags(project, n_bags, n_segments)
        for name in ("Wren", "Robin", "Owl"):
            project.edits.add_class(name)
        rng = np.random.default_rng(0)
        store_run(project, lambda n: rng.dirichlet(np.full(4, 0.3), n))
        listed, ids = _timed(lambda: project.review.wall_ids(WallQuery(predicted=1)))
        counted, classes = _timed(project.review.wall_classes)
        print(f"{n_bags * n_segments} segments: list of {len(ids)} in {listed * 1e3:.0f} ms", end="")
        print(f", counts of {len(classes)} classes {counted * 1e3:.0f} ms")
        stored, _ = _timed(lambda: project.edits.accept_above(0.0))
        with project.store.read() as connection:
            size = connection.execute(text("SELECT length(changes) FROM history ORDER BY id DESC LIMIT 1")).scalar_one()
        undone, _ = _timed(project.edits.undo)
        print(f"  accept all by threshold: {stored:.1f} s, history {size / 1e6:.1f} MB; undo {undone:.1f} s")


def _timed(work: Callable[[], Value]) -> tuple[float, Value]:
    began = time.perf_counter()
    value = work()
    return time.perf_counter() - began, value
