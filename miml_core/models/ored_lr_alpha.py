"""Choose the penalty alpha without instance labels: the alpha under which held-out bags are most likely.

The bags are divided into a few folds. On each, a path of fits goes from a strong penalty to weaker ones, each fit
starting from the last, until the held-out likelihood decreases. Alpha is the precision of a normal prior on the
weights, so the best value does not depend much on the number of bags, and a sample of the bags is enough.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from miml_core.bags import BagSet
from miml_core.models.ored_lr_likelihood import MarginalLikelihood, merge_background
from miml_core.models.ored_lr_solvers import Report, Whitening, maximise_lbfgs
from miml_core.posterior import HELD_OUT_NOISE, SMALL_LEAK, training_posterior

Array = NDArray[np.float64]

# Alphas are powers of ten: the path starts at 10 and goes down, or up if a lower alpha is no better.
FIRST, WEAKEST, STRONGEST = 1, -3, 3


@dataclass(frozen=True)
class Choice:
    """An alpha, weights near its optimum to start the final fit from, and the log priors of held-out segments."""

    alpha: float
    weights: Array
    held_out: Array
    """(N, C) or (N, C + 1): log p of every segment under a fit to the other folds."""


@dataclass
class _Fold:
    """Training bags, held-out bags, and the current weights."""

    Z: Array
    bags: BagSet
    held_out_rows: NDArray[np.int64]
    held_out_Z: Array
    held_out: BagSet
    share: float
    W: Array

    def fit(self, alpha: float, leak: float, whitening: Whitening, report: Report) -> None:
        objective = MarginalLikelihood(self.Z, self.bags, leak=leak, alpha=alpha)
        scale = whitening.scale(alpha, self.share)
        self.W = maximise_lbfgs(objective, self.W, scale, max_iter=100, tol=1e-4, report=report)

    def held_out_log_prior(self, W: Array) -> Array:
        return merge_background(log_softmax(self.held_out_Z @ W, axis=1), self.held_out.n_classes)

    def held_out_log_likelihood(self, leak: float) -> float:
        bags, prior = self.held_out, np.exp(self.held_out_log_prior(self.W))
        log_prior = np.log((1 - HELD_OUT_NOISE) * prior + HELD_OUT_NOISE / prior.shape[1])
        posterior = training_posterior(log_prior, bags, leak=max(leak, SMALL_LEAK))
        return float(posterior.log_likelihood.sum())


def choose_alpha(
    Z: Array,
    bags: BagSet,
    start: Array,
    whitening: Whitening,
    *,
    leak: float,
    seed: int,
    report: Callable[[float, float], bool],
    given: float | None = None,
) -> Choice:
    """Choose the alpha under which held-out bags are most likely, or fit the folds with the alpha `given`.

    Parameters
    ----------
    Z : (N, D) float
        Design matrix.
    bags : BagSet
    start : (D, K) float
        The first weights of every fold.
    whitening : Whitening
    leak : float
    seed : int
        Determines the folds.
    report : callable
        Called as `report(objective, alpha)` once per iteration; if it returns True, the search ends.
    given : float, optional
    """
    folds = _make_folds(Z, bags, start, seed)
    if given is not None:
        for fold in folds:
            fold.fit(given, leak, whitening, lambda objective: report(objective, given))
        return _choice(given, folds, [fold.W for fold in folds])
    scores: dict[int, float] = {}
    stopped = False

    def improves(k: int) -> bool:
        """Fit every fold with 10**k; returns whether held-out bags became more likely."""
        nonlocal stopped

        def each(objective: float) -> bool:
            nonlocal stopped
            stopped = stopped or report(objective, _alpha(k))
            return stopped

        best_so_far = max(scores.values(), default=-np.inf)
        scores[k] = 0.0
        for fold in folds:
            fold.fit(_alpha(k), leak, whitening, each)
            scores[k] += fold.held_out_log_likelihood(leak)
        return scores[k] > best_so_far

    improves(FIRST)
    weights = [fold.W for fold in folds]
    for direction in (-1, 1):
        k = FIRST + direction
        while WEAKEST <= k <= STRONGEST and not stopped and improves(k):
            weights = [fold.W for fold in folds]
            k += direction
        for fold, W in zip(folds, weights):
            fold.W = W
        if FIRST + direction in scores and scores[FIRST + direction] > scores[FIRST]:
            break
    return _choice(_peak(scores), folds, weights)


def _choice(alpha: float, folds: list[_Fold], weights: list[Array]) -> Choice:
    rows = np.concatenate([fold.held_out_rows for fold in folds])
    held_out = np.concatenate([fold.held_out_log_prior(W) for fold, W in zip(folds, weights)])
    return Choice(alpha, np.mean(weights, axis=0), held_out[np.argsort(rows)])


def _alpha(k: float) -> float:
    return float(10.0**k)


def _peak(scores: dict[int, float]) -> float:
    """Return the maximum of the parabola through the best alpha and its two neighbours, if it has both."""
    best = max(scores, key=lambda k: scores[k])
    if best - 1 not in scores or best + 1 not in scores:
        return _alpha(best)
    below, above = scores[best - 1], scores[best + 1]
    bend = below - 2 * scores[best] + above
    return _alpha(best + (0.5 * (below - above) / bend if bend < 0 else 0.0))


def _make_folds(Z: Array, bags: BagSet, start: Array, seed: int) -> list[_Fold]:
    order = np.random.default_rng(seed).permutation(bags.n_bags)
    n_folds = min(5 if len(order) < 300 else 3, len(order))
    folds = []
    for held_out in np.array_split(order, n_folds):
        learnt = np.setdiff1d(order, held_out) if n_folds > 1 else order
        folds.append(
            _Fold(
                Z=Z[bags.rows_of(learnt)],
                bags=bags[learnt],
                held_out_rows=bags.rows_of(held_out),
                held_out_Z=Z[bags.rows_of(held_out)],
                held_out=bags[held_out],
                share=len(learnt) / bags.n_bags,
                W=start,
            )
        )
    return folds
