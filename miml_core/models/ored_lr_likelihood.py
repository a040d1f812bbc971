"""The likelihood of ORed logistic regression, its EM surrogate and their gradient (Pham et al. 2015, 3.2 and 4.2).

The background may have several columns of weights; their probabilities are summed before the posterior is computed and
the posterior is divided among them afterwards.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from miml_core.bags import BagSet
from miml_core.posterior import training_posterior

Array = NDArray[np.float64]

BIAS_PENALTY = 1e-3
"""Keeps the bias of a class that no bag has finite; too small to change any other."""


class MarginalLikelihood:
    """The penalised log-likelihood sum_b log p(tags_b, labels_b | X_b, w) - alpha / 2 |w|^2 (eq. 6).

    Parameters
    ----------
    Z : (N, D) float
        Design matrix; its last column is 1 and belongs to the bias.
    bags : BagSet
        Offsets, tags and labels of the same N segments.
    leak : float
        Probability that a tag is true without a segment of it.
    alpha : float
        Strength of the L2 penalty.
    scores : (N, C) float, optional
        Scores of a pretrained classifier, added to the exponents w_c' x_i of eq. 1.
    """

    def __init__(self, Z: Array, bags: BagSet, *, leak: float, alpha: float, scores: Array | None = None) -> None:
        self.Z, self.bags, self.leak, self.alpha, self.scores = Z, bags, leak, alpha, scores
        self.penalty = np.full((Z.shape[1], 1), float(alpha))
        self.penalty[-1] = min(alpha, BIAS_PENALTY)

    def subset(self, chosen: NDArray[np.int64]) -> MarginalLikelihood:
        """Return the likelihood of some of the bags, with their share of the penalty."""
        share = len(chosen) / self.bags.n_bags
        rows = self.bags.rows_of(chosen)
        scores = None if self.scores is None else self.scores[rows]
        return MarginalLikelihood(
            self.Z[rows], self.bags[chosen], leak=self.leak, alpha=share * self.alpha, scores=scores
        )

    def log_prior(self, W: Array) -> Array:
        """Return the (N, K) log p(y_i | x_i, w) (eq. 1)."""
        return label_log_prior(self.Z, W, self.scores)

    def e_step(self, W: Array) -> tuple[float, Array, Array]:
        """Compute the posterior of every segment's label at the weights W (eq. 11).

        Parameters
        ----------
        W : (D, K) float

        Returns
        -------
        objective : float
            Penalised log-likelihood (eq. 6).
        log_prior : (N, K) float
            log p(y_i | x_i, w) (eq. 1).
        posterior : (N, K) float
            p(y_i | tags, labels, X, w) (eq. 11).
        """
        log_prior = self.log_prior(W)
        merged = merge_background(log_prior, self.bags.n_classes)
        result = training_posterior(merged, self.bags, leak=self.leak)
        posterior = spread_background(result.probabilities, log_prior, merged)
        return self.penalised(W, float(result.log_likelihood.sum())), log_prior, posterior

    def surrogate(self, W: Array, posterior: Array) -> float:
        """Return g(w, w') without its constant, for the posterior at w' (eq. 10)."""
        return self.penalised(W, float((posterior * self.log_prior(W)).sum()))

    def gradient(self, W: Array, log_prior: Array, posterior: Array) -> Array:
        """Return the (D, K) gradient sum_i [posterior - prior] x_i - alpha w (eq. 22)."""
        return self.Z.T @ (posterior - np.exp(log_prior)) - self.penalty * W

    def value_and_gradient(self, W: Array) -> tuple[float, Array]:
        """Return the objective and its gradient, which equals the surrogate's at w' = w: both from one E-step."""
        value, log_prior, posterior = self.e_step(W)
        return value, self.gradient(W, log_prior, posterior)

    def penalised(self, W: Array, log_likelihood: float) -> float:
        return log_likelihood - 0.5 * float((self.penalty * W**2).sum())


class CandidateLikelihood(MarginalLikelihood):
    """The surrogate (eq. 10) for a fixed posterior: it is concave and needs no E-step.

    Parameters
    ----------
    posterior : (N, K) float
    counts : (N,) float, optional
        Number of times each segment counts; once if it is left out.
    """

    def __init__(
        self,
        Z: Array,
        bags: BagSet,
        posterior: Array,
        *,
        alpha: float,
        scores: Array | None = None,
        counts: Array | None = None,
    ) -> None:
        super().__init__(Z, bags, leak=0.0, alpha=alpha, scores=scores)
        self.posterior, self.counts = posterior, counts

    def e_step(self, W: Array) -> tuple[float, Array, Array]:
        log_prior = self.log_prior(W)
        each = (self.posterior * log_prior).sum(axis=1)
        total = float((each if self.counts is None else self.counts * each).sum())
        return self.penalised(W, total), log_prior, self.posterior

    def gradient(self, W: Array, log_prior: Array, posterior: Array) -> Array:
        if self.counts is None:
            return super().gradient(W, log_prior, posterior)
        return self.Z.T @ (self.counts[:, None] * (posterior - np.exp(log_prior))) - self.penalty * W


def label_log_prior(Z: Array, W: Array, scores: Array | None) -> Array:
    """Return the (N, K) log p(y | x, w) (eq. 1), with the (N, C) scores of a pretrained classifier in the exponents."""
    exponents = Z @ W
    if scores is not None:
        exponents[:, : scores.shape[1]] += scores
    return np.asarray(log_softmax(exponents, axis=1))


def merge_background(log_prior: Array, n_classes: int) -> Array:
    """Return (N, C) or (N, C + 1) log probabilities, with all background columns summed to one."""
    if log_prior.shape[1] <= n_classes + 1:
        return log_prior
    parts = log_prior[:, n_classes:]
    top = parts.max(axis=1, keepdims=True)
    together = top + np.log(np.exp(parts - top).sum(axis=1, keepdims=True))
    return np.concatenate([log_prior[:, :n_classes], together], axis=1)


def spread_background(posterior: Array, log_prior: Array, merged: Array) -> Array:
    """Return the posterior with the background divided among its columns in proportion to their priors."""
    if log_prior.shape == merged.shape:
        return posterior
    last = merged.shape[1] - 1
    shares = np.exp(log_prior[:, last:] - merged[:, last:])
    return np.concatenate([posterior[:, :last], posterior[:, last:] * shares], axis=1)
