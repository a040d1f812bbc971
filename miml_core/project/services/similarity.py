"""Which segments of a project are alike."""

from __future__ import annotations

from miml_core.project.services.service import Service
from miml_core.project.similarity.nearest import nearest


class Similarity(Service):
    """`project.similarity`."""

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
