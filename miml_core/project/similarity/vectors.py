"""Vectors whose distances say how much alike two segments are, made from the features of segments.

If segments have an embedding, its cosine distance counts; otherwise the Euclidean distance of the hand-made features,
each replaced by its rank among all segments (0 to 1), so that neither units nor a few extreme values decide. On HJA
bird song 69 % of the ten nearest segments in other clips are of the same species by ranks, 66 % by values scaled by
median and quartiles.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

N_COMPONENTS = 128
"""A wider embedding is replaced by this many principal components."""
_N_QUANTILES = 65
"""Ranks are interpolated between so many values of a feature."""
_SMALLEST_NORM = 1e-6

Floats = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class VectorSpace:
    """How a row of features becomes a vector.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(50, 6))
    >>> space = VectorSpace.fit(X, n_hand_made=6)
    >>> space.transform(X).shape
    (50, 6)
    >>> cosine = VectorSpace.fit(X, n_hand_made=2)  # the other four columns are an embedding
    >>> np.allclose(np.linalg.norm(cosine.transform(X), axis=1), 1.0)
    True
    """

    first_column: int
    """Columns before this one are not used."""
    centre: Floats
    """(d,) subtracted from the columns of an embedding."""
    matrix: Floats
    """(d, k) axes of an embedding; (quantiles, d) quantiles of hand-made features."""
    cosine: bool
    """Whether the columns are an embedding: vectors are then divided by their length."""

    @classmethod
    def fit(cls, sample: NDArray[np.floating], n_hand_made: int) -> VectorSpace:
        """Return the space for features like those of `sample` (n, d), whose first `n_hand_made` columns are hand-made.

        If there are further columns, only those are used.
        """
        sample = np.nan_to_num(np.asarray(sample, dtype=np.float32), nan=0.0, posinf=0.0, neginf=0.0)
        if n_hand_made < sample.shape[1]:
            return cls._of_embedding(sample[:, n_hand_made:], n_hand_made)
        quantiles = np.quantile(sample, np.linspace(0.0, 1.0, _N_QUANTILES), axis=0)
        return cls(0, np.zeros(sample.shape[1], dtype=np.float32), quantiles.astype(np.float32), False)

    @classmethod
    def _of_embedding(cls, sample: Floats, first_column: int) -> VectorSpace:
        described = np.abs(sample).max(axis=1) > 0  # zeros: sound that the embedding cannot describe
        centre = (sample[described] if described.any() else sample).mean(axis=0)
        width = sample.shape[1]
        if width <= N_COMPONENTS:
            return cls(first_column, centre, np.eye(width, dtype=np.float32), True)
        centred = (sample[described] - centre).astype(np.float64)
        _, axes = np.linalg.eigh(centred.T @ centred)
        largest = np.ascontiguousarray(axes[:, : -N_COMPONENTS - 1 : -1], dtype=np.float32)
        return cls(first_column, centre, largest, True)

    @property
    def width(self) -> int:
        """The number of columns of a vector."""
        return int(self.matrix.shape[-1])

    def transform(self, X: NDArray[np.floating]) -> Floats:
        """Return the (n, width) vectors of features (n, d); zeros where the embedding has none."""
        rows = np.asarray(X, dtype=np.float32)[:, self.first_column :]
        rows = np.nan_to_num(rows, nan=0.0, posinf=0.0, neginf=0.0)
        if not self.cosine:
            return self._ranks(rows)
        described = np.abs(rows).max(axis=1, initial=0.0) > 0
        vectors = ((rows - self.centre) @ self.matrix).astype(np.float32, copy=False)
        length = np.linalg.norm(vectors, axis=1, keepdims=True)
        vectors /= np.maximum(length, _SMALLEST_NORM).astype(np.float32)
        vectors[~described] = 0.0
        return vectors

    def _ranks(self, rows: Floats) -> Floats:
        """Return the share of segments with a smaller value, from 0 to 1; the middle of equal values."""
        ranks = np.empty_like(rows)
        share = np.linspace(0.0, 1.0, len(self.matrix))
        for column, quantiles in enumerate(self.matrix.T):
            values, first, n_equal = np.unique(quantiles, return_index=True, return_counts=True)
            ranks[:, column] = np.interp(rows[:, column], values, share[first] + (n_equal - 1) / 2 / (len(share) - 1))
        return ranks

    def distances(self, squared: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return distances from squared Euclidean ones: the cosine distance (0 to 2) of an embedding."""
        squared = np.maximum(np.asarray(squared, dtype=np.float64), 0.0)
        return squared / 2 if self.cosine else np.sqrt(squared)
