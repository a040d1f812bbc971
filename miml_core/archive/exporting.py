"""Write the model of a run of a project as a bundle."""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import select

from miml_core import __version__
from miml_core.archive.bundle import BundleClass, write_bundle
from miml_core.errors import BagtagError
from miml_core.json_text import iso_time
from miml_core.project import Project, Run
from miml_core.project.db import schema
from miml_core.project.learning import training_runs

LONGEST_CLIP = 120.0
"""Seconds; longer bags are described in blocks anyway, and clips of hours would be no use as rows."""


def export_model(project: Project, path: str | Path, run_id: int | None = None) -> str:
    """Write the bundle of a run (by default the current one) and return its id.

    Raises
    ------
    BagtagError
        There is no such model, or the project's settings or classes have changed since it was trained.
    """
    run = run_to_export(project, run_id)
    settings = project.settings
    segmenter = None
    if settings.learned_segmenter is not None:
        segmenter = Path(settings.within(project.folder).learned_segmenter or "").read_bytes()
    return write_bundle(
        path,
        kind=project.kind,
        classes=_classes(project, run),
        settings=settings,
        clip_seconds=_clip_seconds(project),
        model_file=training_runs.model_path(project.store, run.id).read_bytes(),
        segmenter_file=segmenter,
        provenance=_provenance(project, run),
    )


def run_to_export(project: Project, run_id: int | None = None) -> Run:
    """Return the run (by default the current one), if its model can be exported; see `export_model`."""
    run = project.runs.current() if run_id is None else project.runs.get(run_id)
    if run is None:
        raise BagtagError("The project has no model yet; train one first.")
    if run.state != "done" or not training_runs.has_model(project.store, run.id):
        raise BagtagError(f"Run {run.id} has no model; choose another run, or train again.")
    if project.settings.feature_key != run.feature_key:
        raise BagtagError(
            f"The settings of segments and features have changed since run {run.id} was trained; train again, or "
            "restore the settings."
        )
    _classes(project, run)
    return run


def bundle_bytes(project: Project, run_id: int | None = None) -> bytes:
    """Return the bundle of a run as the content of a file; see `export_model`."""
    with tempfile.TemporaryDirectory() as place:
        export_model(project, Path(place) / "model.bagtag", run_id)
        return (Path(place) / "model.bagtag").read_bytes()


def _classes(project: Project, run: Run) -> list[BundleClass]:
    known = {one.id: BundleClass(one.name, one.scientific_name) for one in project.classes.list()}
    if any(class_id not in known for class_id in run.classes):
        raise BagtagError(f"Classes were merged or removed since run {run.id} was trained; train again.")
    return [known[class_id] for class_id in run.classes]


def _clip_seconds(project: Project) -> float:
    """Return the usual length of the project's bags; 0 for pictures."""
    bags = schema.bags
    with project.store.read() as connection:
        lengths = connection.execute(select(bags.c.end - bags.c.start)).scalars().all()
    if project.kind == "picture" or not lengths:
        return 0.0 if project.kind == "picture" else 10.0
    return float(np.clip(np.median(lengths), 0.1, LONGEST_CLIP))


def _provenance(project: Project, run: Run) -> dict[str, Any]:
    history = schema.history
    with project.store.read() as connection:
        people = connection.execute(select(history.c.annotator).distinct()).scalars().all()
    embedding = project.settings.embedding
    return {
        "bagtag": __version__,
        "project": project.name,
        "run": run.id,
        "model": run.model,
        "params": run.params,
        "seed": run.seed,
        "trained_at": iso_time(run.started_at),
        "exported_at": iso_time(time.time()),
        "annotators": sorted(name for name in people if name),
        "tagged_bags": run.n_bags,
        "segments": run.n_segments,
        "corrections": run.n_corrections,
        "scores": json.loads(json.dumps(run.scores)),
        "embedding": None if embedding is None else _embedding(embedding, project.kind),
    }


def _embedding(name: str, kind: str) -> dict[str, Any]:
    from miml_core.features.embeddings import find_embedding

    found = find_embedding(name, kind)
    return {"name": name, "columns": len(found.names), "licence": found.licence}
