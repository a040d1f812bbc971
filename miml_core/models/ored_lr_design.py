"""The design matrix of ORed logistic regression: features on one scale, in groups, and the kernel (4.3)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from miml_core.bags import BagSet
from miml_core.models.feature_maps import (
    FeatureMap,
    RandomFourier,
    RBFDictionary,
    ReduceGroups,
    Standardise,
    apply,
    kernel_delta,
)

Array = NDArray[np.float64]

_KERNEL_GAIN = 4.0
"""Factor of the kernel's features, which have norm 1, so that one alpha suits them and standardised features."""


def fit_maps(
    bags: BagSet, *, kernel: str | None, width: float | str, dictionary_share: float, fourier_features: int, seed: int
) -> list[FeatureMap]:
    """Return the maps from features to the design matrix: to one scale, to fewer columns, to those of a kernel.

    The parameters are those of `ORedLR`.
    """
    maps: list[FeatureMap] = [Standardise.fit(bags.X)]
    if any(ReduceGroups.is_large(group) for group in bags.groups):
        maps.append(ReduceGroups.fit(maps[0](bags.X), bags.groups))
    if kernel is None:
        return maps
    Z = apply(maps, bags.X)
    delta = kernel_delta(Z, width)
    if kernel == "rbf":
        n_centres = max(1, round(dictionary_share * len(Z)))
        return [*maps, RBFDictionary.fit(Z, n_centres=n_centres, delta=delta, seed=seed)]
    return [*maps, RandomFourier.fit(Z, n_pairs=max(1, fourier_features // 2), gamma=1.0 / delta, seed=seed)]


def design_matrix(maps: Sequence[FeatureMap], X: Array) -> Array:
    """Return (N, D + 1): scaled features, those of the kernel (eq. 24), and 1 for the bias."""
    has_kernel = isinstance(maps[-1], RBFDictionary | RandomFourier)
    Z = apply(maps[:-1] if has_kernel else maps, X)
    parts = [Z, _KERNEL_GAIN * maps[-1](Z)] if has_kernel else [Z]
    return np.concatenate([*parts, np.ones((len(X), 1))], axis=1)


def group_columns(maps: Sequence[FeatureMap], bags: BagSet) -> list[int]:
    """Return the number of columns of the design matrix of each group of features, without that of the bias.

    A kernel belongs to the features if they are one group, and is a further group if they are several.
    """
    total = design_matrix(maps, bags.X[:1]).shape[1] - 1
    if len(bags.groups) == 1:
        return [total]
    sizes = [ReduceGroups.N_COMPONENTS if ReduceGroups.is_large(group) else group.n_columns for group in bags.groups]
    return [*sizes, total - sum(sizes)] if total > sum(sizes) else sizes
