"""The segments of a project that are most like one of them."""

from __future__ import annotations

import json

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, text

from miml_core.errors import BagtagError
from miml_core.project.db.rows import bag_row, segment_rows
from miml_core.project.db.store import Store
from miml_core.project.similarity.index import index_of

MOST = 10_000
_LIVE = text("SELECT id FROM segments WHERE alive AND id IN (SELECT value FROM json_each(:ids))")


def nearest(store: Store, segment_id: int, count: int = 200) -> list[tuple[int, float]]:
    """Return (segment id, distance) of the `count` segments most like a segment, the nearest first, without itself."""
    if not 1 <= count <= MOST:
        raise BagtagError(f"The number of similar segments must be from 1 to {MOST}, not {count}.")
    with store.read() as connection:
        (segment,) = segment_rows(connection, [segment_id])
        bag = bag_row(connection, segment.bag_id)
    index = index_of(store)
    vector = index.vector_of(segment_id)
    if vector is None or not np.isfinite(vector).all() or (index.space.cosine and not vector.any()):
        raise BagtagError(
            f"Segment {segment.number} of {bag.name} has no features yet, so nothing can be compared with it. "
            "Detect segments again on the Segment page, or choose another segment."
        )
    wanted = count + 1
    while True:
        ids, distances = index.nearest(vector, wanted)
        with store.read() as connection:
            live = np.isin(ids, live_segments(connection, ids)) & (ids != segment_id)
        if live.sum() >= count or len(ids) < wanted:
            return list(zip(ids[live][:count].tolist(), distances[live][:count].tolist()))
        wanted *= 2  # some have been deleted since


def live_segments(connection: Connection, ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return those of the segments that exist and are not deleted."""
    return np.array(list(connection.execute(_LIVE, {"ids": json.dumps(ids.tolist())}).scalars()), dtype=np.int64)
