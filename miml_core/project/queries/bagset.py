"""The BagSet of a project: features, tags and corrections, in a few long reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Column, Connection, Select, func, select

from miml_core.bags import BACKGROUND, UNKNOWN, BagSet, FeatureGroup
from miml_core.errors import BagtagError
from miml_core.features.embeddings import pretrained_weights
from miml_core.project.db import revisions, settings
from miml_core.project.db.schema import BY_EYE, bags, classes, tags, verdicts
from miml_core.project.db.schema import features as features_table
from miml_core.project.queries import features

_FEW = 500


@dataclass(frozen=True)
class BagSetIndex:
    """The bags, segments and classes of the rows and columns of a BagSet."""

    bag_ids: NDArray[np.int64]
    """(B,)"""
    segment_ids: NDArray[np.int64]
    """(N,)"""
    class_ids: list[int]
    """C"""
    offsets: NDArray[np.int64]
    """(B + 1,)"""
    revision: int
    """The project's revision when it was read."""
    feature_key: str


def load(
    connection: Connection,
    bag_ids: Sequence[int] | None = None,
    *,
    only_tagged: bool = False,
    class_ids: Sequence[int] | None = None,
) -> tuple[BagSet, BagSetIndex]:
    """Return the BagSet that models learn from, and its index.

    The columns are the classes of `class_ids`, or all classes that some bag is tagged with. Bags without described
    segments are left out.
    """
    columns = list(class_ids) if class_ids is not None else tagged_classes(connection)
    if not columns:
        raise BagtagError("No bag is tagged yet: there is nothing to learn from. Tag some bags first.")
    key = settings.feature_key(connection)
    found = _features(connection, key, bag_ids)
    if not found:
        raise BagtagError("No segment has features yet; detect segments on the Segment page first.")
    ids = np.array([bag for bag, _, _ in found], dtype=np.int64)
    offsets = np.concatenate([[0], np.cumsum([len(segment_ids) for _, segment_ids, _ in found])])
    index = BagSetIndex(
        bag_ids=ids,
        segment_ids=np.concatenate([segment_ids for _, segment_ids, _ in found]),
        class_ids=columns,
        offsets=offsets,
        revision=revisions.current(connection),
        feature_key=key,
    )
    X = np.empty((int(offsets[-1]), found[0][2].shape[1]))
    for (_, _, block), start in zip(found, offsets):
        X[start : start + len(block)] = block
    names = {row.id: row.name for row in connection.execute(_of_few(select(bags.c.id, bags.c.name), bags.c.id, ids))}
    named = {row.id: row for row in connection.execute(select(classes.c.id, classes.c.name, classes.c.scientific_name))}
    # Undo could once delete a class that a run had learnt; its column counts as background (`columns_of`).
    class_names = [named[column].name if column in named else f"deleted class {column}" for column in columns]
    scientific_names = [named[column].scientific_name if column in named else "" for column in columns]
    groups, pretrained = _sources(connection, X.shape[1], class_names, scientific_names)
    full = BagSet(
        X,
        offsets,
        tag_matrix(connection, index.bag_ids, index.class_ids),
        class_names,
        _labels(connection, index),
        [names[int(bag)] for bag in ids],
        groups=groups,
        pretrained=pretrained,
    )
    return _only_tagged(full, index) if only_tagged else (full, index)


def tagged_classes(connection: Connection) -> list[int]:
    """Return the classes in use that at least one bag is tagged as having."""
    used = select(tags.c.class_id).where(tags.c.value > 0).distinct()
    live = select(classes.c.id).where(classes.c.id.in_(used), classes.c.merged_into.is_(None), ~classes.c.removed)
    return list(connection.execute(live.order_by(classes.c.id)).scalars())


def _features(
    connection: Connection, key: str, bag_ids: Sequence[int] | None
) -> list[tuple[int, NDArray[np.int64], NDArray[np.float32]]]:
    query = (
        select(
            features_table.c.bag_id,
            features_table.c.exact,
            features_table.c.n_features,
            features_table.c.segment_ids,
            features_table.c.numbers,
        )
        .where(features_table.c.feature_key == key)
        .order_by(features_table.c.bag_id)
    )
    wanted = None if bag_ids is None else {int(bag) for bag in bag_ids}
    if wanted is not None and len(wanted) <= _FEW:
        query = query.where(features_table.c.bag_id.in_(wanted))
    found = []
    for bag, exact, n_features, segment_ids, numbers in connection.execute(query):
        if not segment_ids or (wanted is not None and bag not in wanted):
            continue
        ids, X = features.unpack(segment_ids, numbers, n_features)
        if not exact:
            live = np.isin(ids, features.live_ids(connection, bag))
            ids, X = ids[live], X[live]
        if len(ids):
            found.append((int(bag), ids, X))
    return found


def _sources(
    connection: Connection, n_columns: int, names: list[str], scientific_names: list[str]
) -> tuple[list[FeatureGroup] | None, NDArray[np.float64] | None]:
    """Return the groups of the features, and the embedding's classifier of the classes if it has one.

    The features were stored earlier, so an embedding that is not installed here is no error.
    """
    used, kind = settings.instance_settings(connection), settings.kind(connection)
    if used.embedding is None:
        return None, None
    hand_made = features.n_hand_made(connection, n_columns)
    if n_columns == hand_made:
        return None, None
    groups = [FeatureGroup("hand-made", hand_made), FeatureGroup(used.embedding, n_columns - hand_made)]
    try:
        weights = pretrained_weights(used.embedding, kind, names, scientific_names)
    except BagtagError:
        return groups, None
    if weights is None or len(weights) != n_columns - hand_made + 1:
        return groups, None
    of_hand_made = np.zeros((hand_made, len(names)))
    of_hand_made[:, np.isnan(weights).any(axis=0)] = np.nan
    return groups, np.concatenate([of_hand_made, weights])


def tag_matrix(connection: Connection, bag_ids: NDArray[np.int64], class_ids: Sequence[int]) -> NDArray[np.int8]:
    """Return (B, C) tags; classes that a finished bag is not tagged with are absent."""
    finished = select(bags.c.id).where(bags.c.finished, ~bags.c.rest_unknown)
    closed = set(connection.execute(_of_few(finished, bags.c.id, bag_ids)).scalars())
    complete = np.array([int(bag) in closed for bag in bag_ids], dtype=bool)
    matrix = np.zeros((len(bag_ids), len(class_ids)), dtype=np.int8)
    matrix[complete] = -1
    tagged = select(tags.c.bag_id, tags.c.class_id, tags.c.value)
    stored = _table(connection, _of_few(tagged, tags.c.bag_id, bag_ids))
    rows = _places(bag_ids, stored[:, 0])
    columns = _places(np.array(class_ids), stored[:, 1])
    known = (rows >= 0) & (columns >= 0)
    matrix[rows[known], columns[known]] = stored[known, 2]
    return matrix


def _labels(connection: Connection, index: BagSetIndex) -> NDArray[np.int64]:
    """Return (N,) labels: class index, background or unknown; a class without a column is unknown.

    What was accepted by a threshold is unknown: it is the model's own opinion, which it must not learn from.
    """
    labels = np.full(len(index.segment_ids), UNKNOWN, dtype=np.int64)
    labelled = select(verdicts.c.segment_id, func.coalesce(verdicts.c.class_id, BACKGROUND))
    labelled = labelled.where(verdicts.c.checked_by == BY_EYE)
    stored = _table(connection, _of_few(labelled, verdicts.c.segment_id, index.segment_ids))
    rows = _places(index.segment_ids, stored[:, 0])
    columns = _places(np.array(index.class_ids), stored[:, 1])
    values = np.where(stored[:, 1] == BACKGROUND, BACKGROUND, np.where(columns >= 0, columns, UNKNOWN))
    labels[rows[rows >= 0]] = values[rows >= 0]
    return labels


def _of_few(query: Select[Any], column: Column[int], ids: NDArray[np.int64]) -> Select[Any]:
    """Return the query for some bags or segments only; for all rows if they are many, which is faster."""
    return query.where(column.in_(ids.tolist())) if len(ids) <= _FEW else query


def _only_tagged(full: BagSet, index: BagSetIndex) -> tuple[BagSet, BagSetIndex]:
    return choose(full, index, full.annotated_bags())


def choose(full: BagSet, index: BagSetIndex, places: NDArray[np.int64]) -> tuple[BagSet, BagSetIndex]:
    """Return some bags of a BagSet, with their index."""
    if len(places) == 0:
        raise BagtagError("No tagged bag has segments yet: tag some bags and detect their segments first.")
    part = full[places]
    rows = np.concatenate([np.arange(*index.offsets[place : place + 2]) for place in places])
    return part, replace(
        index, bag_ids=index.bag_ids[places], segment_ids=index.segment_ids[rows], offsets=part.offsets
    )


def _table(connection: Connection, query: Any) -> NDArray[np.int64]:
    rows = [tuple(row) for row in connection.execute(query)]
    return np.array(rows, dtype=np.int64).reshape(len(rows), len(query.selected_columns))


def _places(known: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the place of each wanted number in `known`; -1 if it is not in it."""
    order = np.argsort(known, kind="stable")
    spots = np.searchsorted(known, wanted, sorter=order)
    spots = np.minimum(spots, len(known) - 1)
    places = order[spots]
    return np.where(known[places] == wanted, places, -1)
