"""What a report states about a source besides its counts: model, calibration, data, versions of packages."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from miml_core import __version__
from miml_core.archive.bundle import read_bundle
from miml_core.archive.reading import read_failures
from miml_core.archive.run import model_file
from miml_core.errors import BagtagError
from miml_core.insights.aggregates import class_sites
from miml_core.insights.detections import Choice, Detections
from miml_core.insights.sun import clock_text
from miml_core.insights.tables import joined_names
from miml_core.json_text import iso_time
from miml_core.package_versions import package_versions

if TYPE_CHECKING:
    from miml_core.project import Project

Facts = list[tuple[str, str]]
"""(name, text)"""

_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "librosa", "soundfile", "pyarrow", "duckdb", "plotly", "astral")
_SCORES = {
    "sure_from": "Confidence threshold",
    "calibration_error": "Calibration error, labels checked by eye",
    "held_out_calibration_error": "Calibration error, tags of held-out bags",
    "held_out_log_likelihood": "Log likelihood of held-out bags",
    "held_out_average_precision": "Average precision of tags, held-out bags",
    "held_out_bags": "Held-out bags",
}


def about_data(source: Detections, choice: Choice) -> Facts:
    """Return what was recorded and analysed."""
    effort = class_sites(source, choice)
    hours = source.effort_table["hour"].drop_null()
    facts: Facts = [("Source", f"{'archive' if source.archive is not None else 'project'} {source.name}")]
    facts.append(("Files", f"{source.n_files:,}, {source.n_files_without_time:,} of them without a time"))
    if source.is_sound:
        facts.append(
            ("Recorded and analysed", f"{effort.effort_s.sum() / 3600:,.2f} hours, {effort.clips.sum():,} clips")
        )
    else:
        facts.append(("Pictures analysed", f"{effort.clips.sum():,}"))
    if len(hours):
        days = np.unique(hours.to_numpy() // 24).astype("datetime64[D]")
        facts.append(
            (
                f"Days with a {'recording' if source.is_sound else 'picture'}",
                f"{len(days):,}, from {days[0]} to {days[-1]}",
            )
        )
    facts.append(("Sites", f"{len(source.sites):,}: {joined_names(sorted(source.sites), 20)}"))
    facts.append(("Classes", f"{len(source.classes):,}"))
    facts.append(("Detections", f"{len(source.table):,} segments, whatever their probability and class"))
    facts.append(("Clock", clock_text(source)))
    facts += [("Note", note) for note in source.notes]
    if source.archive is not None:
        failures = {file for file, _ in read_failures(source.archive, source.model_id)}
        facts.append(("Files that could not be processed", f"{len(failures):,}"))
    return facts


def about_choice(choice: Choice) -> Facts:
    """Return which detections are counted."""
    facts: Facts = [("Class", choice.class_name or "all classes"), ("Minimum probability", f"{choice.threshold:g}")]
    facts.append(("Sites", "all" if choice.sites is None else joined_names(choice.sites, 20)))
    if choice.first_day is not None or choice.last_day is not None:
        facts.append(("Days", f"{choice.first_day} to {choice.last_day}"))
    return facts


def about_model(source: Detections, project: Project | None) -> tuple[Facts, Facts]:
    """Return facts of the model and of its calibration."""
    if source.archive is not None:
        return _about_bundle(source)
    if project is None or (run := project.runs.current()) is None:
        return [("Model", "none: only labels of people are counted")], []
    facts = [
        ("Model", run.model),
        ("Parameters", json.dumps(run.params, sort_keys=True)),
        ("Seed", str(run.seed)),
        ("Run", str(run.id)),
        ("Trained at", iso_time(run.started_at)),
        ("Trained by", run.annotator or "not stated"),
        ("Tagged bags", f"{run.n_bags:,}"),
        ("Segments", f"{run.n_segments:,}"),
        ("Labels of people", f"{run.n_corrections:,}"),
        ("Features", run.feature_key),
        ("Embedding", project.settings.embedding or "none"),
    ]
    return facts, [*_scores(run.scores), *_checked(project)]


def about_versions() -> Facts:
    """Return the versions that made the report."""
    facts: Facts = [("Bagtag", __version__), ("Python", platform.python_version()), ("System", platform.system())]
    return [*facts, *package_versions(_PACKAGES).items()]


def _about_bundle(source: Detections) -> tuple[Facts, Facts]:
    assert source.archive is not None
    facts: Facts = [("Model id", source.model_id)]
    try:
        bundle = read_bundle(model_file(source.archive, source.model_id))
    except BagtagError as error:
        return [*facts, ("Provenance", f"not readable here: {error}")], []
    made: Mapping[str, Any] = bundle.provenance
    names = {
        "model": "Model",
        "project": "Project",
        "run": "Run",
        "params": "Parameters",
        "seed": "Seed",
        "trained_at": "Trained at",
        "exported_at": "Exported at",
        "annotators": "Annotators",
        "tagged_bags": "Tagged bags",
        "segments": "Segments",
        "corrections": "Labels of people",
        "embedding": "Embedding",
        "bagtag": "Bagtag version of the export",
    }
    facts += [(title, _text(made[name])) for name, title in names.items() if made.get(name) not in (None, "", [])]
    if bundle.kind == "sound":
        facts.append(("Length of a clip", f"{bundle.clip_seconds:g} s"))
    facts.append(("Classes", joined_names([one.name for one in bundle.classes], 100)))
    facts.append(("Segments and features", f"{bundle.settings.segment_key}, {bundle.settings.feature_key}"))
    scores = made.get("scores")
    return facts, _scores(scores) if isinstance(scores, dict) else []


def _scores(scores: Mapping[str, Any]) -> Facts:
    return [
        (title, f"{scores[name]:.4g}")
        for name, title in _SCORES.items()
        if isinstance(scores.get(name), int | float) and not isinstance(scores.get(name), bool)
    ]


def _checked(project: Project) -> Facts:
    """Return how often predictions that people checked are right, by probability."""
    from miml_core.evaluation.reliability import expected_calibration_error, reliability

    checked = project.review.checked_predictions()
    if not len(checked):
        return [("Checked by eye", "no prediction yet")]
    which = "random sample" if checked.sampled else "all that people checked, perhaps mostly uncertain ones"
    error = expected_calibration_error(checked.probability, checked.right)
    facts = [("Checked by eye", f"{len(checked):,} ({which}); expected calibration error {error:.3f}")]
    for one in reliability(checked.probability, checked.right):
        low, high = one.interval
        right = f"{one.share_right:.0%} of {one.count} right ({low:.0%} to {high:.0%})"
        facts.append((f"Probability {one.low:.1f} to {one.high:.1f}", right))
    return facts


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)
