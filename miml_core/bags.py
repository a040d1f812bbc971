"""BagSet: the data structure that every model is fitted to.

A data set is a few flat, contiguous arrays; bag b is the rows `offsets[b]:offsets[b + 1]`, like a row of a CSR matrix.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from miml_core.bag_arrays import LARGEST_FEATURE, TOO_LARGE, number_array, whole_number_array
from miml_core.errors import BagtagError

UNKNOWN = -1
"""Label of a segment without a label."""

BACKGROUND = -2
"""Label of a segment that a person labelled as none of the classes."""


@dataclass(frozen=True)
class FeatureGroup:
    """Neighbouring columns of `BagSet.X` that come from one source, such as hand-made features or an embedding.

    Attributes
    ----------
    name : str
    n_columns : int

    Examples
    --------
    >>> groups = [FeatureGroup("hand-made", 2), FeatureGroup("embedding", 1)]
    >>> BagSet([[0.0, 1.0, 0.5]], [0, 1], [[1]], ["wren"], groups=groups).X.shape
    (1, 3)
    """

    name: str
    n_columns: int


class BagSet:
    """Bags of segments with three-valued tags.

    Parameters
    ----------
    X : (N, d) float
        One row per segment.
    offsets : (B + 1,) int
        Bag b is rows ``offsets[b]:offsets[b + 1]``.
    tags : (B, C) int8
        +1 present, -1 absent, 0 not known.
    classes : sequence of C str
    labels : (N,) int, optional
        Label that a person gave to a segment: a class index, `UNKNOWN` or `BACKGROUND`.
    names : sequence of B str, optional
        Names of the bags in messages; "bag 7" if not given.
    allow_missing : bool
        Whether features may be NaN if they were not measured; only models with `handles_missing` accept such bags.
    groups : sequence of FeatureGroup, optional
        The groups of the columns of X, in order; one group if not given. Models may give each its own penalty.
    pretrained : (d + 1, C) float, optional
        Weights, and in the last row biases, of a linear classifier of these classes that was trained on other data;
        NaN in the columns of classes it does not know. Models may start from it.

    Examples
    --------
    Two recordings with three segments. The first has a wren and a robin; the second has a robin, and nobody knows
    whether it has a wren:

    >>> bags = BagSet([[0.1], [0.9], [0.8]], [0, 2, 3], [[1, 1], [0, 1]], ["wren", "robin"], names=["dawn", "noon"])
    >>> bags
    BagSet(2 bags, 3 segments, 1 features, 2 classes)
    >>> bags[[1]].X
    array([[0.8]])
    >>> [bag.names for bag in bags]
    [['dawn'], ['noon']]
    """

    def __init__(
        self,
        X: ArrayLike,
        offsets: ArrayLike,
        tags: ArrayLike,
        classes: Sequence[str],
        labels: ArrayLike | None = None,
        names: Sequence[str] | None = None,
        *,
        allow_missing: bool = False,
        groups: Sequence[FeatureGroup] | None = None,
        pretrained: ArrayLike | None = None,
    ) -> None:
        self.allow_missing = allow_missing
        self.X: NDArray[np.float64] = number_array(X, "Features")
        self.offsets: NDArray[np.int64] = whole_number_array(offsets, np.int64, "Offsets")
        self.tags: NDArray[np.int8] = whole_number_array(tags, np.int8, "Tags", "+1, -1 or 0")
        self.classes: list[str] = [str(name) for name in classes]
        n_rows = len(self.X) if self.X.ndim else 0
        self.labels: NDArray[np.int64] = (
            np.full(n_rows, UNKNOWN, dtype=np.int64)
            if labels is None
            else whole_number_array(labels, np.int64, "Labels")
        )
        self.names: list[str] | None = None if names is None else [str(name) for name in names]
        n_columns = self.X.shape[1] if self.X.ndim == 2 else 0
        self.groups: tuple[FeatureGroup, ...] = (
            (FeatureGroup("features", n_columns),) if groups is None else tuple(groups)
        )
        self.pretrained: NDArray[np.float64] | None = (
            None if pretrained is None else number_array(pretrained, "Pretrained weights")
        )
        self._check()

    # contents

    @property
    def n_bags(self) -> int:
        return len(self.offsets) - 1

    @property
    def n_segments(self) -> int:
        return len(self.X)

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    @property
    def bag_of(self) -> NDArray[np.int64]:
        """(N,) int: the bag that each segment belongs to."""
        return np.repeat(np.arange(self.n_bags), np.diff(self.offsets))

    def __len__(self) -> int:
        return self.n_bags

    def __repr__(self) -> str:
        counts = f"{self.n_bags} bags, {self.n_segments} segments, {self.X.shape[1]} features, {self.n_classes} classes"
        return f"BagSet({counts})"

    def name(self, bag: int) -> str:
        """Return the name of a bag in messages."""
        return f"bag {bag}" if self.names is None else f"bag {bag} ({self.names[bag]!r})"

    def rows(self, bag: int) -> slice:
        """Return the rows of `X` that belong to a bag."""
        return slice(int(self.offsets[bag]), int(self.offsets[bag + 1]))

    def rows_of(self, bags: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rows of `X` of several bags, in the given order of the bags."""
        sizes = np.diff(self.offsets)[bags]
        before = np.cumsum(sizes) - sizes
        return np.repeat(self.offsets[bags] - before, sizes) + np.arange(sizes.sum())

    def __iter__(self) -> Iterator[BagSet]:
        return (self[[bag]] for bag in range(self.n_bags))

    def annotated_bags(self) -> NDArray[np.int64]:
        """Return the bags that people have annotated: with a known tag, or a labelled segment.

        Examples
        --------
        >>> bags = BagSet([[0.1], [0.9], [0.5]], [0, 1, 2, 3], [[1], [0], [0]], ["wren"], labels=[UNKNOWN, 0, UNKNOWN])
        >>> bags.annotated_bags()
        array([0, 1])
        """
        labelled = np.add.reduceat(self.labels != UNKNOWN, self.offsets[:-1]) > 0
        return np.flatnonzero((self.tags != 0).any(axis=1) | labelled)

    # parts and combinations

    def __getitem__(self, bags: slice | Sequence[int] | NDArray[Any]) -> BagSet:
        """Return the chosen bags, in the given order: `bags[3:7]`, `bags[[4, 2]]` or `bags[mask]`."""
        chosen = np.atleast_1d(np.arange(self.n_bags)[bags])
        rows = self.rows_of(chosen)
        return BagSet(
            self.X[rows],
            np.concatenate([[0], np.cumsum(np.diff(self.offsets)[chosen])]),
            self.tags[chosen],
            self.classes,
            self.labels[rows],
            None if self.names is None else [self.names[bag] for bag in chosen],
            allow_missing=self.allow_missing,
            groups=self.groups,
            pretrained=self.pretrained,
        )

    def replace(
        self, *, X: ArrayLike | None = None, tags: ArrayLike | None = None, labels: ArrayLike | None = None
    ) -> BagSet:
        """Return the same bags with other features (then without groups and pretrained weights), tags or labels.

        Examples
        --------
        >>> bags = BagSet([[0.1], [0.9]], [0, 2], [[1, 1]], ["wren", "robin"])
        >>> bags.replace(labels=[0, UNKNOWN]).labels
        array([ 0, -1])
        """
        return BagSet(
            self.X if X is None else X,
            self.offsets,
            self.tags if tags is None else tags,
            self.classes,
            self.labels if labels is None else labels,
            self.names,
            allow_missing=self.allow_missing,
            groups=self.groups if X is None else None,
            pretrained=self.pretrained if X is None else None,
        )

    @classmethod
    def concatenate(cls, parts: Sequence[BagSet]) -> BagSet:
        """Return one BagSet of all parts, which must have the same classes and the same groups of features.

        Examples
        --------
        >>> bags = BagSet([[0.1], [0.9]], [0, 2], [[1, 1]], ["wren", "robin"])
        >>> BagSet.concatenate([bags, bags])
        BagSet(2 bags, 4 segments, 1 features, 2 classes)
        """
        if not parts:
            raise BagtagError("There are no bags to concatenate.")
        first = parts[0]
        for part in parts[1:]:
            if part.classes != first.classes:
                raise BagtagError("Bag sets with different classes cannot be concatenated.")
            if part.X.shape[1] != first.X.shape[1]:
                raise BagtagError(
                    f"Bag sets with {first.X.shape[1]} and {part.X.shape[1]} features cannot be concatenated."
                )
            if part.groups != first.groups or not _same(part.pretrained, first.pretrained):
                raise BagtagError(
                    "Bag sets with different feature groups or pretrained weights cannot be concatenated."
                )
        names = None
        if any(part.names is not None for part in parts):
            names = [part.names[i] if part.names else "" for part in parts for i in range(part.n_bags)]
        return cls(
            np.concatenate([part.X for part in parts]),
            np.concatenate([[0], np.cumsum(np.concatenate([np.diff(part.offsets) for part in parts]))]),
            np.concatenate([part.tags for part in parts]),
            first.classes,
            np.concatenate([part.labels for part in parts]),
            names,
            allow_missing=any(part.allow_missing for part in parts),
            groups=first.groups,
            pretrained=first.pretrained,
        )

    def split(
        self, train_share: float = 0.8, *, random_state: int | np.random.Generator | None = 0, seed: int | None = None
    ) -> tuple[BagSet, BagSet]:
        """Split the bags at random into training and test bags; the segments of a bag stay together.

        Parameters
        ----------
        train_share : float
            Share of the training bags, between 0 and 1.
        random_state : int, Generator or None
            An integer gives the same split each time.
        seed : int, optional
            Old name of `random_state`.

        Examples
        --------
        >>> bags = BagSet([[0.1], [0.9], [0.5]], [0, 1, 2, 3], [[1], [1], [-1]], ["wren"])
        >>> train, test = bags.split(2 / 3)
        >>> len(train), len(test)
        (2, 1)
        """
        if seed is not None:
            warnings.warn("The parameter 'seed' is now called 'random_state'.", DeprecationWarning, stacklevel=2)
            random_state = seed
        if not 0 < train_share < 1:
            raise BagtagError(f"The training share must be between 0 and 1, not {train_share}.")
        order = np.random.default_rng(random_state).permutation(self.n_bags)
        n_train = min(max(1, round(train_share * self.n_bags)), self.n_bags - 1)
        if n_train < 1:
            raise BagtagError("Splitting needs at least two bags.")
        return self[np.sort(order[:n_train])], self[np.sort(order[n_train:])]

    # from files

    @classmethod
    def from_npz(cls, path: str | Path) -> BagSet:
        """Read the `.npz` layout of the benchmarks: `X`, `bag_id`, `bag_label_matrix`, `class_names`.

        A tag that is not set is absent. `instance_label` is the truth for evaluation and is not loaded as labels.

        Examples
        --------
        >>> import tempfile
        >>> arrays = {"X": [[0.1], [0.9]], "bag_id": [0, 0], "bag_label_matrix": [[1, 0]], "class_names": ["a", "b"]}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     np.savez(f"{folder}/bags.npz", **arrays)
        ...     BagSet.from_npz(f"{folder}/bags.npz").tags
        array([[ 1, -1]], dtype=int8)
        """
        from miml_core.bag_files import read_npz

        X, offsets, tags, classes = read_npz(Path(path))
        return cls(X, offsets, tags, classes)

    @classmethod
    def from_arff(cls, path: str | Path) -> BagSet:
        """Read a MIML relational `.arff`: bag id, a relational bag of numbers, then one 0/1 attribute per label."""
        from miml_core.bag_files import read_arff

        X, offsets, tags, classes, names = read_arff(Path(path))
        return cls(X, offsets, tags, classes, names=names)

    # checks

    def _check(self) -> None:
        self._check_shapes()
        self._check_values()

    def _check_shapes(self) -> None:
        if self.X.ndim != 2 or self.X.shape[1] == 0:
            raise BagtagError(f"Features must be a table of segments by numbers, not an array of shape {self.X.shape}.")
        if self.offsets.ndim != 1 or len(self.offsets) < 2:
            raise BagtagError("There must be at least one bag.")
        if self.tags.ndim != 2 or self.tags.shape != (self.n_bags, self.n_classes):
            raise BagtagError(f"Tags must be bags by classes, {(self.n_bags, self.n_classes)}, not {self.tags.shape}.")
        if not self.classes:
            raise BagtagError("There must be at least one class; add a class first.")
        if not all(name.strip() for name in self.classes):
            empty = [bool(name.strip()) for name in self.classes].index(False)
            raise BagtagError(f"Class {empty} has no name; give every class a name.")
        if len(set(self.classes)) != self.n_classes:
            raise BagtagError("Two classes have the same name.")
        if self.labels.shape != (self.n_segments,):
            raise BagtagError(f"There must be one label per segment, {self.n_segments}, not {self.labels.shape}.")
        if self.names is not None and len(self.names) != self.n_bags:
            raise BagtagError(f"There must be one name per bag, {self.n_bags}, not {len(self.names)}.")
        if sum(group.n_columns for group in self.groups) != self.X.shape[1]:
            raise BagtagError(f"The feature groups do not add up to the {self.X.shape[1]} columns of the features.")
        if self.pretrained is not None and self.pretrained.shape != (self.X.shape[1] + 1, self.n_classes):
            raise BagtagError(
                f"Pretrained weights must be features and bias by classes, {(self.X.shape[1] + 1, self.n_classes)}, "
                f"not {self.pretrained.shape}."
            )
        sizes = np.diff(self.offsets)
        if (sizes <= 0).any():
            raise BagtagError(f"{self.name(int(np.argmax(sizes <= 0)))} has no segments; leave it out.")
        if self.offsets[0] != 0 or self.offsets[-1] != self.n_segments:
            last = self.n_bags - 1
            raise BagtagError(
                f"The offsets do not add up: they run from {self.offsets[0]} to {self.offsets[-1]} (the end of "
                f"{self.name(last)}), but there are {self.n_segments} segments."
            )

    def _check_values(self) -> None:
        good = np.abs(self.X) <= LARGEST_FEATURE
        if not good.all():
            good |= np.isnan(self.X) & self.allow_missing
        if not good.all():
            row = int(np.argmin(good.all(axis=1)))
            column = int(np.argmin(good[row]))
            feature = f"Feature {column} of segment {self._where(row)}"
            if not np.isfinite(self.X[row, column]):
                raise BagtagError(f"{feature} is not a finite number.")
            raise BagtagError(f"{feature} is {self.X[row, column]:g}, {TOO_LARGE}.")
        strange = (self.tags > 1) | (self.tags < -1)
        if strange.any():
            bag = int(np.argmax(strange.any(axis=1)))
            raise BagtagError(f"A tag of {self.name(bag)} is neither +1, -1 nor 0.")
        if (self.labels == UNKNOWN).all():
            return
        outside = (self.labels >= self.n_classes) | (self.labels < BACKGROUND)
        if outside.any():
            row = int(np.argmax(outside))
            raise BagtagError(f"Label {self.labels[row]} of segment {self._where(row)} is not a class.")
        named = np.flatnonzero(self.labels >= 0)
        refused = self.tags[self.bag_of[named], self.labels[named]] < 0
        if refused.any():
            row = int(named[np.argmax(refused)])
            raise BagtagError(
                f"Segment {self._where(row)} is labelled {self.classes[self.labels[row]]!r}, "
                "but that bag is tagged as not having it."
            )

    def _where(self, row: int) -> str:
        bag = int(np.searchsorted(self.offsets, row, side="right") - 1)
        return f"{row - self.offsets[bag]} of {self.name(bag)}"


def _same(first: NDArray[np.float64] | None, second: NDArray[np.float64] | None) -> bool:
    if first is None or second is None:
        return first is second
    return np.array_equal(first, second, equal_nan=True)
