"""Support Instance Machines: Briggs, Fern, Raich and Lou, "Instance Annotation for Multi-Instance Multi-Label
Learning" (2013).

Each class has a linear score; a bag's score for a class is that of its support instance, the best segment (max) or a
weighted mean that favours good segments (softmax). Training requires that in every bag each present tag outscores each
absent one by a margin (rank loss, eq. 4). `sim_solvers.py` has the optimisers, `corrections.py` the effect of corrected
segments on the loss.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_softmax

from miml_core.bags import UNKNOWN, BagSet
from miml_core.errors import BagtagError
from miml_core.models.base import Model, RandomState, draw_seed
from miml_core.models.calibration import fit_tag_curve, fit_temperature, posterior_within_tags, tag_curve
from miml_core.models.candidates import refuse_all_absent
from miml_core.models.cross_fit import WatchedProgress, calibrate_by_folds
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
from miml_core.models.fit_progress import FitProgress, Phase, Progress
from miml_core.models.sim_lam import USUAL_FITS, choose_lam
from miml_core.models.sim_solvers import Aggregate, Iterate, Loss, Problem, cccp, heuristic

Array = NDArray[np.float64]
_CHOOSING, _FITTING = 0, 1
"""Phases of a fit: choosing lambda, and the outer iterations."""


class SIM(Model):
    """Fit linear scores that rank the present tags of every bag above its absent ones.

    A tag that is not known takes part in no pair. A bag without a pair, that has no tag or all tags, does not change
    the rank loss.

    Parameters
    ----------
    aggregate : "softmax" or "max"
        The support instance of a bag, eq. 10 or eq. 7.
    optimiser : "heuristic" or "cccp"
        Algorithm 4 or Algorithm 5; "cccp" never lets the objective rise and needs `aggregate` "max".
    loss : "rank" or "hamming"
        Eq. 4; or each tag by itself, eq. 30, which the paper finds much worse.
    T, K, K_max : int
        Number of outer iterations, of subgradient steps in each, and the maximum number of steps of "cccp" in one. The
        paper has K = 100; twice as many solve the convex problems better and gain up to a point of accuracy.
    lam : float or "auto"
        Regularisation; "auto" chooses from 1e-9 to 1 by the lowest loss on held-out bags (eq. 37-38).
    kernel : None or "rff"
        Random Fourier features of a Gaussian kernel in place of the features (4.4).
    fourier_pairs : int
        D of Algorithm 6; there are twice as many features.
    width : float or "auto"
        Kernel width in mean squared distances between segments; "auto" is 1.
    calibrated : bool
        False: `annotate` uses the paper's arg max within the tags. True: it uses the exact posterior of the bag, in
        which every tag needs a segment.
    random_state : int, Generator, RandomState or None
        An integer gives the same fit each time.

    Attributes
    ----------
    weights_ : (C, D) float
    lam_ : float
    objective_ : (outer iterations,) float
        Eq. 11 after each.
    temperature_ : float
        Scores divided by this are the logits under which the bags' tags are most likely.
    tag_curve_ : (2,) float
        Slope and offset of the logistic curve from bag scores to tag probabilities.

    Examples
    --------
    >>> from miml_core import BagSet
    >>> bags = BagSet([[0.0], [5.0], [5.2], [0.1]], [0, 2, 3, 4], [[1, 1], [-1, 1], [1, -1]], ["wren", "robin"])
    >>> SIM(lam=1e-3).fit(bags).annotate(bags).argmax(axis=1)
    array([0, 1, 1, 0])
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
        random_state: RandomState = 0,
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
        self.random_state = random_state

    # fit

    def fit(
        self, bags: BagSet, y: object = None, *, progress: Progress | None = None, warm_start: Model | None = None
    ) -> Self:
        """Minimise the regularised loss.

        A `warm_start` chooses the first support instances by its weights; its scales and its lambda are kept, so that
        nothing is cross-validated again.
        """
        seed = draw_seed(self.random_state)
        watched = WatchedProgress(progress)
        earlier = self._usable(self._begin_fit(warm_start), bags)
        self.maps_ = self._fit_maps(bags.X, seed) if earlier is None else earlier.maps_
        X = apply(self.maps_, bags.X)
        problem = self._problem(bags, X)
        if not problem.has_pairs:
            raise BagtagError(
                "No bag has both a tag that is present and one that is absent, so there is nothing to rank; "
                "tag more bags, or choose another model."
            )
        refuse_all_absent(bags)
        choose = self.lam == "auto" and earlier is None
        fit_progress = FitProgress(watched, [Phase(USUAL_FITS if choose else 0, chooses=True), Phase(self.T)])
        self.lam_ = self._choose_lam(bags, X, fit_progress, earlier, seed)
        self.weights_, self.objective_ = self._run(problem, fit_progress, earlier, bags.classes)
        self.classes_ = list(bags.classes)
        self.n_features_ = bags.X.shape[1]
        self.temperature_ = fit_temperature(self.scores, bags, seed=seed)
        log_prior = log_softmax(self.scores(bags.X) / self.temperature_, axis=1)
        if earlier is None:
            calibrate_by_folds(self, bags, log_prior, seed=seed, progress=watched, lam=self.lam_)
        else:
            self.set_calibration(earlier.calibration)
        self.tag_curve_ = np.array(fit_tag_curve(self.bag_scores(bags), bags.tags))
        return self

    def _problem(self, bags: BagSet, X: Array) -> Problem:
        return Problem.of(bags, X, self.loss, self.aggregate)

    def _optimise(self, problem: Problem, lam: float, start: Array | None = None) -> Iterator[Iterate]:
        if self.optimiser == "cccp":
            return cccp(problem, lam, self.T, self.K, self.K_max, start)
        return heuristic(problem, lam, self.T, self.K, start)

    def _run(
        self, problem: Problem, fit_progress: FitProgress, earlier: SIM | None, classes: list[str]
    ) -> tuple[Array, Array]:
        start = None if earlier is None else earlier._weights_for(classes)
        objectives = []
        for iterate in self._optimise(problem, self.lam_, start):
            objectives.append(iterate.objective)
            if fit_progress.step(_FITTING, phase=_FITTING, lam=self.lam_, objective=iterate.objective):
                break
        return iterate.W, np.array(objectives)

    def _choose_lam(self, bags: BagSet, X: Array, fit_progress: FitProgress, earlier: SIM | None, seed: int) -> float:
        if self.lam != "auto":
            return float(self.lam)
        if earlier is not None:
            return earlier.lam_

        def train(problem: Problem, lam: float) -> Array:
            return list(self._optimise(problem, lam))[-1].W

        def report(lam: float, loss: float) -> bool:
            return fit_progress.step(_CHOOSING, phase=_CHOOSING, lam=lam, held_out_loss=loss)

        return choose_lam(bags, X, self._problem, train, seed=seed, report=report)

    def _usable(self, earlier: Model | None, bags: BagSet) -> SIM | None:
        """Return the earlier fit if its weights apply to the same features as this one's."""
        if not isinstance(earlier, SIM) or earlier.n_features_ != bags.X.shape[1]:
            return None
        shape = ("kernel", "fourier_pairs", "width", "random_state")
        return earlier if all(getattr(self, name) == getattr(earlier, name) for name in shape) else None

    def _weights_for(self, classes: list[str]) -> Array:
        """Return the (C, D) weights of other classes, by name; a new class starts at zero."""
        rows = dict(zip(self.classes_, self.weights_))
        return np.array([rows.get(name, np.zeros(self.weights_.shape[1])) for name in classes])

    def _fit_maps(self, X: Array, seed: int) -> list[FeatureMap]:
        """Return the paper's rescaling (Appendix 2), repeated after the kernel's features if there are any."""
        maps: list[FeatureMap] = [UnitRange.fit(X)]
        maps.append(CentreAndShrink.fit(apply(maps, X)))
        if self.kernel is not None:
            Z = apply(maps, X)
            gamma = 1.0 / kernel_delta(Z, self.width)
            maps.append(RandomFourier.fit(Z, n_pairs=self.fourier_pairs, gamma=gamma, seed=seed))
            maps.append(CentreAndShrink.fit(apply(maps, X)))
        return maps

    # predict

    def scores(self, X: ArrayLike) -> Array:
        """Return the (N, C) scores f_c(x) = w_c . x of segments."""
        X = self._check_features(X)
        return apply(self.maps_, X) @ self.weights_.T

    def predict_proba(self, X: ArrayLike) -> Array:
        """Return the softmax of the scores over the temperature; its arg max is the paper's inductive prediction."""
        return self._calibrated(np.exp(log_softmax(self.scores(X) / self.temperature_, axis=1)))

    def annotate(self, bags: BagSet) -> Array:
        """Return probabilities within each bag's tags; the arg max is the paper's transductive prediction (5.1.2).

        A class whose tag is not known stays possible; a corrected segment has its own class only. With `calibrated`
        the rows are the exact posterior of the bag. A segment for which no class is left, because it is labelled
        background or its bag has no tag, has a row of zeros.
        """
        self._check_bags(bags)
        log_prior = log_softmax(self.scores(bags.X) / self.temperature_, axis=1)
        if self.calibrated:
            return self._calibrated_given_tags(posterior_within_tags(log_prior, bags))
        log_prior[~_allowed(bags)] = -np.inf
        possible = np.isfinite(log_prior).any(axis=1)
        rows = np.zeros_like(log_prior)
        rows[possible] = np.exp(log_softmax(log_prior[possible], axis=1))
        return self._calibrated_given_tags(rows)

    def bag_scores(self, bags: BagSet) -> Array:
        """Return the (B, C) scores F_c of bags, eq. 6 or eq. 8."""
        self._check_bags(bags)
        scores = self.scores(bags.X)
        top = np.maximum.reduceat(scores, bags.offsets[:-1], axis=0)
        if self.aggregate == "max":
            return top
        weights = np.exp(scores - top[bags.bag_of])
        total = np.add.reduceat(weights, bags.offsets[:-1], axis=0)
        return np.add.reduceat(weights * scores, bags.offsets[:-1], axis=0) / total

    def predict_tags(self, bags: BagSet) -> Array:
        """Return the probability of each tag: a logistic curve of the bag scores, fitted to the training bags."""
        return tag_curve(self.bag_scores(bags), self.tag_curve_)

    # files and checks

    def _state(self) -> dict[str, Any]:
        state = super()._state()
        return pack(state.pop("maps_"), "map") | state

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore({name: value for name, value in state.items() if not name.startswith("map")})
        self.maps_ = unpack(state, "map")

    def _check_parameters(self) -> None:
        self._check_flag("calibrated")
        self._check_choice("aggregate", "max", "softmax")
        self._check_choice("optimiser", "heuristic", "cccp")
        self._check_choice("loss", "rank", "hamming")
        self._check_choice("kernel", None, "rff")
        if self.optimiser == "cccp" and self.aggregate != "max":
            raise BagtagError(
                "The optimiser 'cccp' needs aggregate='max': the softmax of segment scores is not a convex function "
                "of the weights, so its objective has no convex upper bound; use optimiser='heuristic'."
            )
        self._check_number("lam", above=0, also="auto")
        self._check_number("width", above=0, also="auto")
        for name in ("T", "K", "K_max", "fourier_pairs"):
            self._check_number(name, at_least=1, whole=True)


def _allowed(bags: BagSet) -> NDArray[np.bool_]:
    """Return (N, C) the classes that a segment may have: its label, or any tag of its bag that is not absent."""
    allowed = bags.tags[bags.bag_of] >= 0
    corrected = bags.labels != UNKNOWN
    allowed[corrected] = np.arange(bags.n_classes) == bags.labels[corrected, None]
    return allowed


def warm() -> None:
    """Compile the kernels, so that the first fit does not wait for it."""
    bags = BagSet([[0.0], [1.0]], [0, 1, 2], [[1, -1], [-1, 1]], ["a", "b"])
    SIM(T=1, K=1, lam=1e-3).fit(bags)
    SIM(T=1, K=1, lam=1e-3, aggregate="max", optimiser="cccp").fit(bags)
