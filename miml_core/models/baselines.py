"""What the real models are measured against.

`majority` needs no features, `candidate-em` is the strongest thing that could be put together from scikit-learn
alone, and `supervised-lr` is told every segment's class: an upper bound, for benchmarks only.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from miml_core.bags import BagSet
from miml_core.errors import BagtagError
from miml_core.models.base import Model, Progress
from miml_core.models.calibration import log_softmax
from miml_core.models.candidates import candidate_shares
from miml_core.models.feature_maps import Standardise
from miml_core.posterior import tag_probabilities

Array = NDArray[np.float64]

_NEVER_SEEN = -30.0
"""Score of a class that no training segment can have."""


class _Baseline(Model):
    """A model of single segments, to which a bag's tags are only a list of candidates."""

    @abstractmethod
    def _proba(self, X: Array) -> Array:
        """(N, C) probabilities of checked features."""

    def predict_proba(self, X: ArrayLike) -> Array:
        return self._proba(self._check_features(X))

    def annotate(self, bags: BagSet) -> Array:
        """The probabilities within each bag's tags; a segment without a candidate has a row of zeros."""
        self._check_bags(bags)
        within = (candidate_shares(bags) > 0) * self._proba(bags.X)
        total = within.sum(axis=1, keepdims=True)
        return within / np.where(total > 0, total, 1.0)

    def predict_tags(self, bags: BagSet) -> Array:
        self._check_bags(bags)
        return tag_probabilities(self._proba(bags.X), bags.offsets, len(self.classes_))

    def _remember(self, bags: BagSet) -> Self:
        self.classes_ = list(bags.classes)
        self.n_features_ = bags.X.shape[1]
        return self


class Majority(_Baseline):
    """Every segment has the classes in proportion to the bags that are tagged with them."""

    name: ClassVar[str] = "majority"

    frequencies_: Array

    def __init__(self) -> None:
        """It has nothing to choose."""

    def fit(self, bags: BagSet, *, progress: Progress | None = None, warm_start: Model | None = None) -> Self:
        counts = (bags.tags > 0).sum(axis=0) + 1e-9
        self.frequencies_ = counts / counts.sum()
        return self._remember(bags)

    def _proba(self, X: Array) -> Array:
        return np.tile(self.frequencies_, (len(X), 1))


class _LogisticBaseline(_Baseline):
    """Multinomial logistic regression on standardised features."""

    mean_: Array
    scale_: Array
    coefficients_: Array
    intercepts_: Array

    def _scale(self, X: Array) -> Array:
        return Standardise(self.mean_, self.scale_)(X)

    def _proba(self, X: Array) -> Array:
        return np.exp(log_softmax(self._scale(X) @ self.coefficients_ + self.intercepts_))

    def _learn_scale(self, X: Array) -> None:
        standardise = Standardise.fit(X)
        self.mean_, self.scale_ = standardise.mean, standardise.scale


class SupervisedLR(_LogisticBaseline):
    """Logistic regression on segments whose class is given as `labels`.

    Parameters
    ----------
    alpha : float
        Strength of the L2 penalty, as in ORedLR.
    """

    name: ClassVar[str] = "supervised-lr"

    def __init__(self, *, alpha: float = 1.0) -> None:
        self.alpha = alpha

    def fit(self, bags: BagSet, *, progress: Progress | None = None, warm_start: Model | None = None) -> Self:
        known = np.flatnonzero(bags.labels >= 0)
        if not len(known):
            raise BagtagError("No segment has a label; supervised-lr learns from labelled segments only.")
        self._learn_scale(bags.X)
        regression = _Regression(self._scale(bags.X[known]), bags.labels[known], bags.n_classes, self.alpha)
        self.coefficients_, self.intercepts_ = regression.fit(np.ones(len(known)))
        return self._remember(bags)


class CandidateEM(_LogisticBaseline):
    """Every segment may be any of its bag's tags; EM between their probabilities and a logistic regression.

    Partial-label learning as it is usually done: each segment enters once for every candidate, weighted by the
    candidate's probability among the candidates. That every tag needs a segment is not used.

    Parameters
    ----------
    alpha : float
        Strength of the L2 penalty, as in ORedLR.
    iterations : int
        Most EM steps; it ends sooner when no probability moves by more than 0.01.
    """

    name: ClassVar[str] = "candidate-em"

    def __init__(self, *, alpha: float = 1.0, iterations: int = 50) -> None:
        self.alpha = alpha
        self.iterations = iterations

    def fit(self, bags: BagSet, *, progress: Progress | None = None, warm_start: Model | None = None) -> Self:
        shares = candidate_shares(bags)
        rows, classes = np.nonzero(shares)
        if not len(rows):
            raise BagtagError("No bag has a tag yet; tag some bags first.")
        self._learn_scale(bags.X)
        regression = _Regression(self._scale(bags.X)[rows], classes, bags.n_classes, self.alpha)
        weights = shares[rows, classes]
        for step in range(self.iterations):
            self.coefficients_, self.intercepts_ = regression.fit(weights)
            chosen = self._proba(bags.X)[rows, classes]
            before, weights = weights, chosen / np.bincount(rows, weights=chosen, minlength=len(shares))[rows]
            moved = float(np.abs(weights - before).max())
            if (progress and progress(step + 1, self.iterations, {"moved": moved})) or moved < 0.01:
                break
        return self._remember(bags)


class _Regression:
    """scikit-learn's logistic regression on fixed rows with changing weights, each fit going on from the last."""

    def __init__(self, Z: Array, labels: NDArray[np.int64], n_classes: int, alpha: float) -> None:
        from sklearn.linear_model import LogisticRegression

        self.Z, self.labels, self.n_classes = Z, labels, n_classes
        self.seen = np.unique(labels)
        self.model = LogisticRegression(C=1.0 / max(alpha, 1e-12), max_iter=200, warm_start=True)

    def fit(self, weights: Array) -> tuple[Array, Array]:
        """(D, C) coefficients and (C,) intercepts."""
        coefficients = np.zeros((self.Z.shape[1], self.n_classes))
        intercepts = np.full(self.n_classes, _NEVER_SEEN)
        if len(self.seen) == 1:
            intercepts[self.seen] = 0.0
            return coefficients, intercepts
        self.model.fit(self.Z, self.labels, sample_weight=weights)
        found, at = self.model.coef_.T, self.model.intercept_
        if len(self.seen) == 2:
            found, at = np.column_stack([-0.5 * found, 0.5 * found]), np.array([-0.5 * at[0], 0.5 * at[0]])
        coefficients[:, self.seen], intercepts[self.seen] = found, at
        return coefficients, intercepts
