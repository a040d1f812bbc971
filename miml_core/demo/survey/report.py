"""Compare the results of the demo's survey with its truth."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from miml_core.archive.reading import open_table, summarise
from miml_core.archive.sample_project import read_estimates
from miml_core.archive.sampling import ClassEstimates, Estimate
from miml_core.demo.survey.files import RECORDINGS
from miml_core.demo.survey.rhythms import SURVEY_SPECIES
from miml_core.demo.survey.truth import SurveyTruth
from miml_core.insights import daily_rhythm, open_source
from miml_core.project import Project

WANTED_PRECISION = 0.9


@dataclass(frozen=True)
class ComparedEstimate:
    """An estimate from the checked sample, and the truth, which the estimate does not use."""

    estimate: Estimate
    true: float

    @property
    def is_covered(self) -> bool:
        """Whether the interval contains the truth."""
        return self.estimate.low - 1e-9 <= self.true <= self.estimate.high + 1e-9


@dataclass(frozen=True)
class SpeciesReport:
    """What the survey found of one species.

    Attributes
    ----------
    name, when : str
        Species, and its known rhythm in words.
    calls : int
        Calls that were generated.
    found : float
        Share of them with a right detection from the threshold on.
    detections, checked : int
        In the archive, and those of the sample.
    threshold : float
        From which the activity is counted; `is_precise` is whether the sample shows the target precision there.
    precision : ComparedEstimate
        Of detections from the threshold on.
    count : ComparedEstimate
        Segments of the archive that are of the species.
    activity, known : list of 24 float
        Detections per recorded hour by hour of the day, and the known activity.
    correlation : float
        Between both.
    """

    name: str
    when: str
    calls: int
    found: float
    detections: int
    checked: int
    threshold: float
    is_precise: bool
    precision: ComparedEstimate
    count: ComparedEstimate
    activity: list[float]
    known: list[float]
    correlation: float


@dataclass(frozen=True)
class SurveyReport:
    """What the survey found.

    Attributes
    ----------
    files, hours, segments
        Of the archive.
    species : list of SpeciesReport
    correlation : float
        Between all activity curves and all known rhythms, each divided by its mean.
    covered, intervals : int
        How many intervals of precision and counts contain the truth, and how many there are.
    recording_bytes : int
    seconds : dict
        Of each stage of this call.
    """

    files: int
    hours: float
    segments: int
    species: list[SpeciesReport]
    correlation: float
    covered: int
    intervals: int
    recording_bytes: int
    seconds: dict[str, float] = field(default_factory=dict)

    def with_seconds(self, seconds: dict[str, float]) -> SurveyReport:
        """Return the report with the time of each stage."""
        return replace(self, seconds={title: round(value, 1) for title, value in seconds.items()})

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        found = asdict(self)
        for one, of_species in zip(self.species, found["species"]):
            for name in ("precision", "count"):
                of_species[name]["is_covered"] = getattr(one, name).is_covered
        return found


def make_report(project: Project, archive: Path, model_id: str, truth: SurveyTruth) -> SurveyReport:
    """Compare the answers, the counts and the activity with the truth."""
    found = summarise(archive, model_id)
    estimates = {one.class_name: one for one in read_estimates(project)}
    labelled = _labelled(archive, model_id, truth)
    source = open_source(archive=archive, model_id=model_id)
    calls = Counter(truth.names[k] for species, _ in truth.calls.values() for k in species)
    species = []
    for one in SURVEY_SPECIES:
        if one.name not in estimates:
            continue  # nothing was detected
        estimate = estimates[one.name]
        threshold, precision, is_precise = _threshold(estimate)
        rates = daily_rhythm(source, one.name, threshold).rate
        species.append(
            SpeciesReport(
                name=one.name,
                when=one.when,
                calls=calls[one.name],
                found=labelled.n_found(one.name, threshold) / max(calls[one.name], 1),
                detections=estimate.detections,
                checked=estimate.answered,
                threshold=threshold,
                is_precise=is_precise,
                precision=ComparedEstimate(precision, labelled.precision(one.name, threshold)),
                count=ComparedEstimate(estimate.of_class, labelled.count(one.name)),
                activity=[float(x) for x in rates],
                known=[float(x) for x in one.hourly()],
                correlation=correlation(rates, one.hourly()),
            )
        )
    compared = [pair for one in species for pair in (one.precision, one.count)]
    return SurveyReport(
        files=found.files,
        hours=found.hours,
        segments=found.segments,
        species=species,
        correlation=correlation(*(_relative([getattr(one, key) for one in species]) for key in ("activity", "known"))),
        covered=sum(pair.is_covered for pair in compared),
        intervals=len(compared),
        recording_bytes=sum(path.stat().st_size for path in (project.folder / RECORDINGS).rglob("*.flac")),
    )


def correlation(one: ArrayLike, other: ArrayLike) -> float:
    """Return Pearson's correlation, over the values that both have; 0 if one of them is constant.

    Examples
    --------
    >>> correlation([1, 2, 4, float("nan")], [2, 4, 8, 1])
    1.0
    """
    a, b = np.ravel(np.asarray(one, dtype=float)), np.ravel(np.asarray(other, dtype=float))
    both = np.isfinite(a) & np.isfinite(b)
    a, b = a[both] - a[both].mean(), b[both] - b[both].mean()
    spread = float(np.sqrt((a**2).sum() * (b**2).sum()))
    return round(float((a * b).sum()) / spread, 6) if spread else 0.0


def _relative(curves: list[list[float]]) -> list[list[float]]:
    return [[value / max(float(np.nanmean(curve)), 1e-12) for value in curve] for curve in curves]


def _threshold(estimate: ClassEstimates) -> tuple[float, Estimate, bool]:
    """Return the threshold to use, its precision, and whether that is as wanted; otherwise it is the best one."""
    wanted = estimate.threshold_for(WANTED_PRECISION)
    precision = {low: found for low, _, found in estimate.thresholds}
    best = max(precision, key=lambda low: precision[low].low) if wanted is None else wanted
    return best, precision[best], wanted is not None


@dataclass(frozen=True)
class _Detection:
    """A detection of the archive with its truth."""

    predicted: str
    probability: float
    true: str | None
    call: tuple[str, int | None]
    """File and number of the call that it is of."""


@dataclass(frozen=True)
class _Labelled:
    """All detections of an archive with their truth."""

    detections: list[_Detection]

    def precision(self, name: str, threshold: float) -> float:
        chosen = self._chosen(name, threshold)
        return sum(one.true == name for one in chosen) / len(chosen) if chosen else float("nan")

    def n_found(self, name: str, threshold: float) -> int:
        """Return the number of calls of a species that have a right detection."""
        return len({one.call for one in self._chosen(name, threshold) if one.true == name})

    def count(self, name: str) -> int:
        return sum(one.true == name for one in self.detections)

    def _chosen(self, name: str, threshold: float) -> list[_Detection]:
        return [one for one in self.detections if one.predicted == name and one.probability >= threshold]


def _labelled(archive: Path, model_id: str, truth: SurveyTruth) -> _Labelled:
    """Look up what each detection really is."""
    columns = ["file", "start", "end", "low", "high", "class", "probability"]
    by_file: dict[str, list[tuple[Any, ...]]] = {}
    for batch in open_table(archive, "segments", model_id).to_batches(columns=columns):
        values = batch.to_pydict()
        for row in zip(*(values[name] for name in columns)):
            if row[5] is not None:
                by_file.setdefault(row[0].partition("/")[2], []).append(row)
    detections = []
    for file, rows in by_file.items():
        species = truth.calls[file][0]
        for row, call in zip(rows, truth.calls_at(file, [row[1:5] for row in rows])):
            true = None if call is None else truth.names[species[call]]
            detections.append(_Detection(row[5], row[6], true, (file, call)))
    return _Labelled(detections)
