"""ORed logistic regression: Pham, Raich and Fern, "Dynamic Programming for Instance Annotation in Multi-instance
Multi-label Learning" (2015). Numbers in brackets are the paper's equations.

**The model (3.1).** The label y_i of segment i follows a multinomial logistic regression on its features x_i, and the
tags Y of a bag are the union of the labels of its segments:

    p(y_i = c | x_i, w) = exp(w_c' x_i) / sum_k exp(w_k' x_i)            (1)
    Y = union_i y_i                                                      (2)

**Maximum likelihood (3.2).** Only the tags are observed. The weights maximise

    l(w) = sum_b log sum_{y: union y_i = Y_b} prod_i p(y_i | x_i, w)     (6)

minus the L2 penalty alpha / 2 |w|^2 (`ored_lr_likelihood.py`).

**Expectation maximisation (4.2).** The labels are the hidden variables. The surrogate for current weights w' is

    g(w, w') = sum_i [sum_c q_i(c) w_c' x_i - log sum_c exp(w_c' x_i)]   (10)

* E-step (4.2.1 to 4.2.3): q_i(c) = p(y_i = c | Y, X, w') (11), by dynamic programming over the subsets of Y
  (`posterior.py`).
* M-step (4.2.4): a gradient step on g with backtracking (21); the gradient is
  sum_i [q_i(c) - p(y_i = c | x_i, w)] x_i (22).

This is `solver="em"`. At w = w' the gradient (22) is also that of l(w), so that the default solver, L-BFGS, maximises
l(w) directly with one E-step per evaluation (`ored_lr_solvers.py`).

**Kernel (4.3).** The features are replaced by similarities k(x) to a dictionary of segments (24, 25):
`ored_lr_design.py`.

**Prediction (5).** Inductive (26): `predict_proba`; transductive (27): `annotate`; tags (28): `predict_tags`.

Three extensions of the paper's model are off by default: a background class, tags without a segment (leak), and
segments whose label a person gave; the E-step stays exact (`posterior.py`). If the bags come with a pretrained
classifier of their classes (`BagSet.pretrained`), its scores s_c(x) are added to the exponents w_c' x of (1): a class
with few tags is then predicted mostly by the pretrained classifier, and the weights learn what it gets wrong.
`ored_lr_start.py` and `ored_lr_penalty.py` find the first weights and the penalty, `ored_lr_background.py` limits the
background.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_softmax

from miml_core.bags import UNKNOWN, BagSet
from miml_core.impossible_bags import refuse_impossible_bags
from miml_core.models.background import BackgroundEvidence, lower_background
from miml_core.models.base import Model, RandomState, draw_seed
from miml_core.models.feature_maps import FeatureMap, PretrainedScores, pack, unpack
from miml_core.models.fit_progress import FitProgress, Progress
from miml_core.models.ored_lr_background import learn_segments
from miml_core.models.ored_lr_design import design_matrix, fit_maps, group_columns
from miml_core.models.ored_lr_likelihood import label_log_prior, merge_background
from miml_core.models.ored_lr_penalty import Evidence, Penalty
from miml_core.models.ored_lr_solvers import SOLVERS, Whitening
from miml_core.models.ored_lr_start import FITTING, PHASES, Start, find_start, informative_bags, report_iteration
from miml_core.posterior import bag_posterior, tag_probabilities

Array = NDArray[np.float64]


class ORedLR(Model):
    """Fit a logistic regression of segments to bags whose tags are the union of their segments' labels.

    Parameters
    ----------
    alpha : float or "auto"
        Strength of the L2 penalty alpha / 2 |w|^2 on standardised features; "auto" chooses the value under which
        held-out bags are most likely. If the bags have several groups of features, each gets its own penalty in the
        same way. A group of more than 256 features is first replaced by 128 principal components.
    background : bool
        Whether a segment may be none of the classes.
    background_kinds : int
        Number of kinds of background, each with its own weights: wind, rain and insects have little in common. The
        predicted probabilities of all kinds are summed.
    most_background : float or "auto"
        Largest share of the segments of tagged bags that `annotate` assigns to the background; "auto" is the share that
        the tags support (`background.py`). Labels that people gave move it towards the share among these labels.
    leak : float
        Probability that a tag is true although no segment of it was found.
    kernel : None, "rbf" or "rff"
        Features in addition to the given ones: their similarity to a dictionary of segments (4.3, eq. 24), or random
        Fourier features of the same kernel.
    dictionary_share : float
        Share of the training segments in the dictionary of "rbf" (6.6.3).
    fourier_features : int
        Number of features of "rff".
    width : float or "auto"
        Kernel width in mean squared distances between segments (the paper's s in 6.5).
    solver : "lbfgs", "em" or "stochastic"
        Quasi-Newton on the likelihood; the paper's generalised EM (4.2); its stochastic form (6.6.2).
    prune : float
        Share of the bags left out of training, those that cost most first (6.6.1).
    max_iter : int
        Maximum number of iterations of the solver.
    tol : float
        The fit ends when an iteration raises the objective by less than this share.
    random_state : int, Generator, RandomState or None
        An integer gives the same fit each time.

    Attributes
    ----------
    weights_ : (D + 1, K) float
        The weights that maximise the likelihood of the tags. The last row is the bias; the columns after the classes
        are the kinds of background.
    segment_weights_ : (D + 1, K) float
        The weights that separate the classes: the same, unless the background had too many segments.
    alpha_ : float
    gains_ : list of G float
        Factor of each group of features; the penalty of its weights is alpha / gain^2.
    trusts_pretrained_ : bool
        Whether the scores of the pretrained classifier are used: held-out bags are more likely with them.
    curve_ : (iterations,) float
        Objective after each iteration of the final fit.
    background_evidence_ : dict
        What the tags say about the background: the fields of `background.BackgroundEvidence`.

    Examples
    --------
    A wren sings in the first recording, together with a robin, and in the third:

    >>> from miml_core import BagSet
    >>> bags = BagSet([[0.0], [5.0], [5.2], [0.1]], [0, 2, 3, 4], [[1, 1], [-1, 1], [1, -1]], ["wren", "robin"])
    >>> model = ORedLR(alpha=0.1).fit(bags)
    >>> model.annotate(bags).argmax(axis=1)
    array([0, 1, 1, 0])
    >>> model.predict_proba([[0.2], [4.9]]).argmax(axis=1)
    array([0, 1])
    """

    name: ClassVar[str] = "ored-lr"

    maps_: list[FeatureMap]
    pretrained_: list[FeatureMap]
    groups_: list[list[Any]]
    weights_: Array
    segment_weights_: Array
    alpha_: float
    gains_: list[float]
    trusts_pretrained_: bool
    curve_: Array
    evidence_: dict[str, int]
    background_evidence_: dict[str, Any]
    background_shift_: float
    new_bags_shift_: float

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
        max_iter: int = 300,
        tol: float = 1e-5,
        random_state: RandomState = 0,
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
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _check_parameters(self) -> None:
        self._check_choice("kernel", None, "rbf", "rff")
        self._check_choice("solver", *SOLVERS)
        self._check_number("alpha", at_least=0, also="auto")
        self._check_number("background_kinds", at_least=1, whole=True)
        self._check_number("most_background", at_least=0, at_most=1, also="auto")
        self._check_flag("background")
        self._check_number("leak", at_least=0, below=1)
        self._check_number("dictionary_share", above=0, at_most=1)
        self._check_number("fourier_features", at_least=1, whole=True)
        self._check_number("width", above=0, also="auto")
        self._check_number("prune", at_least=0, below=1)
        self._check_number("max_iter", at_least=1, whole=True)
        self._check_number("tol", at_least=0)

    # maximum likelihood (3.2, 4.2)

    def fit(
        self, bags: BagSet, y: object = None, *, progress: Progress | None = None, warm_start: Model | None = None
    ) -> Self:
        """Maximise the penalised likelihood of tags and labels (eq. 6).

        The fit continues from the weights, scales and alpha of a `warm_start` if its bags are much the same.
        """
        seed = draw_seed(self.random_state)
        earlier = self._usable(self._begin_fit(warm_start), bags)
        refuse_impossible_bags(bags, background=self.background, leak=self.leak)
        training = informative_bags(bags, background=self.background, prune=self.prune)
        self.maps_ = self._fit_maps(bags, seed) if earlier is None else earlier.maps_
        self.pretrained_ = [] if bags.pretrained is None else [PretrainedScores.fit(bags.X, bags.pretrained)]
        columns = group_columns(self.maps_, bags)
        evidence = Evidence(
            self._design_matrix(training.X), training, columns, self._pretrained_scores(training.X), self.leak
        )
        fit_progress = FitProgress(progress, PHASES)
        start = self._start(evidence, earlier, seed, fit_progress)
        curve: list[float] = []

        def report(value: float) -> bool:
            curve.append(value)
            return report_iteration(fit_progress, FITTING, value, start.penalty.alpha)

        likelihood = evidence.likelihood(start.penalty)
        weights = SOLVERS[self.solver](
            likelihood,
            start.weights,
            Whitening(likelihood, start.weights).scale(start.penalty.alpha),
            max_iter=self.max_iter,
            tol=self.tol,
            report=report,
            seed=seed,
        )
        self.alpha_, self.gains_ = start.penalty.alpha, list(start.penalty.gains)
        self.trusts_pretrained_ = start.penalty.trusts_pretrained and bool(self.pretrained_)
        self.background_evidence_ = asdict(start.background)
        self.set_calibration(start.calibration)
        self.curve_, self.evidence_ = np.array(curve), _count_evidence(bags)
        self.classes_, self.n_features_, self.groups_ = list(bags.classes), bags.X.shape[1], _group_sizes(bags)
        gains = start.penalty.factors(evidence.columns)[:, None]
        self.weights_ = self.segment_weights_ = gains * weights
        self.background_shift_ = self.new_bags_shift_ = 0.0
        if self.background:
            if start.classes is not None:
                weights = np.concatenate([start.classes, weights[:, bags.n_classes :]], axis=1)
            learnt = learn_segments(likelihood, weights, self._background_evidence(start))
            self.segment_weights_ = gains * learnt.weights
            self.background_shift_, self.new_bags_shift_ = learnt.shift, learnt.new_bags_shift
        return self

    def _fit_maps(self, bags: BagSet, seed: int) -> list[FeatureMap]:
        return fit_maps(
            bags,
            kernel=self.kernel,
            width=self.width,
            dictionary_share=self.dictionary_share,
            fourier_features=self.fourier_features,
            seed=seed,
        )

    def _start(self, evidence: Evidence, earlier: ORedLR | None, seed: int, fit_progress: FitProgress) -> Start:
        """Return the weights and penalty of the earlier fit, or find them."""
        alpha = None if self.alpha == "auto" else float(self.alpha)
        if earlier is not None:
            alpha = earlier.alpha_ if alpha is None else alpha
            known = Penalty(alpha, tuple(earlier.gains_), earlier.trusts_pretrained_)
            names, gains = evidence.bags.classes, known.factors(evidence.columns)[:, None]
            weights = earlier._weights_for(names, earlier.weights_) / gains
            background = BackgroundEvidence(**earlier.background_evidence_)
            by_segments = earlier._weights_for(names, earlier.segment_weights_) / gains
            classes = None if background.found else by_segments[:, : len(names)]
            return Start(known, weights, background, earlier.calibration, classes)
        kinds = self.background_kinds if self.background else 0
        return find_start(evidence, alpha=alpha, background_kinds=kinds, seed=seed, fit_progress=fit_progress)

    def _background_evidence(self, start: Start) -> BackgroundEvidence:
        """Return the evidence of the tags, or the share that was given."""
        return start.background if self.most_background == "auto" else BackgroundEvidence(float(self.most_background))

    # warm start

    def _usable(self, earlier: Model | None, bags: BagSet) -> ORedLR | None:
        """Return the earlier fit if it has the same features and much the same bags."""
        if not isinstance(earlier, ORedLR) or earlier.n_features_ != bags.X.shape[1]:
            return None
        if earlier.groups_ != _group_sizes(bags) or bool(earlier.pretrained_) != (bags.pretrained is not None):
            return None
        shape = ("background", "background_kinds", "kernel", "dictionary_share", "fourier_features", "width")
        if any(getattr(self, name) != getattr(earlier, name) for name in shape):
            return None
        before, now = earlier.evidence_, _count_evidence(bags)
        grown = [max(now[key], 1) / max(before[key], 1) for key in ("segments", "tags")]
        corrected = abs(now["labels"] - before["labels"]) / now["segments"]
        return earlier if corrected < 0.1 and all(2 / 3 < ratio < 3 / 2 for ratio in grown) else None

    def _weights_for(self, classes: list[str], weights: Array) -> Array:
        """Return (D + 1, K) weights of this fit for other classes, by name; a new class starts at zero."""
        columns = {name: weights[:, number] for number, name in enumerate(self.classes_)}
        zero = np.zeros(len(weights))
        wanted = [columns.get(name, zero) for name in classes]
        return np.column_stack([*wanted, weights[:, len(self.classes_) :]])

    # prediction (5)

    def _design_matrix(self, X: Array) -> Array:
        """Return (N, D + 1): scaled features, those of the kernel (eq. 24), and 1 for the bias."""
        return design_matrix(self.maps_, X)

    def _pretrained_scores(self, X: Array) -> Array | None:
        """Return the (N, C) scores of the pretrained classifier, if there is one."""
        return self.pretrained_[0](X) if self.pretrained_ else None

    def _log_prior(self, weights: Array, X: Array) -> Array:
        """Return (N, C) or (N, C + 1) log p(y | x, w) (eq. 1)."""
        trusted = self._pretrained_scores(X) if self.trusts_pretrained_ else None
        return merge_background(label_log_prior(self._design_matrix(X), weights, trusted), len(self.classes_))

    def predict_proba(self, X: ArrayLike) -> Array:
        """Return p(y | x, w) of new segments (eq. 1), calibrated; its arg max is the inductive prediction (eq. 26).

        New bags get as large a share of background as the tags support in the training bags.
        """
        X = self._check_features(X)
        log_prior = self._log_prior(self.segment_weights_, X)
        if self.background:
            log_prior = log_softmax(lower_background(log_prior, self.new_bags_shift_), axis=1)
        return self._calibrated(np.exp(log_prior))

    def annotate(self, bags: BagSet) -> Array:
        """Return the exact p(y | tags, labels, X, w) (eq. 11), calibrated; its arg max is the prediction of eq. 27.

        Without a background class, a segment labelled `BACKGROUND` has a row of zeros.
        """
        self._check_bags(bags)
        refuse_impossible_bags(bags, background=self.background, leak=self.leak)
        log_prior = self._log_prior(self.segment_weights_, bags.X)
        if self.background:
            log_prior = lower_background(log_prior, self.background_shift_)
        posterior = bag_posterior(log_prior, bags.offsets, bags.tags, bags.labels, leak=self.leak)
        return self._calibrated_given_tags(posterior.probabilities)

    def predict_tags(self, bags: BagSet) -> Array:
        """Return the probability of each tag, 1 - (1 - leak) prod_i (1 - p_i(c)) of the model, calibrated.

        The paper's rule (eq. 28) is the union of the segments' arg max, a set without probabilities. The background is
        that of `weights_`: it has more segments than are background, so that bags of many similar segments do not get
        every tag that one of them might have. The classes of the other segments are those of `segment_weights_`.
        """
        self._check_bags(bags)
        by_segments = self._log_prior(self.segment_weights_, bags.X)
        if self.background:
            by_tags, n_classes = self._log_prior(self.weights_, bags.X), len(self.classes_)
            named = np.logaddexp.reduce(by_tags[:, :n_classes], axis=1, keepdims=True)
            by_segments = log_softmax(by_segments[:, :n_classes], axis=1) + named
        found = tag_probabilities(np.exp(by_segments), bags.offsets, len(self.classes_), self.leak)
        return self._calibrated_tags(found)

    # files

    def _state(self) -> dict[str, Any]:
        state = super()._state()
        return pack(state.pop("maps_"), "map") | pack(state.pop("pretrained_"), "pretrained") | state

    def _restore(self, state: dict[str, Any]) -> None:
        packed = ("map", "pretrained")
        state = _with_background_evidence(state)
        super()._restore({name: value for name, value in state.items() if not name.startswith(packed)})
        self.maps_ = unpack(state, "map")
        if "gains_" in state:
            self.pretrained_ = unpack(state, "pretrained")
        else:  # a file of version 0.1
            self.pretrained_, self.gains_, self.trusts_pretrained_ = [], [1.0], False
            self.groups_ = [["features", self.n_features_]]


def _with_background_evidence(state: dict[str, Any]) -> dict[str, Any]:
    """Return the state of a model file; one of an early development version of 0.2 has the share only."""
    if "background_evidence_" in state:
        return state
    share = state.pop("background_share_", 0.0)
    shift = state.get("background_shift_", 0.0)
    return state | {"background_evidence_": asdict(BackgroundEvidence(share)), "new_bags_shift_": shift}


def _group_sizes(bags: BagSet) -> list[list[Any]]:
    return [[group.name, group.n_columns] for group in bags.groups]


def _count_evidence(bags: BagSet) -> dict[str, int]:
    """Return the numbers of segments, known tags and labels, to find later whether they have changed."""
    return {
        "segments": bags.n_segments,
        "tags": int((bags.tags != 0).sum()),
        "labels": int((bags.labels != UNKNOWN).sum()),
    }
