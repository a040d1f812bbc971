"""The nearest 200 of a million segments, by exact search, against the product of the matrix and one vector.

A search reads all vectors once, so the product is the least it can cost. Aim: 200 ms, whichever is wider: hand-made
features (60 columns) or an embedding (128 components). The vectors are mapped from a file, as in a project.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from miml_core.project.similarity import index_file
from miml_core.project.similarity.index import SimilarityIndex, squared_lengths
from miml_core.project.similarity.vectors import VectorSpace

N_SEGMENTS = 1_000_000
N_BAGS = 100_000
_ROWS = 50_000


def run() -> None:
    """Print the figures."""
    for title, n_columns, n_hand_made in (("hand-made features", 60, 60), ("embedding", 1084, 60)):
        with tempfile.TemporaryDirectory() as folder:
            began = time.perf_counter()
            index = _index(Path(folder), n_columns, n_hand_made)
            making = time.perf_counter() - began
            query = np.array(index.stored.vectors[123_456])
            found, _ = index.nearest(query, 201)
            assert found[0] == index.stored.segment_ids[123_456]
            search = _seconds(lambda index=index, query=query: index.nearest(query, 201))
            product = _seconds(lambda index=index, query=query: index.stored.vectors @ query)
            print(
                f"{title}, {index.space.width} columns: {1000 * search:.0f} ms for the nearest 200 of {N_SEGMENTS} "
                f"segments, {search / product:.1f} x the matrix product; vectors made in {making:.0f} s",
                flush=True,
            )


def _index(folder: Path, n_columns: int, n_hand_made: int) -> SimilarityIndex:
    """Make an index of generated segments: a thousand kinds of calls, and noise."""
    rng = np.random.default_rng(0)
    kinds = rng.normal(size=(1000, n_columns)).astype(np.float32)

    def features(seed: int) -> NDArray[np.float32]:
        part = np.random.default_rng(seed)
        return kinds[part.integers(1000, size=_ROWS)] + 0.5 * part.standard_normal((_ROWS, n_columns), dtype=np.float32)

    space = VectorSpace.fit(features(0)[:20_000], n_hand_made)
    squares = np.empty(N_SEGMENTS, dtype=np.float32)

    def batches() -> Iterator[NDArray[np.float32]]:
        for start in range(0, N_SEGMENTS, _ROWS):
            vectors = space.transform(features(start))
            squares[start : start + _ROWS] = squared_lengths(vectors, space)
            yield vectors

    name, vectors = index_file.write_vectors(folder, (N_SEGMENTS, space.width), batches)
    assert name, "the vectors are in a file"
    offsets = np.linspace(0, N_SEGMENTS, N_BAGS + 1).astype(np.int64)
    ids = np.arange(1, N_SEGMENTS + 1)
    stored = index_file.StoredVectors(space, "key", 1, 0, np.arange(1, N_BAGS + 1), offsets, ids, squares, vectors)
    return SimilarityIndex(stored, 1, 0)


def _seconds(call: Callable[[], object], repeats: int = 7) -> float:
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return float(np.median(times))
