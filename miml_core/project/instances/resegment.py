"""Replace the automatic segments of a bag without losing people's work.

Drawn and edited segments stay. What a person deleted is not added again. An old automatic segment that a new one
overlaps by half or more (IoU) keeps its id, and so its label and its history; the others are removed. Labels that
would be lost are listed by `preview`, and in the history when they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Row, and_, bindparam, delete, func, insert, select, update

from miml_core.errors import BagtagError
from miml_core.project.db import counters, revisions, settings
from miml_core.project.db.history_notes import write_history_note
from miml_core.project.db.rows import bag_row
from miml_core.project.db.schema import BY_EYE, bag_predictions, verdicts
from miml_core.project.db.schema import bags as bags_table
from miml_core.project.db.schema import predictions as predictions_table
from miml_core.project.db.schema import segments as table
from miml_core.project.db.store import Store
from miml_core.project.edits.grids import store_grid
from miml_core.project.errors import Gone
from miml_core.project.instances.detection import detect_instances
from miml_core.project.instances.feature_blocks import store as store_features
from miml_core.project.queries import features, segments
from miml_core.project.queries.labels import label_name, labels_of
from miml_core.project.review_records import ResegmentPreview
from miml_core.segments.regions import to_labels

if TYPE_CHECKING:
    from miml_core.instances import Instances, InstanceSettings
    from miml_core.media.grid import Grid

_SAME = 0.5
"""IoU from which an old and a new segment count as the same."""
_BY_HAND = ("drawn", "edited")
_INSERT = insert(table).returning(table.c.id, sort_by_parameter_order=True)


@dataclass(frozen=True)
class Plan:
    """What happens to the segments of a bag; numbers index the new regions."""

    keep: list[Row[Any]]
    """Drawn or edited by a person."""
    same: list[tuple[Row[Any], int]]
    new: list[int]
    removed: list[Row[Any]]


def store_instances(store: Store, bag_id: int, instances: Instances, used: InstanceSettings | None = None) -> list[int]:
    """Store newly detected segments and their features in one transaction; return the ids of the automatic ones."""
    with store.write() as connection:
        return store_in_transaction(connection, bag_id, instances, used or settings.renew_keys(connection))


def store_in_transaction(
    connection: Connection, bag_id: int, instances: Instances, used: InstanceSettings
) -> list[int]:
    """Store newly detected segments inside the caller's transaction; return the ids of the automatic ones."""
    bag = bag_row(connection, bag_id)
    plan = make_plan(connection, bag_id, instances)
    lost = _lost_labels(connection, plan.removed)
    grid_id = store_grid(connection, instances.grid)
    origin = "learned" if used.learned_segmenter else "automatic"
    known = features.of_bag(connection, bag_id, key=used.feature_key)
    _remove(connection, [row.id for row in plan.removed])
    highest = connection.execute(select(func.max(table.c.number)).where(table.c.bag_id == bag_id)).scalar() or 0
    ids: dict[int, int] = {}
    changed = [{"segment": row.id, **_values(instances, place, grid_id, origin)} for row, place in plan.same]
    if changed:
        connection.execute(update(table).where(table.c.id == bindparam("segment")), changed)
    ids.update({place: row.id for row, place in plan.same})
    places = _by_time(plan.new, instances)
    new = [
        {"bag_id": bag_id, "number": number, "alive": True, **_values(instances, place, grid_id, origin)}
        for number, place in enumerate(places, start=highest + 1)
    ]
    if new:
        ids.update(zip(places, connection.execute(_INSERT, new).scalars()))
    _store_features(connection, bag_id, plan, ids, instances, known, used.feature_key)
    connection.execute(delete(bag_predictions).where(bag_predictions.c.bag_id == bag_id))
    connection.execute(delete(predictions_table).where(predictions_table.c.bag_id == bag_id))
    connection.execute(
        update(bags_table)
        .where(bags_table.c.id == bag_id)
        .values(segment_key=used.segment_key, grid_id=grid_id, error=None)
    )
    counters.refresh(connection, [bag_id])
    revision = revisions.advance(connection, changed_bags=[bag_id])
    if lost:
        sentence = f"{bag.name}: detected segments again; these labels were lost: {', '.join(lost)}"
        write_history_note(connection, "", "segment", sentence, revision=revision, bag_id=bag_id)
    return [ids[place] for place in sorted(ids)]


def preview(
    store: Store, bag_ids: Sequence[int] | None, *, scope: str, try_bags: int, tried: InstanceSettings | None = None
) -> ResegmentPreview:
    """Return what detecting segments again (with the settings to be tried) would do to people's work."""
    with store.read() as connection:
        chosen = scope_bags(connection, bag_ids, scope=scope, again=True)
        origins = (
            select(table.c.bag_id, table.c.origin, verdicts.c.segment_id.is_not(None).label("labelled"))
            .outerjoin(verdicts, and_(verdicts.c.segment_id == table.c.id, verdicts.c.checked_by == BY_EYE))
            .where(table.c.alive, table.c.origin.in_(_BY_HAND) | verdicts.c.segment_id.is_not(None))
        )
        among = set(chosen)
        worked = [row for row in connection.execute(origins) if row.bag_id in among]
        used = tried or settings.instance_settings(connection)
    at_risk = [row for row in worked if row.origin not in _BY_HAND]
    lost: list[str] = []
    for bag_id in sorted({row.bag_id for row in at_risk})[:try_bags]:
        lost += _try(store, bag_id, used)
    return ResegmentPreview(
        n_bags=len(chosen),
        n_kept_as_drawn=sum(row.origin in _BY_HAND for row in worked),
        n_reviewed=sum(bool(row.labelled) for row in worked),
        n_at_risk=len(at_risk),
        lost=lost,
    )


def scope_bags(connection: Connection, bag_ids: Sequence[int] | None, *, scope: str, again: bool) -> list[int]:
    """Return the bags to segment: "stale" and "all" differ only in `again`; "unreviewed" skips bags with labels."""
    query = select(bags_table.c.id).order_by(bags_table.c.id)
    if not again and scope != "all":
        key = settings.segment_key(connection)
        query = query.where((bags_table.c.segment_key != key) | bags_table.c.segment_key.is_(None))
    if scope == "unreviewed":
        query = query.where(bags_table.c.n_reviewed == 0)
    found = list(connection.execute(query).scalars())
    if bag_ids is None:
        return found
    wanted = set(bag_ids)
    return [bag_id for bag_id in found if bag_id in wanted]


def make_plan(connection: Connection, bag_id: int, instances: Instances) -> Plan:
    """Match the old segments of a bag with the new ones."""
    everything = connection.execute(select(table).where(table.c.bag_id == bag_id).order_by(table.c.id)).all()
    labels = to_labels(instances.regions, instances.grid.height, instances.grid.width)
    areas = np.array([shape.area for shape in instances.regions], dtype=float)
    grids = {grid_id: segments.grid(connection, grid_id) for grid_id in {row.grid_id for row in everything}}
    keep = [row for row in everything if row.alive and row.origin in _BY_HAND]
    deleted = [row for row in everything if not row.alive and row.origin not in _BY_HAND]
    automatic = [row for row in everything if row.alive and row.origin not in _BY_HAND]
    taken = np.zeros(len(areas), dtype=bool)
    for row in keep:
        shared, _ = _shared(grids, row, instances, labels)
        taken |= shared >= _SAME * areas
    for row in deleted:
        shared, area = _shared(grids, row, instances, labels)
        taken |= _iou(shared, areas, area) >= _SAME
    same = _match(grids, automatic, instances, labels, areas, taken)
    matched_rows = {row.id for row, _ in same}
    matched = {place for _, place in same}
    return Plan(
        keep,
        same,
        [place for place in range(len(areas)) if place not in matched and not taken[place]],
        [row for row in automatic if row.id not in matched_rows],
    )


def _match(
    grids: dict[int, Grid],
    automatic: list[Row[Any]],
    instances: Instances,
    labels: NDArray[np.int32],
    areas: NDArray[np.float64],
    taken: NDArray[np.bool_],
) -> list[tuple[Row[Any], int]]:
    """Return pairs that overlap by at least half, the largest IoU first, each segment once."""
    pairs = []
    for row in automatic:
        shared, area = _shared(grids, row, instances, labels)
        alike = np.where(taken, 0.0, _iou(shared, areas, area))
        pairs += [(float(alike[place]), row, int(place)) for place in np.flatnonzero(alike >= _SAME)]
    pairs.sort(key=lambda pair: (-pair[0], pair[1].id))
    same: list[tuple[Row[Any], int]] = []
    rows_used, places_used = set(), set()
    for _, row, place in pairs:
        if row.id not in rows_used and place not in places_used:
            same.append((row, place))
            rows_used.add(row.id)
            places_used.add(place)
    return same


def _shared(
    grids: dict[int, Grid], row: Row[Any], instances: Instances, labels: NDArray[np.int32]
) -> tuple[NDArray[np.float64], int]:
    """Return the pixels that each new region shares with an old segment, and the old one's area on the new grid."""
    shape = segments.move_to_grid(row, grids[row.grid_id], instances.grid)
    height, width = labels.shape
    top, left, bottom, right = shape.box
    window = labels[max(top, 0) : min(bottom, height), max(left, 0) : min(right, width)]
    mask = shape.within((max(top, 0), max(left, 0), max(top, 0) + window.shape[0], max(left, 0) + window.shape[1]))
    counts = np.bincount(window[mask], minlength=len(instances.regions) + 1)[1:]
    return counts.astype(float), shape.area


def _iou(shared: NDArray[np.float64], areas: NDArray[np.float64], area: int) -> NDArray[np.float64]:
    return shared / np.maximum(areas + area - shared, 1.0)


def _values(instances: Instances, place: int, grid_id: int, origin: str) -> dict[str, Any]:
    shape = instances.regions[place]
    return {
        "grid_id": grid_id,
        "region": shape.to_bytes(),
        "origin": origin,
        **segments.box(shape, instances.grid),
    }


def _by_time(places: list[int], instances: Instances) -> list[int]:
    """Return places sorted by time, the order in which segments are numbered."""
    return sorted(places, key=lambda place: (instances.regions[place].left, instances.regions[place].top))


def _remove(connection: Connection, segment_ids: list[int]) -> None:
    connection.execute(delete(verdicts).where(verdicts.c.segment_id.in_(segment_ids)))
    connection.execute(delete(table).where(table.c.id.in_(segment_ids)))


def _store_features(
    connection: Connection,
    bag_id: int,
    plan: Plan,
    ids: dict[int, int],
    instances: Instances,
    known: tuple[NDArray[np.int64], NDArray[np.float32]],
    feature_key: str,
) -> None:
    """Store one block: the new features, and the known ones of segments drawn or edited by a person."""
    places = sorted(ids)
    X = np.asarray(instances.X, dtype=np.float32)[places]
    rows = [ids[place] for place in places]
    by_hand = {row.id for row in plan.keep}
    old_rows = [k for k, segment_id in enumerate(known[0]) if int(segment_id) in by_hand]
    if old_rows:
        X = np.vstack([X, known[1][old_rows]])
        rows += [int(known[0][k]) for k in old_rows]
    exact = len(old_rows) == len(by_hand)
    store_features(connection, bag_id, np.array(rows, dtype=np.int64), X, feature_key, exact=exact)


def _lost_labels(connection: Connection, removed: list[Row[Any]]) -> list[str]:
    labels = labels_of(connection, [row.id for row in removed], by_eye=True)
    return [f"segment {row.number} ({label_name(connection, labels[row.id])})" for row in removed if row.id in labels]


def _try(store: Store, bag_id: int, used: InstanceSettings) -> list[str]:
    with store.read() as connection:
        try:
            bag = bag_row(connection, bag_id)
        except Gone:
            return []
        try:
            instances = detect_instances(connection, store.folder, bag, replace(used, embedding=None))
        except BagtagError:
            return []  # its segments cannot be detected again, and stay
        lost = _lost_labels(connection, make_plan(connection, bag_id, instances).removed)
    return [f"{bag.name}: {each}" for each in lost]
