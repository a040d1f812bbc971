"""Choosing lambda of Support Instance Machines without instance labels: Briggs et al. (2013), 5.2.6, eq. 37-38."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from miml_core.bags import BagSet
from miml_core.models.sim_solvers import Problem

Array = NDArray[np.float64]

GRID = tuple(10.0**exponent for exponent in range(-9, -3))
"""Tried values. The paper's grid goes on to 1, where the weights are held to nothing."""

USUAL = 1e-7
"""Where there are too few bags to cross-validate."""

N_FOLDS = 5


def choose_lam(
    bags: BagSet,
    X: Array,
    as_problem: Callable[[BagSet, Array], Problem],
    train: Callable[[Problem, float], Array],
    *,
    seed: int,
    report: Callable[[float, float], bool],
) -> float:
    """The lambda of the grid with the lowest loss on held-out bags.

    `report(lam, loss)` is told of every fit; a true answer ends the search with the best of the lambdas tried on every
    fold so far.
    """
    folds = _folds(as_problem(bags, X), bags.n_bags, seed)
    losses: dict[float, float] = {}
    for lam in GRID if folds else ():
        total = 0.0
        for fold in folds:
            held_out = np.zeros(bags.n_bags, dtype=bool)
            held_out[fold] = True
            rows = held_out[bags.bag_of]
            W = train(as_problem(bags[~held_out], X[~rows]), lam)
            test = as_problem(bags[held_out], X[rows])
            loss = test.loss_at(test.supports(W), W)[0]
            total += loss / len(folds)
            if report(lam, loss):
                return min(losses, key=losses.__getitem__, default=USUAL)
        losses[lam] = total
    return min(losses, key=losses.__getitem__, default=USUAL)


def _folds(problem: Problem, n_bags: int, seed: int) -> Sequence[NDArray[np.int64]]:
    """Bags with something to learn from, in `N_FOLDS` random parts; none if there are fewer than two a part."""
    telling = np.flatnonzero(problem.weight[:n_bags] > 0)
    if len(telling) < 2 * N_FOLDS:
        return []
    return np.array_split(np.random.default_rng(seed).permutation(telling), N_FOLDS)
