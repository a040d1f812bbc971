"""The segments nearest to a segment: exact search over the vectors of all segments of a project.

The vectors are computed once and kept in the project's cache. What changed since is found by the revisions of the bags:
the rows of such bags are kept in memory beside the file, until they are so many that the file is made again.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select, text

from miml_core.errors import BagtagError
from miml_core.project.db import revisions, settings
from miml_core.project.db.schema import features as table
from miml_core.project.db.store import Store
from miml_core.project.queries import features
from miml_core.project.similarity import index_file
from miml_core.project.similarity.index_file import StoredVectors
from miml_core.project.similarity.vectors import VectorSpace

_SAMPLE_BAGS = 2000
_SAMPLE_ROWS = 20_000
_BAGS_AT_ONCE = 500
_ROWS_AT_ONCE = 65_536
_MOST_CHANGED = 0.1
"""The file is made again when more than this share of its segments, and more than `_FEW`, are in changed bags."""
_FEW = 5000


@dataclass(eq=False)
class SimilarityIndex:
    """The vectors of a project's segments, up to date with one revision."""

    stored: StoredVectors
    revision: int
    n_described: int
    changed: dict[int, tuple[NDArray[np.int64], NDArray[np.float32]]] = field(default_factory=dict)
    """Bag id -> (segment ids, vectors) of bags that changed after the file was made."""

    def __post_init__(self) -> None:
        self._update_rows()

    @property
    def space(self) -> VectorSpace:
        """The space of the vectors."""
        return self.stored.space

    @property
    def segment_ids(self) -> NDArray[np.int64]:
        """(N,) all segments that have a vector; some of them may have been deleted since."""
        return np.concatenate([self.stored.segment_ids[self._squares_valid], self._other_ids])

    def vectors_of(self, segment_ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the (n, d) vectors of segments that are in `segment_ids`."""
        ids = np.concatenate([self.stored.segment_ids, self._other_ids])
        rows = np.arange(len(ids))
        valid = np.concatenate([self._squares_valid, np.ones(len(self._other_ids), dtype=bool)])
        order = np.argsort(ids[valid], kind="stable")
        places = rows[valid][order[np.searchsorted(ids[valid], segment_ids, sorter=order)]]
        n = len(self.stored.segment_ids)
        found = np.empty((len(segment_ids), self.space.width), dtype=np.float32)
        found[places < n] = self.stored.vectors[places[places < n]]
        found[places >= n] = self._others[places[places >= n] - n]
        return found

    def vector_of(self, segment_id: int) -> NDArray[np.float32] | None:
        """Return the (d,) vector of a segment; None if it has none."""
        place = np.flatnonzero(self._other_ids == segment_id)
        if len(place):
            return self._others[place[0]]
        place = np.flatnonzero((self.stored.segment_ids == segment_id) & self._squares_valid)
        return np.array(self.stored.vectors[place[0]]) if len(place) else None

    def nearest(self, vector: NDArray[np.floating], count: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the ids of the `count` segments nearest to a vector, the nearest first, and their distances."""
        query = np.asarray(vector, dtype=np.float32)
        ranking = np.empty(len(self._squares) + len(self._other_ids), dtype=np.float32)
        for start in range(0, len(self._squares), _ROWS_AT_ONCE):
            rows = slice(start, min(start + _ROWS_AT_ONCE, len(self._squares)))
            ranking[rows] = self._squares[rows] - 2.0 * (self.stored.vectors[rows] @ query)
        ranking[len(self._squares) :] = self._other_squares - 2.0 * (self._others @ query)
        best = np.arange(len(ranking))
        if count < len(ranking):
            best = np.argpartition(ranking, count)[: count + 1]
        best = best[np.isfinite(ranking[best])]
        return self._by_distance(best, np.asarray(vector, dtype=np.float64), count)

    def _by_distance(
        self, rows: NDArray[np.int64], vector: NDArray[np.float64], count: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Sort rows by their distance in double precision: differences of large squares are not exact."""
        n = len(self._squares)
        of_file = rows < n
        ids = np.empty(len(rows), dtype=np.int64)
        squared = np.empty(len(rows))
        ids[of_file] = self.stored.segment_ids[rows[of_file]]
        ids[~of_file] = self._other_ids[rows[~of_file] - n]
        squared[of_file] = ((self.stored.vectors[rows[of_file]] - vector) ** 2).sum(axis=1)
        squared[~of_file] = ((self._others[rows[~of_file] - n] - vector) ** 2).sum(axis=1)
        order = np.lexsort((ids, squared))[:count]
        return ids[order], self.space.distances(squared[order])

    def refresh(self, connection: Connection) -> bool:
        """Read the bags that changed; return False if the whole index has to be made again."""
        revision, described = revisions.current(connection), features.n_described(connection)
        if settings.feature_key(connection) != self.stored.feature_key or revision < self.revision:
            return False
        if (revision, described) == (self.revision, self.n_described):
            return True
        bags = set(revisions.news(connection, self.revision).bags)
        if described != self.n_described:
            bags |= self._with_other_rows(connection)
        known = set(self.stored.bag_ids.tolist()) | self.changed.keys()
        sizes = dict(zip(self.stored.bag_ids.tolist(), np.diff(self.stored.offsets).tolist()))
        for bag_id, ids, X in _blocks(connection, self.stored.feature_key, sorted(bags)):
            vectors = self.space.transform(X)
            if not self._is_stored(bag_id, ids, vectors):
                self.changed[bag_id] = ids, vectors
            bags.discard(bag_id)
        for bag_id in bags & known:  # it no longer has features
            self.changed[bag_id] = np.empty(0, dtype=np.int64), np.empty((0, self.space.width), dtype=np.float32)
        self.revision, self.n_described = revision, described
        self._update_rows()
        n_changed = sum(max(len(ids), sizes.get(bag_id, 0)) for bag_id, (ids, _) in self.changed.items())
        return n_changed <= max(_FEW, _MOST_CHANGED * len(self.stored.segment_ids))

    def _with_other_rows(self, connection: Connection) -> set[int]:
        """Return the bags with another number of described segments than here."""
        now = _sizes(connection, self.stored.feature_key)
        here = dict(zip(self.stored.bag_ids.tolist(), np.diff(self.stored.offsets).tolist()))
        here |= {bag_id: len(ids) for bag_id, (ids, _) in self.changed.items()}
        return {bag_id for bag_id in now.keys() | here.keys() if now.get(bag_id, 0) != here.get(bag_id, 0)}

    def _is_stored(self, bag_id: int, ids: NDArray[np.int64], vectors: NDArray[np.float32]) -> bool:
        """Return whether the file has just these rows of a bag; most edits change no features."""
        if bag_id in self.changed:
            return False
        place = int(np.searchsorted(self.stored.bag_ids, bag_id))
        if place == len(self.stored.bag_ids) or self.stored.bag_ids[place] != bag_id:
            return False
        rows = slice(*self.stored.offsets[place : place + 2])
        return np.array_equal(self.stored.segment_ids[rows], ids) and np.array_equal(self.stored.vectors[rows], vectors)

    def _update_rows(self) -> None:
        """Leave the file's rows of changed bags out, and join those in memory."""
        self._squares = self.stored.squares.copy()
        for place in np.flatnonzero(np.isin(self.stored.bag_ids, list(self.changed))):
            self._squares[slice(*self.stored.offsets[place : place + 2])] = np.inf
        self._squares_valid = np.isfinite(self._squares)
        ids = [ids for ids, _ in self.changed.values()]
        vectors = [vectors for _, vectors in self.changed.values()]
        self._other_ids = np.concatenate([np.empty(0, dtype=np.int64), *ids])
        self._others = np.concatenate([np.empty((0, self.space.width), dtype=np.float32), *vectors])
        self._other_squares = squared_lengths(self._others, self.space)


def squared_lengths(vectors: NDArray[np.float32], space: VectorSpace) -> NDArray[np.float32]:
    """Return (n,) squared lengths; infinite for segments without a direction, which are near to none."""
    squares = np.einsum("nd,nd->n", vectors, vectors)
    return np.where(squares > 0.5, squares, np.inf).astype(np.float32) if space.cosine else squares


_indexes: WeakKeyDictionary[Store, SimilarityIndex] = WeakKeyDictionary()
_lock = threading.Lock()


def index_of(store: Store) -> SimilarityIndex:
    """Return the index of a project, up to date; the first use, and larger changes, compute it.

    Raises
    ------
    BagtagError
        No segment has features.
    """
    with _lock:
        index = _indexes.get(store)
        with store.read() as connection:
            if index is None:
                stored = index_file.read(store.folder)
                index = None if stored is None else SimilarityIndex(stored, stored.revision, stored.n_described)
            if index is None or not index.refresh(connection):
                index = build(store, connection)
        _indexes[store] = index
        return index


def build(store: Store, connection: Connection) -> SimilarityIndex:
    """Compute the vectors of all described segments and keep them in the project's cache."""
    key = settings.feature_key(connection)
    sizes = _sizes(connection, key)
    if not sizes:
        raise BagtagError("No segment has features yet; detect segments on the Segment page first.")
    bag_ids = np.array(sorted(sizes), dtype=np.int64)
    sample, n_columns = _sample(connection, key, bag_ids)
    space = VectorSpace.fit(sample, features.n_hand_made(connection, n_columns))
    offsets = np.concatenate([[0], np.cumsum([sizes[bag] for bag in bag_ids.tolist()])]).astype(np.int64)
    segment_ids = np.empty(offsets[-1], dtype=np.int64)
    squares = np.empty(offsets[-1], dtype=np.float32)

    def batches() -> Iterator[NDArray[np.float32]]:
        done = 0
        for start in range(0, len(bag_ids), _BAGS_AT_ONCE):
            found = list(_blocks(connection, key, bag_ids[start : start + _BAGS_AT_ONCE].tolist()))
            vectors = space.transform(np.concatenate([X for _, _, X in found]))
            rows = slice(done, done + len(vectors))
            segment_ids[rows] = np.concatenate([ids for _, ids, _ in found])
            squares[rows] = squared_lengths(vectors, space)
            done += len(vectors)
            yield vectors

    name, vectors = index_file.write_vectors(store.folder, (len(segment_ids), space.width), batches)
    stored = StoredVectors(
        space,
        key,
        revisions.current(connection),
        features.n_described(connection),
        bag_ids,
        offsets,
        segment_ids,
        squares,
        vectors,
    )
    if name:
        index_file.write(store.folder, stored, name)
    return SimilarityIndex(stored, stored.revision, stored.n_described)


def _sizes(connection: Connection, key: str) -> dict[int, int]:
    """Return {bag id: number of rows} of the bags with described segments."""
    query = text("SELECT bag_id, length(segment_ids) / 8 FROM features WHERE feature_key = :key AND segment_ids != x''")
    return {int(bag_id): int(n) for bag_id, n in connection.execute(query, {"key": key})}


def _sample(connection: Connection, key: str, bag_ids: NDArray[np.int64]) -> tuple[NDArray[np.float32], int]:
    """Return features of segments of bags drawn at random, always the same, and the number of columns."""
    rng = np.random.default_rng(0)
    chosen = np.sort(rng.choice(bag_ids, min(_SAMPLE_BAGS, len(bag_ids)), replace=False)).tolist()
    rows: list[NDArray[np.float32]] = []
    for start in range(0, len(chosen), _BAGS_AT_ONCE):
        rows += [X for _, _, X in _blocks(connection, key, chosen[start : start + _BAGS_AT_ONCE])]
    together = np.concatenate(rows)
    if len(together) > _SAMPLE_ROWS:
        together = together[rng.choice(len(together), _SAMPLE_ROWS, replace=False)]
    return together, together.shape[1]


def _blocks(
    connection: Connection, key: str, bag_ids: Sequence[int]
) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.float32]]]:
    """Yield (bag id, segment ids, features) of bags in ascending order, with rows of deleted segments."""
    query = (
        select(table.c.bag_id, table.c.n_features, table.c.segment_ids, table.c.numbers)
        .where(table.c.feature_key == key)
        .order_by(table.c.bag_id)
    )
    for start in range(0, len(bag_ids), _BAGS_AT_ONCE):
        part = list(bag_ids[start : start + _BAGS_AT_ONCE])
        for bag_id, n_features, segment_ids, numbers in connection.execute(query.where(table.c.bag_id.in_(part))):
            ids, X = features.unpack(segment_ids, numbers, n_features)
            if len(ids):
                yield bag_id, ids, X
