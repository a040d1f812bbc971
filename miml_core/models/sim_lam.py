"""Choose lambda of Support Instance Machines without instance labels: Briggs et al. (2013), 5.2.6, eq. 37-38."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from miml_core.bags import BagSet
from miml_core.models.sim_solvers import Problem

Array = NDArray[np.float64]

GRID = tuple(10.0**exponent for exponent in range(-9, 1))
USUAL = GRID.index(1e-7)
"""Where the search begins; also the result if there are too few bags to cross-validate."""

N_FOLDS = 5
USUAL_FITS = 3 * N_FOLDS


class Stopped(Exception):
    """The search was asked to stop."""


def choose_lam(
    bags: BagSet,
    X: Array,
    as_problem: Callable[[BagSet, Array], Problem],
    train: Callable[[Problem, float], Array],
    *,
    seed: int,
    report: Callable[[float, float], bool],
) -> float:
    """Return a lambda of the paper's grid with a lower loss on held-out bags than its neighbours.

    The loss decreases and then increases along the grid (the paper's figure 5), so that a descent from the usual value
    finds its minimum with three lambdas, as a rule, instead of ten. `report(lam, loss)` is called after each fit; if it
    returns True, the search ends with the best lambda so far.
    """
    folds = _folds(as_problem(bags, X), bags.n_bags, seed)
    if not folds:
        return GRID[USUAL]

    def held_out_loss(lam: float) -> float:
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
                raise Stopped
        return total

    return GRID[_find_minimum(lambda place: held_out_loss(GRID[place]), USUAL, len(GRID))]


def _find_minimum(loss: Callable[[int], float], start: int, n_places: int) -> int:
    """Return a place with a lower loss than its neighbours, or the lowest one known when `loss` raises `Stopped`."""
    best = start
    try:
        lowest = loss(start)
        for direction in (-1, 1):
            while 0 <= best + direction < n_places and (here := loss(best + direction)) < lowest:
                best, lowest = best + direction, here
            if best != start:
                break
    except Stopped:
        pass
    return best


def _folds(problem: Problem, n_bags: int, seed: int) -> Sequence[NDArray[np.int64]]:
    """Return the bags that have a weight in `N_FOLDS` random parts; none if a part had fewer than two bags."""
    informative = np.flatnonzero(problem.weight[:n_bags] > 0)
    if len(informative) < 2 * N_FOLDS:
        return []
    return np.array_split(np.random.default_rng(seed).permutation(informative), N_FOLDS)
