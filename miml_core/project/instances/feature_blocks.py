"""Store the features of segments: one contiguous block per bag."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select, text, update

from miml_core.instances import describe_picture_regions, describe_regions
from miml_core.project.db import settings
from miml_core.project.db.rows import bag_row
from miml_core.project.db.schema import bags as bags_table
from miml_core.project.db.schema import features as table
from miml_core.project.db.schema import segments as segments_table
from miml_core.project.db.store import Store
from miml_core.project.events import BagsChanged
from miml_core.project.instances.timelines import TimelineCaches, caches_of
from miml_core.project.media import files as media_files
from miml_core.project.queries import features, segments

if TYPE_CHECKING:
    from miml_core.instances import InstanceSettings
    from miml_core.media.grid import Grid
    from miml_core.segments.regions import Region

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
    """Store the features of a bag, replacing earlier ones."""
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


def forget_reshaped(event: BagsChanged) -> None:
    """Remove the features of segments that got another outline."""
    if event.reshaped:
        _forget(event.connection, event.reshaped)


def _forget(connection: Connection, segment_ids: Sequence[int]) -> None:
    changed = select(segments_table.c.bag_id).where(segments_table.c.id.in_(list(segment_ids))).distinct()
    for bag_id in list(connection.execute(changed).scalars()):
        row = connection.execute(select(table).where(table.c.bag_id == bag_id)).first()
        if row is not None:
            ids, X = features.unpack(row.segment_ids, row.numbers, row.n_features)
            kept = ~np.isin(ids, list(segment_ids))
            store(connection, bag_id, ids[kept], X[kept], row.feature_key, exact=False)


@dataclass(frozen=True, eq=False)
class BagToDescribe:
    """A bag and its segments without features, as they were read; it can be sent to another process."""

    bag_id: int
    kind: str
    start: float
    end: float
    file: media_files.BagFile
    segments: list[tuple[int, Region, Grid]]
    settings: InstanceSettings
    caches: TimelineCaches | None


@dataclass(frozen=True, eq=False)
class DescribedBag:
    """The new features of a bag: those of each segment, with the outline they are of."""

    bag: BagToDescribe
    rows: dict[int, tuple[bytes, NDArray[np.float64]]]


def describe_bag(project: Store, bag_id: int) -> int:
    """Compute and store the missing features of a bag; return the number of segments described."""
    return store_described(project, describe(read_bag(project, bag_id)))


def read_bag(project: Store, bag_id: int) -> BagToDescribe:
    """Return a bag with those of its segments that have no up-to-date features."""
    with project.read() as connection:
        used = settings.instance_settings(connection)
        bag = bag_row(connection, bag_id)
        file = media_files.file_of_bag(connection, project.folder, bag_id)
        known = set(features.of_bag(connection, bag_id, key=used.feature_key)[0].tolist())
        return BagToDescribe(
            bag_id,
            settings.kind(connection),
            bag.start,
            bag.end,
            file,
            [each for each in segments.regions(connection, bag_id) if each[0] not in known],
            used,
            caches_of(project.folder, file, used),
        )


def describe(bag: BagToDescribe) -> DescribedBag:
    """Compute the features of a bag's segments; nothing is stored."""
    rows = {}
    for grid in {each[2] for each in bag.segments}:
        same = [each for each in bag.segments if each[2] == grid]
        shapes = [shape for _, shape, _ in same]
        if bag.kind == "picture":
            found = describe_picture_regions(bag.file.path, grid, shapes, bag.settings)
        else:
            found = describe_regions(bag.file.path, bag.start, bag.end, grid, shapes, bag.settings, bag.caches)
        rows.update({each[0]: (each[1].to_bytes(), row) for each, row in zip(same, found)})
    return DescribedBag(bag, rows)


def store_described(project: Store, described: DescribedBag) -> int:
    """Store new features, unless the bag's file was replaced meanwhile; return the number of segments."""
    bag = described.bag
    with project.write() as connection:
        media_files.check_same_file(connection, project.folder, bag.bag_id, bag.file)
        _add(connection, bag.bag_id, described.rows, bag.settings.feature_key)
        settings.put(connection, features.DESCRIBED, features.n_described(connection) + 1)
    return len(described.rows)


def _add(
    connection: Connection,
    bag_id: int,
    described: dict[int, tuple[bytes, NDArray[np.float64]]],
    feature_key: str,
) -> None:
    """Store old and new rows together, without segments that were deleted or reshaped meanwhile."""
    now = {
        row.id: row.region
        for row in connection.execute(
            select(segments_table.c.id, segments_table.c.region).where(
                segments_table.c.bag_id == bag_id, segments_table.c.alive
            )
        )
    }
    known_ids, known = features.of_bag(connection, bag_id, key=feature_key)
    rows = dict(zip(known_ids.tolist(), known))
    rows |= {segment: row for segment, (shape, row) in described.items() if now.get(segment) == shape}
    if rows:
        stacked = np.stack([np.asarray(row, dtype=np.float32) for row in rows.values()])
        ids = np.array(list(rows), dtype=np.int64)
        store(connection, bag_id, ids, stacked, feature_key, exact=set(rows) == set(now))
        connection.execute(update(bags_table).where(bags_table.c.id == bag_id).values(error=None))
