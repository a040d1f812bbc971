"""A project and an archive of three seconds of sound, for the examples of the documentation, and to try calls."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import soundfile

from miml_core.archive.bundle import BundleClass, write_bundle
from miml_core.archive.run import ApplyOptions, apply_model
from miml_core.bags import BagSet
from miml_core.insights.detections import Detections
from miml_core.insights.sources import open_source
from miml_core.instances import InstanceSettings, sound_instances
from miml_core.models.ored_lr import ORedLR
from miml_core.project import Project
from miml_core.project.db.own_folders import own_folder
from miml_core.project.learning import review_index, training_runs

_RATE = 22050
_PITCH = {"Wren": 7000.0, "Robin": 4000.0}
_HEARD = (("Wren", "Robin"), ("Wren",), ("Robin",))
_SURVEY = {
    "hill/20240501_050000.wav": ("Wren", "Robin"),
    "marsh/20240501_060000.wav": ("Wren",),
    "marsh/20240502_060000.wav": (),
}


@contextmanager
def example_project() -> Iterator[Project]:
    """Make a small project in a temporary folder, which is removed afterwards.

    It has three recordings of one second with a call of each species that it is tagged with, in the order of their
    tags, detected segments with features, and a run that predicts them.

    Examples
    --------
    >>> with example_project() as project:
    ...     [(bag.name, len(bag.tags), bag.n_segments) for bag in project.bags.list().bags]
    [('dawn-1.wav', 2, 2), ('dawn-2.wav', 1, 1), ('dawn-3.wav', 1, 1)]
    """
    with tempfile.TemporaryDirectory() as folder, Project.create(Path(folder) / "dawn", annotator="Ann") as project:
        classes = {name: project.edits.add_class(name).id for name in _PITCH}
        files = _write_recordings(project.folder / "media")
        bag_ids = project.media.add(files)
        settings = replace(project.settings, embedding=None)
        project.set_settings(settings)
        for bag_id, file, heard in zip(bag_ids, files, _HEARD):
            project.segments.store(bag_id, sound_instances(file, 0.0, 1.0, settings))
            for name in heard:
                project.edits.tag(bag_id, classes[name], 1)
            project.edits.finish(bag_id)
        _train(project)
        yield project


@contextmanager
def example_archive() -> Iterator[Path]:
    """Apply a model to a small survey in a temporary folder, which is removed afterwards.

    There are three recordings of one second, at two sites and on two days, the last of them without a call, and a
    damaged file. The archive is in the folder `archive`, beside `survey` and `model.bagtag`.

    Examples
    --------
    >>> with example_archive() as archive:
    ...     sorted(path.name for path in archive.parent.iterdir())
    ...     sorted(path.name for path in archive.glob("segments/*"))
    ['archive', 'model.bagtag', 'survey']
    ['site=hill', 'site=marsh']
    """
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "model.bagtag").write_bytes(_bundle())
        for name, heard in _SURVEY.items():
            _write(place / "survey" / name, heard)
        (place / "survey" / "marsh" / "20240502_070000.wav").write_bytes(b"no sound")
        apply_model(place / "model.bagtag", [place / "survey"], place / "archive", ApplyOptions(in_process=True))
        yield place / "archive"


@lru_cache(maxsize=1)
def example_detections() -> Detections:
    """Return the detections in the archive of `example_archive`, which is read once per process.

    Examples
    --------
    >>> example_detections().sites, example_detections().n_files
    (('hill', 'marsh'), 3)
    """
    with example_archive() as archive:
        return open_source(archive=archive)


@lru_cache(maxsize=1)
def _bundle() -> bytes:
    """Return a model of the recordings of `example_project`."""
    settings = InstanceSettings(embedding=None)
    with tempfile.TemporaryDirectory() as folder:
        found = [sound_instances(file, 0.0, 1.0, settings).X for file in _write_recordings(Path(folder))]
        tags = [[1 if name in heard else -1 for name in _PITCH] for heard in _HEARD]
        bags = BagSet(np.concatenate(found), np.cumsum([0, *map(len, found)]), tags, list(_PITCH))
        ORedLR(alpha=0.1).fit(bags).save(Path(folder) / "model.npz")
        write_bundle(
            Path(folder) / "model.bagtag",
            kind="sound",
            classes=[BundleClass(name) for name in _PITCH],
            settings=settings,
            clip_seconds=1.0,
            model_file=(Path(folder) / "model.npz").read_bytes(),
            segmenter_file=None,
            provenance={"project": "dawn"},
        )
        return (Path(folder) / "model.bagtag").read_bytes()


def _write_recordings(folder: Path) -> list[Path]:
    return [_write(folder / f"dawn-{number}.wav", heard) for number, heard in enumerate(_HEARD, start=1)]


def _write(path: Path, heard: tuple[str, ...]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    sound = 0.001 * np.random.default_rng(0).standard_normal(_RATE)
    for place, name in enumerate(heard):
        call = np.hanning(_RATE // 5) * np.sin(2 * np.pi * _PITCH[name] * np.arange(_RATE // 5) / _RATE)
        start = int((0.2 + 0.4 * place) * _RATE)
        sound[start : start + len(call)] += 0.1 * call
    soundfile.write(path, sound, _RATE)
    return path


def _train(project: Project) -> None:
    """Do what the job "train" does, in this process."""
    bags, index = project.bags.bagset()
    model = ORedLR(alpha=0.1).fit(bags)
    with project.store.write() as connection:
        run_id = training_runs.begin(
            connection,
            model="ored-lr",
            params=json.dumps({"alpha": 0.1}),
            seed=0,
            classes=json.dumps(index.class_ids),
            feature_key=index.feature_key,
            n_bags=bags.n_bags,
            n_segments=bags.n_segments,
            annotator="Ann",
        )
    model.save(own_folder(project.folder, "runs", str(run_id)) / "model.npz")
    outputs = model.annotate(bags), model.predict_proba(bags.X), model.predict_tags(bags)
    project.runs.write_predictions(run_id, index, *outputs)
    with project.store.write() as connection:
        scores = json.dumps({"sure_from": float(model.sure_from_)})
        training_runs.change(connection, run_id, state="done", seconds=0.0, scores=scores)
        training_runs.make_current(connection, run_id)
    review_index.summarise_all(project.store)
