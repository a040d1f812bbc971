"""From 60 tagged clips to the activity of species in a whole survey: all steps, one after the other.

A simulated person stands for the people of a real survey. The truth is used in three places, and nowhere else: the
person tags a clip with the species that call in it, answers what a sampled detection is, and the report compares the
results with it. Segments, features, training and predictions get tags only.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from miml_core.archive.bundle import read_bundle
from miml_core.archive.cluster import is_installed
from miml_core.archive.exporting import export_model
from miml_core.archive.run import ApplyOptions, ApplyProgress, apply_model
from miml_core.archive.sample_project import draw_into_project
from miml_core.archive.sampling import draw_systematic
from miml_core.bags import BACKGROUND
from miml_core.demo.calls import RATE, SPECIES
from miml_core.demo.jobs import ANNOTATOR, run_job
from miml_core.demo.survey.files import RECORDINGS, make_recordings
from miml_core.demo.survey.plan import CLIP_SECONDS, Recording, SurveyPlan
from miml_core.demo.survey.report import SurveyReport, make_report
from miml_core.demo.survey.rhythms import SURVEY_SITES, SURVEY_SPECIES
from miml_core.demo.survey.truth import SurveyTruth, read_plan
from miml_core.demo.unfinished import hold_unfinished, is_unfinished
from miml_core.errors import BagtagError
from miml_core.instances import InstanceSettings
from miml_core.progress import Progress
from miml_core.project import Project
from miml_core.project.media.windows import add_windows
from miml_core.project.queries.review_queue import ARCHIVE_SAMPLE

ARCHIVE, MODEL = "archive", "model.bagtag"
N_CLIPS, PER_CLASS = 60, 50
_FILLED = "demo_filled"
_ALL = 1_000_000

ProgressOf = Callable[[str], Progress | None]
"""Returns the progress callable of a stage, by its title."""


def run_survey(
    folder: str | Path,
    plan: SurveyPlan | None = None,
    progress_of: ProgressOf | None = None,
    *,
    clips: int = N_CLIPS,
    per_class: int = PER_CLASS,
    options: ApplyOptions | None = None,
) -> SurveyReport:
    """Generate a survey and run the whole chain on it, or complete an interrupted one.

    Parameters
    ----------
    folder : path
        It becomes a project with the folders `recordings`, `archive` and `truth`.
    plan : SurveyPlan, optional
        50 hours over 10 days at 3 sites by default.
    progress_of : callable, optional
        Called with the title of each stage; returns the `Progress` to call meanwhile. A true value of that, or an
        exception, stops the work, which the next call continues.
    clips : int
        Number of clips that the simulated person tags.
    per_class : int
        Detections of each class that the simulated person checks.
    options : ApplyOptions, optional
        How the model is applied; by default with Dask, if it is installed, and otherwise in this process.
    """
    folder, plan = Path(folder), plan or SurveyPlan()
    stages = _Stages(progress_of)
    is_complete = read_plan(folder) is not None and Project.is_project(folder) and not is_unfinished(folder)
    if Project.is_project(folder) and read_plan(folder) is None:
        raise BagtagError(f"{str(folder)!r} contains a project that is not a survey; choose another folder.")
    with nullcontext() if is_complete else hold_unfinished(folder):
        with stages.run("generate recordings") as progress:
            make_recordings(folder, plan, progress)
        truth = SurveyTruth.read(folder)
        with _project(folder) as project:
            with stages.run("tag clips") as progress:
                _tag_clips(project, plan, truth, clips, progress)
            with stages.run("detect segments") as progress:
                done = project.progress()
                if done.n_segmented < done.n_bags:
                    run_job(project, "segment", {}, progress)
            with stages.run("train") as progress:
                if project.runs.current() is None:
                    run_job(project, "train", {}, progress)
            if not (folder / MODEL).is_file():
                export_model(project, folder / MODEL)
        with stages.run("apply the model") as progress:
            _apply(folder, options, progress)
        model_id = read_bundle(folder / MODEL).id
        with stages.run("draw a sample") as progress:
            _draw(folder, model_id, plan, per_class, progress)
        with _project(folder) as project:
            with stages.run("check the sample"):
                _check(project, truth)
            with stages.run("compare with the truth"):
                report = make_report(project, folder / ARCHIVE, model_id, truth)
    return report.with_seconds(stages.seconds)


class _Stages:
    """Report the progress of the stages, and measure them."""

    def __init__(self, progress_of: ProgressOf | None) -> None:
        self._progress_of = progress_of or (lambda title: None)
        self.seconds: dict[str, float] = {}

    @contextmanager
    def run(self, title: str) -> Iterator[Progress]:
        """Yield the `Progress` of a stage."""
        began = time.monotonic()
        yield partial(self._report, self._progress_of(title))
        self.seconds[title] = time.monotonic() - began

    @staticmethod
    def _report(progress: Progress | None, step: int, of: int, info: Mapping[str, Any]) -> None:
        if progress is not None and progress(step, of, info):
            raise BagtagError("The survey is not complete: it was stopped. Start the command again to continue.")


def _project(folder: Path) -> Project:
    """Open the project of the survey, or create it; its birds are invented, so that BirdNET is not used."""
    if Project.is_project(folder):
        return Project.open(folder, annotator=ANNOTATOR)
    settings = InstanceSettings.for_rate(RATE).to_dict()
    project = Project.create(folder, kind="sound", name="Demo: survey", annotator=ANNOTATOR, settings=settings)
    project.set_place(SURVEY_SITES[0].place)
    return project


def choose_clips(plan: SurveyPlan, count: int) -> list[tuple[Recording, float]]:
    """Return a random sample of the clips of a survey, spread evenly over sites and hours of the day."""
    clips = [
        (recording, float(start))
        for recording in sorted(plan.recordings, key=lambda one: (one.site, one.start.hour, one.start))
        for start in range(0, recording.seconds, CLIP_SECONDS)
    ]
    rng = np.random.default_rng([plan.seed, 7])
    return [clips[place] for place in draw_systematic(len(clips), min(count, len(clips)), rng)]


def _tag_clips(project: Project, plan: SurveyPlan, truth: SurveyTruth, count: int, progress: Progress) -> None:
    """Add a random sample of clips, and tag each with what the simulated person hears: the truth of the clip."""
    if project.get_preference(_FILLED):
        return
    known = {one.name: one for one in SPECIES}
    for one in SURVEY_SPECIES:
        species = known[one.name]
        if project.classes.find(one.name) is None:
            project.edits.add_class(one.name, scientific_name=species.scientific_name, shortcut=species.shortcut)
    class_ids = {one.name: one.id for one in project.classes.list()}
    chosen = choose_clips(plan, count)
    for number, (recording, start) in enumerate(chosen):
        path, end = project.folder / RECORDINGS / recording.file, start + CLIP_SECONDS
        (bag_id,) = add_windows(project.store, path, [(start, end)])
        heard = truth.heard(recording.file, start, end)
        project.edits.set_tags(bag_id, {class_ids[name]: 1 for name in heard})
        project.edits.finish(bag_id)
        progress(number + 1, len(chosen), {})
    project.set_preference(_FILLED, True)


def _apply(folder: Path, options: ApplyOptions | None, progress: Progress) -> None:
    def report(now: ApplyProgress) -> None:
        if now.stage != "reading headers":
            progress(round(now.seconds), round(now.of_seconds), {})

    options = options or ApplyOptions(in_process=not is_installed())
    done = apply_model(folder / MODEL, [folder / RECORDINGS], folder / ARCHIVE, options, report)
    if done.failures:
        file, reason = done.failures[0]
        raise BagtagError(f"The model could not be applied to {file!r} and perhaps others: {reason}")


def _draw(folder: Path, model_id: str, plan: SurveyPlan, per_class: int, progress: Progress) -> None:
    with _project(folder) as project:
        if project.get_preference(ARCHIVE_SAMPLE) is not None:
            return
    draw_into_project(
        folder / ARCHIVE,
        folder,
        per_class,
        seed=plan.seed,
        model_id=model_id,
        annotator=ANNOTATOR,
        progress=progress,
    )


def _check(project: Project, truth: SurveyTruth) -> None:
    """Answer the sample as the simulated person does: by the call that fills most of a segment."""
    class_ids: dict[str | None, int] = {one.name: one.id for one in project.classes.list()} | {None: BACKGROUND}
    accepted: dict[int, int] = {}
    corrected: dict[int, int] = {}
    for item in project.review.queue("archive", limit=_ALL):
        segment, bag = project.segments.get(item.segment_id), project.bags.get(item.bag_id)
        (label,) = truth.labels(_file(bag.path), [(segment.left, segment.right, segment.low, segment.high)])
        is_right = segment.prediction is not None and segment.prediction.top == class_ids[label]
        (accepted if is_right else corrected)[segment.id] = class_ids[label]
    if accepted or corrected:
        project.edits.label_many(accepted, corrected)


def _file(path: str) -> str:
    """Return the name of a recording in the truth: its folder and name."""
    return "/".join(Path(path).parts[-2:])
