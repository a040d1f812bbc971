"""Three ways up the penalised marginal likelihood of ORed logistic regression.

All three see one function, `MarginalLikelihood`: the log-likelihood of the bags (eq. 6 of Pham et al. 2015, with the
extensions of `posterior.py`) less alpha / 2 times the squared weights. Its gradient is that of the M-step (eq. 22)
taken at the current weights, so that one exact posterior pass yields value and gradient together.

Features are correlated, which makes plain gradients zigzag; `Whitening` gives all three better coordinates to step in.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from miml_core.bags import BagSet
from miml_core.models.calibration import log_softmax
from miml_core.posterior import training_posterior

Array = NDArray[np.float64]
Report = Callable[[float], bool]
"""Called once an iteration with the objective; a true answer stops the solver where it is."""

BIAS_PENALTY = 1e-3
"""Keeps the bias of a class that no bag has from running away; too small to matter for any other."""


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

    def on(self, chosen: NDArray[np.int64]) -> MarginalLikelihood:
        """The part that some of the bags contribute, with their share of the penalty."""
        share = len(chosen) / self.bags.n_bags
        rows = self.bags.rows_of(chosen)
        return MarginalLikelihood(self.Z[rows], self.bags[chosen], leak=self.leak, alpha=share * self.alpha)

    def look(self, W: Array) -> tuple[float, Array, Array]:
        """The objective, log p(y_i | x_i, w) and p(y_i | tags, labels, w): one exact pass (the E-step, eq. 11)."""
        log_prior = log_softmax(self.Z @ W)
        merged = merge_background(log_prior, self.bags.n_classes)
        seen = training_posterior(merged, self.bags, leak=self.leak)
        posterior = spread_background(seen.probabilities, log_prior, merged)
        return self.penalised(W, float(seen.log_likelihood.sum())), log_prior, posterior

    def value_and_gradient(self, W: Array) -> tuple[float, Array]:
        """The objective and its gradient in the (D, K) weights: (posterior - prior) times the features, eq. 22."""
        value, log_prior, posterior = self.look(W)
        return value, self.gradient(W, log_prior, posterior)

    def gradient(self, W: Array, log_prior: Array, posterior: Array) -> Array:
        return self.Z.T @ (posterior - np.exp(log_prior)) - self.penalty * W

    def surrogate(self, W: Array, posterior: Array) -> float:
        """g(w, w') of eq. 10 (less its constant), with the posterior taken at w'."""
        return self.penalised(W, float((posterior * log_softmax(self.Z @ W)).sum()))


class CandidateLikelihood(MarginalLikelihood):
    """The surrogate (eq. 10) of a posterior that stays as it is given: one peak, and no pass over tag sets."""

    def __init__(self, Z: Array, bags: BagSet, posterior: Array, *, alpha: float) -> None:
        super().__init__(Z, bags, leak=0.0, alpha=alpha)
        self.posterior = posterior

    def look(self, W: Array) -> tuple[float, Array, Array]:
        log_prior = log_softmax(self.Z @ W)
        return self.penalised(W, float((self.posterior * log_prior).sum())), log_prior, self.posterior


def merge_background(log_prior: Array, n_classes: int) -> Array:
    """(N, C) or (N, C + 1) from one column a class and any number of background columns."""
    if log_prior.shape[1] <= n_classes + 1:
        return log_prior
    parts = log_prior[:, n_classes:]
    top = parts.max(axis=1, keepdims=True)
    together = top + np.log(np.exp(parts - top).sum(axis=1, keepdims=True))
    return np.concatenate([log_prior[:, :n_classes], together], axis=1)


def spread_background(posterior: Array, log_prior: Array, merged: Array) -> Array:
    """The posterior of the merged background given back to its columns, each in proportion to its prior."""
    if log_prior.shape == merged.shape:
        return posterior
    last = merged.shape[1] - 1
    shares = np.exp(log_prior[:, last:] - merged[:, last:])
    return np.concatenate([posterior[:, :last], posterior[:, last:] * shares], axis=1)


class Whitening:
    """A change of coordinates in which the objective is nearly round, so that a climb takes few steps.

    The curvature in the weights of class c is near sum_i [p_i (1 - p_i) - q_i (1 - q_i)] z_i z_i' + alpha, with p the
    prior and q the posterior: what the tags would tell if labels were known, less what stays hidden. It is measured
    once, at the weights a fit starts from, on some thousands of segments; W = T V with T T' its inverse.
    """

    SEGMENTS = 4000
    OWN_BLOCKS = 150
    """With more inputs than this, all classes share one block, up to scale: a block each would cost too much."""

    def __init__(self, objective: MarginalLikelihood, W: Array) -> None:
        _, log_prior, q = objective.look(W)
        p = np.exp(log_prior)
        hidden = np.maximum(p * (1 - p) - q * (1 - q), 0.1 * p * (1 - p))
        every = max(1, len(p) // self.SEGMENTS)
        Z, hidden = objective.Z[::every], every * hidden[::every]
        if Z.shape[1] <= self.OWN_BLOCKS:
            blocks = np.stack([(Z * weight[:, None]).T @ Z for weight in hidden.T])
            self.values, self.vectors = np.linalg.eigh(blocks)
        else:
            values, vectors = np.linalg.eigh((Z * hidden.sum(axis=1)[:, None]).T @ Z)
            self.values = values * (hidden.sum(axis=0) / hidden.sum())[:, None]
            self.vectors = vectors[None]

    def scale(self, alpha: float, share: float = 1.0) -> Coordinates:
        """Coordinates for the penalty `alpha`, on a `share` of the bags."""
        curvature = share * np.maximum(self.values, 0.0) + max(alpha, BIAS_PENALTY)
        return Coordinates(np.sqrt(curvature), self.vectors)


class Coordinates:
    """W = T V with T = U / root, one T a class; `values` are (K, D), `vectors` (K or 1, D, D)."""

    def __init__(self, root: Array, vectors: Array) -> None:
        self.root, self.vectors = root, vectors

    def weights(self, V: Array) -> Array:
        """W of (K, D) coordinates."""
        return (self.vectors @ (V / self.root)[:, :, None])[:, :, 0].T

    def of_weights(self, W: Array) -> Array:
        """V of (D, K) weights."""
        return self.root * self._rotated(W)

    def of_gradient(self, G: Array) -> Array:
        """The gradient in V, T'G, of a gradient in W."""
        return self._rotated(G) / self.root

    def _rotated(self, W: Array) -> Array:
        return (np.swapaxes(self.vectors, 1, 2) @ W.T[:, :, None])[:, :, 0]


def climb_lbfgs(
    objective: MarginalLikelihood,
    W: Array,
    scale: Coordinates,
    *,
    max_iterations: int,
    tolerance: float,
    report: Report,
    seed: int = 0,
) -> Array:
    """Quasi-Newton on the marginal likelihood itself; ends when a step gains less than `tolerance` of its value."""
    from scipy.optimize import minimize

    start = scale.of_weights(W)

    def falling(v: Array) -> tuple[float, Array]:
        value, gradient = objective.value_and_gradient(scale.weights(v.reshape(start.shape)))
        return -value, -scale.of_gradient(gradient).ravel()

    def after_iteration(intermediate_result) -> None:  # type: ignore[no-untyped-def]  # SciPy looks at this name
        if report(-float(intermediate_result.fun)):
            raise StopIteration

    options = {"maxiter": max_iterations, "maxfun": 20 * max_iterations, "ftol": tolerance, "gtol": 1e-6, "maxcor": 20}
    found = minimize(falling, start.ravel(), jac=True, method="L-BFGS-B", callback=after_iteration, options=options)
    return scale.weights(found.x.reshape(start.shape))


def climb_em(
    objective: MarginalLikelihood,
    W: Array,
    scale: Coordinates,
    *,
    max_iterations: int,
    tolerance: float,
    report: Report,
    seed: int = 0,
) -> Array:
    """The paper's generalised EM (4.2): exact posterior, then one backtracked step up the surrogate (eq. 10, 21).

    The step never lowers the surrogate, so the likelihood never falls.
    """
    step, before = 1.0, -np.inf
    for _ in range(max_iterations):
        value, log_prior, posterior = objective.look(W)
        if report(value) or value - before <= tolerance * abs(value):
            break
        before = value
        gradient = objective.gradient(W, log_prior, posterior)
        direction = scale.weights(scale.of_gradient(gradient))
        slope = float((gradient * direction).sum())
        here = objective.penalised(W, float((posterior * log_prior).sum()))
        step *= 4.0
        while objective.surrogate(W + step * direction, posterior) < here + 0.3 * step * slope:
            step *= 0.5
            if step < 1e-12:
                return W
        W = W + step * direction
    return W


def climb_stochastic(
    objective: MarginalLikelihood,
    W: Array,
    scale: Coordinates,
    *,
    max_iterations: int,
    tolerance: float,
    report: Report,
    seed: int = 0,
) -> Array:
    """Steps up on samples of the bags (6.6.2, eq. 29), in whitened coordinates; the later half is averaged.

    An iteration is one pass over all bags, `_SAMPLE` at a time; a step costs the same however many bags there are.
    Steps shrink as one over their number, so that the noise of the samples averages out: all the steps of the first
    pass together are about one Newton step.
    """
    rng = np.random.default_rng(seed)
    n_bags, passes = objective.bags.n_bags, min(max_iterations, _PASSES)
    taken, before = -(-n_bags // _SAMPLE), -np.inf
    later: list[Array] = []
    for number in range(passes):
        value, order = 0.0, rng.permutation(n_bags)
        for start in range(0, n_bags, _SAMPLE):
            chosen = order[start : start + _SAMPLE]
            found, gradient = objective.on(chosen).value_and_gradient(W)
            W = W + scale.weights(scale.of_gradient(gradient * n_bags / len(chosen))) / taken
            value, taken = value + found, taken + 1
        later += [W] if 2 * number >= passes else []
        if report(value) or abs(value - before) <= tolerance * abs(value):
            break
        before = value
    return np.mean(later, axis=0) if later else W


_SAMPLE, _PASSES = 100, 30

SOLVERS = {"lbfgs": climb_lbfgs, "em": climb_em, "stochastic": climb_stochastic}
