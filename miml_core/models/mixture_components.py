"""Component densities of multi-instance mixture models (Foulds and Smyth 2011, section 4.2).

A family computes the sufficient statistics of all segments once. From them it computes, for all components together,
the log density of every segment (E-step) and the parameters that maximise the weighted log density plus the log prior
(M-step). Missing values are NaN and are integrated out: a component depends only on what was measured.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from miml_core.errors import BagtagError

Array = NDArray[np.float64]
_LOG_TAU = np.log(2 * np.pi)
_SHRINKAGE = 0.01  # kappa_P of Fraley and Raftery (2007): the prior mean counts as a hundredth of a segment
_PSEUDO_COUNT = 1.0  # pseudo-observations per cell of a categorical component

FAMILIES = ("gaussian-diag", "gaussian-full", "bernoulli", "multinomial", "markov")


class Family(Protocol):
    """Interface of a family of components; parameters are a dict of arrays with one row per component."""

    def check_values(self, X: Array) -> None:
        """Raise a `BagtagError` if the family has no density for some values."""

    def learn_prior(self, X: Array, n_components: int) -> None:
        """Set the prior, and whatever depends on the data as a whole, for a mixture of `n_components`."""

    def log_density(self, X: Array, parameters: dict[str, Array]) -> Array:
        """Return the (N, K) log density of every segment under every component."""

    def maximise(self, X: Array, weights: Array, before: dict[str, Array] | None) -> dict[str, Array]:
        """Return the parameters that maximise the log density with (N, K) weights, plus the log prior."""

    def log_prior(self, parameters: dict[str, Array]) -> float:
        """Return the log prior density of the parameters, up to a constant."""

    def statistics(self, X: Array) -> Array:
        """Return the (N, S) sufficient statistics that the other methods take as X."""


def make_family(name: str, n_values: int = 0) -> Gaussian | Categorical:
    """Return a family by its name; `n_values` is the number of categories or states of a discrete one."""
    if name in ("gaussian-diag", "gaussian-full"):
        return Gaussian(full=name.endswith("full"))
    return Categorical(name, n_values)


class Gaussian:
    """Normal components under the conjugate prior of Fraley and Raftery (2007), which keeps them from collapsing.

    mean | covariance ~ N(data mean, covariance / kappa);  covariance ~ inverse Wishart(nu = d + 2, scale S / K^(2/d)).
    The diagonal family has the same prior in each dimension alone (d = 1).
    """

    def __init__(self, *, full: bool) -> None:
        self.full = full

    def check_values(self, X: Array) -> None:
        """Accept every number."""

    def learn_prior(self, X: Array, n_components: int) -> None:
        missing = np.isnan(X)
        self.centre = np.nanmean(np.where(missing.all(axis=0), 0.0, X), axis=0)
        filled = np.where(missing, self.centre, X)
        spread = np.atleast_2d(np.cov(filled, rowvar=False, bias=True))
        spread += np.eye(X.shape[1]) * max(1e-10, 1e-6 * float(np.trace(spread)) / X.shape[1])
        d = X.shape[1]
        self.scale = spread / n_components ** (2 / d) if self.full else np.diag(spread) / n_components ** (2 / d)
        self.dof = d + 2 if self.full else 3

    def statistics(self, X: Array) -> Array:
        return X

    def log_density(self, X: Array, parameters: dict[str, Array]) -> Array:
        if self.full:
            return self._log_density_full(X, parameters)
        seen = ~np.isnan(X)
        X = np.where(seen, X, 0.0)
        precision = 1.0 / parameters["variance"]
        weighted = parameters["mean"] * precision
        constant = np.log(parameters["variance"]) + _LOG_TAU + parameters["mean"] * weighted
        return -0.5 * (X**2 @ precision.T) + X @ weighted.T - 0.5 * (seen.astype(float) @ constant.T)

    def _log_density_full(self, X: Array, parameters: dict[str, Array]) -> Array:
        result = np.empty((len(X), len(parameters["mean"])))
        for rows, seen in _patterns(X):
            for k, (mean, covariance) in enumerate(zip(parameters["mean"], parameters["covariance"])):
                root = np.linalg.cholesky(covariance[np.ix_(seen, seen)])
                z = solve_triangular(root, (X[rows][:, seen] - mean[seen]).T, lower=True)
                log_det = 2 * np.log(np.diag(root)).sum()
                result[rows, k] = -0.5 * ((z**2).sum(axis=0) + log_det + len(root) * _LOG_TAU)
        return result

    def maximise(self, X: Array, weights: Array, before: dict[str, Array] | None) -> dict[str, Array]:
        return self._maximise_full(X, weights, before) if self.full else self._maximise_diagonal(X, weights)

    def _maximise_diagonal(self, X: Array, weights: Array) -> dict[str, Array]:
        seen = (~np.isnan(X)).astype(float)
        X = np.where(seen > 0, X, 0.0) - self.centre * seen
        total, first, second = weights.T @ seen, weights.T @ X, weights.T @ X**2
        mean = first / (total + _SHRINKAGE)
        spread = second - first**2 / (total + _SHRINKAGE)
        return {"mean": mean + self.centre, "variance": (self.scale + spread) / (total + self.dof + 3)}

    def _maximise_full(self, X: Array, weights: Array, before: dict[str, Array] | None) -> dict[str, Array]:
        d, n_components = X.shape[1], weights.shape[1]
        means, covariances = np.empty((n_components, d)), np.empty((n_components, d, d))
        for k in range(n_components):
            complete, extra = self._complete(X, weights[:, k], before, k)
            w = weights[:, k]
            centred = complete - self.centre
            total, first = w.sum(), w @ centred
            spread = (centred * w[:, None]).T @ centred + extra - np.outer(first, first) / (total + _SHRINKAGE)
            means[k] = self.centre + first / (total + _SHRINKAGE)
            covariances[k] = (self.scale + spread) / (total + self.dof + d + 2)
        return {"mean": means, "covariance": covariances}

    def _complete(self, X: Array, w: Array, before: dict[str, Array] | None, k: int) -> tuple[Array, Array]:
        """Return X with missing values replaced by their expectation, and the covariance that this leaves out."""
        extra = np.zeros((X.shape[1], X.shape[1]))
        if not np.isnan(X).any():
            return X, extra
        mean = self.centre if before is None else before["mean"][k]
        covariance = np.atleast_2d(self.scale) if before is None else before["covariance"][k]
        complete = X.copy()
        for rows, seen in _patterns(X):
            if seen.all():
                continue
            gap = ~seen
            slope = np.linalg.solve(covariance[np.ix_(seen, seen)], covariance[np.ix_(seen, gap)])
            complete[np.ix_(rows, gap)] = mean[gap] + (X[rows][:, seen] - mean[seen]) @ slope
            left = covariance[np.ix_(gap, gap)] - covariance[np.ix_(gap, seen)] @ slope
            extra[np.ix_(gap, gap)] += w[rows].sum() * left
        return complete, extra

    def log_prior(self, parameters: dict[str, Array]) -> float:
        offset = parameters["mean"] - self.centre
        if not self.full:
            variance = parameters["variance"]
            inside = (self.dof + 3) * np.log(variance) + (self.scale + _SHRINKAGE * offset**2) / variance
            return -0.5 * float(inside.sum())
        total = 0.0
        for covariance, shift in zip(parameters["covariance"], offset):
            inverse = np.linalg.inv(covariance)
            log_det = np.linalg.slogdet(covariance)[1]
            total += (self.dof + len(shift) + 2) * log_det + np.sum(inverse * self.scale)
            total += _SHRINKAGE * shift @ inverse @ shift
        return -0.5 * float(total)


class Categorical:
    """Components that are products of categorical variables: naive Bayes on discrete features, or Markov chains.

    All three have log density t(x)' log theta, with t counting what happened:

    * "bernoulli": each feature is 0 or 1;
    * "multinomial": each feature is a category 0, 1, 2, ...;
    * "markov": a row is a sequence of states 0, 1, 2, ..., padded with NaN; t counts the first state and the moves.
    """

    def __init__(self, kind: str, n_values: int) -> None:
        self.kind = kind
        self.n_values = 2 if kind == "bernoulli" else n_values

    def check_values(self, X: Array) -> None:
        values = X[~np.isnan(X)]
        most = 1 if self.kind == "bernoulli" else np.inf
        if ((values < 0) | (values > most) | (values % 1 != 0)).any():
            wanted = "0 or 1" if self.kind == "bernoulli" else "whole numbers from 0"
            raise BagtagError(f"Components called {self.kind!r} need features that are {wanted}.")

    def learn_prior(self, X: Array, n_components: int) -> None:
        self.check_values(X)
        values = X[~np.isnan(X)]
        if self.kind != "bernoulli":
            self.n_values = int(values.max()) + 1 if len(values) else 1

    def statistics(self, X: Array) -> Array:
        states = np.arange(self.n_values)
        hot = (X[:, :, None] == states).astype(float)
        if self.kind != "markov":
            return hot.reshape(len(X), -1)
        moves = np.einsum("nls,nlt->nst", hot[:, :-1], hot[:, 1:])
        return np.concatenate([hot[:, 0], moves.reshape(len(X), -1)], axis=1)

    def log_density(self, X: Array, parameters: dict[str, Array]) -> Array:
        return X @ np.log(parameters["theta"]).T

    def maximise(self, X: Array, weights: Array, before: dict[str, Array] | None) -> dict[str, Array]:
        counts = weights.T @ X + _PSEUDO_COUNT
        totals = np.add.reduceat(counts, np.arange(0, counts.shape[1], self.n_values), axis=1)
        return {"theta": counts / np.repeat(totals, self.n_values, axis=1)}

    def log_prior(self, parameters: dict[str, Array]) -> float:
        return _PSEUDO_COUNT * float(np.log(parameters["theta"]).sum())


def _patterns(X: Array) -> list[tuple[NDArray[Any], NDArray[np.bool_]]]:
    """Return the rows that lack the same features, with a mask of the features that they have."""
    seen = ~np.isnan(X)
    if seen.all():
        return [(np.arange(len(X)), np.ones(X.shape[1], dtype=bool))]
    patterns, which = np.unique(seen, axis=0, return_inverse=True)
    return [(np.flatnonzero(which == number), pattern) for number, pattern in enumerate(patterns)]
