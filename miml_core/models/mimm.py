"""Multi-instance mixture models (Foulds and Smyth 2011), generalised from one label to tag sets.

Each class c is a density f_c (a mixture of `n_components` of one family) with weight pi_c; a segment draws its class
from pi and its features from f_c; the bag's tags are the set of its segments' classes. For one label the background is
the paper's negative class. EM maximises p(features, tags):

* E-step: the exact posterior of `posterior.py` with log(pi_c f_c(x)) as the prior. For one label and its background
  this is the paper's adjusted responsibility omega_ij = gamma_ij / (1 - alpha_i) (section 4.2): the sum over all
  labellings of a positive bag except the all-negative one, whose share is alpha_i.
* M-step: every component from its weighted sufficient statistics (section 4.2), under a weak prior.

The likelihood plus the log prior never decreases. Features may be missing (NaN): components integrate them out.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from miml_core.bags import BACKGROUND, BagSet
from miml_core.errors import BagtagError
from miml_core.models.base import Model, RandomState, draw_seed
from miml_core.models.cross_fit import WatchedProgress, calibrate_by_folds
from miml_core.models.feature_maps import divisors, mean_and_spread, scale_by_division
from miml_core.models.fit_progress import FitProgress, Phase, Progress
from miml_core.models.mixture_components import FAMILIES, Family, make_family
from miml_core.posterior import bag_posterior, tag_probabilities, training_posterior

Array = NDArray[np.float64]
_TRIAL_STEPS = 12


class MIMM(Model):
    """Fit a mixture model in which each class has its own density of features.

    Parameters
    ----------
    components : "gaussian-diag", "gaussian-full", "bernoulli", "multinomial" or "markov"
        Family of the densities: for numbers (independent, or correlated), for features that are 0 or 1, for categories,
        and for sequences of states.
    n_components : int
        Number of components per class; the paper has one.
    pca : int, optional
        Number of principal components that the features are reduced to (Gaussian families, no missing values).
    supervision : "tags", "mm" or "mmu"
        The paper's semi-supervised approximations: "mm" ignores that a present tag needs a segment, "mmu" learns
        without tags and then assigns to each class the part of the mixture that violates its absences least.
    restarts : int
        Number of random starts besides the regular one; each is tried for a few steps and the best is continued.
    max_iter : int
        Maximum number of EM steps.
    tol : float
        The fit ends when a step raises the objective by less than this share.
    background : bool
        Whether there is a class for segments that are none of the classes (the paper's negative class).
    leak : float
        Probability that a tag is true without a segment of it.
    random_state : int, Generator, RandomState or None
        An integer gives the same fit each time.

    Attributes
    ----------
    weights_ : (K,) float
        pi of the K components, those of one class next to each other.
    mean_, variance_, covariance_, theta_ : (K, ...) float
        Parameters of the components, as far as the family has them.
    curve_ : list of float
        Objective before each EM step.

    Examples
    --------
    >>> from miml_core import BagSet
    >>> X = [[0.0], [5.0], [5.2], [0.1], [9.0]]
    >>> bags = BagSet(X, [0, 2, 3, 5], [[1, 1], [-1, 1], [1, -1]], ["wren", "robin"])
    >>> MIMM(background=False).fit(bags).annotate(bags).argmax(axis=1)
    array([0, 1, 1, 0, 0])
    """

    name = "mimm"
    handles_missing = True

    weights_: Array
    centre_: Array
    spread_: Array
    basis_: Array

    def __init__(
        self,
        *,
        components: str = "gaussian-diag",
        n_components: int = 1,
        pca: int | None = None,
        supervision: str = "tags",
        restarts: int = 10,
        max_iter: int = 200,
        tol: float = 1e-6,
        background: bool = True,
        leak: float = 0.0,
        random_state: RandomState = 0,
    ) -> None:
        self.components = components
        self.n_components = n_components
        self.pca = pca
        self.supervision = supervision
        self.restarts = restarts
        self.max_iter = max_iter
        self.tol = tol
        self.background = background
        self.leak = leak
        self.random_state = random_state

    # fit

    def fit(
        self, bags: BagSet, y: object = None, *, progress: Progress | None = None, warm_start: Model | None = None
    ) -> Self:
        self._check_parameters()
        if not self.background:
            _refuse_bags_of_background(bags)
        seed = draw_seed(self.random_state)
        watched = WatchedProgress(progress)
        earlier = self._begin_fit(warm_start)
        self.n_features_ = bags.X.shape[1]
        em = _EM(self, bags, self._reduce(bags.X, fit=True), seed)
        continued = earlier if isinstance(earlier, MIMM) and em.can_continue(earlier) else None
        if continued is not None:
            state = em.maximise(em.responsibilities(continued._parameters(), continued.weights_)[0], None)
        else:
            state = self._best_start(em, seed)
        fit_progress = FitProgress(watched, [Phase(self.max_iter)])
        self.curve_: list[float] = []
        for step in range(self.max_iter):
            posterior, objective = em.responsibilities(*state)
            self.curve_.append(objective)
            if fit_progress.step(0, objective=objective):
                break
            if step and objective - self.curve_[-2] < self.tol * abs(objective):
                break
            state = em.maximise(posterior, state[0])
        self._set_parameters(em.family, *state)
        if self.supervision == "mmu":
            self._assign_parts(bags)
        self.classes_ = list(bags.classes)
        log_joint = self._log_joint(bags.X)
        log_prior = log_joint - logsumexp(log_joint, axis=1, keepdims=True)
        if continued is None:
            calibrate_by_folds(self, bags, log_prior, seed=seed, progress=watched, tags=True)
        else:
            self.set_calibration(continued.calibration)
        return self

    def _check_parameters(self) -> None:
        self._check_choice("components", *FAMILIES)
        self._check_choice("supervision", "tags", "mm", "mmu")
        self._check_number("n_components", at_least=1, whole=True)
        if self.pca is not None:
            self._check_number("pca", at_least=1, whole=True)
        self._check_number("restarts", at_least=0, whole=True)
        self._check_number("max_iter", at_least=1, whole=True)
        self._check_number("tol", at_least=0)
        self._check_flag("background")
        self._check_number("leak", at_least=0, below=1)

    def _best_start(self, em: _EM, seed: int) -> tuple[dict[str, Array], Array]:
        """Return the best of the regular start (all classes that the tags allow alike) and the random ones."""
        rng = np.random.default_rng(seed)
        best: tuple[float, tuple[dict[str, Array], Array]] | None = None
        for start in range(self.restarts + 1):
            state = em.maximise(em.start(rng if start else None), None)
            for _ in range(_TRIAL_STEPS):
                posterior, objective = em.responsibilities(*state)
                state = em.maximise(posterior, state[0])
            if best is None or objective > best[0]:
                best = objective, state
        assert best is not None
        return best[1]

    def _set_parameters(self, family: Family, parameters: dict[str, Array], weights: Array) -> None:
        self.weights_ = weights
        for name, value in parameters.items():
            setattr(self, f"{name}_", value)
        self.n_values_ = int(getattr(family, "n_values", 0))

    def _parameters(self) -> dict[str, Array]:
        names = ("mean", "variance", "covariance", "theta")
        return {name: getattr(self, f"{name}_") for name in names if hasattr(self, f"{name}_")}

    def _reduce(self, X: Array, *, fit: bool = False) -> Array:
        """Standardise (Gaussian families), then project on the principal components if `pca` is set."""
        if not self.components.startswith("gaussian"):
            return X
        if fit:
            self.centre_, spread = mean_and_spread(X)
            self.spread_ = divisors(self.centre_, spread)
        Z = scale_by_division(X, self.centre_, self.spread_)
        if self.pca is None:
            return Z
        if np.isnan(Z).any():
            raise BagtagError("Principal components need every feature of every segment; set pca=None.")
        if fit:
            self.basis_ = np.linalg.svd(Z, full_matrices=False)[2][: self.pca].T
        return Z @ self.basis_

    def _assign_parts(self, bags: BagSet) -> None:
        """Assign to each class the part of the mixture with the least weight in bags without that tag (MMU)."""
        from scipy.optimize import linear_sum_assignment

        parts = np.exp(self._log_joint(bags.X))
        parts /= parts.sum(axis=1, keepdims=True)
        absent = np.repeat(bags.tags < 0, np.diff(bags.offsets), axis=0).astype(float)
        violations = absent.T @ parts
        if self.background:
            violations = np.concatenate([violations, np.zeros((1, parts.shape[1]))])
        _, part_of = linear_sum_assignment(violations)
        order = (part_of[:, None] * self.n_components + np.arange(self.n_components)).ravel()
        self.weights_ = self.weights_[order]
        for name, value in self._parameters().items():
            setattr(self, f"{name}_", value[order])

    # predict

    def _log_joint(self, X: Array) -> Array:
        """Return (N, C) log(pi_c f_c(x)), summed over the components of each class."""
        Z = self._reduce(X)
        family = make_family(self.components, self.n_values_)
        family.check_values(Z)
        log_parts = family.log_density(family.statistics(Z), self._parameters()) + _log(self.weights_)
        n_classes = len(self.weights_) // self.n_components
        return logsumexp(log_parts.reshape(len(X), n_classes, self.n_components), axis=2)

    def predict_proba(self, X: ArrayLike) -> Array:
        log_joint = self._log_joint(self._check_features(X))
        return self._calibrated(np.exp(log_joint - logsumexp(log_joint, axis=1, keepdims=True)))

    def annotate(self, bags: BagSet) -> Array:
        self._check_bags(bags)
        log_joint = self._log_joint(bags.X)
        posterior = bag_posterior(log_joint, bags.offsets, bags.tags, bags.labels, leak=self.leak)
        return self._calibrated_given_tags(posterior.probabilities)

    def predict_tags(self, bags: BagSet) -> Array:
        """Return (B, C) 1 - prod_i P(z_i is not c), the paper's bag posterior (section 3)."""
        self._check_bags(bags)
        log_joint = self._log_joint(bags.X)
        prior = np.exp(log_joint - logsumexp(log_joint, axis=1, keepdims=True))
        return self._calibrated_tags(tag_probabilities(prior, bags.offsets, len(self.classes_), self.leak))


def _refuse_bags_of_background(bags: BagSet) -> None:
    """Raise a `BagtagError` if a model without a background class cannot be fitted to the bags."""
    if (bags.tags < 0).all(axis=1).any():
        raise BagtagError("A bag tagged as having none of the classes needs background=True.")
    if (bags.labels == BACKGROUND).all():
        raise BagtagError(
            "Every segment is labelled background, so that no segment is left to learn the classes from; use "
            "background=True, or label segments of the classes."
        )


class _EM:
    """The two steps of EM for one data set and one family of components, and its starts."""

    def __init__(self, model: MIMM, bags: BagSet, X: Array, seed: int) -> None:
        self.model, self.leak, self.n_components = model, model.leak, model.n_components
        self.n_classes = bags.n_classes + model.background
        self.family: Family = make_family(model.components)
        self.family.learn_prior(X, self.n_classes * model.n_components)
        self.statistics = self.family.statistics(X)
        tags = {
            "tags": bags.tags,
            "mm": np.minimum(bags.tags, 0),
            "mmu": np.zeros_like(bags.tags),
        }[model.supervision]
        self.bags = bags.replace(tags=tags)
        self.rng = np.random.default_rng(seed)

    def can_continue(self, earlier: MIMM) -> bool:
        """Return whether the earlier components are of the same family, number and shape, for the same classes."""
        n_components = self.n_classes * self.n_components
        shape = n_components, self.statistics.shape[1]
        same = ("components", "n_components", "pca", "background")
        return (
            all(getattr(earlier, name) == getattr(self.model, name) for name in same)
            and earlier.classes_ == self.bags.classes
            and earlier.n_features_ == self.bags.X.shape[1]
            and earlier.weights_.shape == (n_components,)
            and all(value.shape[:2] == shape for value in earlier._parameters().values())
        )

    def start(self, rng: np.random.Generator | None) -> Array:
        """Return (N, K) first responsibilities: all classes that the tags allow alike, or random ones."""
        shape = self.bags.n_segments, self.n_classes
        log_prior = np.zeros(shape) if rng is None else 2.0 * rng.standard_normal(shape)
        classes = self._posterior(log_prior)[0]
        if self.n_components == 1:
            return classes
        parts = self.rng.dirichlet(np.full(self.n_components, 0.3), shape)
        return (classes[:, :, None] * parts).reshape(len(classes), -1)

    def responsibilities(self, parameters: dict[str, Array], weights: Array) -> tuple[Array, float]:
        """Return the (N, K) posterior of every component, and the objective at these parameters (E-step)."""
        log_parts = self.family.log_density(self.statistics, parameters) + _log(weights)
        log_parts = log_parts.reshape(len(log_parts), self.n_classes, self.n_components)
        log_joint = logsumexp(log_parts, axis=2)
        classes, log_likelihood = self._posterior(log_joint)
        with np.errstate(invalid="ignore"):
            within = np.nan_to_num(np.exp(log_parts - log_joint[:, :, None]))
        posterior = (classes[:, :, None] * within).reshape(len(classes), -1)
        return posterior, log_likelihood + self.family.log_prior(parameters)

    def maximise(self, posterior: Array, before: dict[str, Array] | None) -> tuple[dict[str, Array], Array]:
        """Return the parameters, and pi as each component's share of the segments (M-step)."""
        total = posterior.sum(axis=0)
        return self.family.maximise(self.statistics, posterior, before), total / total.sum()

    def _posterior(self, log_joint: Array) -> tuple[Array, float]:
        result = training_posterior(log_joint, self.bags, leak=self.leak)
        return result.probabilities, float(result.log_likelihood.sum())


def _log(weights: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.log(weights)
