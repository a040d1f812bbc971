"""Multi-instance mixture models (Foulds and Smyth 2011), generalised from one label to tag sets.

Each class c is a density f_c (a mixture of `n_components` of one family) with weight pi_c; a segment draws its class
from pi and its features from f_c; the bag's tags are the set of its segments' classes. For one label the background is
the paper's negative class. EM maximises p(features, tags):

* E-step: the exact posterior of `posterior.py` with log(pi_c f_c(x)) in the place of a prior. For one label and its
  background this is the paper's adjusted responsibility omega_ij = gamma_ij / (1 - alpha_i) (section 4.2): the pass
  sums over all labellings of a positive bag but the all-negative one, whose share is alpha_i.
* M-step: every component from its weighted sufficient statistics (section 4.2), under a weak prior.

The likelihood plus the log prior never falls. Features may be missing (NaN): components integrate them out.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from miml_core.bags import BagSet
from miml_core.errors import BagtagError
from miml_core.models.base import Model, Progress
from miml_core.models.mixture_components import Family, make_family
from miml_core.posterior import bag_posterior, tag_probabilities, training_posterior

Array = NDArray[np.float64]
_TRIAL_STEPS = 12
_TOLERANCE = 1e-6


class MIMM(Model):
    """Multi-instance mixture model.

    Parameters
    ----------
    components : "gaussian-diag", "gaussian-full", "bernoulli", "multinomial" or "markov"
    n_components : int
        Components a class; the paper has one.
    pca : int, optional
        Reduce the features to so many principal components first (Gaussian families, no missing values).
    supervision : "tags", "mm" or "mmu"
        The paper's semi-supervised approximations: "mm" forgets that a present tag needs a segment, "mmu" learns
        without tags and then gives each class the part of the mixture that breaks its absences least.
    restarts : int
        Random starts beside the deliberate one; each is tried for a few steps and the best is carried on.
    n_iter : int
        Most EM steps.
    background : bool
        A class more for segments that are none of the classes (the paper's negative class).
    leak : float
        Probability that a tag is true without a segment of it.
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
        n_iter: int = 200,
        background: bool = True,
        leak: float = 0.0,
        seed: int = 0,
    ) -> None:
        if supervision not in ("tags", "mm", "mmu"):
            raise BagtagError(f"The supervision must be 'tags', 'mm' or 'mmu', not {supervision!r}.")
        self.components = components
        self.n_components = n_components
        self.pca = pca
        self.supervision = supervision
        self.restarts = restarts
        self.n_iter = n_iter
        self.background = background
        self.leak = leak
        self.seed = seed

    # learning

    def fit(self, bags: BagSet, *, progress: Progress | None = None, warm_start: Model | None = None) -> Self:
        if not self.background and self._impossible(bags):
            raise BagtagError("A bag tagged as having none of the classes needs background=True.")
        self.classes_, self.n_features_ = list(bags.classes), bags.X.shape[1]
        X = self._reduce(bags.X, fit=True)
        learn = _Learner(self, bags, X)
        if isinstance(warm_start, MIMM) and learn.can_go_on_from(warm_start):
            state = learn.maximise(learn.responsibilities(warm_start._parameters(), warm_start.weights_)[0], None)
        else:
            state = self._best_start(learn)
        self.curve_: list[float] = []
        for step in range(self.n_iter):
            posterior, objective = learn.responsibilities(*state)
            self.curve_.append(objective)
            stop = progress is not None and progress(step + 1, self.n_iter, {"objective": objective})
            if stop or (step and objective - self.curve_[-2] < _TOLERANCE * abs(objective)):
                break
            state = learn.maximise(posterior, state[0])
        self._keep(learn.family, *state)
        if self.supervision == "mmu":
            self._name_parts(bags)
        return self

    def _best_start(self, learn: _Learner) -> tuple[dict[str, Array], Array]:
        """The deliberate start (every segment spread over what its tags allow) and random ones, each tried briefly."""
        rng = np.random.default_rng(self.seed)
        best: tuple[float, tuple[dict[str, Array], Array]] | None = None
        for start in range(self.restarts + 1):
            state = learn.maximise(learn.start(rng if start else None), None)
            for _ in range(_TRIAL_STEPS):
                posterior, objective = learn.responsibilities(*state)
                state = learn.maximise(posterior, state[0])
            if best is None or objective > best[0]:
                best = objective, state
        assert best is not None
        return best[1]

    def _impossible(self, bags: BagSet) -> bool:
        return bool((bags.tags < 0).all(axis=1).any())

    def _keep(self, family: Family, parameters: dict[str, Array], weights: Array) -> None:
        self.weights_ = weights
        for name, value in parameters.items():
            setattr(self, f"{name}_", value)
        self.n_values_ = int(getattr(family, "n_values", 0))

    def _parameters(self) -> dict[str, Array]:
        names = ("mean", "variance", "covariance", "theta")
        return {name: getattr(self, f"{name}_") for name in names if hasattr(self, f"{name}_")}

    def _reduce(self, X: Array, *, fit: bool = False) -> Array:
        """Standardise (Gaussian families), then project on the principal components if wanted."""
        if not self.components.startswith("gaussian"):
            return X
        if fit:
            self.centre_ = np.nan_to_num(np.nanmean(X, axis=0))
            spread = np.nanstd(X, axis=0)
            self.spread_ = np.where(spread > 1e-12 * np.maximum(np.abs(self.centre_), 1), spread, 1.0)
        Z = (X - self.centre_) / self.spread_
        if self.pca is None:
            return Z
        if np.isnan(Z).any():
            raise BagtagError("Principal components need every feature of every segment; set pca=None.")
        if fit:
            self.basis_ = np.linalg.svd(Z, full_matrices=False)[2][: self.pca].T
        return Z @ self.basis_

    def _name_parts(self, bags: BagSet) -> None:
        """MMU: give each class the part of the mixture with the least weight in bags tagged as not having it."""
        from scipy.optimize import linear_sum_assignment

        parts = np.exp(self._log_joint(bags.X))
        parts /= parts.sum(axis=1, keepdims=True)
        absent = np.repeat(bags.tags < 0, np.diff(bags.offsets), axis=0).astype(float)
        broken = absent.T @ parts
        if self.background:
            broken = np.concatenate([broken, np.zeros((1, parts.shape[1]))])
        _, part_of = linear_sum_assignment(broken)
        order = (part_of[:, None] * self.n_components + np.arange(self.n_components)).ravel()
        self.weights_ = self.weights_[order]
        for name, value in self._parameters().items():
            setattr(self, f"{name}_", value[order])

    # answering

    def _log_joint(self, X: Array) -> Array:
        """(N, C) log(pi_c f_c(x)), the components of a class summed."""
        Z = self._reduce(X)
        family = make_family(self.components, self.n_values_)
        log_parts = family.log_density(family.statistics(Z), self._parameters()) + _log(self.weights_)
        return logsumexp(log_parts.reshape(len(X), -1, self.n_components), axis=2)

    def predict_proba(self, X: ArrayLike) -> Array:
        log_joint = self._log_joint(self._check_features(X))
        return np.exp(log_joint - logsumexp(log_joint, axis=1, keepdims=True))

    def annotate(self, bags: BagSet) -> Array:
        self._check_bags(bags)
        log_joint = self._log_joint(bags.X)
        return bag_posterior(log_joint, bags.offsets, bags.tags, bags.labels, leak=self.leak).probabilities

    def predict_tags(self, bags: BagSet) -> Array:
        """1 - prod_i P(z_i is not c), the paper's bag posterior (section 3)."""
        return tag_probabilities(self.predict_proba(bags.X), bags.offsets, len(self.classes_), self.leak)


class _Learner:
    """One data set under one choice of components: the two steps of EM, and where to start."""

    def __init__(self, model: MIMM, bags: BagSet, X: Array) -> None:
        self.leak, self.n_components = model.leak, model.n_components
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
        self.rng = np.random.default_rng(model.seed)

    def can_go_on_from(self, earlier: MIMM) -> bool:
        expected = self.n_classes * self.n_components
        return (
            earlier.classes_ == self.bags.classes
            and earlier.weights_.shape == (expected,)
            and all(len(value) == expected for value in earlier._parameters().values())
            and earlier.n_features_ == self.bags.X.shape[1]
        )

    def start(self, rng: np.random.Generator | None) -> Array:
        """Responsibilities to begin with: all that the tags allow alike, or at random."""
        shape = self.bags.n_segments, self.n_classes
        log_prior = np.zeros(shape) if rng is None else 2.0 * rng.standard_normal(shape)
        classes = self._posterior(log_prior)[0]
        if self.n_components == 1:
            return classes
        parts = self.rng.dirichlet(np.full(self.n_components, 0.3), shape)
        return (classes[:, :, None] * parts).reshape(len(classes), -1)

    def responsibilities(self, parameters: dict[str, Array], weights: Array) -> tuple[Array, float]:
        """E-step: (N, K) posterior of every component, and the objective at these parameters."""
        log_parts = self.family.log_density(self.statistics, parameters) + _log(weights)
        log_parts = log_parts.reshape(len(log_parts), self.n_classes, self.n_components)
        log_joint = logsumexp(log_parts, axis=2)
        classes, log_likelihood = self._posterior(log_joint)
        with np.errstate(invalid="ignore"):
            within = np.nan_to_num(np.exp(log_parts - log_joint[:, :, None]))
        posterior = (classes[:, :, None] * within).reshape(len(classes), -1)
        return posterior, log_likelihood + self.family.log_prior(parameters)

    def maximise(self, posterior: Array, before: dict[str, Array] | None) -> tuple[dict[str, Array], Array]:
        """M-step: the parameters, and pi as each component's share of the segments."""
        total = posterior.sum(axis=0)
        return self.family.maximise(self.statistics, posterior, before), total / total.sum()

    def _posterior(self, log_joint: Array) -> tuple[Array, float]:
        result = training_posterior(log_joint, self.bags, leak=self.leak)
        return result.probabilities, float(result.log_likelihood.sum())


def _log(weights: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.log(weights)
