"""How Support Instance Machines are trained: Briggs, Fern, Raich and Lou (2013), Algorithms 1 to 5.

Both optimisers repeat two steps: choose the support instances, then solve a convex problem by projected subgradient
descent. They differ in what is fixed in the convex problem: the heuristic fixes every support instance (eq. 26), CCCP
only those of the present tags (eq. 25). The latter problem is an upper bound of the objective with the same value at
the current weights, so that the objective never increases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from miml_core.bags import BagSet
from miml_core.models import sim_kernels
from miml_core.models.corrections import corrections_as_bags
from miml_core.threads import run_in_threads

Array = NDArray[np.float64]
Loss = Literal["rank", "hamming"]
Aggregate = Literal["max", "softmax"]
Convex = Callable[[Array], tuple[float, Array]]
"""Function of the weights that returns the value and a subgradient of a convex problem."""

_BLOCK_WORK = 1_000_000
"""Multiplications per block of bags. Sums are per block, not per thread, so that the number of threads does not change
the result; a problem of one block is too small to gain from threads."""


@dataclass(frozen=True)
class Problem:
    """The data of the loss: rescaled segments, the tags that take part, and the weights of the bags."""

    X: Array
    offsets: NDArray[np.int64]
    tags: NDArray[np.int8]
    candidate: NDArray[np.bool_]
    weight: Array
    loss: Loss
    aggregate: Aggregate

    @classmethod
    def of(cls, bags: BagSet, X: Array, loss: Loss, aggregate: Aggregate) -> Problem:
        """Return the problem of fitting `bags`; X are their rescaled features."""
        corrected = corrections_as_bags(bags)
        return cls(
            X=X[corrected.rows],
            offsets=corrected.offsets,
            tags=corrected.tags,
            candidate=corrected.candidate,
            weight=_bag_weights(corrected.tags, loss),
            loss=loss,
            aggregate=aggregate,
        )

    @property
    def has_pairs(self) -> bool:
        """Whether there is anything to learn from."""
        return bool(self.weight.any())

    # support instances and losses

    def average_supports(self) -> Array:
        """Return (B, C, d) the mean of each bag's segments, where training starts (Appendix 2)."""
        return self._supports(np.zeros(self.tags.shape[1:] + self.X.shape[1:]), soft=True)

    def supports(self, W: Array) -> Array:
        """Return the (B, C, d) support instances under the weights W, eq. 7 or eq. 10."""
        return self._supports(W, soft=self.aggregate == "softmax")

    def _supports(self, W: Array, *, soft: bool) -> Array:
        scores = self.X @ W.T
        out = np.empty((*self.tags.shape, self.X.shape[1]))

        def work(_: int, first: int, last: int) -> None:
            sim_kernels.fill_supports(self.X, self.offsets, self.tags, self.candidate, scores, soft, first, last, out)

        self._over_blocks(work)
        return out

    def loss_at(self, supports: Array, W: Array) -> tuple[float, Array]:
        """Return the loss for fixed support instances, eq. 26 or 31, and its subgradient, eq. 27 or 32."""

        def add(first: int, last: int, V: Array) -> float:
            return sim_kernels.add_fixed_supports(
                supports, self.tags, self.weight, W, self.loss == "rank", first, last, V
            )

        return self._sum_over_blocks(add, W.shape)

    def cccp_loss_at(self, supports: Array, W: Array) -> tuple[float, Array]:
        """Return the loss for fixed supports of the present tags, eq. 25, and its subgradient, eq. 29."""
        scores = self.X @ W.T

        def add(first: int, last: int, V: Array) -> float:
            return sim_kernels.add_moving_supports(
                self.X, self.offsets, scores, supports, self.tags, self.weight, W, self.loss == "rank", first, last, V
            )

        return self._sum_over_blocks(add, W.shape)

    def _blocks(self) -> list[tuple[int, int]]:
        size = max(1, _BLOCK_WORK // (self.tags.shape[1] * self.X.shape[1]))
        edges = [*range(0, len(self.tags), size), len(self.tags)]
        return list(pairwise(edges))

    def _over_blocks(self, work: Callable[[int, int, int], None]) -> None:
        blocks = self._blocks()

        def share_of_work(share: int, shares: int) -> None:
            for block in range(share, len(blocks), shares):
                work(block, *blocks[block])

        if len(blocks) == 1:
            share_of_work(0, 1)
        else:
            run_in_threads(share_of_work)

    def _sum_over_blocks(self, add: Callable[[int, int, Array], float], shape: tuple[int, ...]) -> tuple[float, Array]:
        n_blocks = len(self._blocks())
        losses, parts = np.zeros(n_blocks), np.zeros((n_blocks, *shape))

        def work(block: int, first: int, last: int) -> None:
            losses[block] = add(first, last, parts[block])

        self._over_blocks(work)
        return float(losses.sum()), parts.sum(axis=0)


def _bag_weights(tags: NDArray[np.int8], loss: str) -> Array:
    """Return beta_i = 1 / (n |Y_i| |not Y_i|) (eq. 5), n the number of bags with a pair; or 1 / nc (eq. 30)."""
    if loss == "hamming":
        n_known = np.count_nonzero(tags)
        return np.full(len(tags), 1.0 / n_known if n_known else 0.0)
    n_pairs = (tags > 0).sum(axis=1) * (tags < 0).sum(axis=1)
    n_bags = np.count_nonzero(n_pairs)
    return np.where(n_pairs > 0, 1.0 / np.maximum(n_pairs * n_bags, 1), 0.0)


@dataclass(frozen=True)
class Iterate:
    """Weights after an outer iteration, their objective (eq. 11), and whether the optimiser has converged."""

    W: Array
    objective: float
    finished: bool


def heuristic(problem: Problem, lam: float, T: int, K: int, start: Array | None = None) -> Iterator[Iterate]:
    """Yield the weights after each of T outer iterations of SIM-Heuristic (Algorithm 4)."""
    supports, W = _start(problem, start)
    for _ in range(T):
        held = supports

        def convex(W: Array, held: Array = held) -> tuple[float, Array]:
            return _regularised(problem.loss_at(held, W), W, lam)

        W = _Descent(convex, W, lam).run(K)
        supports = problem.supports(W)
        yield Iterate(W, _regularised(problem.loss_at(supports, W), W, lam)[0], finished=False)


def cccp(problem: Problem, lam: float, T: int, K: int, K_max: int, start: Array | None = None) -> Iterator[Iterate]:
    """Yield the weights after each outer iteration of SIM-CCCP (Algorithm 5).

    Unlike `heuristic`, it descends until the objective has decreased or K_max steps are done. If K_max steps do not
    lower it, the weights stay as they were and the iteration ends (Appendix 2).
    """
    supports, W = _start(problem, start)
    for _ in range(T):
        held = supports

        def convex(W: Array, held: Array = held) -> tuple[float, Array]:
            return _regularised(problem.cccp_loss_at(held, W), W, lam)

        before = convex(W)[0]
        descent = _Descent(convex, W, lam)
        while descent.best_value >= before and descent.steps < K_max:
            W = descent.run(min(K, K_max - descent.steps))
        finished = descent.best_value >= before
        supports = problem.supports(W)
        yield Iterate(W, _regularised(problem.loss_at(supports, W), W, lam)[0], finished)
        if finished:
            return


def _start(problem: Problem, start: Array | None) -> tuple[Array, Array]:
    """Return average support instances and zero weights (Appendix 2), or those of an earlier fit."""
    if start is None:
        return problem.average_supports(), np.zeros(problem.tags.shape[1:] + problem.X.shape[1:])
    return problem.supports(start), start


def _regularised(loss: tuple[float, Array], W: Array, lam: float) -> tuple[float, Array]:
    return loss[0] + 0.5 * lam * float(np.vdot(W, W)), loss[1] + lam * W


class _Descent:
    """Projected subgradient descent with the Pegasos rate (Algorithm 1); keeps the best weights."""

    def __init__(self, convex: Convex, W: Array, lam: float) -> None:
        self.convex, self.lam = convex, lam
        self.radius = np.sqrt(2.0 / lam)
        self.W, self.steps = W, 0
        self.value, self.V = convex(W)
        self.best_W, self.best_value = W, self.value

    def run(self, steps: int) -> Array:
        """Take more steps; return the best weights so far."""
        for _ in range(steps):
            self.steps += 1
            W = self.W - self.V / (self.lam * self.steps)
            norm = float(np.sqrt(np.vdot(W, W)))
            self.W = W * (self.radius / norm) if norm > self.radius else W
            self.value, self.V = self.convex(self.W)
            if self.value < self.best_value:
                self.best_W, self.best_value = self.W, self.value
        return self.best_W
