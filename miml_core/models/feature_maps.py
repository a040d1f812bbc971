"""Feature maps: features on a common scale, or features of a kernel.

A map is fitted to training segments by `fit` and is then a function of (N, d) features. Its fields are arrays, so that
a model can save a list of maps with `pack` and restore it with `unpack`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag

from miml_core.bags import FeatureGroup

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Standardise:
    """Scale each feature to mean 0 and standard deviation 1, and a constant feature to 0."""

    mean: Array
    scale: Array

    @classmethod
    def fit(cls, X: Array) -> Self:
        mean, spread = X.mean(axis=0), X.std(axis=0)
        constant = spread <= 1e-12 * np.maximum(1.0, np.abs(mean))
        return cls(mean, np.where(constant, 0.0, 1.0 / np.where(constant, 1.0, spread)))

    def __call__(self, X: Array) -> Array:
        return (X - self.mean) * self.scale


@dataclass(frozen=True)
class UnitRange:
    """Scale each feature to [0, 1]: the first step of the rescaling of Briggs et al. (2013), appendix."""

    low: Array
    scale: Array

    @classmethod
    def fit(cls, X: Array) -> Self:
        low, spread = X.min(axis=0), np.ptp(X, axis=0)
        return cls(low, np.where(spread > 0, 1.0 / np.where(spread > 0, spread, 1.0), 0.0))

    def __call__(self, X: Array) -> Array:
        return (X - self.low) * self.scale


@dataclass(frozen=True)
class CentreAndShrink:
    """Centre, then divide by the root of the summed squared norms of all segments: the second step of that rescaling.

    The paper takes it from the toolbox of Cour et al. (2011).
    """

    mean: Array
    scale: Array

    @classmethod
    def fit(cls, X: Array) -> Self:
        mean = X.mean(axis=0)
        total = np.sqrt(((X - mean) ** 2).sum())
        return cls(mean, np.array(1.0 / total if total > 0 else 0.0))

    def __call__(self, X: Array) -> Array:
        return (X - self.mean) * self.scale


@dataclass(frozen=True)
class ReduceGroups:
    """Replace each group of more than 256 standardised features by its first 128 principal components.

    An embedding has a thousand columns that are strongly correlated; its first components carry what distinguishes
    classes, and the cost of a fit grows with the number of columns. The components of a group are divided by one
    number, so that their mean variance is 1, like that of the standardised features of a small group.

    Attributes
    ----------
    matrix : (d, D) float
    """

    matrix: Array

    LARGE: ClassVar[int] = 256
    N_COMPONENTS: ClassVar[int] = 128
    _SEGMENTS: ClassVar[int] = 20_000

    @classmethod
    def fit(cls, Z: Array, groups: Sequence[FeatureGroup]) -> Self:
        some, first = Z[:: max(1, len(Z) // cls._SEGMENTS)], 0
        blocks = []
        for group in groups:
            part = some[:, first : first + group.n_columns]
            blocks.append(cls._components(part) if cls.is_large(group) else np.eye(group.n_columns))
            first += group.n_columns
        return cls(block_diag(*blocks))

    @classmethod
    def is_large(cls, group: FeatureGroup) -> bool:
        return group.n_columns > cls.LARGE

    @classmethod
    def _components(cls, Z: Array) -> Array:
        from sklearn.utils.extmath import randomized_svd

        _, values, vectors = randomized_svd(Z, cls.N_COMPONENTS, n_iter=4, random_state=0)
        components = np.zeros((Z.shape[1], cls.N_COMPONENTS))
        components[:, : len(values)] = vectors.T
        spread = np.sqrt(float((values**2).sum()) / (len(Z) * cls.N_COMPONENTS))
        return np.asarray(components / max(spread, 1e-6))

    def __call__(self, Z: Array) -> Array:
        return Z @ self.matrix


@dataclass(frozen=True)
class PretrainedScores:
    """Compute the class scores of a linear classifier that was trained on other data.

    Scores are centred on the training segments; a class that the classifier does not know scores 0.

    Attributes
    ----------
    weights : (d, C) float
    bias : (C,) float
    """

    weights: Array
    bias: Array

    @classmethod
    def fit(cls, X: Array, pretrained: Array) -> Self:
        """Fit to (N, d) training segments and (d + 1, C) weights and biases, see `BagSet`."""
        weights = np.where(np.isfinite(pretrained).all(axis=0), pretrained, 0.0)[:-1]
        return cls(weights, -(X.mean(axis=0) @ weights))

    def __call__(self, X: Array) -> Array:
        return X @ self.weights + self.bias


@dataclass(frozen=True)
class RBFDictionary:
    """Compute similarities exp(-|x - x'|^2 / delta) to a dictionary: k(x) of Pham et al. (2015), eq. 24-25.

    The dictionary is a random share of the training segments (their 6.6.3). The similarities are then rotated so that
    their products are the kernel itself (Williams and Seeger 2001): an L2 penalty on weights is then one on functions,
    however similar the segments of the dictionary are, and the weakest directions can be left out.
    """

    centres: Array
    delta: Array
    turn: Array

    @classmethod
    def fit(cls, X: Array, *, n_centres: int, delta: float, most: int = 300, seed: int = 0) -> Self:
        """Fit a map to at most `most` features."""
        chosen = np.random.default_rng(seed).permutation(len(X))[:n_centres]
        centres = X[np.sort(chosen)]
        values, vectors = np.linalg.eigh(_similarity(centres, centres, delta))
        strong = np.flatnonzero(values > 1e-8 * values[-1])[-most:]
        return cls(centres, np.array(delta), vectors[:, strong] / np.sqrt(values[strong]))

    def __call__(self, X: Array) -> Array:
        return _similarity(X, self.centres, float(self.delta)) @ self.turn


def _similarity(X: Array, centres: Array, delta: float) -> Array:
    squared = (X**2).sum(axis=1)[:, None] + (centres**2).sum(axis=1) - 2.0 * (X @ centres.T)
    return np.exp(-np.maximum(squared, 0.0) / delta)


@dataclass(frozen=True)
class RandomFourier:
    """Compute cos and sin of random projections, which approximate the same kernel (Briggs et al. 2013, alg. 6).

    Rahimi and Recht (2007): for exp(-gamma |x - x'|^2) the frequencies are normal with variance 2 gamma.
    """

    frequencies: Array

    @classmethod
    def fit(cls, X: Array, *, n_pairs: int, gamma: float, seed: int = 0) -> Self:
        """Fit a map to 2 `n_pairs` features; gamma is 1 / `kernel_delta`."""
        draws = np.random.default_rng(seed).standard_normal((X.shape[1], n_pairs))
        return cls(np.sqrt(2.0 * gamma) * draws)

    def __call__(self, X: Array) -> Array:
        angles = X @ self.frequencies
        return np.concatenate([np.cos(angles), np.sin(angles)], axis=1) / np.sqrt(self.frequencies.shape[1])


FeatureMap = Standardise | UnitRange | CentreAndShrink | ReduceGroups | PretrainedScores | RBFDictionary | RandomFourier


def kernel_delta(X: Array, width: float | str = "auto") -> float:
    """Return delta = s d2, d2 the mean squared distance between segments (Pham et al. 2015, 6.5); "auto" is s = 1."""
    share = 1.0 if width == "auto" else float(width)
    mean_squared_distance = 2.0 * float(X.var(axis=0).sum())
    return share * mean_squared_distance if mean_squared_distance > 0 else 1.0


def apply(maps: Sequence[FeatureMap], X: Array) -> Array:
    """Apply one map after the other."""
    for feature_map in maps:
        X = feature_map(X)
    return X


def pack(maps: Sequence[FeatureMap], prefix: str) -> dict[str, Any]:
    """Return the maps as arrays and names, for `Model.save`."""
    state: dict[str, Any] = {f"{prefix}kinds_": [type(feature_map).__name__ for feature_map in maps]}
    for number, feature_map in enumerate(maps):
        for field in fields(feature_map):
            state[f"{prefix}{number}_{field.name}_"] = np.asarray(getattr(feature_map, field.name))
    return state


def unpack(state: Mapping[str, Any], prefix: str) -> list[FeatureMap]:
    """Return the maps that `pack` was called with."""
    kinds = {kind.__name__: kind for kind in get_args(FeatureMap)}
    maps: list[Any] = []
    for number, name in enumerate(state[f"{prefix}kinds_"]):
        kind = kinds[name]
        maps.append(kind(**{field.name: state[f"{prefix}{number}_{field.name}_"] for field in fields(kind)}))
    return maps
