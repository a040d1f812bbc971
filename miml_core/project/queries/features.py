"""Features of segments: one contiguous block per bag, with the key of the settings that made it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select

from miml_core.features.acoustic import sound_feature_names
from miml_core.features.visual import picture_feature_names
from miml_core.project.db import settings
from miml_core.project.db.schema import bags as bags_table
from miml_core.project.db.schema import features as table
from miml_core.project.db.schema import segments as segments_table

DESCRIBED = "features_described"
"""Key in `meta`, see `n_described`."""

Block = tuple[NDArray[np.int64], NDArray[np.float32]]


def of_bag(connection: Connection, bag_id: int, *, key: str | None = None) -> Block:
    """Return (segment ids, features) of live segments, made with the present settings (or those of `key`)."""
    row = connection.execute(select(table).where(table.c.bag_id == bag_id)).first()
    if row is None or row.feature_key != (key or settings.feature_key(connection)):
        return np.empty(0, dtype=np.int64), np.empty((0, 0), dtype=np.float32)
    ids, X = unpack(row.segment_ids, row.numbers, row.n_features)
    if not row.exact:
        live = np.isin(ids, live_ids(connection, bag_id))
        ids, X = ids[live], X[live]
    return ids, X


def unpack(segment_ids: bytes, numbers: bytes, n_features: int) -> Block:
    """Return a stored block as arrays."""
    return np.frombuffer(segment_ids, dtype="<i8"), np.frombuffer(numbers, dtype="<f4").reshape(-1, n_features)


def live_ids(connection: Connection, bag_id: int) -> NDArray[np.int64]:
    """Return the ids of the live segments of a bag."""
    found = connection.execute(
        select(segments_table.c.id).where(segments_table.c.bag_id == bag_id, segments_table.c.alive)
    )
    return np.array(list(found.scalars()), dtype=np.int64)


def bags_to_describe(connection: Connection) -> list[int]:
    """Return the bags with live segments whose features are missing or were made with other settings."""
    key = settings.feature_key(connection)
    doubtful = connection.execute(
        select(bags_table.c.id, table.c.feature_key, table.c.exact)
        .outerjoin(table, table.c.bag_id == bags_table.c.id)
        .where(bags_table.c.n_segments > 0)
        .where(table.c.bag_id.is_(None) | (table.c.feature_key != key) | ~table.c.exact)
        .order_by(bags_table.c.id)
    ).all()
    return [row.id for row in doubtful if row.feature_key != key or not is_described(connection, row.id)]


def is_described(connection: Connection, bag_id: int) -> bool:
    """Return whether every live segment of a bag has its features."""
    return bool(np.isin(live_ids(connection, bag_id), of_bag(connection, bag_id)[0]).all())


def n_described(connection: Connection) -> int:
    """Return how often features were stored without an edit: a bag's revision does not show that."""
    stored = settings.get(connection, DESCRIBED, 0)
    return stored if isinstance(stored, int) else 0


def n_hand_made(connection: Connection, n_columns: int) -> int:
    """Return how many of the columns of features are hand-made: the first ones, before those of an embedding."""
    used = settings.instance_settings(connection)
    if used.embedding is None:
        return n_columns

    names = picture_feature_names if settings.kind(connection) == "picture" else sound_feature_names
    return min(n_columns, len(names(used.feature_set)))
