"""MIMLfast: Huang, Gao and Zhou, "Fast Multi-Instance Multi-Label Learning" (2014).

All labels share a low-dimensional space W_0 x; in it each label has K linear sub-concepts (a bird's song and its
alarm call), and a segment's score for a label is that of its best sub-concept (eq. 1). A bag's score is that of its
best segment, the key instance. Each step uses one bag, one present and one wrongly ranked absent label (eq. 6-9). A
dummy label is trained to rank between the present and the absent labels, so that it separates a bag's tag set from the
rest. The cost hardly depends on the number of labels: the model to choose for very many bags.
"""

from __future__ import annotations

import itertools
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_softmax

from miml_core.bags import BagSet
from miml_core.errors import BagtagError
from miml_core.models import mimlfast_kernels
from miml_core.models.base import Model, RandomState, draw_seed
from miml_core.models.calibration import fit_tag_curve, fit_temperature, posterior_within_tags, tag_curve
from miml_core.models.candidates import refuse_all_absent
from miml_core.models.corrections import CorrectedBags, corrections_as_bags
from miml_core.models.cross_fit import WatchedProgress, calibrate_by_folds
from miml_core.models.feature_maps import Standardise, pack, unpack
from miml_core.models.fit_progress import FitProgress, Phase, Progress
from miml_core.models.mimlfast_training import MAX_TESTS, Report, Settings, Trained, Weights, some_bags, train, trials

Array = NDArray[np.float64]
Single = NDArray[np.float32]

TRIED_K = (1, 5, 10)


class MIMLFast(Model):
    """Fit labels with sub-concepts in a shared space by stochastic steps on sampled rankings.

    Parameters
    ----------
    m : int
        Number of dimensions of the shared space.
    C : float
        Largest norm of a sub-concept and of a column of the shared space.
    K : int or "auto"
        Number of sub-concepts per label; "auto" chooses 1, 5 or 10 by the lowest ranking loss on held-out bags (of at
        most 2 000 bags).
    gamma0, eta : float
        The step size at step t is gamma0 / (1 + eta gamma0 t).
    random_state : int, Generator, RandomState or None
        An integer gives the same fit each time.

    Attributes
    ----------
    shared_ : (d + 1, m) float32
        W_0 transposed; the last row belongs to a constant feature.
    concepts_ : (C + 1, K, m) float32
        w_{l,k}; the last label is the dummy.
    K_ : int
    curve_ : (tests,) float
        Ranking loss of held-out bags during training.
    temperature_ : float
        Scores divided by this are the logits under which the bags' tags are most likely.
    tag_slope_ : float
        Bag scores times this are the logits of the tags.

    Examples
    --------
    >>> from miml_core import BagSet
    >>> bags = BagSet([[0.0], [5.0], [5.2], [0.1]], [0, 2, 3, 4], [[1, 1], [-1, 1], [1, -1]], ["wren", "robin"])
    >>> model = MIMLFast(K=1).fit(bags)
    >>> model.annotate(bags).argmax(axis=1)
    array([0, 1, 1, 0])
    >>> model.key_instances(bags)[0]  # the rows that explain the tags of the first bag
    array([0, 1])
    """

    name: ClassVar[str] = "mimlfast"

    maps_: list[Any]
    shared_: Single
    concepts_: Single
    K_: int
    curve_: Array
    temperature_: float
    tag_slope_: float

    def __init__(
        self,
        *,
        m: int = 100,
        C: float = 10.0,
        K: int | str = "auto",
        gamma0: float = 0.002,
        eta: float = 1e-5,
        random_state: RandomState = 0,
    ) -> None:
        self.m = m
        self.C = C
        self.K = K
        self.gamma0 = gamma0
        self.eta = eta
        self.random_state = random_state

    # fit

    def fit(
        self, bags: BagSet, y: object = None, *, progress: Progress | None = None, warm_start: Model | None = None
    ) -> Self:
        """Train until the ranking loss of held-out bags no longer falls.

        The training continues from the weights, scales and K of a `warm_start`.
        """
        seed = draw_seed(self.random_state)
        watched = WatchedProgress(progress)
        earlier = self._usable(self._begin_fit(warm_start), bags)
        self.maps_ = [Standardise.fit(bags.X)] if earlier is None else earlier.maps_
        corrected = corrections_as_bags(bags)
        if not (corrected.tags != 0).any():
            raise BagtagError("No bag has a tag or a label yet; tag some bags first.")
        refuse_all_absent(bags)
        X = self._design_matrix(bags.X)
        X = X[corrected.rows] if len(corrected.rows) > len(X) else X
        trained = self._train(X, corrected, earlier, bags.classes, seed, watched)
        self.shared_, self.concepts_ = trained.weights.shared, trained.weights.concepts
        self.K_, self.curve_ = self.concepts_.shape[1], np.array(trained.curve)
        self.classes_ = list(bags.classes)
        self.n_features_ = bags.X.shape[1]
        self.temperature_ = fit_temperature(self.scores, bags, seed=seed)
        log_prior = log_softmax(self.scores(bags.X) / self.temperature_, axis=1)
        if earlier is None:
            calibrate_by_folds(self, bags, log_prior, seed=seed, progress=watched)
        else:
            self.set_calibration(earlier.calibration)
        self.tag_slope_ = fit_tag_curve(self.bag_scores(bags), bags.tags, through_zero=True)[0]
        return self

    def _train(
        self,
        X: Single,
        corrected: CorrectedBags,
        earlier: MIMLFast | None,
        classes: list[str],
        seed: int,
        progress: Progress | None,
    ) -> Trained:
        rng = np.random.default_rng(seed)
        few, thirds = trials(corrected, seed) if self.K == "auto" and earlier is None else (corrected, [])
        choosing = [Phase(MAX_TESTS, chooses=True)] * (len(TRIED_K) * len(thirds))
        fit_progress = FitProgress(progress, [*choosing, Phase(MAX_TESTS)])
        if earlier is not None:
            start = earlier._weights_for(classes, rng)
        else:
            K = self._choose_K(X, few, thirds, seed, fit_progress) if self.K == "auto" else int(self.K)
            start = Weights.random(X.shape[1], corrected.tags.shape[1], self.m, K, rng)
        report = _reporter(fit_progress, training=len(fit_progress.phases) - 1)
        return train(X, corrected, some_bags(corrected, rng), start, self._settings, rng, report)

    def _choose_K(
        self, X: Single, few: CorrectedBags, thirds: list[NDArray[np.int64]], seed: int, fit_progress: FitProgress
    ) -> int:
        """Choose K by the ranking loss of each third of the bags after training on the others, as the paper does."""
        losses = {TRIED_K[0]: np.inf}
        trainings = itertools.count()
        for K in TRIED_K if thirds else ():
            total = 0.0
            for held_out in thirds:
                rng = np.random.default_rng(seed)
                start = Weights.random(X.shape[1], few.tags.shape[1], self.m, K, rng)
                report = _reporter(fit_progress, training=next(trainings))
                total += train(X, few, held_out, start, self._settings, rng, report).ranking_loss
                if fit_progress.stopped:
                    return min(losses, key=losses.__getitem__)
            losses[K] = total
        return min(losses, key=losses.__getitem__)

    @property
    def _settings(self) -> Settings:
        return Settings(self.C, self.gamma0, self.eta)

    def _usable(self, earlier: Model | None, bags: BagSet) -> MIMLFast | None:
        """Return the earlier fit if its weights have the shape of this one's."""
        if not isinstance(earlier, MIMLFast):
            return None
        same = earlier.m == self.m and self.K in ("auto", earlier.K_)
        n_labels = len(earlier.classes_) + 1
        whole = (  # the kernels check no index, and the file may be damaged or foreign
            earlier.shared_.shape == (bags.X.shape[1] + 1, self.m)
            and earlier.concepts_.shape == (n_labels, earlier.K_, self.m)
        )
        return earlier if same and whole and earlier.n_features_ == bags.X.shape[1] else None

    def _weights_for(self, classes: list[str], rng: np.random.Generator) -> Weights:
        """Return the weights of other classes, by name; a new class starts at random."""
        new = Weights.random(len(self.shared_), len(classes), self.m, self.K_, rng).concepts
        for number, name in enumerate(classes):
            if name in self.classes_:
                new[number] = self.concepts_[self.classes_.index(name)]
        new[-1] = self.concepts_[-1]
        return Weights(self.shared_, new)

    def _design_matrix(self, X: Array) -> Single:
        """Return (N, d + 1) standardised features and a constant, which gives the scores a bias."""
        Z = np.ones((len(X), X.shape[1] + 1), dtype=np.float32)
        Z[:, :-1] = self.maps_[0](X)
        return Z

    # predict

    def scores(self, X: ArrayLike) -> Array:
        """Return the (N, C) scores f_l(x) of segments, eq. 1."""
        X = self._check_features(X)
        return self._weights.scores(self._design_matrix(X))[:, :-1]

    @property
    def _weights(self) -> Weights:
        return Weights(self.shared_, self.concepts_)

    def predict_proba(self, X: ArrayLike) -> Array:
        """Return the softmax of the scores over the temperature."""
        return self._calibrated(np.exp(log_softmax(self.scores(X) / self.temperature_, axis=1)))

    def annotate(self, bags: BagSet) -> Array:
        """Return the exact posterior of each segment's label given its bag's tags and labels.

        A segment for which no class is left, because it is labelled background or its bag has no tag, has a row of
        zeros.
        """
        self._check_bags(bags)
        log_prior = log_softmax(self.scores(bags.X) / self.temperature_, axis=1)
        return self._calibrated_given_tags(posterior_within_tags(log_prior, bags))

    def bag_scores(self, bags: BagSet) -> Array:
        """Return (B, C) how far each label is ranked above the dummy label, f_l(X) - f_dummy(X)."""
        self._check_bags(bags)
        scores = np.maximum.reduceat(self._weights.scores(self._design_matrix(bags.X)), bags.offsets[:-1], axis=0)
        return scores[:, :-1] - scores[:, -1:]

    def predict_tags(self, bags: BagSet) -> Array:
        """Return the probability of each tag, above 0.5 where its label is ranked above the dummy (the paper's set)."""
        return tag_curve(self.bag_scores(bags), (self.tag_slope_, 0.0))

    def key_instances(self, bags: BagSet) -> NDArray[np.int64]:
        """Return (B, C) the row of `bags.X` with the highest score for each tag: the segment that explains the tag.

        If people labelled segments of a tagged class, it is one of those.
        """
        self._check_bags(bags)
        corrected = corrections_as_bags(bags)
        tags, candidate = corrected.tags[: bags.n_bags], corrected.candidate[: bags.n_segments]
        scores = self.scores(bags.X)
        scores[(tags[bags.bag_of] > 0) & ~candidate] = -np.inf
        return np.array([bags.offsets[bag] + scores[bags.rows(bag)].argmax(axis=0) for bag in range(bags.n_bags)])

    def sub_concepts(self, bags: BagSet) -> NDArray[np.int64]:
        """Return (B, C) the sub-concept, 0 to K - 1, that the key instance of each label has."""
        keys = self.key_instances(bags)
        return self._weights.shown_concepts(self._design_matrix(bags.X))[keys, np.arange(bags.n_classes)]

    # files and checks

    def _state(self) -> dict[str, Any]:
        state = super()._state()
        return pack(state.pop("maps_"), "map") | state

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore({name: value for name, value in state.items() if not name.startswith("map")})
        self.maps_ = unpack(state, "map")

    def _check_parameters(self) -> None:
        self._check_number("K", at_least=1, whole=True, also="auto")
        self._check_number("m", at_least=1, whole=True)
        self._check_number("C", above=0)
        self._check_number("gamma0", above=0)
        self._check_number("eta", at_least=0)


def _reporter(fit_progress: FitProgress, *, training: int) -> Report:
    """Return what a training calls after each test; there is no ranking loss if no bags are held out."""

    def report(ranking_loss: float) -> bool:
        return fit_progress.step(training, **({} if np.isnan(ranking_loss) else {"ranking_loss": ranking_loss}))

    return report


def warm() -> None:
    """Compile the kernels, so that the first fit does not wait for it."""
    MIMLFast(K=1).fit(BagSet([[0.0], [1.0]], [0, 1, 2], [[1, -1], [-1, 1]], ["a", "b"]), progress=lambda *_: True)
    mimlfast_kernels.ranking_loss(np.zeros((2, 3))[:, :-1], np.ones((2, 2), dtype=np.int8))
