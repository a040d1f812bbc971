"""Which segments of a project are alike."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from miml_core.project.services.service import Service
from miml_core.project.similarity.nearest import nearest
from miml_core.project.similarity.segment_map import MapState, SegmentMap, map_state, read_map, unnamed_segments


class Similarity(Service):
    """`project.similarity`.

    Examples
    --------
    >>> from miml_core.demo.example import example_project
    >>> with example_project() as project:
    ...     (like, distance), *others = project.similarity.nearest(1)
    >>> like  # the other wren
    3
    """

    def nearest(self, segment_id: int, count: int = 200) -> list[tuple[int, float]]:
        """Return (segment id, distance) of the segments most like a segment, the nearest first, without itself.

        The search is exact: cosine distance of the embedding if segments have one, otherwise Euclidean distance of the
        ranks of the hand-made features. The first call computes an index, which is kept in the project's cache.

        Raises
        ------
        BagtagError
            The segment has no features yet.
        """
        return nearest(self._store, segment_id, count)

    def map(self) -> SegmentMap | None:
        """Return the latest map of segments by similarity; None before the first job of the kind "map"."""
        return read_map(self._store)

    def map_state(self, segments: SegmentMap) -> MapState:
        """Return labels and predictions of the segments of a map as they are now."""
        with self._store.read() as connection:
            return map_state(connection, segments.segment_ids)

    def unnamed(self, segments: SegmentMap, state: MapState) -> list[NDArray[np.int64]]:
        """Return the segment ids of each cluster of a map that is like no class, the largest first.

        Such a cluster occurs in bags whose tags do not explain it, and the current run does not name most of it
        surely (`similarity/unnamed.py`): a species that is not tagged yet, or noise. Segments that a person labelled
        are left out.
        """
        with self._store.read() as connection:
            return unnamed_segments(connection, segments, state)
