"""Three ways up the penalised marginal likelihood of ORed logistic regression.

All three see one function, `MarginalLikelihood`: the log-likelihood of the bags (eq. 6 of Pham et al. 2015, with the
extensions of `posterior.py`) less alpha / 2 times the squared weights. Its gradient is that of the M-step (eq. 22)
taken at the current weights, so that one exact posterior pass yields value and gradient together.

Features are correlated, which makes plain gradients zigzag; `Whitening` gives all three a better scale to step in.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from miml_core.bags import BagSet
from miml_core.posterior import bag_posterior

Array = NDArray[np.float64]
Report = Callable[[float], bool]
"""Called once an iteration with the objective; a true answer stops the solver where it is."""

BIAS_PENALTY = 1e-3
"""Keeps the bias of a class that no bag has from running away; too small to matter for any other."""


def log_softmax(scores: Array) -> Array:
    """log p(y | x, w) of eq. 1 from the scores w_c . x, one row a segment."""
    shifted = scores - scores.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))


class MarginalLikelihood:
    """sum_b log p(tags_b, labels_b | X_b, w) - alpha / 2 |w|^2 as a function of the weights.

    Parameters
    ----------
    Z : (N, D) float
        What the model sees of each segment; the last column is 1 and carries the bias.
    bags : BagSet
        Offsets, tags and labels of the same N segments.
    """

    def __init__(self, Z: Array, bags: BagSet, *, leak: float, alpha: float) -> None:
        self.Z, self.bags, self.leak, self.alpha = Z, bags, leak, alpha
        self.penalty = np.full((Z.shape[1], 1), float(alpha))
        self.penalty[-1] = min(alpha, BIAS_PENALTY)

    def penalised(self, W: Array, log_likelihood: float) -> float:
        return log_likelihood - 0.5 * float((self.penalty * W**2).sum())

    def value_and_gradient(self, W: Array) -> tuple[float, Array]:
        """The objective and its gradient in the (D, K) weights: (posterior - prior) times the features, eq. 22."""
        log_prior = log_softmax(self.Z @ W)
        seen = bag_posterior(log_prior, self.bags.offsets, self.bags.tags, self.bags.labels, leak=self.leak)
        value = self.penalised(W, float(seen.log_likelihood.sum()))
        return value, self.Z.T @ (seen.probabilities - np.exp(log_prior)) - self.penalty * W

    def surrogate(self, W: Array, posterior: Array) -> float:
        """g(w, w') of eq. 10 (less its constant), with the posterior taken at w'."""
        return self.penalised(W, float((posterior * log_softmax(self.Z @ W)).sum()))


class Whitening:
    """A scale for steps: curvature of the objective is near Z'Z times a typical p (1 - p), plus alpha.

    W = T V with T T' the inverse of that matrix makes the objective round in V.
    """

    def __init__(self, Z: Array, n_outputs: int) -> None:
        self.values, self.vectors = np.linalg.eigh(Z.T @ Z)
        self.values *= 0.5 / n_outputs

    def transform(self, alpha: float, share: float = 1.0) -> Array:
        """T for the penalty `alpha`, on a `share` of the segments it was made from."""
        curvature = share * np.maximum(self.values, 0.0) + max(alpha, BIAS_PENALTY)
        return self.vectors / np.sqrt(curvature)


def climb_lbfgs(
    objective: MarginalLikelihood, W: Array, T: Array, *, max_iterations: int, tolerance: float, report: Report
) -> Array:
    """Quasi-Newton on the marginal likelihood itself; ends when a step gains less than `tolerance` of its value."""
    from scipy.optimize import minimize

    shape = W.shape
    back = np.linalg.solve(T, W)

    def falling(v: Array) -> tuple[float, Array]:
        value, gradient = objective.value_and_gradient(T @ v.reshape(shape))
        return -value, -(T.T @ gradient).ravel()

    def after_iteration(intermediate_result) -> None:  # type: ignore[no-untyped-def]  # SciPy looks at this name
        if report(-float(intermediate_result.fun)):
            raise StopIteration

    options = {"maxiter": max_iterations, "ftol": tolerance, "gtol": 1e-6, "maxfun": 20 * max_iterations}
    found = minimize(falling, back.ravel(), jac=True, method="L-BFGS-B", callback=after_iteration, options=options)
    return T @ found.x.reshape(shape)


def climb_em(
    objective: MarginalLikelihood, W: Array, T: Array, *, max_iterations: int, tolerance: float, report: Report
) -> Array:
    """The paper's generalised EM (4.2): exact posterior, then one backtracked step up the surrogate (eq. 10, 21).

    The step never lowers the surrogate, so the likelihood never falls.
    """
    step, before = 1.0, -np.inf
    for _ in range(max_iterations):
        log_prior = log_softmax(objective.Z @ W)
        bags = objective.bags
        seen = bag_posterior(log_prior, bags.offsets, bags.tags, bags.labels, leak=objective.leak)
        value = objective.penalised(W, float(seen.log_likelihood.sum()))
        if report(value) or value - before <= tolerance * abs(value):
            break
        before = value
        gradient = objective.Z.T @ (seen.probabilities - np.exp(log_prior)) - objective.penalty * W
        direction = T @ (T.T @ gradient)
        slope = float((gradient * direction).sum())
        here = objective.penalised(W, float((seen.probabilities * log_prior).sum()))
        step *= 4.0
        while objective.surrogate(W + step * direction, seen.probabilities) < here + 0.3 * step * slope:
            step *= 0.5
            if step < 1e-12:
                return W
        W = W + step * direction
    return W


SOLVERS = {"lbfgs": climb_lbfgs, "em": climb_em}
