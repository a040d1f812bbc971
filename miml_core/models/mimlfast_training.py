"""Train MIMLfast: Huang, Gao and Zhou (2014), Algorithm 1, stopped by the ranking loss of held-out bags.

What the paper leaves open was decided by measurements on HJA Birdsong and Letter-Frost: the tested weights are a
running average, because with the paper's step sizes single iterates vary much (ranking loss .036 against .028 on HJA);
and training ends when ten tests in a row lower the loss by less than one per cent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from miml_core.models import mimlfast_kernels
from miml_core.models.corrections import CorrectedBags

Array = NDArray[np.float32]
Bags = NDArray[np.int64]
Report = Callable[[float], bool]
"""Called with the held-out ranking loss after each test; if it returns True, the training stops."""

MAX_TESTS = 100
PATIENCE = 10
_BETTER = 0.99
TESTS_WITHOUT_HELD_OUT = 20
_STEPS_PER_TEST = (2_000, 10_000)
_SNAPSHOTS_PER_TEST = 10
_AVERAGED_SNAPSHOTS = 50
_ROWS_AT_ONCE = 10_000
_FEWEST_BAGS, _MANY_BAGS, _MOST_BAGS = 60, 1000, 2000


@dataclass(frozen=True)
class Weights:
    """The transposed shared space W_0', (d, m), and the sub-concepts, (C + 1, K, m), the dummy label's last."""

    shared: Array
    concepts: Array

    @classmethod
    def random(cls, n_features: int, n_classes: int, m: int, K: int, rng: np.random.Generator) -> Weights:
        """Return normal weights with standard deviation 1 / sqrt(d), as in the paper."""
        scale = 1.0 / np.sqrt(n_features)
        shared, concepts = rng.standard_normal((n_features, m)), rng.standard_normal((n_classes + 1, K, m))
        return cls((scale * shared).astype(np.float32), (scale * concepts).astype(np.float32))

    def copy(self) -> Weights:
        return Weights(self.shared.copy(), self.concepts.copy())

    def towards(self, other: Weights, share: float) -> Weights:
        """Return the weights at a share of the way to other weights."""
        part = np.float32(share)
        return Weights(
            self.shared + part * (other.shared - self.shared),
            self.concepts + part * (other.concepts - self.concepts),
        )

    def scores(self, X: Array) -> NDArray[np.float64]:
        """Return the (N, C + 1) scores f_l(x), eq. 1."""
        return np.concatenate([values.max(axis=2) for values in self._by_concept(X)], dtype=np.float64)

    def shown_concepts(self, X: Array) -> NDArray[np.int64]:
        """Return (N, C + 1) the sub-concept that has the score f_l(x)."""
        return np.concatenate([values.argmax(axis=2) for values in self._by_concept(X)])

    def _by_concept(self, X: Array) -> Iterator[Array]:
        """Yield f_{l,k}(x) of some rows at a time, so that memory stays bounded."""
        n_labels, K, m = self.concepts.shape
        for first in range(0, max(1, len(X)), _ROWS_AT_ONCE):
            projected: Array = X[first : first + _ROWS_AT_ONCE] @ self.shared
            values: Array = projected @ self.concepts.reshape(-1, m).T
            yield values.reshape(-1, n_labels, K)


@dataclass(frozen=True)
class Settings:
    """C bounds the norms; the step size is gamma0 / (1 + eta gamma0 t)."""

    C: float
    gamma0: float
    eta: float


@dataclass(frozen=True)
class Trained:
    """The best weights, their ranking loss on held-out bags, and that loss at every test."""

    weights: Weights
    ranking_loss: float
    curve: list[float]


def train(
    X: Array,
    bags: CorrectedBags,
    held_out: Bags,
    start: Weights,
    settings: Settings,
    rng: np.random.Generator,
    report: Report,
) -> Trained:
    """Take steps until the ranking loss of held-out bags no longer decreases; `start` is not changed."""
    learnt = np.setdiff1d(np.flatnonzero((bags.tags != 0).any(axis=1)), held_out)
    test = _Test(X, bags, held_out)
    n_labels = int((bags.tags[learnt] > 0).sum()) + len(learnt)
    steps = int(np.clip(n_labels, *_STEPS_PER_TEST)) // _SNAPSHOTS_PER_TEST
    moving, average = start.copy(), start.copy()
    best = Trained(average, np.inf, [])
    curve: list[float] = []
    last_gain = 0
    for snapshot in range(1, MAX_TESTS * _SNAPSHOTS_PER_TEST + 1):
        mimlfast_kernels.descend(
            X, bags.offsets, bags.tags, bags.candidate, learnt, rng, steps, (snapshot - 1) * steps,
            settings.gamma0, settings.eta, settings.C, moving.shared, moving.concepts,
        )  # fmt: skip
        average = average.towards(moving, 1.0 / min(snapshot, _AVERAGED_SNAPSHOTS))
        if snapshot % _SNAPSHOTS_PER_TEST:
            continue
        curve.append(test.ranking_loss(average))
        if not len(held_out) or curve[-1] < best.ranking_loss:
            if curve[-1] < _BETTER * best.ranking_loss:
                last_gain = len(curve)
            best = Trained(average, curve[-1], curve)
        enough = len(curve) >= (last_gain + PATIENCE if len(held_out) else TESTS_WITHOUT_HELD_OUT)
        if report(curve[-1]) or enough:
            break
    return best


def some_bags(bags: CorrectedBags, rng: np.random.Generator) -> Bags:
    """Return a tenth of the bags with present and absent tags, at least 20, to hold out; none if there are few bags."""
    ordered = _ordered(bags)
    if len(ordered) < _FEWEST_BAGS:
        return ordered[:0]
    return np.sort(rng.permutation(ordered)[: max(20, len(ordered) // 10)])


def trials(bags: CorrectedBags, seed: int) -> tuple[CorrectedBags, list[Bags]]:
    """Return at most `_MOST_BAGS` bags to choose K by, and thirds of them to hold out in turn.

    Of many bags only one third is held out, of few bags none. The tags of all other bags are set to 0.
    """
    ordered = np.random.default_rng(seed).permutation(_ordered(bags))[:_MOST_BAGS]
    if len(ordered) < _FEWEST_BAGS:
        return bags, []
    tags = np.zeros_like(bags.tags)
    tags[ordered] = bags.tags[ordered]
    thirds = np.array_split(ordered, 3)
    return replace(bags, tags=tags), thirds[:1] if len(ordered) >= _MANY_BAGS else thirds


def _ordered(bags: CorrectedBags) -> Bags:
    return np.flatnonzero((bags.tags > 0).any(axis=1) & (bags.tags < 0).any(axis=1))


class _Test:
    """The ranking loss of held-out bags."""

    def __init__(self, X: Array, bags: CorrectedBags, held_out: Bags) -> None:
        sizes = np.diff(bags.offsets)[held_out]
        self.starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]) if len(held_out) else np.zeros(0, dtype=np.int64)
        rows = [np.arange(bags.offsets[bag], bags.offsets[bag + 1]) for bag in held_out]
        self.X = X[np.concatenate(rows)] if rows else X[:0]
        self.tags = bags.tags[held_out]

    def ranking_loss(self, weights: Weights) -> float:
        if not len(self.tags):
            return float("nan")
        scores = np.maximum.reduceat(weights.scores(self.X), self.starts, axis=0)
        return float(mimlfast_kernels.ranking_loss(scores[:, :-1], self.tags))
