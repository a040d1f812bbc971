"""Learning: features, bag sets, runs, predictions, review and jobs of a project."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from miml_core.project import (
    bagset,
    export_targets,
    exporting,
    exports_made,
    features,
    jobs,
    predictions,
    queue,
    reasons,
    resegment,
    review_pages,
    runs,
    segmenter_lessons,
)
from miml_core.project.answers import Answers
from miml_core.project.exports_made import ExportMade
from miml_core.project.job_params import check_params
from miml_core.project.review_rows import ResegmentPreview, ReviewItem, SampleAccuracy, TagReason, TagSuggestion
from miml_core.project.rows import Job, JobFailure, Run
from miml_core.project.segmenter_lessons import SegmenterLessons
from miml_core.project.store import Store

if TYPE_CHECKING:
    from miml_core.bags import BagSet
    from miml_core.exchange.rows import SegmentRow
    from miml_core.instances import Instances, InstanceSettings
    from miml_core.models.base import Model
    from miml_core.project.bagset import BagSetIndex

QueueOrder = Literal["least_sure", "informative", "contradicts", "newest", "class", "random"]
JobKind = Literal["import", "segment", "learn-segmenter", "features", "train", "predict", "export"]


class LearnDesk:
    """Jobs, features, runs, predictions and review; a part of `Project`."""

    store: Store
    annotator: str

    # jobs

    def start_job(self, kind: JobKind, params: dict[str, Any] | None = None, *, annotator: str | None = None) -> Job:
        """Queue work for a worker process of its own and start it as soon as its turn comes.

        One job runs at a time in each of three lanes: files (import, segment, learn-segmenter, features),
        model (train, predict) and export.

        ``import``: ``paths`` (files or folders), ``bag_length``, ``overlap``, ``remainder``, ``recursive``.
        ``segment``: ``bags`` (ids; default: all that are not up to date), ``again`` (also those up to date),
        ``scope`` ("stale", "unreviewed" or "all"), ``processes``.
        ``learn-segmenter``: learns from what people kept and deleted how to find segments, and changes the settings.
        ``features``: describes segments whose features are missing or out of date.
        ``train``: ``model`` (default "ored-lr"), ``params``, ``seed``, ``warm_start``; predicts at the end.
        ``predict``: ``run`` (default: the current one).
        ``export``: ``format``, ``path``, ``what`` ("confirmed", "predicted", "all"), ``min_probability``, ``bags``. The
        folder of ``path`` is recorded in this installation as chosen for exports of this project.

        Parameters are checked here (`job_params.py`, `export_targets.py`); a `BagtagError` names what is wrong.
        """
        params = params or {}
        check_params(kind, params)
        if kind == "export":
            params = export_targets.choose_target(self.store.folder, params)
        return jobs.start(self.store, kind, params, self.annotator if annotator is None else annotator)

    def jobs(self, *, active: bool = False, limit: int = 50) -> list[Job]:
        """The latest jobs first; finds dead workers and starts what waits."""
        return jobs.listing(self.store, active=active, limit=limit)

    def stopped_jobs(self, *, limit: int = 50) -> list[Job]:
        """Jobs that another computer or another copy of the project queued or began, and that do not run.

        They never start by themselves: `restart_job` starts one here, `cancel_job` removes it.
        """
        return jobs.listing(self.store, stopped=True, limit=limit)

    def job(self, job_id: int) -> Job:
        """One job as it is now; raises `Gone` when there is none."""
        return jobs.one(self.store, job_id)

    def cancel_job(self, job_id: int) -> Job:
        """Ask a job to stop; it has stopped within 2 s, with what it finished kept."""
        return jobs.cancel(self.store, job_id)

    def stop_job_early(self, job_id: int) -> Job:
        """Ask a training to end with what it has learnt so far: its run is kept, marked as stopped early."""
        return jobs.stop_early(self.store, job_id)

    def restart_job(self, job_id: int) -> Job:
        """A new job with the same task as one that died, failed, was cancelled or is stopped; it goes on from there."""
        return jobs.restart(self.store, job_id)

    def wait_job(self, job_id: int, *, timeout: float | None = None, tick: Callable[[Job], None] | None = None) -> Job:
        """Wait until a job is over, calling `tick` a few times a second."""
        return jobs.wait(self.store, job_id, timeout=timeout, tick=tick)

    def job_failures(self, job_id: int) -> list[JobFailure]:
        """What the job could not deal with, and why."""
        with self.store.read() as connection:
            return jobs.failures(connection, job_id)

    def job_log(self, job_id: int) -> list[str]:
        """What the job told, and if it died, what it last printed."""
        return jobs.log(self.store, job_id)

    # segments and features as jobs make them

    def store_instances(
        self, bag_id: int, instances: Instances, settings: InstanceSettings | None = None
    ) -> list[int]:
        """Keep newly found segments and their features; answers the ids of the bag's automatic segments.

        `settings` are those the instances were made with (the project's own, when not given).

        Drawn and edited segments stay; what a person deleted does not come back; a reviewed segment keeps its id and
        label where a new one overlaps it (IoU of at least one half).
        """
        return resegment.store_instances(self.store, bag_id, instances, settings)

    def segmenter_lessons(self) -> SegmenterLessons:
        """How many segments people kept and deleted, and whether that is enough to learn to find them."""
        with self.store.read() as connection:
            return segmenter_lessons.count(connection)

    def preview_resegment(
        self,
        bag_ids: Sequence[int] | None = None,
        *,
        scope: str = "all",
        try_bags: int = 0,
        settings: InstanceSettings | None = None,
    ) -> ResegmentPreview:
        """What finding segments anew would do to people's work, before doing it.

        Counts for all bags; for the first `try_bags` bags with reviewed segments it is tried (with `settings`, or
        with the project's), and `lost` names every label that would go.
        """
        return resegment.preview(self.store, bag_ids, scope=scope, try_bags=try_bags, tried=settings)

    def n_to_describe(self) -> int:
        """How many bags have segments without up-to-date features."""
        with self.store.read() as connection:
            return len(features.bags_to_describe(connection))

    def features_of(self, bag_id: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """(segment ids, features) of a bag, for the segments that are described."""
        with self.store.read() as connection:
            return features.of_bag(connection, bag_id)

    def bagset(
        self, bag_ids: Sequence[int] | None = None, *, only_tagged: bool = False
    ) -> tuple[BagSet, BagSetIndex]:
        """Everything learning needs, in one call; the index tells which rows are which bags, segments and classes.

        Bags without described segments are left out (a BagSet has no empty bags). `only_tagged` also leaves out bags
        that nobody has said anything about.
        """
        with self.store.read() as connection:
            return bagset.load(connection, bag_ids, only_tagged=only_tagged)

    # runs

    def runs(self) -> list[Run]:
        """All runs, the latest first."""
        with self.store.read() as connection:
            return runs.all_runs(connection)

    def run(self, run_id: int) -> Run:
        with self.store.read() as connection:
            return runs.one(connection, run_id)

    def current_run(self) -> Run | None:
        """The run whose predictions are shown."""
        with self.store.read() as connection:
            return runs.current(connection)

    def choose_run(self, run_id: int) -> Run:
        """Make a finished run the current one; its predictions are shown from now on."""
        return runs.choose(self.store, run_id)

    def remove_run(self, run_id: int) -> None:
        """Remove a run that is not the current one, with its predictions and its model file."""
        runs.remove(self.store, run_id)

    def load_model(self, run_id: int | None = None) -> Model:
        """The model of a run (the current one by default)."""
        return runs.load_model(self.store, run_id)

    # predictions

    def write_predictions(
        self,
        run_id: int,
        index: BagSetIndex,
        posterior: NDArray[np.floating],
        free: NDArray[np.floating],
        tag_probabilities: NDArray[np.floating] | None = None,
        informative: NDArray[np.floating] | None = None,
        keys: list[NDArray[np.int32]] | None = None,
    ) -> int:
        """Store predictions of a whole BagSet in bulk; answers how many segments.

        Parameters
        ----------
        index : BagSetIndex
            As `bagset` gave it.
        posterior : (N, C) or (N, C + 1)
            `model.annotate(bags)`; a last column beyond the classes is the background.
        free : the same shape
            `model.predict_proba(bags.X)`: no tags known.
        tag_probabilities : (B, C), optional
            `model.predict_tags(bags)`, kept for suggestions.
        informative : (N,), optional
            `model.informativeness(bags.X)`, for the order of that name in review.
        keys : optional
            Key instances of the tags, as in `Answers.keys`.
        """
        answers = Answers(posterior, free, tag_probabilities, informative, keys)
        return predictions.write(self.store, run_id, index, answers)

    def predict_bag(self, bag_id: int) -> int:
        """Predict one bag anew with the current run, so that a correction or tag shows its effect at once.

        Answers how many segments were predicted: 0 when there is no run or nothing is described.
        """
        return predictions.predict_bag(self.store, bag_id)

    def tag_suggestions(self, bag_id: int, *, limit: int = 8) -> list[TagSuggestion]:
        """Tags the current run would give the bag, the likeliest first, without those already decided."""
        with self.store.read() as connection:
            return predictions.tag_suggestions(connection, bag_id, limit=limit)

    def tag_reasons(self, bag_id: int) -> list[TagReason]:
        """Why the bag has its tags: for each, the segment the current run explains it by.

        That is the model's own key instance where it names one, else the segment likeliest to be of the class. A tag
        that no segment explains is left out.
        """
        with self.store.read() as connection:
            return reasons.of_bag(connection, bag_id)

    # review

    def review_queue(
        self,
        order: QueueOrder = "least_sure",
        *,
        class_id: int | None = None,
        limit: int = 50,
        exclude: Sequence[int] = (),
    ) -> list[ReviewItem]:
        """Unreviewed segments in the order they are worth looking at.

        "least_sure": smallest margin first; "informative": the label would teach the model most, nothing unless the
        current run's model can tell; "contradicts": the model, not knowing the tags, is surest of a class the
        bag is tagged as not having; "newest": last found first; "class" with `class_id`: predicted as that class,
        most doubtful first; "random": the sample for honest accuracy, in an order fixed by chance.
        """
        with self.store.read() as connection:
            return queue.next_segments(connection, order, class_id=class_id, limit=limit, exclude=exclude)

    def review_page(
        self,
        order: QueueOrder = "least_sure",
        *,
        class_id: int | None = None,
        after: tuple[float, int] | None = None,
        limit: int = 100,
    ) -> list[ReviewItem]:
        """Return one page of `review_queue`: what follows `after`, the (score, segment id) at the end of another."""
        with self.store.read() as connection:
            return review_pages.review_page(connection, order, class_id=class_id, after=after, limit=limit)

    def queue_sizes(self) -> dict[str, int]:
        """How many segments each order would offer (without "class")."""
        with self.store.read() as connection:
            return queue.sizes(connection)

    def sample_accuracy(self, run_id: int | None = None) -> SampleAccuracy:
        """Honest accuracy of a run (the current one by default; 0 for all runs) from the random sample."""
        with self.store.read() as connection:
            return queue.sample_accuracy(connection, run_id)

    def checked_accuracy(self) -> SampleAccuracy:
        """The same over everything checked since the current run was made, sample or not: a pessimistic figure when the
        queue offered doubtful segments."""
        with self.store.read() as connection:
            return queue.checked_accuracy(connection)

    # export

    def export_rows(
        self,
        what: Literal["confirmed", "predicted", "all"] = "all",
        *,
        min_probability: float = 0.0,
        bag_ids: Sequence[int] | None = None,
        limit: int | None = None,
        outlines: bool = True,
    ) -> list[SegmentRow]:
        """Segments as the formats of `miml_core.exchange` take them.

        "confirmed": what a person said (background included); "predicted": that, and predictions of at least
        `min_probability`; "all": every segment, the others without a label. `outlines` are exact; formats that do
        not need them (`Format.needs_outlines`) are written sooner without.
        """
        with self.store.read() as connection:
            return exporting.rows(
                connection, what, min_probability=min_probability, bag_ids=bag_ids, limit=limit, outlines=outlines
            )

    def exports_made(self, *, limit: int = 5) -> list[ExportMade]:
        """Return the latest exports, the latest first, each with those of its files that this installation wrote."""
        return exports_made.latest(self.store, limit)
