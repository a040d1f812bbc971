"""Features of segments: one contiguous block a bag, with the key of the settings that made it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select, text, update

from miml_core.project import bags, media, segments, settings
from miml_core.project.schema import bags as bags_table
from miml_core.project.schema import features as table
from miml_core.project.schema import segments as segments_table
from miml_core.project.store import Store

Block = tuple[NDArray[np.int64], NDArray[np.float32]]

_PUT = text(
    """
    INSERT INTO features (bag_id, feature_key, n_features, exact, segment_ids, numbers)
    VALUES (:bag_id, :feature_key, :n_features, :exact, :segment_ids, :numbers)
    ON CONFLICT (bag_id) DO UPDATE SET feature_key = :feature_key, n_features = :n_features, exact = :exact,
      segment_ids = :segment_ids, numbers = :numbers
    """
)


def store(
    connection: Connection,
    bag_id: int,
    segment_ids: NDArray[np.int64],
    X: NDArray[np.float32],
    feature_key: str,
    *,
    exact: bool,
) -> None:
    """Keep the features of a bag, replacing what was there."""
    connection.execute(
        _PUT,
        {
            "bag_id": bag_id,
            "feature_key": feature_key,
            "n_features": int(X.shape[1]),
            "exact": exact,
            "segment_ids": np.ascontiguousarray(segment_ids, dtype="<i8").tobytes(),
            "numbers": np.ascontiguousarray(X, dtype="<f4").tobytes(),
        },
    )


def of_bag(connection: Connection, bag_id: int, *, key: str | None = None) -> Block:
    """(segment ids, features) of the live segments that are described with the settings as they are (or `key`)."""
    row = connection.execute(select(table).where(table.c.bag_id == bag_id)).first()
    if row is None or row.feature_key != (key or settings.feature_key(connection)):
        return np.empty(0, dtype=np.int64), np.empty((0, 0), dtype=np.float32)
    ids, X = unpack(row.segment_ids, row.numbers, row.n_features)
    if not row.exact:
        here = np.isin(ids, live_ids(connection, bag_id))
        ids, X = ids[here], X[here]
    return ids, X


def unpack(segment_ids: bytes, numbers: bytes, n_features: int) -> Block:
    return np.frombuffer(segment_ids, dtype="<i8"), np.frombuffer(numbers, dtype="<f4").reshape(-1, n_features)


def live_ids(connection: Connection, bag_id: int) -> NDArray[np.int64]:
    found = connection.execute(
        select(segments_table.c.id).where(segments_table.c.bag_id == bag_id, segments_table.c.alive)
    )
    return np.array(list(found.scalars()), dtype=np.int64)


def forget(connection: Connection, segment_ids: Sequence[int]) -> None:
    """Segments got another shape: what was measured of them no longer holds."""
    changed = select(segments_table.c.bag_id).where(segments_table.c.id.in_(list(segment_ids))).distinct()
    for bag_id in list(connection.execute(changed).scalars()):
        row = connection.execute(select(table).where(table.c.bag_id == bag_id)).first()
        if row is not None:
            ids, X = unpack(row.segment_ids, row.numbers, row.n_features)
            kept = ~np.isin(ids, list(segment_ids))
            store(connection, bag_id, ids[kept], X[kept], row.feature_key, exact=False)


def bags_to_describe(connection: Connection) -> list[int]:
    """Bags with live segments whose features are missing or were made with other settings."""
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
    """Does every live segment of a bag have its features?"""
    return bool(np.isin(live_ids(connection, bag_id), of_bag(connection, bag_id)[0]).all())


def describe_bag(project: Store, bag_id: int) -> int:
    """Compute the features a bag lacks and store them; answers how many segments were described."""
    from miml_core.instances import describe_picture_regions, describe_regions

    with project.read() as connection:
        is_picture = settings.kind(connection) == "picture"
        used = settings.instance_settings(connection)
        bag = bags.row(connection, bag_id)
        file = media.file_of_bag(connection, project.folder, bag_id)
        known = set(of_bag(connection, bag_id, key=used.feature_key)[0].tolist())
        wanted = [each for each in segments.regions(connection, bag_id) if each[0] not in known]
    described = {}
    for grid in {each[2] for each in wanted}:
        same = [each for each in wanted if each[2] == grid]
        shapes = [shape for _, shape, _ in same]
        if is_picture:
            found = describe_picture_regions(file.path, grid, shapes, used)
        else:
            found = describe_regions(file.path, bag.start, bag.end, grid, shapes, used)
        described.update({each[0]: (each[1].to_bytes(), row) for each, row in zip(same, found)})
    with project.write() as connection:
        media.check_same_file(connection, project.folder, bag_id, file)
        _add(connection, bag_id, described, used.feature_key)
    return len(described)


def _add(
    connection: Connection,
    bag_id: int,
    described: dict[int, tuple[bytes, NDArray[np.float64]]],
    feature_key: str,
) -> None:
    """Store old and new rows together, but only those whose segment is still there and has the shape described."""
    now = {
        row.id: row.region
        for row in connection.execute(
            select(segments_table.c.id, segments_table.c.region).where(
                segments_table.c.bag_id == bag_id, segments_table.c.alive
            )
        )
    }
    known_ids, known = of_bag(connection, bag_id, key=feature_key)
    rows = dict(zip(known_ids.tolist(), known))
    rows |= {segment: row for segment, (shape, row) in described.items() if now.get(segment) == shape}
    if rows:
        stacked = np.stack([np.asarray(row, dtype=np.float32) for row in rows.values()])
        ids = np.array(list(rows), dtype=np.int64)
        store(connection, bag_id, ids, stacked, feature_key, exact=set(rows) == set(now))
        connection.execute(update(bags_table).where(bags_table.c.id == bag_id).values(error=None))
