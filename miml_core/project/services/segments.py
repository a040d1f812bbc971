"""The segments of a project's bags, and their features."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from miml_core.project.instances import cutouts, resegment
from miml_core.project.instances.cutouts import Cutouts
from miml_core.project.queries import features, segment_ranges, segmenter_examples, segments
from miml_core.project.queries.segmenter_examples import SegmenterExamples
from miml_core.project.records import Segment, SegmentRange, SegmentSummary
from miml_core.project.review_records import ResegmentPreview
from miml_core.project.services.service import Service

if TYPE_CHECKING:
    from miml_core.instances import Instances, InstanceSettings
    from miml_core.media.grid import Grid
    from miml_core.segments.regions import Region


class Segments(Service):
    """`project.segments`; people's changes to them are `project.edits`.

    Examples
    --------
    >>> from miml_core.demo.example import example_project
    >>> with example_project() as project:
    ...     first, second = project.segments.list(1)
    ...     segment_ids, X = project.segments.features(1)
    ...     last = project.segments.next(1, after=first.id, step=1)
    >>> first.right < second.left, segment_ids.tolist(), X.shape, last
    (True, [1, 2], (2, 61), 2)
    """

    def list(self, bag_id: int, *, predictions: bool = True, outlines: bool = True) -> builtins.list[Segment]:
        """Return all segments of a bag, with outlines in real units, labels and the current run's predictions."""
        tolerance = segments.SCREEN_TOLERANCE if outlines else None
        with self._store.read() as connection:
            return segments.of_bag(connection, bag_id, predictions=predictions, tolerance=tolerance)

    def get(self, segment_id: int) -> Segment:
        """Return one segment; raises `Gone` when there is none."""
        with self._store.read() as connection:
            return segments.get_segment(connection, segment_id)

    def cutouts(self, segment_ids: Sequence[int], *, large: bool = False) -> Cutouts:
        """Return small pictures of segments, or `large` ones of pictures."""
        return cutouts.cutouts(self._store, segment_ids, large=large)

    def between(self, bag_id: int, first: float, last: float, *, also: Sequence[int] = ()) -> SegmentRange:
        """Return segments that touch a range of time, and those of `also`; with outlines unless they are too many."""
        with self._store.read() as connection:
            return segment_ranges.between(connection, bag_id, first, last, also=also)

    def summary(self, bag_id: int, first: float, last: float, bins: int) -> SegmentSummary:
        """Count the segments of a bag: in all, checked, per label, and in each of `bins` parts of a range of time."""
        with self._store.read() as connection:
            return segment_ranges.summary(connection, bag_id, first, last, bins)

    def edges(self, bag_id: int, segment_id: int) -> tuple[float, float] | None:
        """Return (left, right) of a segment of a bag; None when the bag has no such segment."""
        with self._store.read() as connection:
            return segment_ranges.edges(connection, bag_id, segment_id)

    def next(
        self,
        bag_id: int,
        *,
        after: int | None = None,
        at: float | None = None,
        step: Literal[1, -1] = 1,
        unchecked: bool = False,
        wrap: bool = True,
    ) -> int | None:
        """Return the id of the next or previous segment by time, from a segment (`after`) or a time (`at`)."""
        with self._store.read() as connection:
            return segment_ranges.next_segment(
                connection, bag_id, after=after, at=at, step=step, unchecked=unchecked, wrap=wrap
            )

    def regions(self, bag_id: int) -> builtins.list[tuple[int, Region, Grid]]:
        """Return (segment id, mask, grid of the mask) of every segment of a bag."""
        with self._store.read() as connection:
            return segments.regions(connection, bag_id)

    def features(self, bag_id: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return (segment ids, features) of a bag, for the segments that have features."""
        with self._store.read() as connection:
            return features.of_bag(connection, bag_id)

    def n_to_describe(self) -> int:
        """Return how many bags have segments without up-to-date features."""
        with self._store.read() as connection:
            return len(features.bags_to_describe(connection))

    def store(self, bag_id: int, instances: Instances, settings: InstanceSettings | None = None) -> builtins.list[int]:
        """Store newly detected segments and their features; return the ids of the bag's automatic segments.

        `settings` are those the instances were made with (by default the project's own).

        Drawn and edited segments stay; what a person deleted is not added again; a reviewed segment keeps its id and
        label if a new one overlaps it (IoU of at least one half).
        """
        return resegment.store_instances(self._store, bag_id, instances, settings)

    def preview_resegment(
        self,
        bag_ids: Sequence[int] | None = None,
        *,
        scope: str = "all",
        try_bags: int = 0,
        settings: InstanceSettings | None = None,
    ) -> ResegmentPreview:
        """Return what detecting segments again would do to people's work, before doing it.

        Counts for all bags; for the first `try_bags` bags with reviewed segments it is tried (with `settings`, or
        with the project's), and `lost` names every label that would be lost.
        """
        return resegment.preview(self._store, bag_ids, scope=scope, try_bags=try_bags, tried=settings)

    def segmenter_examples(self) -> SegmenterExamples:
        """Return how many segments people kept and deleted, and whether a segmenter can learn from them."""
        with self._store.read() as connection:
            return segmenter_examples.count(connection)
