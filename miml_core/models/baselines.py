"""Baselines that the other models are compared with.

`majority` uses no features, `candidate-em` is the strongest model that scikit-learn's parts alone allow, and
`supervised-lr` is given the class of every segment: an upper bound, for benchmarks only.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_softmax

from miml_core.bags import BagSet
from miml_core.errors import BagtagError
from miml_core.models.base import Model
from miml_core.models.candidates import candidate_shares
from miml_core.models.cross_fit import WatchedProgress, calibrate_by_folds
from miml_core.models.feature_maps import Standardise
from miml_core.models.fit_progress import FitProgress, Phase, Progress
from miml_core.posterior import tag_probabilities

Array = NDArray[np.float64]

_NEVER_SEEN = -30.0
"""Score of a class that no training segment can have."""

_UNDERFLOW = 1e-200
"""Candidates that are less probable together are compared by logarithms."""


class _Baseline(Model):
    """A model of single segments, for which a bag's tags are only a list of candidates."""

    @abstractmethod
    def _proba(self, X: Array) -> Array:
        """Return the (N, C) class probabilities of checked features."""

    def _log_proba(self, X: Array) -> Array:
        return np.log(self._proba(X))

    def predict_proba(self, X: ArrayLike) -> Array:
        return self._calibrated(self._proba(self._check_features(X)))

    def annotate(self, bags: BagSet) -> Array:
        """Return the probabilities within each bag's tags; a segment without a candidate has a row of zeros."""
        self._check_bags(bags)
        candidates = candidate_shares(bags) > 0
        within = candidates * self._proba(bags.X)
        unlikely = candidates.any(axis=1) & (within.sum(axis=1) < _UNDERFLOW)
        if unlikely.any():
            log_within = np.where(candidates[unlikely], self._log_proba(bags.X[unlikely]), -np.inf)
            within[unlikely] = np.exp(log_softmax(log_within, axis=1))
        total = within.sum(axis=1, keepdims=True)
        return self._calibrated_given_tags(within / np.where(total > 0, total, 1.0))

    def predict_tags(self, bags: BagSet) -> Array:
        self._check_bags(bags)
        return self._calibrated_tags(tag_probabilities(self._proba(bags.X), bags.offsets, len(self.classes_)))

    def _finish_fit(self, bags: BagSet) -> Self:
        self.classes_ = list(bags.classes)
        self.n_features_ = bags.X.shape[1]
        return self


class Majority(_Baseline):
    """Give every segment the classes in proportion to the number of bags that are tagged with them.

    Attributes
    ----------
    frequencies_ : (C,) float

    Examples
    --------
    >>> from miml_core import BagSet
    >>> bags = BagSet([[0.0], [1.0], [2.0]], [0, 2, 3], [[1, 1], [1, -1]], ["wren", "robin"])
    >>> Majority().fit(bags).predict_proba([[5.0]]).round(2)
    array([[0.67, 0.33]])
    """

    name: ClassVar[str] = "majority"

    frequencies_: Array

    def __init__(self) -> None:
        """Take no parameters."""

    def fit(
        self, bags: BagSet, y: object = None, *, progress: Progress | None = None, warm_start: Model | None = None
    ) -> Self:
        self._begin_fit(warm_start)
        counts = (bags.tags > 0).sum(axis=0) + 1e-9
        self.frequencies_ = counts / counts.sum()
        return self._finish_fit(bags)

    def _proba(self, X: Array) -> Array:
        return np.tile(self.frequencies_, (len(X), 1))


class _LogisticBaseline(_Baseline):
    """Multinomial logistic regression on standardised features.

    Attributes
    ----------
    coefficients_ : (d, C) float
    intercepts_ : (C,) float
    """

    alpha: float
    mean_: Array
    scale_: Array
    coefficients_: Array
    intercepts_: Array

    def _standardise(self, X: Array) -> Array:
        return Standardise(self.mean_, self.scale_)(X)

    def _proba(self, X: Array) -> Array:
        return np.exp(self._log_proba(X))

    def _log_proba(self, X: Array) -> Array:
        return np.asarray(log_softmax(self._standardise(X) @ self.coefficients_ + self.intercepts_, axis=1))

    def _fit_scale(self, X: Array) -> None:
        standardise = Standardise.fit(X)
        self.mean_, self.scale_ = standardise.mean, standardise.scale

    def _check_parameters(self) -> None:
        self._check_number("alpha", at_least=0)


class SupervisedLR(_LogisticBaseline):
    """Fit a logistic regression to the segments whose class is given as `labels`.

    Parameters
    ----------
    alpha : float
        Strength of the L2 penalty, as in ORedLR.

    Examples
    --------
    >>> from miml_core import BagSet
    >>> bags = BagSet([[0.0], [1.0]], [0, 1, 2], [[1, -1], [-1, 1]], ["wren", "robin"], labels=[0, 1])
    >>> SupervisedLR(alpha=0.1).fit(bags).predict_proba([[0.0]]).argmax(axis=1)
    array([0])
    """

    name: ClassVar[str] = "supervised-lr"

    def __init__(self, *, alpha: float = 1.0) -> None:
        self.alpha = alpha

    def fit(
        self, bags: BagSet, y: object = None, *, progress: Progress | None = None, warm_start: Model | None = None
    ) -> Self:
        self._begin_fit(warm_start)
        known = np.flatnonzero(bags.labels >= 0)
        if not len(known):
            raise BagtagError("No segment has a label; supervised-lr learns from labelled segments only.")
        self._fit_scale(bags.X)
        regression = _Regression(self._standardise(bags.X[known]), bags.labels[known], bags.n_classes, self.alpha)
        self.coefficients_, self.intercepts_ = regression.fit(np.ones(len(known)))
        return self._finish_fit(bags)


class CandidateEM(_LogisticBaseline):
    """Alternate between a logistic regression and the probabilities of each segment's candidate tags (EM).

    The usual form of partial-label learning: each segment enters once per tag of its bag, weighted by the probability
    of that tag among the candidates. That every tag needs at least one segment is not used.

    Parameters
    ----------
    alpha : float
        Strength of the L2 penalty, as in ORedLR.
    max_iter : int
        Maximum number of EM steps.
    tol : float
        The fit ends when no probability changes by as much as this.

    Examples
    --------
    >>> from miml_core import BagSet
    >>> bags = BagSet([[0.0], [5.0], [5.2], [0.1]], [0, 2, 3, 4], [[1, 1], [-1, 1], [1, -1]], ["wren", "robin"])
    >>> CandidateEM().fit(bags).annotate(bags).argmax(axis=1)
    array([0, 1, 1, 0])
    """

    name: ClassVar[str] = "candidate-em"

    def __init__(self, *, alpha: float = 1.0, max_iter: int = 50, tol: float = 0.01) -> None:
        self.alpha = alpha
        self.max_iter = max_iter
        self.tol = tol

    def fit(
        self, bags: BagSet, y: object = None, *, progress: Progress | None = None, warm_start: Model | None = None
    ) -> Self:
        self._begin_fit(warm_start)
        watched = WatchedProgress(progress)
        fit_progress = FitProgress(watched, [Phase(self.max_iter)])
        shares = candidate_shares(bags)
        rows, classes = np.nonzero(shares)
        if not len(rows):
            raise BagtagError("No bag has a tag yet; tag some bags first.")
        self._fit_scale(bags.X)
        regression = _Regression(self._standardise(bags.X)[rows], classes, bags.n_classes, self.alpha)
        weights = shares[rows, classes]
        for _ in range(self.max_iter):
            self.coefficients_, self.intercepts_ = regression.fit(weights)
            chosen = np.maximum(self._proba(bags.X)[rows, classes], 1e-300)
            before, weights = weights, chosen / np.bincount(rows, weights=chosen, minlength=len(shares))[rows]
            moved = float(np.abs(weights - before).max())
            if fit_progress.step(0, moved=moved) or moved < self.tol:
                break
        log_prior = np.log(np.maximum(self._proba(bags.X), 1e-300))
        self._finish_fit(bags)
        calibrate_by_folds(self, bags, log_prior, seed=0, progress=watched, tags=True)
        return self

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._check_number("max_iter", at_least=1, whole=True)
        self._check_number("tol", at_least=0)


class _Regression:
    """scikit-learn's logistic regression on fixed rows with changing weights; each fit continues from the last."""

    def __init__(self, Z: Array, labels: NDArray[np.int64], n_classes: int, alpha: float) -> None:
        from sklearn.linear_model import LogisticRegression

        self.Z, self.labels, self.n_classes = Z, labels, n_classes
        self.seen = np.unique(labels)
        self.model = LogisticRegression(C=1.0 / max(alpha, 1e-12), max_iter=200, warm_start=True)

    def fit(self, weights: Array) -> tuple[Array, Array]:
        """Return the (d, C) coefficients and (C,) intercepts."""
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
