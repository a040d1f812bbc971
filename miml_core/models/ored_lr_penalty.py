"""Choose the penalty without instance labels: the one under which held-out bags are most likely.

The bags are divided into a few folds. On each, a path of fits goes from a strong penalty alpha to weaker ones, each fit
starting from the last, until the held-out likelihood decreases. Alpha is the precision of a normal prior on the
weights, so the best value does not depend much on the number of bags, and a sample of the bags is enough.

If the features have several groups, each is multiplied by a gain, which gives it a penalty of its own, alpha / gain^2.
Gains are changed one after the other, as long as held-out bags become more likely. The scores of a pretrained
classifier are used as they are, or not at all if held-out bags are more likely without them. (With a background class,
a factor that was chosen between 0 and 1 in the same way ranked the tags of new clips worse than 1.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from miml_core.bags import BagSet
from miml_core.models.ored_lr_likelihood import MarginalLikelihood, label_log_prior, merge_background
from miml_core.models.ored_lr_solvers import Report, Whitening, maximise_lbfgs
from miml_core.posterior import HELD_OUT_NOISE, SMALL_LEAK, training_posterior

Array = NDArray[np.float64]

# Alphas are powers of ten: the path starts at 10 and goes down, or up if a lower alpha is no better.
FIRST, WEAKEST, STRONGEST = 1, -3, 3

_GAIN_STEP, _MOST_STEPS = 10**0.5, 4
"""A gain changes a group's penalty by a factor of ten per step."""

_TRY_ITERATIONS = 15
"""Each try starts from the last fit, and steps are so large that the better of two shows before a fit has converged."""


@dataclass(frozen=True)
class Penalty:
    """What restrains the weights.

    Attributes
    ----------
    alpha : float
        Strength of the L2 penalty.
    gains : tuple of G float
        Factor of the features of each group.
    trusts_pretrained : bool
        Whether the scores of a pretrained classifier are used.
    """

    alpha: float
    gains: tuple[float, ...] = (1.0,)
    trusts_pretrained: bool = True

    def factors(self, columns: Sequence[int]) -> Array:
        """Return the (D + 1,) factor of each column of the design matrix; the bias has none."""
        return np.append(np.repeat(self.gains, columns), 1.0)


@dataclass(frozen=True)
class Choice:
    """A penalty, weights near its optimum to start the final fit from, and the log priors of held-out segments."""

    penalty: Penalty
    weights: Array
    held_out: Array
    """(N, C) or (N, C + 1): log p of every segment under a fit to the other folds."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """What a fit learns from.

    Attributes
    ----------
    Z : (N, D + 1) float
        Design matrix with all gains 1.
    bags : BagSet
        Offsets, tags and labels of the same segments.
    columns : sequence of G int
        Number of columns of each group in Z.
    scores : (N, C) float or None
        Scores of a pretrained classifier.
    leak : float
    """

    Z: Array
    bags: BagSet
    columns: Sequence[int]
    scores: Array | None
    leak: float

    def part(self, chosen: NDArray[np.int64]) -> Evidence:
        """Return some of the bags."""
        rows = self.bags.rows_of(chosen)
        scores = None if self.scores is None else self.scores[rows]
        return Evidence(self.Z[rows], self.bags[chosen], self.columns, scores, self.leak)

    def design_matrix(self, penalty: Penalty) -> Array:
        """Return the (N, D + 1) design matrix with the gains of a penalty."""
        return self.Z if set(penalty.gains) == {1.0} else self.Z * penalty.factors(self.columns)

    def trusted_scores(self, penalty: Penalty) -> Array | None:
        """Return the (N, C) scores, if there are any and they are trusted."""
        return self.scores if penalty.trusts_pretrained else None

    def likelihood(self, penalty: Penalty) -> MarginalLikelihood:
        """Return the penalised likelihood."""
        return MarginalLikelihood(
            self.design_matrix(penalty),
            self.bags,
            leak=self.leak,
            alpha=penalty.alpha,
            scores=self.trusted_scores(penalty),
        )

    def log_prior(self, W: Array, penalty: Penalty) -> Array:
        """Return (N, C) or (N, C + 1) log p(y | x, w)."""
        found = label_log_prior(self.design_matrix(penalty), W, self.trusted_scores(penalty))
        return merge_background(found, self.bags.n_classes)


@dataclass
class _Fold:
    """Training bags, held-out bags, and the current weights."""

    learnt: Evidence
    held_out: Evidence
    held_out_rows: NDArray[np.int64]
    share: float
    W: Array

    def fit(self, penalty: Penalty, whitening: Whitening, report: Report, max_iter: int = 100) -> None:
        scale = whitening.scale(penalty.alpha, self.share)
        self.W = maximise_lbfgs(
            self.learnt.likelihood(penalty), self.W, scale, max_iter=max_iter, tol=1e-4, report=report
        )

    def held_out_log_likelihood(self, penalty: Penalty) -> float:
        prior = np.exp(self.held_out.log_prior(self.W, penalty))
        log_prior = np.log((1 - HELD_OUT_NOISE) * prior + HELD_OUT_NOISE / prior.shape[1])
        posterior = training_posterior(log_prior, self.held_out.bags, leak=max(self.held_out.leak, SMALL_LEAK))
        return float(posterior.log_likelihood.sum())


def choose_penalty(
    evidence: Evidence,
    start: Array,
    whitening: Whitening,
    *,
    seed: int,
    report: Callable[[float, float], bool],
    given: float | None = None,
) -> Choice:
    """Choose the penalty under which held-out bags are most likely.

    Parameters
    ----------
    evidence : Evidence
    start : (D + 1, K) float
        The first weights of every fold.
    whitening : Whitening
        At the start, with all gains 1.
    seed : int
        Determines the folds.
    report : callable
        Called as `report(objective, alpha)` once per iteration; if it returns True, the search ends.
    given : float, optional
        The alpha, if it is not to be chosen.
    """
    search = _Search(evidence, start, whitening, seed, report)
    if given is None:
        search.find_alpha()
    else:
        search.fit_folds(given)
    if evidence.scores is not None:
        search.try_without_scores()
    if len(evidence.columns) > 1:
        for group in range(len(evidence.columns)):
            search.improve(partial(_change_gain, group), _GAIN_STEP)
    return search.choice()


def _change_gain(group: int, penalty: Penalty, factor: float) -> Penalty:
    gains = list(penalty.gains)
    gains[group] *= factor
    return replace(penalty, gains=tuple(gains))


class _Search:
    """The folds, the best penalty so far, and its held-out likelihood."""

    def __init__(
        self, evidence: Evidence, start: Array, whitening: Whitening, seed: int, report: Callable[[float, float], bool]
    ) -> None:
        self.evidence, self.whitening, self._report = evidence, whitening, report
        self.folds = _make_folds(evidence, start, seed)
        self.penalty = Penalty(_alpha(FIRST), (1.0,) * len(evidence.columns))
        self.score = -np.inf
        self.stopped = False

    def _each(self, alpha: float) -> Report:
        def report(objective: float) -> bool:
            self.stopped = self.stopped or self._report(objective, alpha)
            return self.stopped

        return report

    def fit_folds(self, alpha: float) -> None:
        """Fit every fold with a given alpha."""
        self.penalty = replace(self.penalty, alpha=alpha)
        for fold in self.folds:
            fold.fit(self.penalty, self.whitening, self._each(alpha))
        self.score = self._held_out(self.penalty)

    def find_alpha(self) -> None:
        """Follow the path of alphas to the best one."""
        scores: dict[int, float] = {}

        def improves(k: int) -> bool:
            """Fit every fold with 10**k; return whether held-out bags became more likely."""
            best_so_far = max(scores.values(), default=-np.inf)
            tried = replace(self.penalty, alpha=_alpha(k))
            scores[k] = 0.0
            for fold in self.folds:
                fold.fit(tried, self.whitening, self._each(_alpha(k)))
                scores[k] += fold.held_out_log_likelihood(tried)
            return scores[k] > best_so_far

        improves(FIRST)
        weights = [fold.W for fold in self.folds]
        for direction in (-1, 1):
            k = FIRST + direction
            while WEAKEST <= k <= STRONGEST and not self.stopped and improves(k):
                weights = [fold.W for fold in self.folds]
                k += direction
            for fold, W in zip(self.folds, weights):
                fold.W = W
            if FIRST + direction in scores and scores[FIRST + direction] > scores[FIRST]:
                break
        self.penalty = replace(self.penalty, alpha=_peak(scores))
        self.score = max(scores.values())

    def improve(self, change: Callable[[Penalty, float], Penalty], step: float) -> None:
        """Change one part of the penalty by factors of `step`, as long as held-out bags become more likely."""
        for factor in (1.0 / step, step):
            taken = 0
            while taken < _MOST_STEPS and not self.stopped and self._try(change(self.penalty, factor)):
                taken += 1
            if taken:
                return

    def try_without_scores(self) -> None:
        """Leave out the scores of the pretrained classifier if held-out bags are more likely without them."""
        self._try(replace(self.penalty, trusts_pretrained=False))

    def _try(self, penalty: Penalty) -> bool:
        """Fit every fold with another penalty; keep it, and return True, if held-out bags became more likely."""
        before = [fold.W for fold in self.folds]
        change = self.penalty.factors(self.evidence.columns) / penalty.factors(self.evidence.columns)
        whitening = Whitening(self.evidence.likelihood(penalty), np.mean(before, axis=0) * change[:, None])
        for fold in self.folds:
            fold.W = fold.W * change[:, None]
            fold.fit(penalty, whitening, self._each(penalty.alpha), max_iter=_TRY_ITERATIONS)
        score = self._held_out(penalty)
        if score > self.score:
            self.penalty, self.score = penalty, score
            return True
        for fold, W in zip(self.folds, before):
            fold.W = W
        return False

    def _held_out(self, penalty: Penalty) -> float:
        return sum(fold.held_out_log_likelihood(penalty) for fold in self.folds)

    def choice(self) -> Choice:
        """Return the best penalty, with the weights of the folds."""
        rows = np.concatenate([fold.held_out_rows for fold in self.folds])
        held_out = np.concatenate([fold.held_out.log_prior(fold.W, self.penalty) for fold in self.folds])
        return Choice(self.penalty, np.mean([fold.W for fold in self.folds], axis=0), held_out[np.argsort(rows)])


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


def _make_folds(evidence: Evidence, start: Array, seed: int) -> list[_Fold]:
    n_bags = evidence.bags.n_bags
    order = np.random.default_rng(seed).permutation(n_bags)
    several = len(evidence.columns) > 1 or evidence.scores is not None  # a longer search, of a more robust choice
    n_folds = min(5 if len(order) < 300 and not several else 3, len(order))
    folds = []
    for held_out in np.array_split(order, n_folds):
        learnt = np.setdiff1d(order, held_out) if n_folds > 1 else order
        folds.append(
            _Fold(
                learnt=evidence.part(learnt),
                held_out=evidence.part(held_out),
                held_out_rows=evidence.bags.rows_of(held_out),
                share=len(learnt) / n_bags,
                W=start,
            )
        )
    return folds
