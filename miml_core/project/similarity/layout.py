"""A map of segments: places in the plane where segments that are alike lie together, by t-SNE.

openTSNE is used, not UMAP: it comes compiled and needs nothing that Bagtag does not have already, whereas UMAP compiles
for 15 to 40 s in every new process. Both are seeded, so that the same segments give the same map.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from miml_core.progress import Progress, ignore_progress

FEWEST = 20
"""A map of fewer segments would show nothing."""
_PERPLEXITY = 30.0
_EARLY, _LATER = 250, 500
"""Iterations: with neighbours pulled together more strongly at first, then as they are."""
_ROWS_AT_ONCE = 1000
_EVERY = 10


def nearest_neighbours(
    vectors: NDArray[np.float32], k: int, progress: Progress = ignore_progress
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return (n, k) rows of the nearest others of each vector, the nearest first, and their Euclidean distances.

    Examples
    --------
    >>> rows, distances = nearest_neighbours(np.array([[0.0], [1.0], [3.0]], dtype=np.float32), 1)
    >>> rows.ravel().tolist(), distances.ravel().tolist()
    ([1, 0, 1], [1.0, 1.0, 2.0])
    """
    n = len(vectors)
    k = min(k, n - 1)
    squares = np.einsum("nd,nd->n", vectors, vectors)
    rows = np.empty((n, k), dtype=np.int64)
    distances = np.empty((n, k), dtype=np.float32)
    for start in range(0, n, _ROWS_AT_ONCE):
        progress(start, n, {"what": "comparing segments"})
        part = slice(start, min(start + _ROWS_AT_ONCE, n))
        squared = vectors[part] @ vectors.T
        squared *= -2.0
        squared += squares
        squared[np.arange(len(squared)), np.arange(part.start, part.stop)] = np.inf
        best = np.argpartition(squared, k - 1, axis=1)[:, :k]
        nearest = np.take_along_axis(squared, best, axis=1)
        order = np.argsort(nearest, axis=1, kind="stable")
        rows[part] = np.take_along_axis(best, order, axis=1)
        squared_distance = np.take_along_axis(nearest, order, axis=1) + squares[part, None]
        distances[part] = np.sqrt(np.maximum(squared_distance, 0.0))
    return rows, distances


def n_neighbours(n: int) -> int:
    """Return how many neighbours of each segment a map of `n` needs."""
    return int(min(3 * _perplexity(n), n - 1))


def map_of(
    vectors: NDArray[np.float32],
    neighbours: NDArray[np.int64],
    distances: NDArray[np.float32],
    progress: Progress = ignore_progress,
) -> NDArray[np.float32]:
    """Return (n, 2) places of vectors, given their nearest neighbours; each axis runs from about -1 to 1.

    Examples
    --------
    >>> two = np.repeat(np.array([[0.0, 0.0], [9.0, 9.0]]), 30, axis=0) + np.random.default_rng(0).normal(size=(60, 2))
    >>> rows, distances = nearest_neighbours(two.astype(np.float32), n_neighbours(60))
    >>> map_of(two.astype(np.float32), rows, distances).shape
    (60, 2)
    """
    from openTSNE import TSNE
    from openTSNE.affinity import PerplexityBasedNN
    from openTSNE.initialization import pca
    from openTSNE.nearest_neighbors import PrecomputedNeighbors

    affinities = PerplexityBasedNN(
        perplexity=_perplexity(len(vectors)),
        knn_index=PrecomputedNeighbors(neighbours, distances.astype(np.float64)),
        n_jobs=1,
    )
    of, done = _EARLY + _LATER, 0

    def callback(iteration: int, error: float, embedding: object) -> None:
        nonlocal done
        done += _EVERY  # `iteration` begins again after the first phase
        progress(min(done, of), of, {"what": "computing the map"})

    fitted = TSNE(
        n_jobs=1,
        random_state=0,
        early_exaggeration_iter=_EARLY,
        n_iter=_LATER,
        callbacks=callback,
        callbacks_every_iters=_EVERY,
    ).fit(X=None, affinities=affinities, initialization=pca(vectors, random_state=0))
    places = np.asarray(fitted, dtype=np.float32)
    places -= places.mean(axis=0)
    return places / np.maximum(np.abs(places).max(), 1e-9)


def _perplexity(n: int) -> float:
    return min(_PERPLEXITY, (n - 1) / 3)
