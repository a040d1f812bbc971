"""Create the demo project: tagged, segmented, with a trained model, ready for review."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from miml_core.demo.jobs import ANNOTATOR, run_job
from miml_core.demo.media import CLASSES_FILE, COUNT, FOLDER, TAGS_FILE, Kind, make_media
from miml_core.demo.truth import FILE_NAME, Truth
from miml_core.demo.unfinished import hold_unfinished, is_unfinished
from miml_core.errors import BagtagError
from miml_core.exchange.tags_csv import read_tags
from miml_core.progress import Progress
from miml_core.project import Project

_NAMES: dict[Kind, str] = {"sound": "Demo: dawn chorus", "picture": "Demo: surfaces"}
_TRAINING: dict[Kind, dict[str, Any]] = {"sound": {}, "picture": {"params": {"background": False}}}
"""The demo's pictures have no background: every part is one of the surfaces. Its recordings have wind and rain."""
_FILLED = "demo_filled"
_STEPS = 1000
_SHARES = {"media": (0, 450), "tags": (450, 500), "segment": (500, 750), "train": (750, 1000)}
"""First and last step of each stage, of `_STEPS`."""


def make_demo(
    folder: str | Path,
    kind: Kind = "sound",
    seed: int = 0,
    progress: Progress | None = None,
    *,
    train: bool = True,
    count: int | None = None,
) -> Project:
    """Create the demo project in `folder`, or complete an interrupted one, and open it.

    Parameters
    ----------
    kind : "sound" or "picture"
    seed : int
        The same seed gives the same files.
    progress : callable, optional
        Called as `progress(step, of, info)`; a true value, or an exception, stops the creation, which the next call
        continues.
    train : bool
        Also train the default model, so that there are predictions to review.
    count : int, optional
        Number of recordings or pictures; 60 and 40 by default.
    """
    folder = Path(folder)
    stages = _Stages(progress)
    _refuse_other_projects(folder, kind, seed)
    is_complete = Project.is_project(folder) and not is_unfinished(folder)
    with nullcontext() if is_complete else hold_unfinished(folder):
        paths = _media(folder, kind, seed, count or COUNT[kind], stages)
        exists = Project.is_project(folder)
        project = Project.open(folder) if exists else _create(folder, kind)
        try:
            _fill(project, folder, paths, stages)
            done = project.progress()
            if done.n_segmented < done.n_bags:
                run_job(project, "segment", {}, partial(stages.report, "segment"))
            if train and project.runs.current() is None:
                run_job(project, "train", _TRAINING[kind], partial(stages.report, "train"))
        except BaseException:
            project.close()
            raise
    return project


def _create(folder: Path, kind: Kind) -> Project:
    """Create the project; its birds are invented, so that hand-made features describe them best, and soonest."""
    if kind == "picture":
        return Project.create(folder, kind=kind, name=_NAMES[kind])
    from miml_core.demo.calls import RATE
    from miml_core.instances import InstanceSettings

    return Project.create(folder, kind=kind, name=_NAMES[kind], settings=InstanceSettings.for_rate(RATE).to_dict())


class _Stages:
    """Convert the progress of each stage to that of all stages."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress

    def report(self, stage: str, done: int, of: int, info: Mapping[str, Any]) -> None:
        if self._progress is None:
            return
        begin, end = _SHARES[stage]
        if self._progress(round(begin + (end - begin) * min(done / max(of, 1), 1.0)), _STEPS, {}):
            raise BagtagError("The demo is not complete: its creation was stopped. Create it again to continue.")


def _refuse_other_projects(folder: Path, kind: Kind, seed: int) -> None:
    if not Project.is_project(folder):
        return
    if not (folder / FILE_NAME).is_file():
        raise BagtagError(f"{str(folder)!r} contains a project that is not a demo; choose another folder.")
    there = Truth.read(folder)
    if (there.kind, there.seed) != (kind, seed):
        raise BagtagError(f"{str(folder)!r} contains the {there.kind} demo of seed {there.seed}; use another folder.")


def _media(folder: Path, kind: Kind, seed: int, count: int, stages: _Stages) -> list[Path]:
    """Return the recordings or pictures; existing ones of an earlier call are used."""
    if (folder / FILE_NAME).is_file():
        there = Truth.read(folder)
        paths = [folder / FOLDER[kind] / name for name in there.files]
        is_same = (there.kind, there.seed, len(paths)) == (kind, seed, count) and all(path.is_file() for path in paths)
        if is_same or Project.is_project(folder):
            return paths
    return make_media(folder, kind, seed, count, partial(stages.report, "media"))


def _fill(project: Project, folder: Path, paths: list[Path], stages: _Stages) -> None:
    """Add the files, the classes and the tags, unless the project has them already."""
    if project.get_preference(_FILLED):
        return
    project.media.add(paths)
    if not project.classes.list():
        project.edits.import_classes(folder / CLASSES_FILE, annotator=ANNOTATOR)
    class_ids = {one.name: one.id for one in project.classes.list()}
    bag_ids = {bag.path: bag.id for bag in project.bags.list(limit=len(paths)).bags}
    rows = read_tags(folder / TAGS_FILE)
    for number, row in enumerate(rows):
        bag_id = bag_ids[row.file]
        project.edits.set_tags(bag_id, {class_ids[name]: 1 for name in row.present}, annotator=ANNOTATOR)
        project.edits.finish(bag_id, annotator=ANNOTATOR)
        stages.report("tags", number + 1, len(rows), {})
    project.set_preference(_FILLED, True)
