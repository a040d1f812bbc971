"""Review predictions: which segments next, suggested tags, and the accuracy of the predictions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from miml_core.project.db import settings
from miml_core.project.queries import (
    certainty,
    checked_predictions,
    conflicts,
    predictions,
    predictions_above,
    review_queue,
    tag_reasons,
    wall,
)
from miml_core.project.queries.checked_predictions import CheckedPredictions
from miml_core.project.queries.wall import WallQuery
from miml_core.project.review_records import (
    Conflict,
    Merge,
    ReviewItem,
    SampleAccuracy,
    TagReason,
    TagSuggestion,
    WallClass,
    WallItem,
)
from miml_core.project.services.service import Service
from miml_core.review.threshold import OpenPredictions

QueueOrder = Literal["least_sure", "informative", "contradicts", "newest", "class", "random", "archive", "conflicts"]


class Review(Service):
    """`project.review`.

    Examples
    --------
    >>> from miml_core.demo.example import example_project
    >>> with example_project() as project:
    ...     queue = [item.segment_id for item in project.review.queue("least_sure")]
    ...     sizes = project.review.sizes()
    ...     above = project.review.count_above(0.5)
    >>> sorted(queue), sizes["least_sure"], above
    ([1, 2, 3, 4], 4, {1: 2, 2: 2})
    """

    def queue(
        self,
        order: QueueOrder = "least_sure",
        *,
        class_id: int | None = None,
        limit: int = 50,
        exclude: Sequence[int] = (),
    ) -> list[ReviewItem]:
        """Return unreviewed segments in the order in which to review them.

        "least_sure": smallest margin first; "informative": the label would teach the model most, nothing unless the
        current run's model computes that; "contradicts": the model, not knowing the tags, is surest of a class the
        bag is tagged as not having; "newest": detected last first; "class" with `class_id`: predicted as that class,
        most doubtful first; "random": the sample for the accuracy, in a random order that stays the same; "archive":
        the detections that were drawn from an archive, in such an order; "conflicts": two annotators labelled it
        differently, bag by bag.
        """
        with self._store.read() as connection:
            return review_queue.next_segments(connection, order, class_id=class_id, limit=limit, exclude=exclude)

    def page(
        self,
        order: QueueOrder = "least_sure",
        *,
        class_id: int | None = None,
        after: tuple[float, int] | None = None,
        limit: int = 100,
    ) -> list[ReviewItem]:
        """Return one page of `queue`: what follows `after`, the (score, segment id) at the end of another page."""
        with self._store.read() as connection:
            return review_queue.next_page(connection, order, class_id=class_id, after=after, limit=limit)

    def sizes(self) -> dict[str, int]:
        """Return the number of segments in each order (without "class")."""
        with self._store.read() as connection:
            return review_queue.sizes(connection)

    def conflicts(self, *, bag_id: int | None = None, limit: int | None = None) -> list[Conflict]:
        """Return what annotators whose copies were merged answered differently and nobody has decided."""
        with self._store.read() as connection:
            return conflicts.open_conflicts(connection, bag_id=bag_id, limit=limit)

    def count_conflicts(self) -> tuple[int, int]:
        """Return how many bags have open conflicts of tags, and how many segments of labels."""
        with self._store.read() as connection:
            return conflicts.count_open(connection)

    def merges(self) -> list[Merge]:
        """Return the copies that were merged, the latest first, with the agreement of the annotators."""
        with self._store.read() as connection:
            return conflicts.all_merges(connection)

    def sure_from(self) -> float:
        """Return the confidence threshold of the project: from this probability on, a prediction is shown as a label.

        Below it a segment is shown as "?" with its best guesses. It is what somebody chose (`set_sure_from`), else
        the threshold of the current run.
        """
        with self._store.read() as connection:
            return certainty.sure_from(connection)

    def default_sure_from(self) -> float:
        """Return the threshold of the current run (`Run.scores["sure_from"]`, from calibration), or 0.5."""
        with self._store.read() as connection:
            return certainty.default_sure_from(connection)

    def set_sure_from(self, probability: float | None, *, annotator: str | None = None) -> None:
        """Choose from which probability on a prediction counts as sure; None goes back to the current run's."""
        with self._store.write() as connection:
            settings.set_sure_from(connection, probability, annotator=self._name_or_own(annotator))

    def sample_accuracy(self, run_id: int | None = None) -> SampleAccuracy:
        """Return the accuracy of a run (by default the current one; 0 for all runs) in the random sample."""
        with self._store.read() as connection:
            return review_queue.sample_accuracy(connection, run_id)

    def checked_accuracy(self) -> SampleAccuracy:
        """Return the accuracy over everything checked since the current run was made, in the sample or not.

        It is pessimistic if mostly doubtful segments were checked.
        """
        with self._store.read() as connection:
            return review_queue.checked_accuracy(connection)

    def checked_predictions(self) -> CheckedPredictions:
        """Return predictions with the labels of people who saw the segments: how reliable the current run is.

        Those of the random sample if they are enough, otherwise all; those of earlier runs only if there are too few.
        """
        with self._store.read() as connection:
            return checked_predictions.checked_predictions(connection)

    def open_predictions(self, class_id: int | None = None) -> OpenPredictions:
        """Return how many predictions (of one class) nobody has labelled, by their probability."""
        with self._store.read() as connection:
            return checked_predictions.open_predictions(connection, class_id)

    def count_above(self, threshold: float) -> dict[int, int]:
        """Return {class id or `BACKGROUND`: number of segments} that `edits.accept_above(threshold)` would accept."""
        with self._store.read() as connection:
            return predictions_above.count_above(connection, threshold)

    def wall(self, query: WallQuery, *, offset: int = 0, limit: int = 120) -> list[WallItem]:
        """Return a part of a wall: the segments of a class, or a given list of segments."""
        with self._store.read() as connection:
            return wall.wall_items(connection, wall.wall_ids(connection, query, offset=offset, limit=limit))

    def wall_ids(self, query: WallQuery) -> list[int]:
        """Return the ids of all segments of a wall, at most `MOST_IDS`, in its order."""
        with self._store.read() as connection:
            return wall.wall_ids(connection, query)

    def wall_size(self, query: WallQuery) -> int:
        """Return how many segments a wall has."""
        with self._store.read() as connection:
            return wall.wall_size(connection, query)

    def wall_items(self, segment_ids: Sequence[int]) -> list[WallItem]:
        """Return what a wall shows of these segments."""
        with self._store.read() as connection:
            return wall.wall_items(connection, segment_ids)

    def wall_classes(self) -> list[WallClass]:
        """Return how many segments of each class a wall can show."""
        with self._store.read() as connection:
            return wall.wall_classes(connection)

    def tag_suggestions(self, bag_id: int, *, limit: int = 8) -> list[TagSuggestion]:
        """Return the tags that the current run would give the bag, the likeliest first, without decided ones."""
        with self._store.read() as connection:
            return predictions.tag_suggestions(connection, bag_id, limit=limit)

    def tag_reasons(self, bag_id: int) -> list[TagReason]:
        """Return for each tag of a bag the segment by which the current run explains it.

        That is the model's own key instance if it names one, else the segment likeliest to be of the class. A tag
        that no segment explains is left out.
        """
        with self._store.read() as connection:
            return tag_reasons.of_bag(connection, bag_id)
