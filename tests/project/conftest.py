"""Small projects for tests, written as rows, without decoding sound."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from miml_core.instances import Instances
from miml_core.media.grid import Grid
from miml_core.project import Project
from miml_core.project.media import files as media_files
from miml_core.project.packing.pack import pack
from miml_core.segments.regions import Region
from tests.project.copies import N_BAGS, N_SEGMENTS, SHARED
from tests.project.foreign import add_job
from tests.project.job_stages import Forked, forked_workers, make_stages

N_FEATURES = 4


def grid_of(bag_start: float = 0.0) -> Grid:
    """Return a grid of 10 s by 8 kHz on 100 x 80 pixels: a pixel is 0.1 s by 100 Hz."""
    return Grid(100, 80, bag_start, bag_start + 10.0, 8000.0, 0.0)


def boxes(*corners: tuple[int, int, int, int], seed: int = 0) -> Instances:
    """Return rectangular segments (top, left, bottom, right) with random features."""
    regions = [Region(t, left, np.ones((b - t, r - left), dtype=bool)) for t, left, b, r in corners]
    X = np.random.default_rng(seed).normal(size=(len(regions), N_FEATURES))
    return Instances(grid_of(), regions, X, [f"f{k}" for k in range(N_FEATURES)])


def row_of_boxes(n: int, seed: int = 0) -> Instances:
    """Return `n` equal boxes side by side."""
    return boxes(*[(10, 10 * k, 30, 10 * k + 8) for k in range(n)], seed=seed)


def ring(left: float, right: float, low: float, high: float) -> list[tuple[float, float]]:
    """Return the outline of a box in real units."""
    return [(left, low), (right, low), (right, high), (left, high)]


def add_bags(project: Project, n: int, n_segments: int = 5) -> list[int]:
    """Add bags with segments, whose files are a few bytes; return their ids."""
    made = []
    for k in range(n):
        path = project.folder / "media" / f"clip {k}.wav"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(f"sound {k}".encode())
        size, mark = media_files.fingerprint(path)
        medium = {
            "path": media_files.stored_path(project.folder, path),
            "size": size,
            "fingerprint": mark,
            "missing": False,
            "duration": 10.0,
            "rate": 16000,
        }
        bag = {"name": path.name, "start": 0.0, "end": 10.0, "recorded_at": f"2024-05-{1 + k % 28:02d}T05:00:00"}
        with project.store.write() as connection:
            made += media_files.store_file(connection, media_files.FileFacts(medium, [bag]))
    for k, bag_id in enumerate(made):
        project.segments.store(bag_id, row_of_boxes(n_segments, seed=k))
    return made


@pytest.fixture(scope="session")
def ready_made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of closed projects, of which tests get copies: making one takes longer than most tests."""
    home = tmp_path_factory.mktemp("ready-made")
    Project.create(home / "empty" / "project", annotator="Ann").close()
    with open_copy(home / "empty" / "project", home / "small" / "project") as small:
        add_bags(small, 2)
        for name in ("Wren", "Robin", "Owl"):
            small.edits.add_class(name)
    with open_copy(home / "small" / "project", home / "predicted" / "project") as predicted:
        store_run(predicted, lambda n: np.tile([0.6, 0.3, 0.0, 0.1], (n, 1)))
    return home


def open_copy(source: Path, folder: Path) -> Project:
    """Open a copy of a closed project as if it had just been created: the first edit makes no backup."""
    project = Project.open(shutil.copytree(source, folder), annotator="Ann")
    project.store._daily.postpone()
    return project


@pytest.fixture
def project(ready_made: Path, tmp_path: Path) -> Iterator[Project]:
    """Yield an empty project, annotator Ann."""
    with open_copy(ready_made / "empty" / "project", tmp_path / "project") as project:
        yield project


@pytest.fixture
def small(ready_made: Path, tmp_path: Path) -> Iterator[Project]:
    """Yield a project with two bags of five segments; classes Wren (1), Robin (2) and Owl (3)."""
    with open_copy(ready_made / "small" / "project", tmp_path / "project") as project:
        yield project


@pytest.fixture
def predicted(ready_made: Path, tmp_path: Path) -> Iterator[Project]:
    """Yield `small` with a run that predicts Wren (.6), Robin (.3), background (.1) for all segments of bag 1."""
    with open_copy(ready_made / "predicted" / "project", tmp_path / "project") as project:
        yield project


@pytest.fixture
def forked() -> Iterator[Forked]:
    """Workers that are forked, and can be held at a step."""
    with forked_workers() as workers:
        yield workers


@pytest.fixture(scope="session")
def stages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a copy of a project as it is before each kind of job, named after the kind."""
    home = tmp_path_factory.mktemp("stages")
    with forked_workers():
        make_stages(home)
    return home


def store_run(
    project: Project,
    posterior: Callable[[int], np.ndarray],
    free: Callable[[int], np.ndarray] | None = None,
    *,
    informative: Callable[[int], np.ndarray] | None = None,
    keys: list[np.ndarray] | None = None,
) -> int:
    """Store a finished run over all classes with given probabilities (C + background columns); return its id."""
    import json

    from miml_core.project.learning import review_index, training_runs
    from miml_core.project.queries import bagset

    with project.store.read() as connection:
        class_ids = [each.id for each in project.classes.list()]
        _, index = bagset.load(connection, class_ids=class_ids)
    with project.store.write() as connection:
        run_id = training_runs.begin(
            connection,
            model="ored-lr",
            params="{}",
            seed=0,
            classes=json.dumps(class_ids),
            feature_key=index.feature_key,
            annotator="",
            background=True,
        )
        training_runs.change(connection, run_id, state="done")
        training_runs.make_current(connection, run_id)
    n = len(index.segment_ids)
    tag_probabilities = np.tile(np.linspace(0.9, 0.1, len(class_ids)), (len(index.bag_ids), 1))
    project.runs.write_predictions(
        run_id,
        index,
        posterior(n),
        (free or posterior)(n),
        tag_probabilities,
        None if informative is None else informative(n),
        keys,
    )
    review_index.summarise_all(project.store)
    return run_id


@pytest.fixture(scope="module")
def garden(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with tags, labels, a run file, a segmenter, a queued job, and recordings of the same name."""
    home = tmp_path_factory.mktemp("garden")
    with Project.create(home / "project", name="Garden", annotator="Ann") as project:
        add_bags(project, 3, 4)
        wren = project.edits.add_class("Wren").id
        project.edits.tag(1, wren)
        project.edits.set_label(1, wren)
        project.edits.finish(1)
        add_job(project, "export", {"format": "csv", "path": str(home / "owned.csv")})
        with project.store.write() as connection:
            for number, place in enumerate(("site 1/dawn.wav", "site 2/dawn.wav", "site 1/DAWN.wav"), start=1):
                target = home / "recordings" / place
                target.parent.mkdir(parents=True, exist_ok=True)
                (home / "project" / "media" / f"clip {number - 1}.wav").rename(target)
                connection.exec_driver_sql("UPDATE media SET path = ? WHERE id = ?", (f"../recordings/{place}", number))
            connection.exec_driver_sql(
                "INSERT INTO runs (id, model, params, seed, state, started_at, scores, curves, classes, background, "
                "feature_key, n_bags, n_segments, n_corrections, annotator, message) "
                "VALUES (7, 'ored-lr', '{}', 0, 'done', 1.0, '{}', '{}', '[]', 0, 'x', 0, 0, 0, 'Ann', '')"
            )
    for name in ("runs/7/model.npz", "segmenters/1.npz", "runs/9/model.npz", "cache/x.bin", "notes.txt"):
        (home / "project" / name).parent.mkdir(exist_ok=True, parents=True)
        (home / "project" / name).write_bytes(name.encode())
    return home / "project"


@pytest.fixture(scope="module")
def packed(garden: Path) -> Path:
    with Project.open(garden) as project:
        return pack(project.store, garden.parent / "garden.zip", media=True).path


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with Project.create(tmp_path_factory.mktemp("base") / "project", name="Marsh", annotator="Ann") as project:
        add_bags(project, N_BAGS, N_SEGMENTS)
        for name in SHARED:
            project.edits.add_class(name)
    return project.folder


@pytest.fixture
def ours(base: Path, tmp_path: Path) -> Iterator[Project]:
    with Project.open(shutil.copytree(base, tmp_path / "ours" / "project"), annotator="Ann") as project:
        yield project


@pytest.fixture
def theirs(base: Path, tmp_path: Path) -> Iterator[Project]:
    with Project.open(shutil.copytree(base, tmp_path / "theirs" / "project"), annotator="Bob") as project:
        yield project
