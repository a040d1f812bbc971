"""Precision and recall of each class, from segments that people checked, with intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from miml_core.intervals import wilson_interval


@dataclass(frozen=True)
class Share:
    """A share of some cases, with its 95 % Wilson interval.

    >>> eight = Share.of(8, 10)
    >>> eight.value, round(eight.low, 3), round(eight.high, 3)
    (0.8, 0.49, 0.943)
    """

    n: int
    n_right: int
    low: float
    high: float

    @classmethod
    def of(cls, n_right: int, n: int) -> Share:
        """Return the share `n_right` of `n`."""
        return cls(n, n_right, *wilson_interval(n_right, n))

    @property
    def value(self) -> float | None:
        """The share; None of no cases."""
        return self.n_right / self.n if self.n else None


@dataclass(frozen=True)
class ClassQuality:
    """How far predictions of one class can be trusted."""

    class_id: int
    precision: Share
    """Of the checked segments predicted as the class, those that are of it."""
    recall: Share
    """Of the checked segments of the class, those predicted as it."""


def class_quality(predicted: ArrayLike, labels: ArrayLike) -> list[ClassQuality]:
    """Return precision and recall of every class that occurs, by class id.

    Parameters
    ----------
    predicted, labels : (n,) int
        What the model predicted for the checked segments, and the labels of people.

    Examples
    --------
    >>> for one in class_quality([1, 1, 2], [1, 2, 2]):
    ...     print(one.class_id, one.precision.value, one.recall.value)
    1 0.5 1.0
    2 1.0 0.5
    """
    guess, truth = np.asarray(predicted, dtype=np.int64), np.asarray(labels, dtype=np.int64)
    found = []
    for class_id in np.union1d(guess, truth).tolist():
        both = int(((guess == class_id) & (truth == class_id)).sum())
        precision = Share.of(both, int((guess == class_id).sum()))
        found.append(ClassQuality(class_id, precision, Share.of(both, int((truth == class_id).sum()))))
    return found
