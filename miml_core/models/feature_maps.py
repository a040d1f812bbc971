"""Feature maps: features on a common scale, or features of a kernel.

A map is fitted to training segments by `fit` and is then a function of (N, d) features. Its fields are arrays, so that
a model can save a list of maps with `pack` and restore it with `unpack`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

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


FeatureMap = Standardise | UnitRange | CentreAndShrink | RBFDictionary | RandomFourier


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
    kinds = {kind.__name__: kind for kind in (Standardise, UnitRange, CentreAndShrink, RBFDictionary, RandomFourier)}
    maps: list[Any] = []
    for number, name in enumerate(state[f"{prefix}kinds_"]):
        kind = kinds[name]
        maps.append(kind(**{field.name: state[f"{prefix}{number}_{field.name}_"] for field in fields(kind)}))
    return maps
