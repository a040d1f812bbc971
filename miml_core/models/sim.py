"""Support Instance Machines: Briggs, Fern, Raich and Lou, "Instance Annotation for Multi-Instance Multi-Label
Learning" (2013).

One linear score a class; a bag's score for a class is that of its support instance, the best segment (max) or a
weighted mean that favours good segments (softmax). Training asks that in every bag each present tag outscores each
absent one by a margin (rank loss, eq. 4). `sim_solvers.py` says how, `corrections.py` what corrected segments mean to
the loss.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from miml_core.bags import UNKNOWN, BagSet
from miml_core.errors import BagtagError
from miml_core.models.base import Model, Progress
from miml_core.models.calibration import (
    fit_tag_curve,
    fit_temperature,
    log_softmax,
    posterior_within_tags,
    tag_curve,
)
from miml_core.models.feature_maps import (
    CentreAndShrink,
    FeatureMap,
    RandomFourier,
    UnitRange,
    apply,
    kernel_delta,
    pack,
    unpack,
)
from miml_core.models.sim_lam import USUAL_FITS, choose_lam
from miml_core.models.sim_solvers import Aggregate, Iterate, Loss, Problem, cccp, heuristic

Array = NDArray[np.float64]


class SIM(Model):
    """Linear scores trained so that every bag ranks its present tags above its absent ones.

    A tag that is not known takes part in no pair. A bag without a pair, one that has nothing or has everything, says
    nothing to the rank loss.

    Parameters
    ----------
    aggregate : "softmax" or "max"
        The support instance of a bag, eq. 10 or eq. 7.
    optimiser : "heuristic" or "cccp"
        Algorithm 4 or Algorithm 5; "cccp" never lets the objective rise and needs `aggregate` "max".
    loss : "rank" or "hamming"
        Eq. 4; or each tag by itself, eq. 30, which the paper finds much worse.
    T, K, K_max : int
        Outer iterations, subgradient steps in each, and the most steps that "cccp" takes in one. The paper has
        K = 100; twice as many solve the convex problems better and are worth up to a point of accuracy.
    lam : float or "auto"
        Regularisation; "auto" takes the one of 1e-9 to 1 with the lowest loss on held-out bags (eq. 37-38).
    kernel : None or "rff"
        Random Fourier features of a Gaussian kernel in place of the features (4.4).
    fourier_pairs : int
        D of Algorithm 6; there are twice as many features.
    width : float or "auto"
        Kernel width in mean squared distances between segments; "auto" is 1.
    calibrated : bool
        False: `annotate` answers by the paper's arg max within the tags. True: by the exact posterior of the bag,
        in which every tag wants a segment.
    seed : int

    Attributes
    ----------
    weights_ : (C, D)
    lam_ : float
    objective_ : (outer iterations,)
        Eq. 11 after each.
    temperature_ : float
        Scores divided by this are the logits under which the bags' tags are most likely.
    tag_curve_ : (2,)
        Slope and offset of the logistic curve from bag scores to tag probabilities.
    """

    name: ClassVar[str] = "sim"

    maps_: list[FeatureMap]
    weights_: Array
    lam_: float
    objective_: Array
    temperature_: float
    tag_curve_: Array

    def __init__(
        self,
        *,
        aggregate: Aggregate = "softmax",
        optimiser: Literal["heuristic", "cccp"] = "heuristic",
        loss: Loss = "rank",
        T: int = 10,
        K: int = 200,
        K_max: int = 1000,
        lam: float | str = "auto",
        kernel: str | None = None,
        fourier_pairs: int = 50,
        width: float | str = "auto",
        calibrated: bool = False,
        seed: int = 0,
    ) -> None:
        self.aggregate = aggregate
        self.optimiser = optimiser
        self.loss = loss
        self.T = T
        self.K = K
        self.K_max = K_max
        self.lam = lam
        self.kernel = kernel
        self.fourier_pairs = fourier_pairs
        self.width = width
        self.calibrated = calibrated
        self.seed = seed

    # learning

    def fit(self, bags: BagSet, *, progress: Progress | None = None, warm_start: Model | None = None) -> Self:
        """Minimise the regularised loss.

        `warm_start` is an earlier fit: its weights choose the first support instances, its scales and its lambda
        are kept, so that nothing is cross-validated again.
        """
        self._check_parameters()
        earlier = self._usable(warm_start, bags)
        self.maps_ = self._fit_maps(bags.X) if earlier is None else earlier.maps_
        X = apply(self.maps_, bags.X)
        problem = self._problem(bags, X)
        if not problem.has_pairs:
            raise BagtagError(
                "No bag has both a tag that is present and one that is absent, so there is nothing to rank; "
                "tag more bags, or choose another model."
            )
        talk = _Talk(progress, n_fits=USUAL_FITS if self._must_choose(earlier) else 0, T=self.T)
        self.lam_ = self._choose_lam(bags, X, talk, earlier)
        self.weights_, self.objective_ = self._run(problem, talk, earlier, bags.classes)
        self.classes_ = list(bags.classes)
        self.n_features_ = bags.X.shape[1]
        self.temperature_ = fit_temperature(self.scores, bags, seed=self.seed)
        self.tag_curve_ = np.array(fit_tag_curve(self.bag_scores(bags), bags.tags))
        return self

    def _problem(self, bags: BagSet, X: Array) -> Problem:
        return Problem.of(bags, X, self.loss, self.aggregate)

    def _optimise(self, problem: Problem, lam: float, start: Array | None = None) -> Iterator[Iterate]:
        if self.optimiser == "cccp":
            return cccp(problem, lam, self.T, self.K, self.K_max, start)
        return heuristic(problem, lam, self.T, self.K, start)

    def _run(self, problem: Problem, talk: _Talk, earlier: SIM | None, classes: list[str]) -> tuple[Array, Array]:
        start = None if earlier is None else earlier._weights_for(classes)
        objectives = []
        for iterate in self._optimise(problem, self.lam_, start):
            objectives.append(iterate.objective)
            if talk.fitting(iterate.objective, self.lam_):
                break
        return iterate.W, np.array(objectives)

    def _must_choose(self, earlier: SIM | None) -> bool:
        return self.lam == "auto" and earlier is None

    def _choose_lam(self, bags: BagSet, X: Array, talk: _Talk, earlier: SIM | None) -> float:
        if self.lam != "auto":
            return float(self.lam)
        if earlier is not None:
            return earlier.lam_

        def train(problem: Problem, lam: float) -> Array:
            return list(self._optimise(problem, lam))[-1].W

        return choose_lam(bags, X, self._problem, train, seed=self.seed, report=talk.choosing_lam)

    def _usable(self, warm_start: Model | None, bags: BagSet) -> SIM | None:
        """The earlier fit, if its weights mean the same as this one's would."""
        if not isinstance(warm_start, SIM) or not hasattr(warm_start, "weights_"):
            return None
        shape = ("kernel", "fourier_pairs", "width", "seed")
        same = all(getattr(self, name) == getattr(warm_start, name) for name in shape)
        return warm_start if same and warm_start.n_features_ == bags.X.shape[1] else None

    def _weights_for(self, classes: list[str]) -> Array:
        """The weights by class name; a class that is new starts at zero."""
        rows = dict(zip(self.classes_, self.weights_))
        return np.array([rows.get(name, np.zeros(self.weights_.shape[1])) for name in classes])

    def _fit_maps(self, X: Array) -> list[FeatureMap]:
        """The paper's rescaling (Appendix 2), again after the kernel's features if there are any."""
        maps: list[FeatureMap] = [UnitRange.fit(X)]
        maps.append(CentreAndShrink.fit(apply(maps, X)))
        if self.kernel is not None:
            Z = apply(maps, X)
            gamma = 1.0 / kernel_delta(Z, self.width)
            maps.append(RandomFourier.fit(Z, n_pairs=self.fourier_pairs, gamma=gamma, seed=self.seed))
            maps.append(CentreAndShrink.fit(apply(maps, X)))
        return maps

    # answers

    def scores(self, X: ArrayLike) -> Array:
        """(N, C) f_c(x) = w_c . x of segments."""
        return apply(self.maps_, self._check_features(X)) @ self.weights_.T

    def predict_proba(self, X: ArrayLike) -> Array:
        """Softmax of the scores over the fitted temperature; its arg max is the paper's inductive prediction."""
        return np.exp(log_softmax(self.scores(X) / self.temperature_))

    def annotate(self, bags: BagSet) -> Array:
        """Probabilities within each bag's tags; the arg max is the paper's transductive prediction (5.1.2).

        A class whose tag is not known stays possible; a corrected segment has its own class only. With `calibrated`
        the rows come from the exact posterior of the bag. A segment for which no class is left, said to be background
        or in a bag tagged as having nothing, has a row of zeros.
        """
        self._check_bags(bags)
        log_prior = log_softmax(self.scores(bags.X) / self.temperature_)
        if self.calibrated:
            return posterior_within_tags(log_prior, bags)
        log_prior[~_allowed(bags)] = -np.inf
        answered = np.isfinite(log_prior).any(axis=1)
        rows = np.zeros_like(log_prior)
        rows[answered] = np.exp(log_softmax(log_prior[answered]))
        return rows

    def bag_scores(self, bags: BagSet) -> Array:
        """(B, C) F_c of bags, eq. 6 or eq. 8."""
        self._check_bags(bags)
        scores = self.scores(bags.X)
        top = np.maximum.reduceat(scores, bags.offsets[:-1], axis=0)
        if self.aggregate == "max":
            return top
        weights = np.exp(scores - top[bags.bag_of])
        total = np.add.reduceat(weights, bags.offsets[:-1], axis=0)
        return np.add.reduceat(weights * scores, bags.offsets[:-1], axis=0) / total

    def predict_tags(self, bags: BagSet) -> Array:
        """Probability of each tag: the bag scores, in their order, on a logistic curve fitted to the training bags."""
        return tag_curve(self.bag_scores(bags), self.tag_curve_)

    # files and checks

    def _state(self) -> dict[str, Any]:
        state = super()._state()
        return pack(state.pop("maps_"), "map") | state

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore({name: value for name, value in state.items() if not name.startswith("map")})
        self.maps_ = unpack(state, "map")

    def _check_parameters(self) -> None:
        choices = {"aggregate": ("max", "softmax"), "optimiser": ("heuristic", "cccp"), "loss": ("rank", "hamming"),
                   "kernel": (None, "rff")}  # fmt: skip
        for name, allowed in choices.items():
            if getattr(self, name) not in allowed:
                raise BagtagError(f"{name} must be one of {allowed}, not {getattr(self, name)!r}.")
        if self.optimiser == "cccp" and self.aggregate != "max":
            raise BagtagError(
                "The optimiser 'cccp' needs aggregate='max': the softmax of segment scores is not a convex function "
                "of the weights, so its objective has no convex upper bound; use optimiser='heuristic'."
            )
        if self.lam != "auto" and not (isinstance(self.lam, int | float) and self.lam > 0):
            raise BagtagError(f"lam must be 'auto' or a number above 0, not {self.lam!r}.")
        if min(self.T, self.K, self.K_max, self.fourier_pairs) < 1:
            raise BagtagError("T, K, K_max and fourier_pairs must be at least 1.")


def _allowed(bags: BagSet) -> NDArray[np.bool_]:
    """(N, C) the classes a segment may have: its correction, or any tag of its bag that is not absent."""
    allowed = bags.tags[bags.bag_of] >= 0
    corrected = bags.labels != UNKNOWN
    allowed[corrected] = np.arange(bags.n_classes) == bags.labels[corrected, None]
    return allowed


class _Talk:
    """Progress over the fits that choose lambda, of which the usual number is foreseen, then the outer iterations."""

    def __init__(self, progress: Progress | None, n_fits: int, T: int) -> None:
        self.progress, self.of, self.step, self.n_fits = progress, n_fits + T, 0, n_fits

    def choosing_lam(self, lam: float, loss: float) -> bool:
        self.step = min(self.step + 1, self.n_fits)
        return self._say({"phase": 0, "lam": lam, "held_out_loss": loss})

    def fitting(self, objective: float, lam: float) -> bool:
        self.step = max(self.step, self.n_fits) + 1
        return self._say({"phase": 1, "lam": lam, "objective": objective})

    def _say(self, info: dict[str, float]) -> bool:
        return bool(self.progress(self.step, self.of, info)) if self.progress is not None else False


def warm() -> None:
    """Compile the kernels, so that the first real call does not wait for it."""
    bags = BagSet([[0.0], [1.0]], [0, 1, 2], [[1, -1], [-1, 1]], ["a", "b"])
    SIM(T=1, K=1, lam=1e-3).fit(bags)
    SIM(T=1, K=1, lam=1e-3, aggregate="max", optimiser="cccp").fit(bags)
