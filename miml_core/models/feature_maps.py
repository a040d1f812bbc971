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

_TINY = float(np.finfo(np.float64).tiny)
"""Smallest spread that can be divided by: the reciprocal of a smaller number is infinite."""
_SQUARES_FIT = 1e-100, 1e100
"""Columns whose largest absolute value is outside are scaled first, because their squares would be 0 or infinite."""
_MOST_SPREADS = 1e6
"""Limit of scaled features. No training segment is near it; a new segment beyond it would only cause overflow."""


def mean_and_spread(X: Array) -> tuple[Array, Array]:
    """Return the mean and the standard deviation of each feature; that of a constant feature is 0.

    Missing values (NaN) are left out; a feature that no segment has counts as 0. A feature may be in any unit: it is
    constant if its standard deviation is no more than a rounding error of its mean.

    Parameters
    ----------
    X : (N, d) float

    Returns
    -------
    mean, spread : (d,) float

    Examples
    --------
    >>> mean_and_spread(np.array([[1e-13, 7.0, np.nan], [3e-13, 7.0, 2.0]]))
    (array([2.e-13, 7.e+00, 2.e+00]), array([1.e-13, 0.e+00, 0.e+00]))
    """
    missing = np.isnan(X)
    has_missing = bool(missing.any())
    if has_missing:
        X = np.where(missing.all(axis=0), 0.0, X)
    low, high = np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0)
    largest = np.maximum(np.abs(low), np.abs(high))
    scaled = (largest > _SQUARES_FIT[1]) | ((largest < _SQUARES_FIT[0]) & (largest > 0))
    exponents = np.where(scaled, np.frexp(largest)[1], 0)
    if scaled.any():
        X = np.ldexp(X, -exponents)
    mean, spread = (np.nanmean(X, axis=0), np.nanstd(X, axis=0)) if has_missing else (X.mean(axis=0), X.std(axis=0))
    constant = (spread <= 1e-12 * np.abs(mean)) | (low == high)
    mean, spread = np.ldexp(mean, exponents), np.ldexp(spread, exponents)
    return mean, np.where(constant | (spread < _TINY), 0.0, spread)


def divisors(mean: Array, spread: Array) -> Array:
    """Return what to divide centred features by: the spread, and for a constant feature a number that leaves it small.

    Examples
    --------
    >>> divisors(np.array([5.0, 7.0]), np.array([2.0, 0.0]))
    array([2., 1.])
    """
    constant = np.where(np.abs(mean) > _SQUARES_FIT[1], np.abs(mean), 1.0)
    return np.where(spread > 0, spread, constant)


def clip_scaled(Z: Array) -> Array:
    """Return scaled features limited to a million spreads, so that no product of them overflows; NaN stays."""
    return np.clip(Z, -_MOST_SPREADS, _MOST_SPREADS)


def scale_by_division(X: Array, mean: Array, divisor: Array) -> Array:
    """Return (X - mean) / divisor, clipped."""
    with np.errstate(over="ignore"):
        return clip_scaled((X - mean) / divisor)


def _scale_by_product(X: Array, start: Array, scale: Array) -> Array:
    with np.errstate(over="ignore"):
        return clip_scaled((X - start) * scale)


@dataclass(frozen=True)
class Standardise:
    """Scale each feature to mean 0 and standard deviation 1, and a constant feature to 0."""

    mean: Array
    scale: Array

    @classmethod
    def fit(cls, X: Array) -> Self:
        mean, spread = mean_and_spread(X)
        constant = spread == 0
        return cls(mean, np.where(constant, 0.0, 1.0 / np.where(constant, 1.0, spread)))

    def __call__(self, X: Array) -> Array:
        return _scale_by_product(X, self.mean, self.scale)


@dataclass(frozen=True)
class UnitRange:
    """Scale each feature to [0, 1]: the first step of the rescaling of Briggs et al. (2013), appendix."""

    low: Array
    scale: Array

    @classmethod
    def fit(cls, X: Array) -> Self:
        low, spread = X.min(axis=0), np.ptp(X, axis=0)
        varies = spread >= _TINY
        return cls(low, np.where(varies, 1.0 / np.where(varies, spread, 1.0), 0.0))

    def __call__(self, X: Array) -> Array:
        return _scale_by_product(X, self.low, self.scale)


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
