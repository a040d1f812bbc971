"""A large project: 20 000 bags, 800 000 segments, a run with predictions; does everything a person does stay quick?

The rows are generated and written in bulk, as jobs would have left them; then the public interface is timed.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from miml_core.bags import BagSet
from miml_core.media.grid import Grid
from miml_core.project import Project
from miml_core.project.db import settings
from miml_core.project.learning import review_index, training_runs
from miml_core.segments.regions import Region

N_BAGS, PER_BAG, N_FEATURES, N_CLASSES = 20_000, 40, 38, 20
INTERACTIVE = 0.3
"""Seconds that feel like at once, on a shared machine."""


def run() -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as folder:
        _figures(Path(folder))


def _figures(folder: Path, n_bags: int = N_BAGS) -> None:
    began = time.perf_counter()
    with Project.create(folder / "large", annotator="Ann") as project:
        fill(project, n_bags)
    size = sum(path.stat().st_size for path in (folder / "large").glob("project.db*")) / 2**20
    print(f"{n_bags} bags, {n_bags * PER_BAG} segments, {size:.0f} MiB, made in {time.perf_counter() - began:.0f} s")
    with Project.open(folder / "large", annotator="Ann") as project:
        _time_loading(project, folder)
        _time_predictions(project)
        _time_acts(project, n_bags)
    _show("open the project", _seconds(lambda: Project.open(folder / "large").close(), 5))


def fill(project: Project, n_bags: int, n_classes: int = N_CLASSES) -> None:
    """Write media, bags, segments, features and tags as jobs would have."""
    rng = np.random.default_rng(0)
    for k in range(n_classes):
        project.edits.add_class(f"Species {k}")
    mask = np.ones((20, 12), dtype=bool)
    mask[:5, :4] = False
    shapes = [Region(20, 24 * k, mask).to_bytes() for k in range(PER_BAG)]
    grid = Grid(1000, 256, 0.0, 10.0, 11025.0, 0.0)
    with project.store.write() as connection:
        key, feature_key = settings.segment_key(connection), settings.feature_key(connection)
        run = connection.exec_driver_sql
        run("INSERT INTO grids (id, grid) VALUES (1, ?)", (json.dumps(grid.to_dict(), sort_keys=True),))
        run(
            "INSERT INTO media (id, path, size, fingerprint, duration, rate, missing)"
            " VALUES (?, ?, 1, ?, 10, 22050, 0)",
            [(b, f"media/site_{b % 97:02d}/clip_{b:05d}.wav", f"{b:032x}") for b in range(1, n_bags + 1)],
        )
        run(
            "INSERT INTO bags (id, media_id, name, start, end, recorded_at, note, finished, rest_unknown, segment_key,"
            " grid_id, revision, tags_at, n_tags, n_segments, n_reviewed)"
            " VALUES (?, ?, ?, 0, 10, ?, '', ?, 0, ?, 1, 1, 0, 0, 0, 0)",
            [
                (b, b, f"clip_{b:05d}.wav", f"2024-05-{1 + b % 28:02d}T05:{b % 60:02d}:00", b % 5 > 0, key)
                for b in range(1, n_bags + 1)
            ],
        )
        run(
            "INSERT INTO segments (id, bag_id, number, grid_id, region, left, right, low, high, origin, alive,"
            " revision) VALUES (?, ?, ?, 1, ?, ?, ?, 9000, 10000, 'automatic', 1, 1)",
            [
                (b * PER_BAG + k + 1, b + 1, k + 1, shapes[k], k * 0.24, k * 0.24 + 0.12)
                for b in range(n_bags)
                for k in range(PER_BAG)
            ],
        )
        run(
            "INSERT INTO tags (bag_id, class_id, value) VALUES (?, ?, 1)",
            [
                (b, int(c) + 1)
                for b in range(1, n_bags + 1)
                if b % 5
                for c in rng.choice(n_classes, size=3, replace=False)
            ],
        )
        run(
            "INSERT INTO features (bag_id, feature_key, n_features, exact, segment_ids, numbers)"
            " VALUES (?, ?, ?, 1, ?, ?)",
            [
                (
                    b + 1,
                    feature_key,
                    N_FEATURES,
                    np.arange(b * PER_BAG + 1, (b + 1) * PER_BAG + 1, dtype="<i8").tobytes(),
                    rng.normal(size=(PER_BAG, N_FEATURES)).astype("<f4").tobytes(),
                )
                for b in range(n_bags)
            ],
        )
        run("UPDATE bags SET n_segments = ?, n_tags = 3 * (finished > 0)", (PER_BAG,))


def _time_loading(project: Project, folder: Path) -> None:
    bags, _ = project.bags.bagset()
    np.savez(folder / "arrays.npz", X=bags.X, offsets=bags.offsets, tags=bags.tags, labels=bags.labels)
    names, classes = bags.names, bags.classes

    def from_arrays() -> BagSet:
        with np.load(folder / "arrays.npz") as arrays:
            return BagSet(arrays["X"], arrays["offsets"], arrays["tags"], classes, arrays["labels"], names)

    del bags
    arrays = _seconds(from_arrays, 5)
    ours = _seconds(project.bags.bagset, 5)
    print(f"load the BagSet                 {ours:8.3f} s")
    print(f"np.load of the same arrays      {arrays:8.3f} s   ratio {ours / arrays:.1f}")


def _time_predictions(project: Project) -> None:
    """Store a run as a training does, in the batches that let others write in between."""
    bags, index = project.bags.bagset()
    rng = np.random.default_rng(1)
    probabilities = rng.dirichlet(np.full(len(index.class_ids) + 1, 0.2), size=bags.n_segments)
    free = probabilities[rng.permutation(bags.n_segments)]
    with project.store.write() as connection:
        run_id = training_runs.begin(
            connection,
            model="ored-lr",
            params="{}",
            seed=0,
            classes=json.dumps(index.class_ids),
            feature_key=index.feature_key,
            annotator="",
            background=True,
        )
    began = time.perf_counter()
    project.runs.write_predictions(run_id, index, probabilities, free, rng.random((bags.n_bags, bags.n_classes)))
    blocks = time.perf_counter() - began
    with project.store.write() as connection:
        training_runs.change(connection, run_id, state="done")
        training_runs.make_current(connection, run_id)
    began = time.perf_counter()
    longest = [0.0, began]

    def note(done: int, of: int, info: object) -> None:
        now = time.perf_counter()
        longest[0], longest[1] = max(longest[0], now - longest[1]), now

    review_index.summarise_all(project.store, progress=note)
    lines = time.perf_counter() - began
    print(f"store predictions               {blocks:8.3f} s")
    print(f"sort the review queues          {lines:8.3f} s   longest wait of another writer {longest[0]:.3f} s")


def _time_acts(project: Project, n_bags: int) -> None:
    segment = project.review.queue("least_sure", limit=1)[0]
    _show("a page of 50 bags", _seconds(lambda: project.bags.list(), 5))
    _show("the last page, by name", _seconds(lambda: project.bags.list(sort="name", offset=n_bags - 50), 5))
    _show("search and filter", _seconds(lambda: project.bags.list(search="clip_019 species", show="finished"), 5))
    _show("bags of a class, most doubtful", _seconds(lambda: project.bags.list(class_id=3, sort="doubt"), 5))
    _show("ids of all bags", _seconds(lambda: project.bags.ids(sort="time"), 5))
    _show("progress of the project", _seconds(project.progress, 5))
    _show("classes with counts", _seconds(project.classes, 5))
    for order in ("least_sure", "contradicts", "newest", "random"):
        _show(f"next to review: {order}", _seconds(lambda order=order: project.review.queue(order), 5))
    _show("next to review: one class", _seconds(lambda: project.review.queue("class", class_id=3), 5))
    _show("segments of a bag", _seconds(lambda: project.segments.list(segment.bag_id), 5))
    labels = iter([1, 2] * 20)
    _show("correct a segment (synced)", _seconds(lambda: project.edits.set_label(segment.segment_id, next(labels)), 10))
    _show("undo (synced)", _seconds(project.edits.undo, 5))
    _show("redo (synced)", _seconds(project.edits.redo, 5))
    _show("tag a bag (synced)", _seconds(lambda: project.edits.tag(segment.bag_id, 5, next(labels) - 1), 10))
    _show("news since a revision", _seconds(lambda: project.news(project.revision - 5), 5))
    _show("history, 100 entries", _seconds(project.edits.history, 5))


def _seconds(act: Callable[[], Any], repeats: int) -> float:
    """Return the median of some tries."""
    taken = []
    for _ in range(repeats):
        began = time.perf_counter()
        act()
        taken.append(time.perf_counter() - began)
    return float(np.median(taken))


def _show(what: str, seconds: float) -> None:
    print(f"{what:<31} {seconds:8.3f} s{'' if seconds <= INTERACTIVE else '   slower than at once'}")


if __name__ == "__main__":
    run()
