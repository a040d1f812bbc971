"""Three solvers that maximise the penalised likelihood of ORed logistic regression.

Features are correlated, which makes plain gradient steps slow; all three step in the coordinates of `Whitening`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from miml_core.models.ored_lr_likelihood import BIAS_PENALTY, MarginalLikelihood

Array = NDArray[np.float64]
Report = Callable[[float], bool]
"""Called once per iteration with the objective; if it returns True, the solver returns the current weights."""


class Whitening:
    """A change of coordinates in which the objective has nearly the same curvature in all directions.

    The curvature in the weights of class c is near sum_i [p_i (1 - p_i) - q_i (1 - q_i)] z_i z_i' + alpha, with p the
    prior and q the posterior: the information of known labels, less the part that the tags leave hidden. It is computed
    once, at the first weights of a fit, on some thousands of segments; W = T V with T T' its inverse.

    Parameters
    ----------
    objective : MarginalLikelihood
    W : (D, K) float
        The weights at which the curvature is computed.
    """

    SEGMENTS = 4000
    OWN_BLOCKS = 150
    """With more columns than this, all classes share one block up to scale: one block per class would cost too much."""

    def __init__(self, objective: MarginalLikelihood, W: Array) -> None:
        _, log_prior, q = objective.e_step(W)
        p = np.exp(log_prior)
        hidden = np.maximum(p * (1 - p) - q * (1 - q), 0.1 * p * (1 - p))
        every = max(1, len(p) // self.SEGMENTS)
        Z, hidden = objective.Z[::every], every * hidden[::every]
        if Z.shape[1] <= self.OWN_BLOCKS:
            blocks = np.stack([(Z * weight[:, None]).T @ Z for weight in hidden.T])
            self.values, self.vectors = np.linalg.eigh(blocks)
        else:
            values, vectors = np.linalg.eigh((Z * hidden.sum(axis=1)[:, None]).T @ Z)
            shares, total = hidden.sum(axis=0), hidden.sum()
            shares = shares / total if total > 0 else np.full(len(shares), 1.0 / len(shares))  # one class is certain
            self.values = values * shares[:, None]
            self.vectors = vectors[None]

    def scale(self, alpha: float, share: float = 1.0) -> Coordinates:
        """Return the coordinates for the penalty `alpha` and a `share` of the bags."""
        curvature = share * np.maximum(self.values, 0.0) + max(alpha, BIAS_PENALTY)
        return Coordinates(np.sqrt(curvature), self.vectors)


class Coordinates:
    """Conversion between weights W and coordinates V: W = T V with T = vectors / root, one T per class.

    Parameters
    ----------
    root : (K, D) float
    vectors : (K or 1, D, D) float
    """

    def __init__(self, root: Array, vectors: Array) -> None:
        self.root, self.vectors = root, vectors

    def to_weights(self, V: Array) -> Array:
        """Return the (D, K) weights of (K, D) coordinates."""
        return (self.vectors @ (V / self.root)[:, :, None])[:, :, 0].T

    def from_weights(self, W: Array) -> Array:
        """Return the (K, D) coordinates of (D, K) weights."""
        return self.root * self._rotated(W)

    def from_gradient(self, G: Array) -> Array:
        """Return the (K, D) gradient in V, T'G, of a (D, K) gradient in W."""
        return self._rotated(G) / self.root

    def _rotated(self, W: Array) -> Array:
        return (np.swapaxes(self.vectors, 1, 2) @ W.T[:, :, None])[:, :, 0]


def maximise_lbfgs(
    objective: MarginalLikelihood,
    W: Array,
    scale: Coordinates,
    *,
    max_iter: int,
    tol: float,
    report: Report,
    seed: int = 0,
) -> Array:
    """Maximise the likelihood (eq. 6) by L-BFGS, until a step gains less than the share `tol` of its value.

    Parameters
    ----------
    objective : MarginalLikelihood
    W : (D, K) float
        The first weights.
    scale : Coordinates
    max_iter : int
    tol : float
    report : callable
    seed : int
        Not used; all solvers have the same parameters.

    Returns
    -------
    (D, K) float
        The weights.
    """
    from scipy.optimize import minimize

    start = scale.from_weights(W)

    def negative(v: Array) -> tuple[float, Array]:
        value, gradient = objective.value_and_gradient(scale.to_weights(v.reshape(start.shape)))
        return -value, -scale.from_gradient(gradient).ravel()

    def after_iteration(intermediate_result) -> None:  # type: ignore[no-untyped-def]  # SciPy requires this name
        if report(-float(intermediate_result.fun)):
            raise StopIteration

    options = {"maxiter": max_iter, "maxfun": 20 * max_iter, "ftol": tol, "gtol": 1e-6, "maxcor": 20}
    found = minimize(negative, start.ravel(), jac=True, method="L-BFGS-B", callback=after_iteration, options=options)
    return scale.to_weights(found.x.reshape(start.shape))


def maximise_em(
    objective: MarginalLikelihood,
    W: Array,
    scale: Coordinates,
    *,
    max_iter: int,
    tol: float,
    report: Report,
    seed: int = 0,
) -> Array:
    """Maximise the likelihood by the paper's generalised EM (4.2); parameters and returns as for `maximise_lbfgs`.

    Each iteration is an E-step (eq. 11) and one gradient step on the surrogate (eq. 21) with backtracking. The step
    never lowers the surrogate, so the likelihood never decreases.
    """
    step, before = 1.0, -np.inf
    for _ in range(max_iter):
        value, log_prior, posterior = objective.e_step(W)
        if report(value) or value - before <= tol * abs(value):
            break
        before = value
        gradient = objective.gradient(W, log_prior, posterior)
        direction = scale.to_weights(scale.from_gradient(gradient))
        slope = float((gradient * direction).sum())
        here = objective.penalised(W, float((posterior * log_prior).sum()))
        step *= 4.0
        while objective.surrogate(W + step * direction, posterior) < here + 0.3 * step * slope:
            step *= 0.5
            if step < 1e-12:
                return W
        W = W + step * direction
    return W


def maximise_stochastic(
    objective: MarginalLikelihood,
    W: Array,
    scale: Coordinates,
    *,
    max_iter: int,
    tol: float,
    report: Report,
    seed: int = 0,
) -> Array:
    """Maximise the likelihood by stochastic gradient ascent (6.6.2, eq. 29); parameters as for `maximise_lbfgs`.

    An iteration is one pass over all bags, `_SAMPLE` bags per step. The step size is one over the number of the step,
    so that the noise of the samples averages out; the steps of the first pass add up to about one Newton step. The
    weights after the later half of the passes are averaged.
    """
    rng = np.random.default_rng(seed)
    n_bags, passes = objective.bags.n_bags, min(max_iter, _PASSES)
    taken, before = -(-n_bags // _SAMPLE), -np.inf
    later: list[Array] = []
    for number in range(passes):
        value, order = 0.0, rng.permutation(n_bags)
        for start in range(0, n_bags, _SAMPLE):
            chosen = order[start : start + _SAMPLE]
            found, gradient = objective.subset(chosen).value_and_gradient(W)
            W = W + scale.to_weights(scale.from_gradient(gradient * n_bags / len(chosen))) / taken
            value, taken = value + found, taken + 1
        later += [W] if 2 * number >= passes else []
        if report(value) or abs(value - before) <= tol * abs(value):
            break
        before = value
    return np.mean(later, axis=0) if later else W


_SAMPLE, _PASSES = 100, 30

SOLVERS = {"lbfgs": maximise_lbfgs, "em": maximise_em, "stochastic": maximise_stochastic}
