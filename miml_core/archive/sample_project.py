"""A sample of an archive's detections as a review list of a project, and the estimates from its answers."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import func, select

from miml_core import installation
from miml_core.archive.bundle import ModelBundle, read_bundle
from miml_core.archive.reading import choose_model, open_table
from miml_core.archive.run import model_file
from miml_core.archive.sampling import ClassEstimates, Stratum, draw_sample, estimate_classes
from miml_core.bags import BACKGROUND
from miml_core.errors import BagtagError
from miml_core.progress import Progress, ignore_progress
from miml_core.project import Project
from miml_core.project.db.own_folders import own_folder
from miml_core.project.db.schema import BY_EYE, verdicts
from miml_core.project.learning import predicting, review_index, training_runs
from miml_core.project.learning.model_outputs import predict
from miml_core.project.media.windows import add_windows
from miml_core.project.queries import bagset, classes
from miml_core.project.queries.review_queue import ARCHIVE_SAMPLE

_SAME_SECONDS, _SAME_HERTZ = 1e-6, 1.0
_SEGMENTER = ("segmenters", "archive.npz")


@dataclass(frozen=True)
class DrawnSample:
    """What was drawn."""

    model: str
    strata: list[Stratum]
    detections: int
    """In the review list."""
    bags: int
    failures: list[tuple[str, str]]
    """(file, reason) of detections that cannot be reviewed."""


def draw_into_project(
    archive: Path,
    folder: Path,
    per_class: int,
    *,
    seed: int = 0,
    model_id: str | None = None,
    recordings: Path | None = None,
    annotator: str = "",
    progress: Progress = ignore_progress,
) -> DrawnSample:
    """Draw a sample of an archive and make it the review list of a project, which is created if there is none.

    The bags are the clips in which the detections were found, with all their segments; the class that the model gave is
    the prediction to accept or to correct.

    Parameters
    ----------
    archive : Path
        A folder that `apply_model` wrote to.
    folder : Path
        Of the project. An existing one must detect and describe segments as the model does.
    per_class : int
    seed : int
    model_id : str, optional
        Needed if several models were applied.
    recordings : Path, optional
        Where the recordings are, if they have been moved: the folder that was given to `apply`.
    annotator : str
    progress : Progress
        Called after each file.
    """
    model_id = choose_model(archive, model_id)
    bundle = read_bundle(model_file(archive, model_id))
    strata, rows, stratum_of = _draw(archive, bundle, per_class, seed)
    roots = _roots(archive, recordings)
    by_file: dict[str, list[int]] = {}
    for place, row in enumerate(rows):
        by_file.setdefault(row["file"], []).append(place)
    _check_found(by_file, roots)  # before a project is made
    failures: list[tuple[str, str]] = []
    segment_ids: dict[int, int] = {}
    bag_ids: set[int] = set()
    with open_or_create_project(folder, bundle, annotator) as project:
        for root in roots.values():
            project.media.allow_folder(root)
        for number, (file, places) in enumerate(sorted(by_file.items())):
            try:
                path = _path(file, roots)
                found = _add_clips(project, bundle, path, [rows[place] for place in places])
            except BagtagError as error:
                failures.append((file, str(error)))
            else:
                bag_ids |= {bag for bag, _ in found}
                segment_ids |= {place: segment for place, (_, segment) in zip(places, found)}
            progress(number + 1, len(by_file), {"what": f"reading {file}"})
        if not segment_ids:
            raise BagtagError(f"None of the recordings can be used: {failures[0][1]}")
        _predict(project, bundle, sorted(bag_ids), annotator)
        kept = sorted(segment_ids)
        with project.store.read() as connection:
            class_ids = classes.ids_by_name(connection, [one.name for one in bundle.classes])
        record = {
            "archive": str(archive.absolute()),
            "model": model_id,
            "seed": seed,
            "class_ids": class_ids,
            "strata": [[one.class_name, one.low, one.size, one.drawn] for one in strata],
            "segments": [segment_ids[place] for place in kept],
            "stratum_of": [int(stratum_of[place]) for place in kept],
        }
        project.set_preference(ARCHIVE_SAMPLE, record)
    return DrawnSample(model_id, strata, len(segment_ids), len(bag_ids), failures)


def _check_found(files: Iterable[str], roots: dict[str, Path]) -> None:
    """Raise `BagtagError` if none of the recordings is where it is looked for."""
    problem = None
    for file in files:
        try:
            _path(file, roots)
        except BagtagError as error:
            problem = problem or str(error)
        else:
            return
    if problem is not None:
        raise BagtagError(f"None of the recordings can be used: {problem}")


def read_estimates(project: Project, confidence: float = 0.95) -> list[ClassEstimates]:
    """Return estimates for each class of the archive from the answers so far; what a threshold accepted is no answer.

    Raises
    ------
    BagtagError
        The project has no sample of an archive.
    """
    record = project.get_preference(ARCHIVE_SAMPLE)
    if record is None:
        raise BagtagError(
            "The project has no sample of an archive; draw one with `bagtag sample ARCHIVE --into PROJECT`."
        )
    strata = [Stratum(*values) for values in record["strata"]]
    label = func.coalesce(verdicts.c.class_id, BACKGROUND)
    with project.store.read() as connection:
        by_eye = select(verdicts.c.segment_id, label).where(verdicts.c.checked_by == BY_EYE)
        labels = {row[0]: row[1] for row in connection.execute(by_eye)}
        alias = classes.aliases(connection)
        found = classes.ids_by_name(connection, [one.class_name for one in strata])
    drawn = {**found, **record.get("class_ids", {})}  # samples of earlier versions have names only
    class_ids = {name: alias.get(class_id, BACKGROUND) for name, class_id in drawn.items()}
    answers: list[str | None] = []
    for segment, stratum in zip(record["segments"], record["stratum_of"]):
        if segment in labels:
            now = alias.get(labels[segment], BACKGROUND)
            answers.append(_answer(now, strata[stratum].class_name, class_ids))
        else:
            answers.append(None)
    return estimate_classes(strata, record["stratum_of"], answers, confidence)


def _answer(class_id: int, detected_as: str, class_ids: dict[str, int]) -> str:
    """Return the name that the class of a label has in the archive, whatever the project calls it now.

    Parameters
    ----------
    class_id : int
    detected_as : str
        What the model took it for: of classes that have been merged since, this one is the answer.
    class_ids : dict
        The classes of the archive by their names there.
    """
    if class_id == BACKGROUND:
        return ""
    if class_ids.get(detected_as) == class_id:
        return detected_as
    return next((name for name, one in class_ids.items() if one == class_id), "")


def _draw(
    archive: Path, bundle: ModelBundle, per_class: int, seed: int
) -> tuple[list[Stratum], list[dict[str, Any]], NDArray[np.int64]]:
    """Return the strata, the rows of the sampled detections, and the stratum of each."""
    names = [one.name for one in bundle.classes]
    table = open_table(archive, "segments", bundle.id)
    class_of, probability, place_of = [], [], []
    places: dict[tuple[str, str], int] = {}
    codes = {name: number for number, name in enumerate(names)}
    for batch in table.to_batches(columns=["class", "probability", "site", "day"]):
        if not len(batch):
            continue
        encoded = batch.column("class").dictionary_encode()
        of_value = np.array([codes.get(name, -1) for name in encoded.dictionary.to_pylist()] + [-1])
        class_of.append(of_value[encoded.indices.fill_null(len(of_value) - 1).to_numpy(zero_copy_only=False)])
        probability.append(batch.column("probability").to_numpy(zero_copy_only=False))
        place = (batch.column("site")[0].as_py(), batch.column("day")[0].as_py())  # a batch is of one file
        place_of.append(np.full(len(batch), places.setdefault(place, len(places))))
    if not class_of:
        raise BagtagError(f"{str(archive)!r} has no segments; there is nothing to sample.")
    strata, chosen, stratum_of = draw_sample(
        names, np.concatenate(class_of), np.concatenate(probability), np.concatenate(place_of), per_class, seed
    )
    order = np.argsort(chosen)
    return strata, table.take(chosen[order]).to_pylist(), stratum_of[order]


def _roots(archive: Path, recordings: Path | None) -> dict[str, Path]:
    """Return the folders of the recordings: those that were given here, because the archive may be somebody else's."""
    try:
        roots = {name: Path(path) for name, path in json.loads((archive / "folders.json").read_text()).items()}
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise BagtagError(
            f"{str(archive / 'folders.json')!r}, the list of the folders of the recordings, is damaged or missing; "
            "apply the model again."
        ) from error
    given = installation.allowed_folders(archive, "media")
    roots = {name: folder for name, folder in roots.items() if folder in given}
    return roots if recordings is None else {**roots, recordings.absolute().name: recordings.absolute()}


def _path(file: str, roots: dict[str, Path]) -> Path:
    root, _, below = file.partition("/")
    if root not in roots or ".." in below.split("/"):
        raise BagtagError(f"The folder of the recording {file!r} is not known; give it with `--recordings`.")
    return roots[root] / below


def open_or_create_project(folder: Path, bundle: ModelBundle, annotator: str) -> Project:
    """Open or create the project, with the classes of the model."""
    if not Project.is_project(folder):
        settings = replace(bundle.settings, learned_segmenter=None)
        project = Project.create(folder, kind=bundle.kind, annotator=annotator, settings=settings.to_dict())
        if bundle.segmenter is not None:
            bundle.segmenter.save(own_folder(folder, _SEGMENTER[0]) / _SEGMENTER[1])
            project.set_settings(replace(settings, learned_segmenter="/".join(_SEGMENTER)))
    else:
        project = Project.open(folder, annotator=annotator)
    try:
        if project.kind != bundle.kind or project.settings.feature_key != bundle.settings.feature_key:
            raise BagtagError(
                f"The project in {str(folder)!r} describes segments differently from the model; give a new folder."
            )
        if project.get_preference(ARCHIVE_SAMPLE) is not None:
            raise BagtagError(f"The project in {str(folder)!r} has a sample of an archive already; give a new folder.")
        for one in bundle.classes:
            if project.classes.find(one.name) is None:
                project.edits.add_class(one.name, scientific_name=one.scientific_name)
    except BaseException:
        project.close()
        raise
    return project


def _add_clips(project: Project, bundle: ModelBundle, path: Path, rows: list[dict[str, Any]]) -> list[tuple[int, int]]:
    """Add the clips of detections of one file; return the bag and the segment of each detection."""
    bag_ids = add_windows(project.store, path, [(row["clip_start"], row["clip_end"]) for row in rows])
    for bag_id in dict.fromkeys(bag_ids):
        bag = project.bags.get(bag_id)
        if not bag.segmented:
            project.segments.store(bag_id, bundle.instances(path, bag.start, bag.end))
    return [(bag_id, _segment(project, bag_id, row)) for bag_id, row in zip(bag_ids, rows)]


def _segment(project: Project, bag_id: int, row: dict[str, Any]) -> int:
    for one in project.segments.list(bag_id, predictions=False, outlines=False):
        is_same = abs(one.left - row["start"]) + abs(one.right - row["end"]) < _SAME_SECONDS
        if is_same and abs(one.low - row["low"]) + abs(one.high - row["high"]) < _SAME_HERTZ:
            return one.id
    raise BagtagError(
        f"{Path(row['file']).name} no longer has a segment from {row['start']:.2f} to {row['end']:.2f} s: it has "
        "changed since the model was applied. Apply the model again."
    )


def _predict(project: Project, bundle: ModelBundle, bag_ids: list[int], annotator: str) -> None:
    """Store predictions of the sampled bags; in a new project by the bundle's model, which becomes its run."""
    run = project.runs.current()
    run_id = add_run(project, bundle, annotator) if run is None else run.id
    run = project.runs.get(run_id)
    with project.store.read() as connection:
        bags, index = bagset.load(connection, bag_ids, class_ids=run.classes)
    predicting.write(project.store, run_id, index, predict(training_runs.load_model(project.store, run_id), bags))
    review_index.summarise_all(project.store)


def add_run(project: Project, bundle: ModelBundle, annotator: str) -> int:
    """Add the bundle's model as a finished run."""
    made = bundle.provenance
    with project.store.write() as connection:
        ids = classes.ids_by_name(connection, [one.name for one in bundle.classes])
        run_id = training_runs.begin(
            connection,
            model=bundle.model.name,
            params=json.dumps(made.get("params") or {}),
            seed=int(made.get("seed") or 0),
            classes=json.dumps([ids[one.name] for one in bundle.classes]),
            feature_key=project.settings.feature_key,
            background=bundle.model.has_background,
            annotator=annotator,
            message=f"the model {bundle.id}, from {made.get('project', 'another project')}"[:200],
        )
    bundle.model.save(own_folder(project.folder, "runs", str(run_id)) / "model.npz")
    with project.store.write() as connection:
        training_runs.change(connection, run_id, state="done", seconds=0.0)
        training_runs.make_current(connection, run_id)
    return run_id
