"""ORed logistic regression: Pham, Raich and Fern, "Dynamic Programming for Instance Annotation in Multi-instance
Multi-label Learning" (2015).

Every segment has one hidden label, drawn from a multinomial logistic regression on its features (eq. 1); a bag's tags
are the union of its segments' labels (eq. 2). The weights maximise the likelihood of the tags with the labels summed
out (eq. 6), less an L2 penalty. Three things are added to the paper's model, all off by default: a background class,
tags without a segment (leak), and segments whose label a person gave; `posterior.py` says how they stay exact.
"""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from miml_core.bags import BACKGROUND, UNKNOWN, BagSet
from miml_core.errors import BagtagError
from miml_core.models.background import background_share, background_shift, lower_background
from miml_core.models.base import Model, Progress
from miml_core.models.calibration import log_softmax
from miml_core.models.candidates import candidate_shares
from miml_core.models.feature_maps import RandomFourier, RBFDictionary, Standardise, kernel_delta, pack, unpack
from miml_core.models.ored_lr_alpha import choose_alpha
from miml_core.models.ored_lr_solvers import (
    SOLVERS,
    CandidateLikelihood,
    MarginalLikelihood,
    Whitening,
    climb_lbfgs,
    merge_background,
    spread_background,
)
from miml_core.models.ored_lr_talk import CHOOSING, FITTING, STARTING, Talk
from miml_core.posterior import (
    bag_posterior,
    posterior_cost,
    refuse_impossible_bags,
    tag_probabilities,
    training_posterior,
)

Array = NDArray[np.float64]

_START_ALPHA, _START_BAGS = 10.0, 2000
_CANDIDATE_BACKGROUND = 3.0
_KERNEL_GAIN = 4.0
"""Size of the kernel's features, which have norm 1, beside standardised ones, of norm sqrt(d): what one alpha suits."""


class ORedLR(Model):
    """Multinomial logistic regression whose labels are hidden and whose bags' tags are their union.

    Parameters
    ----------
    alpha : float or "auto"
        Strength of the L2 penalty alpha / 2 |w|^2 on standardised features; "auto" takes the one under which
        held-out bags are most likely.
    background : bool
        Whether a segment may be none of the classes.
    background_kinds : int
        Kinds of background, each with its own weights: wind, rain and insects have little in common. Their
        probabilities are added up wherever the model answers.
    most_background : float or "auto"
        Largest share of the segments of tagged bags that `annotate` leaves to the background; "auto" is the share that
        the tags show (`background.py`). Labels that people gave move it towards the share they show.
    leak : float
        Probability that a tag is true although no segment of it was found.
    kernel : None, "rbf" or "rff"
        Beside the features themselves: their similarity to a dictionary of segments (4.3, eq. 24), or random Fourier
        features of the same kernel.
    dictionary_share : float
        Share of the training segments that make the dictionary of "rbf" (6.6.3).
    fourier_features : int
        Number of features of "rff".
    width : float or "auto"
        Kernel width in mean squared distances between segments (the paper's s in 6.5).
    solver : "lbfgs", "em" or "stochastic"
        Quasi-Newton on the likelihood; the paper's generalised EM (4.2); its stochastic form (6.6.2).
    prune : float
        Share of the bags left out of training, the costliest first (6.6.1).
    max_iterations, tolerance : int, float
        A fit ends when a step gains less than this share of the objective.
    seed : int

    Attributes
    ----------
    weights_ : (D + 1, K)
        What makes the tags likeliest. The last row is the bias, the last columns the background if there is one.
    segment_weights_ : (D + 1, K)
        What tells the classes apart: the same, unless the background held more than it had earned.
    alpha_ : float
    curve_ : (iterations,)
        The objective after each iteration of the final fit.
    background_share_ : float
        What the tags show of the background's share in tagged bags.
    """

    name: ClassVar[str] = "ored-lr"

    maps_: list[Any]
    weights_: Array
    segment_weights_: Array
    alpha_: float
    curve_: Array
    evidence_: dict[str, int]
    background_share_: float
    background_shift_: float

    def __init__(
        self,
        *,
        alpha: float | str = "auto",
        background: bool = False,
        background_kinds: int = 4,
        most_background: float | str = "auto",
        leak: float = 0.0,
        kernel: str | None = None,
        dictionary_share: float = 0.1,
        fourier_features: int = 300,
        width: float | str = "auto",
        solver: str = "lbfgs",
        prune: float = 0.0,
        max_iterations: int = 300,
        tolerance: float = 1e-5,
        seed: int = 0,
    ) -> None:
        self.alpha = alpha
        self.background = background
        self.background_kinds = background_kinds
        self.most_background = most_background
        self.leak = leak
        self.kernel = kernel
        self.dictionary_share = dictionary_share
        self.fourier_features = fourier_features
        self.width = width
        self.solver = solver
        self.prune = prune
        self.max_iterations = max_iterations
        self.tolerance = tolerance
        self.seed = seed

    # learning

    def fit(self, bags: BagSet, *, progress: Progress | None = None, warm_start: Model | None = None) -> Self:
        """Maximise the penalised likelihood of tags and labels.

        `warm_start` is an earlier fit: its weights, scales and alpha are gone on from when the bags are much the same.
        """
        self._check_parameters()
        refuse_impossible_bags(bags, background=self.background, leak=self.leak)
        learnable = self._learnable(bags)
        earlier = self._usable(warm_start, bags)
        self.maps_ = self._fit_maps(bags.X) if earlier is None else earlier.maps_
        Z = self._see(learnable.X)
        talk = Talk(progress)
        if earlier is None:
            alpha, W = self._start(Z, learnable, talk)
        else:
            alpha = earlier.alpha_ if self.alpha == "auto" else float(self.alpha)
            W = earlier._weights_for(bags.classes)
            self.background_share_ = earlier.background_share_
        objective = MarginalLikelihood(Z, learnable, leak=self.leak, alpha=alpha)
        self.weights_ = SOLVERS[self.solver](
            objective,
            W,
            Whitening(objective, W).scale(alpha),
            max_iterations=self.max_iterations,
            tolerance=self.tolerance,
            report=lambda objective: talk(FITTING, objective, alpha),
            seed=self.seed,
        )
        self.alpha_ = alpha
        self.curve_ = np.array(talk.curves[FITTING])
        self.classes_ = list(bags.classes)
        self.n_features_ = bags.X.shape[1]
        self.evidence_ = _evidence(bags)
        self.segment_weights_, self.background_shift_ = self.weights_, 0.0
        if self.background:
            self._lower_background(Z, learnable, bags)
        return self

    def _lower_background(self, Z: Array, learnable: BagSet, bags: BagSet) -> None:
        """Leave to the background no more than it has earned, and learn once more what the segments it gives up are."""
        most = self.background_share_ if self.most_background == "auto" else float(self.most_background)
        shift = background_shift(self._log_prior(bags.X), bags, leak=self.leak, most=most)
        if shift > 0:
            self.segment_weights_ = self._relearn_below(shift, Z, learnable)
            shift = background_shift(self._log_prior(bags.X), bags, leak=self.leak, most=most)
        self.background_shift_ = shift

    def _relearn_below(self, shift: float, Z: Array, bags: BagSet) -> Array:
        """The weights after one round of EM (eqs. 11, 22) with the background's odds lowered.

        The classes were learnt from the few segments that it had left them.
        """
        log_prior = log_softmax(Z @ self.weights_)
        log_prior[:, bags.n_classes :] -= shift
        merged = merge_background(log_prior, bags.n_classes)
        seen = training_posterior(merged, bags, leak=self.leak).probabilities
        labels = CandidateLikelihood(Z, bags, spread_background(seen, log_prior, merged), alpha=self.alpha_)
        return climb_lbfgs(
            labels,
            self.weights_,
            Whitening(labels, self.weights_).scale(self.alpha_),
            max_iterations=100,
            tolerance=1e-4,
            report=lambda value: False,
        )

    def _start(self, Z: Array, bags: BagSet, talk: Talk) -> tuple[float, Array]:
        """Where a cold fit starts: candidate labels, then the tags under a strong penalty, then the alpha asked for.

        With a background class the likelihood has several peaks. Started from nothing, a fit ends on a lower one as
        often as not (six points of accuracy on the HJA data); from candidate labels of which a good part are
        background, every fit tried reached the same, highest one. Only then is the background split into its kinds.
        Of very many bags a sample shows the way: what it costs to start does not grow for ever.
        """
        if bags.n_bags > _START_BAGS:
            sample = np.sort(np.random.default_rng(self.seed).permutation(bags.n_bags)[:_START_BAGS])
            Z, bags = Z[bags.rows_of(sample)], bags[sample]
        candidates = candidate_shares(bags, background=_CANDIDATE_BACKGROUND if self.background else 0.0)
        W = np.zeros((Z.shape[1], candidates.shape[1]))
        for objective in (
            CandidateLikelihood(Z, bags, candidates, alpha=_START_ALPHA),
            MarginalLikelihood(Z, bags, leak=self.leak, alpha=_START_ALPHA),
        ):
            W = climb_lbfgs(
                objective,
                W,
                Whitening(objective, W).scale(_START_ALPHA),
                max_iterations=100,
                tolerance=1e-4,
                report=lambda value: talk(STARTING, value, _START_ALPHA),
            )
        given = None if self.alpha == "auto" else float(self.alpha)
        self.background_share_ = 0.0
        if given is not None and not self.background:
            return given, W
        chosen = choose_alpha(
            Z,
            bags,
            W,
            Whitening(objective, W),
            leak=self.leak,
            seed=self.seed,
            report=partial(talk, CHOOSING),
            given=given,
        )
        if not self.background:
            return chosen.alpha, chosen.weights
        self.background_share_ = background_share(chosen.held_out, bags, leak=self.leak)
        return chosen.alpha, self._split_background(chosen.weights, bags.n_classes)

    def _split_background(self, W: Array, n_classes: int) -> Array:
        """The background column as several that sum to it, moved apart a little, so that each can become its own."""
        apart = np.random.default_rng(self.seed).normal(scale=0.3, size=(len(W) - 1, self.background_kinds))
        kinds = np.repeat(W[:, n_classes:], self.background_kinds, axis=1)
        kinds[:-1] += apart - apart.mean(axis=1, keepdims=True)
        kinds[-1] -= np.log(self.background_kinds)
        return np.concatenate([W[:, :n_classes], kinds], axis=1)

    def _learnable(self, bags: BagSet) -> BagSet:
        """What there is to learn from: bags of which something is known, less the pruned.

        Without a background class, a segment said to be background says nothing, and is left out.
        """
        keep = np.ones(bags.n_segments, bool) if self.background else bags.labels != BACKGROUND
        known = (bags.tags != 0).any(axis=1)
        known[bags.bag_of[keep & (bags.labels != UNKNOWN)]] = True
        keep &= known[bags.bag_of]
        sizes = np.bincount(bags.bag_of[keep], minlength=bags.n_bags)
        if not keep.any():
            raise BagtagError("No bag has a tag or a label yet; tag some bags first.")
        order = np.argsort(posterior_cost(bags.offsets, bags.tags), kind="stable")
        order = order[sizes[order] > 0]
        chosen = np.sort(order[: max(1, round((1 - self.prune) * len(order)))])
        keep &= np.isin(bags.bag_of, chosen)
        offsets = np.concatenate([[0], np.cumsum(sizes[chosen])])
        return BagSet(bags.X[keep], offsets, bags.tags[chosen], bags.classes, bags.labels[keep])

    def _usable(self, warm_start: Model | None, bags: BagSet) -> ORedLR | None:
        """The earlier fit, if it is one of the same kind on much the same bags."""
        if not isinstance(warm_start, ORedLR) or not hasattr(warm_start, "weights_"):
            return None
        shape = ("background", "background_kinds", "kernel", "dictionary_share", "fourier_features", "width")
        if any(getattr(self, name) != getattr(warm_start, name) for name in shape):
            return None
        if warm_start.n_features_ != bags.X.shape[1]:
            return None
        before, now = warm_start.evidence_, _evidence(bags)
        grown = [max(now[key], 1) / max(before[key], 1) for key in ("segments", "tags")]
        corrected = abs(now["labels"] - before["labels"]) / now["segments"]
        return warm_start if corrected < 0.1 and all(2 / 3 < ratio < 3 / 2 for ratio in grown) else None

    def _weights_for(self, classes: list[str]) -> Array:
        """The weights with their columns by class name; a class that is new starts at zero."""
        columns = {name: self.weights_[:, number] for number, name in enumerate(self.classes_)}
        nothing = np.zeros(len(self.weights_))
        wanted = [columns.get(name, nothing) for name in classes]
        return np.column_stack([*wanted, self.weights_[:, len(self.classes_) :]])

    # what the model sees

    def _fit_maps(self, X: Array) -> list[Any]:
        maps: list[Any] = [Standardise.fit(X)]
        if self.kernel is None:
            return maps
        Z = maps[0](X)
        delta = kernel_delta(Z, self.width)
        if self.kernel == "rbf":
            n_centres = max(1, round(self.dictionary_share * len(X)))
            maps.append(RBFDictionary.fit(Z, n_centres=n_centres, delta=delta, seed=self.seed))
        else:
            n_pairs = max(1, self.fourier_features // 2)
            maps.append(RandomFourier.fit(Z, n_pairs=n_pairs, gamma=1.0 / delta, seed=self.seed))
        return maps

    def _see(self, X: Array) -> Array:
        """(N, D + 1): standardised features, the kernel's beside them, and 1 for the bias."""
        parts = [self.maps_[0](X)]
        if self.kernel is not None:
            parts.append(_KERNEL_GAIN * self.maps_[1](parts[0]))
        return np.concatenate([*parts, np.ones((len(X), 1))], axis=1)

    # answers

    def _log_prior(self, X: Array) -> Array:
        return self._log_prior_by(self.segment_weights_, X)

    def _log_prior_by(self, weights: Array, X: Array) -> Array:
        return merge_background(log_softmax(self._see(X) @ weights), len(self.classes_))

    def predict_proba(self, X: ArrayLike) -> Array:
        """p(y | x, w) of new segments, eq. 1; its arg max is the inductive prediction, eq. 26.

        Whether a new segment is background is said by the weights that make tags likeliest: measured by tags of new
        bags, they know it better. Which class it is otherwise is said by the weights learnt from more segments.
        """
        X = self._check_features(X)
        by_segments = self._log_prior(X)
        if not self.background:
            return np.exp(by_segments)
        by_tags = self._log_prior_by(self.weights_, X)
        n_classes = len(self.classes_)
        classes = log_softmax(by_segments[:, :n_classes])
        classes += np.logaddexp.reduce(by_tags[:, :n_classes], axis=1, keepdims=True)
        return np.exp(np.concatenate([classes, by_tags[:, n_classes:]], axis=1))

    def annotate(self, bags: BagSet) -> Array:
        """p(y | tags, labels, x, w), exact; its arg max is the transductive prediction, eq. 27.

        Without a background class, a segment labelled `BACKGROUND` has a row of zeros.
        """
        self._check_bags(bags)
        refuse_impossible_bags(bags, background=self.background, leak=self.leak)
        log_prior = self._log_prior(bags.X)
        if self.background:
            log_prior = lower_background(log_prior, self.background_shift_)
        return bag_posterior(log_prior, bags.offsets, bags.tags, bags.labels, leak=self.leak).probabilities

    def predict_tags(self, bags: BagSet) -> Array:
        """Probability of each tag under the model: 1 - (1 - leak) prod_i (1 - p_i(c)).

        The paper's rule (eq. 28) is the union of the segments' arg max, a set without probabilities.
        """
        self._check_bags(bags)
        return tag_probabilities(self.predict_proba(bags.X), bags.offsets, len(self.classes_), self.leak)

    # files and checks

    def _state(self) -> dict[str, Any]:
        state = super()._state()
        return pack(state.pop("maps_"), "map") | state

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore({name: value for name, value in state.items() if not name.startswith("map")})
        self.maps_ = unpack(state, "map")

    def _check_parameters(self) -> None:
        if self.kernel not in (None, "rbf", "rff"):
            raise BagtagError(f"The kernel must be None, 'rbf' or 'rff', not {self.kernel!r}.")
        if self.solver not in SOLVERS:
            raise BagtagError(f"The solver must be one of {', '.join(SOLVERS)}, not {self.solver!r}.")
        if self.alpha != "auto" and not (isinstance(self.alpha, int | float) and self.alpha >= 0):
            raise BagtagError(f"alpha must be 'auto' or a number of at least 0, not {self.alpha!r}.")
        if self.most_background != "auto" and not (
            isinstance(self.most_background, int | float) and 0 <= self.most_background <= 1
        ):
            raise BagtagError(f"most_background must be 'auto' or lie between 0 and 1, not {self.most_background!r}.")
        if not 0 <= self.prune < 1:
            raise BagtagError(f"prune must be at least 0 and below 1, not {self.prune}.")


def _evidence(bags: BagSet) -> dict[str, int]:
    """How much there is to learn from, to see later whether it has changed."""
    return {
        "segments": bags.n_segments,
        "tags": int((bags.tags != 0).sum()),
        "labels": int((bags.labels != UNKNOWN).sum()),
    }
