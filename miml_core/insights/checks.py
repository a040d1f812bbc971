"""Counts of an archive, corrected by its checked sample."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from miml_core.archive.sampling import ClassEstimates, Estimate
from miml_core.insights.aggregates import class_sites
from miml_core.insights.detections import Choice, Detections
from miml_core.project.queries.review_queue import ARCHIVE_SAMPLE

if TYPE_CHECKING:
    from miml_core.project import Project


@dataclass(frozen=True)
class CheckedCount:
    """The count of a class beside the estimates from its sample.

    Attributes
    ----------
    class_name : str
    counted : int
        Detections at the chosen threshold.
    answered, drawn : int
        Detections of the sample.
    threshold : float or None
        The highest threshold of the sample that is not above the chosen one, or its lowest one if the archive has no
        detections of the class between; precision is that from there on. None if the sample has no detections of the
        class that far down.
    precision : Estimate
        Share of detections from `threshold` on that are right; NaN without answers.
    right : Estimate
        Of the detections from `threshold` on, how many are right.
    of_class : Estimate
        Of all detections of whatever class and probability, how many are really of the class.
    """

    class_name: str
    counted: int
    answered: int
    drawn: int
    threshold: float | None
    precision: Estimate
    right: Estimate
    of_class: Estimate


def sample_of(project: Project, source: Detections) -> list[ClassEstimates] | None:
    """Return estimates for an archive from a project's answers; None if it has no sample of that archive and model."""
    from miml_core.archive.sample_project import read_estimates

    record = project.get_preference(ARCHIVE_SAMPLE)
    if not isinstance(record, dict) or source.archive is None or record.get("model") != source.model_id:
        return None
    if os.path.realpath(str(record.get("archive"))) != os.path.realpath(source.archive):
        return None
    return read_estimates(project)


def checked_counts(source: Detections, estimates: list[ClassEstimates], threshold: float) -> list[CheckedCount]:
    """Return counts at a threshold, over the whole archive, beside the estimates; the most frequent class first."""
    counts = _counts(source, threshold)
    nothing = Estimate(float("nan"), float("nan"), float("nan"))
    found = []
    for one in estimates:
        below = [(low, n, share) for low, n, share in one.thresholds if low <= threshold]
        label = source.classes.index(one.class_name) if one.class_name in source.classes else None
        if not below and one.thresholds and label is not None:
            lowest = min(one.thresholds, key=lambda each: each[0])
            below = [lowest] if _counts(source, lowest[0])[label] == counts[label] else []
        low, n, precision = max(below, key=lambda each: each[0]) if below else (None, 0, nothing)
        found.append(
            CheckedCount(
                class_name=one.class_name,
                counted=0 if label is None else int(counts[label]),
                answered=one.answered,
                drawn=one.drawn,
                threshold=low,
                precision=precision,
                right=precision.times(n),
                of_class=one.of_class,
            )
        )
    return sorted(found, key=lambda each: -each.counted)


def _counts(source: Detections, threshold: float) -> NDArray[np.int64]:
    """Return the detections of each class from a threshold on."""
    return np.asarray(class_sites(source, Choice(threshold=threshold)).counts.sum(axis=1))
