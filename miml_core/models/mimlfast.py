"""MIMLfast: Huang, Gao and Zhou, "Fast Multi-Instance Multi-Label Learning" (2014).

All labels share a low-dimensional space W_0 x; in it each label has K linear sub-concepts (a bird's song and its
alarm call), and a segment's score for a label is that of its best sub-concept (eq. 1). A bag's score is that of its
best segment, the key instance. Training takes one bag, one present and one wrongly ranked absent label at a time
(eq. 6-9); a dummy label learns to stand between the present and the absent ones, so that a bag's tag set can be read
off. Its cost hardly depends on the number of labels: the model to choose for very many bags.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from miml_core.bags import BagSet
from miml_core.errors import BagtagError
from miml_core.models import mimlfast_kernels
from miml_core.models.base import Model, Progress
from miml_core.models.calibration import (
    fit_tag_curve,
    fit_temperature,
    log_softmax,
    posterior_within_tags,
    tag_curve,
)
from miml_core.models.corrections import BagsAlone, as_bags_alone
from miml_core.models.feature_maps import Standardise, pack, unpack
from miml_core.models.mimlfast_training import MAX_TESTS, Settings, Trained, Weights, some_bags, train, trials

Array = NDArray[np.float64]
Single = NDArray[np.float32]

TRIED_K = (1, 5, 10)


class MIMLFast(Model):
    """Labels with sub-concepts in a shared space, trained by sampled rankings.

    Parameters
    ----------
    m : int
        Dimensions of the shared space.
    C : float
        Largest norm of a sub-concept and of a column of the shared space.
    K : int or "auto"
        Sub-concepts a label; "auto" takes the one of 1, 5, 10 with the lowest ranking loss on held-out bags (of at most
        2 000 bags).
    gamma0, eta : float
        The step size at step t is gamma0 / (1 + eta gamma0 t).
    seed : int

    Attributes
    ----------
    shared_ : (d + 1, m)
        W_0 transposed; the last row belongs to a constant feature.
    concepts_ : (C + 1, K, m)
        w_{l,k}; the last label is the dummy.
    K_ : int
    curve_ : (tests,)
        Ranking loss of held-out bags as training went on.
    temperature_ : float
        Scores divided by this are the logits under which the bags' tags are most likely.
    tag_slope_ : float
        Bag scores times this are the logits of the tags.
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
        seed: int = 0,
    ) -> None:
        self.m = m
        self.C = C
        self.K = K
        self.gamma0 = gamma0
        self.eta = eta
        self.seed = seed

    # learning

    def fit(self, bags: BagSet, *, progress: Progress | None = None, warm_start: Model | None = None) -> Self:
        """Train until the ranking loss of held-out bags no longer falls.

        `warm_start` is an earlier fit, from whose weights, scales and K the training goes on.
        """
        self._check_parameters()
        earlier = self._usable(warm_start, bags)
        self.maps_ = [Standardise.fit(bags.X)] if earlier is None else earlier.maps_
        alone = as_bags_alone(bags)
        if not (alone.tags != 0).any():
            raise BagtagError("No bag has a tag or a label yet; tag some bags first.")
        X = self._see(bags.X)
        talk = _Talk(progress)
        trained = self._train(X[alone.rows] if len(alone.rows) > len(X) else X, alone, earlier, bags.classes, talk)
        self.shared_, self.concepts_ = trained.weights.shared, trained.weights.concepts
        self.K_, self.curve_ = self.concepts_.shape[1], np.array(trained.curve)
        self.classes_ = list(bags.classes)
        self.n_features_ = bags.X.shape[1]
        self.temperature_ = fit_temperature(self.scores, bags, seed=self.seed)
        self.tag_slope_ = fit_tag_curve(self.bag_scores(bags), bags.tags, through_zero=True)[0]
        return self

    def _train(self, X: Single, alone: BagsAlone, earlier: MIMLFast | None, classes: list[str], talk: _Talk) -> Trained:
        rng = np.random.default_rng(self.seed)
        if earlier is not None:
            start = earlier._weights_for(classes)
        else:
            K = self._choose_K(X, alone, talk) if self.K == "auto" else int(self.K)
            start = Weights.random(X.shape[1], alone.tags.shape[1], self.m, K, rng)
        return train(X, alone, some_bags(alone, rng), start, self._settings, rng, talk.test)

    def _choose_K(self, X: Single, alone: BagsAlone, talk: _Talk) -> int:
        """By the ranking loss of each third of the bags after training on the others, as the paper chooses."""
        few, thirds = trials(alone, self.seed)
        losses = {TRIED_K[0]: np.inf}
        talk.n_trainings = len(TRIED_K) * len(thirds) + 1
        for K in TRIED_K if thirds else ():
            total = 0.0
            for held_out in thirds:
                rng = np.random.default_rng(self.seed)
                start = Weights.random(X.shape[1], few.tags.shape[1], self.m, K, rng)
                total += train(X, few, held_out, start, self._settings, rng, talk.test).ranking_loss
                talk.next_training()
                if talk.stopped:
                    return min(losses, key=losses.__getitem__)
            losses[K] = total
        return min(losses, key=losses.__getitem__)

    @property
    def _settings(self) -> Settings:
        return Settings(self.C, self.gamma0, self.eta)

    def _usable(self, warm_start: Model | None, bags: BagSet) -> MIMLFast | None:
        """The earlier fit, if its weights mean the same as this one's would."""
        if not isinstance(warm_start, MIMLFast) or not hasattr(warm_start, "concepts_"):
            return None
        same = warm_start.m == self.m and self.K in ("auto", warm_start.K_)
        n_labels = len(warm_start.classes_) + 1
        whole = (  # the kernels check no index, and the file may have been damaged or made by somebody else
            warm_start.shared_.shape == (bags.X.shape[1] + 1, self.m)
            and warm_start.concepts_.shape == (n_labels, warm_start.K_, self.m)
        )
        return warm_start if same and whole and warm_start.n_features_ == bags.X.shape[1] else None

    def _weights_for(self, classes: list[str]) -> Weights:
        """The weights by class name; a class that is new starts at random."""
        rng = np.random.default_rng(self.seed)
        new = Weights.random(len(self.shared_), len(classes), self.m, self.K_, rng).concepts
        for number, name in enumerate(classes):
            if name in self.classes_:
                new[number] = self.concepts_[self.classes_.index(name)]
        new[-1] = self.concepts_[-1]
        return Weights(self.shared_, new)

    def _see(self, X: Array) -> Single:
        """Standardised features and a constant, without which scores have no bias."""
        seen = np.ones((len(X), X.shape[1] + 1), dtype=np.float32)
        seen[:, :-1] = self.maps_[0](X)
        return seen

    # answers

    def scores(self, X: ArrayLike) -> Array:
        """(N, C) f_l(x) of segments, eq. 1."""
        return self._weights.scores(self._see(self._check_features(X)))[:, :-1]

    @property
    def _weights(self) -> Weights:
        return Weights(self.shared_, self.concepts_)

    def predict_proba(self, X: ArrayLike) -> Array:
        """Softmax of the scores over the fitted temperature."""
        return np.exp(log_softmax(self.scores(X) / self.temperature_))

    def annotate(self, bags: BagSet) -> Array:
        """The exact posterior of each segment's label under its bag's tags and labels.

        A segment for which no class is left, said to be background or in a bag tagged as having nothing, has a row of
        zeros.
        """
        self._check_bags(bags)
        return posterior_within_tags(log_softmax(self.scores(bags.X) / self.temperature_), bags)

    def bag_scores(self, bags: BagSet) -> Array:
        """(B, C) how far each label is ranked above the dummy label, f_l(X) - f_dummy(X)."""
        self._check_bags(bags)
        scores = np.maximum.reduceat(self._weights.scores(self._see(bags.X)), bags.offsets[:-1], axis=0)
        return scores[:, :-1] - scores[:, -1:]

    def predict_tags(self, bags: BagSet) -> Array:
        """Probability of each tag, above one half where its label is ranked above the dummy: the paper's tag set."""
        return tag_curve(self.bag_scores(bags), (self.tag_slope_, 0.0))

    def key_instances(self, bags: BagSet) -> NDArray[np.int64]:
        """(B, C) the row of `bags.X` that speaks most for each tag: why the clip is tagged Wren.

        Where people labelled segments of a tagged class, it is one of theirs.
        """
        self._check_bags(bags)
        alone = as_bags_alone(bags)
        tags, candidate = alone.tags[: bags.n_bags], alone.candidate[: bags.n_segments]
        scores = self.scores(bags.X)
        scores[(tags[bags.bag_of] > 0) & ~candidate] = -np.inf
        return np.array([bags.offsets[bag] + scores[bags.rows(bag)].argmax(axis=0) for bag in range(bags.n_bags)])

    def sub_concepts(self, bags: BagSet) -> NDArray[np.int64]:
        """(B, C) which of the K sub-concepts of a label its key instance shows."""
        keys = self.key_instances(bags)
        return self._weights.shown_concepts(self._see(bags.X))[keys, np.arange(bags.n_classes)]

    # files and checks

    def _state(self) -> dict[str, Any]:
        state = super()._state()
        return pack(state.pop("maps_"), "map") | state

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore({name: value for name, value in state.items() if not name.startswith("map")})
        self.maps_ = unpack(state, "map")

    def _check_parameters(self) -> None:
        if self.K != "auto" and not (isinstance(self.K, int) and self.K >= 1):
            raise BagtagError(f"K must be 'auto' or a whole number above 0, not {self.K!r}.")
        if self.m < 1 or min(self.C, self.gamma0) <= 0 or self.eta < 0:
            raise BagtagError("m, C and gamma0 must be above 0, and eta not below it.")


class _Talk:
    """Progress over the tests of all trainings, and whether a stop was asked for."""

    def __init__(self, progress: Progress | None) -> None:
        self.progress, self.stopped = progress, False
        self.n_trainings, self.n_done, self.n_tests = 1, 0, 0

    def test(self, ranking_loss: float) -> bool:
        self.n_tests += 1
        if self.progress is not None:
            step = self.n_done * MAX_TESTS + self.n_tests
            info = {} if np.isnan(ranking_loss) else {"ranking_loss": ranking_loss}
            self.stopped = bool(self.progress(step, self.n_trainings * MAX_TESTS, info))
        return self.stopped

    def next_training(self) -> None:
        self.n_done, self.n_tests = self.n_done + 1, 0


def warm() -> None:
    """Compile the kernels, so that the first real call does not wait for it."""
    MIMLFast(K=1).fit(BagSet([[0.0], [1.0]], [0, 1, 2], [[1, -1], [-1, 1]], ["a", "b"]), progress=lambda *_: True)
    mimlfast_kernels.ranking_loss(np.zeros((2, 3))[:, :-1], np.ones((2, 2), dtype=np.int8))
