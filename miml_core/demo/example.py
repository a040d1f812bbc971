"""A project of three seconds of sound, made at once: for the examples of the documentation, and to try calls."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import soundfile

from miml_core.instances import sound_instances
from miml_core.models.ored_lr import ORedLR
from miml_core.project import Project
from miml_core.project.db.own_folders import own_folder
from miml_core.project.learning import review_index, training_runs

_RATE = 22050
_PITCH = {"Wren": 7000.0, "Robin": 4000.0}
_HEARD = (("Wren", "Robin"), ("Wren",), ("Robin",))


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
        files = [_write(project.folder / "media", number, heard) for number, heard in enumerate(_HEARD, start=1)]
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


def _write(folder: Path, number: int, heard: tuple[str, ...]) -> Path:
    folder.mkdir(exist_ok=True)
    sound = 0.001 * np.random.default_rng(0).standard_normal(_RATE)
    for place, name in enumerate(heard):
        call = np.hanning(_RATE // 5) * np.sin(2 * np.pi * _PITCH[name] * np.arange(_RATE // 5) / _RATE)
        start = int((0.2 + 0.4 * place) * _RATE)
        sound[start : start + len(call)] += 0.1 * call
    soundfile.write(folder / f"dawn-{number}.wav", sound, _RATE)
    return folder / f"dawn-{number}.wav"


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
