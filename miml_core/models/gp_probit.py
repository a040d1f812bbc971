"""The multiple-instance Gaussian process probit model (Wang and Pinar 2019), one process per class.

For each class, f is a Gaussian process over segments, approximated by R inducing points (FITC, eqs. 5-6); a segment
carries the class with probability Phi(f) (eq. 7); a bag has the tag if any of its segments carries it (eq. 8).
Written in whitened inducing values v = L^-1 u with L L' = K_zz, and A = L^-1 K_zx:

    v ~ N(0, I),   f_i | v ~ N(a_i' v, k_i),   m_i ~ N(f_i, 1),   segment i carries the class iff m_i > 0

A and the posterior covariance of v depend on the features alone, so all classes share them.

Section 3.4 of the paper divides by the variance where the standard deviation is meant; this is corrected here, and
tested. Eqs. 26-28 draw m given u with variance 1, as if the inducing points determined f in training (k_i = 0). Under
that model the variational bound is the same up to a constant, so it is kept: with 1 + k_i the sampler's AUC on HJA fell
from .80 to .78 (one round, 2 000 sweeps).

The paper's mean log-likelihood of -.069 for hja (Table 4) cannot be in natural logarithms: the class frequencies alone
give -.241, and its hja_1, which it ranks little better than chance (AUC .645), would lie far above that class's. In
decimal ones it agrees: ours is -.083 at AUC .82 (-.191 in natural ones; three rounds of the paper's protocol), and
-.055 at AUC .76 where the 5 234 segments nobody labelled count as negatives, as its MAP for rare classes suggests.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import cho_factor, cho_solve, cholesky, solve_triangular
from scipy.spatial.distance import cdist
from scipy.special import entr, log_ndtr, ndtr

from miml_core.bags import UNKNOWN, BagSet
from miml_core.models.background import lower_background, supported_shift
from miml_core.models.base import Model, RandomState, draw_seed
from miml_core.models.candidates import refuse_all_absent
from miml_core.models.cross_fit import WatchedProgress, calibrate_by_folds
from miml_core.models.feature_maps import divisors, mean_and_spread, scale_by_division
from miml_core.models.fit_progress import FitProgress, Phase, Progress
from miml_core.models.probit_moments import FREE, IN_POSITIVE_BAG, NEGATIVE, POSITIVE, expected_m
from miml_core.posterior import bag_posterior

Array = NDArray[np.float64]
_JITTER = 1e-6
_KEPT_SAMPLES = 250


class GPProbit(Model):
    """Fit one Gaussian process probit per class to bags whose segments carry a tag or not.

    Parameters
    ----------
    kernel : "exponential" or "gaussian"
        Covariance of two segments at distance r: exp(-r / length_scale), or exp(-r² / (2 length_scale²)).
    length_scale : number or "auto"
        "auto" is the paper's heuristic, the square root of the number of (standardised) features.
    n_inducing : int
        Number of inducing points, from k-means++ (R of the paper).
    inference : "vi" or "gibbs"
        Variational inference (eqs. 17-22), or the collapsed Gibbs sampler (eqs. 26-28): slower, asymptotically exact.
    max_iter : int
        Maximum number of variational updates, 25 as in the paper (section 4).
    tol : float
        The updates end when the ELBO rises by less than this share. On HJA, 1e-6 takes 170 to 190 updates and
        lowers the AUC a little (.80 instead of .82).
    n_samples, burn_in : int
        Number of Gibbs sweeps that are kept, and that are discarded before them.
    background : bool
        Whether the probabilities have a last column "none of the classes". `annotate` assigns it at most the share of
        segments that the tags support (`background.py`); without that limit 78 % of the segments of HJA filtered, all
        of them calls, were assigned to it.
    leak : float
        Probability that a tag is true without a segment of it, when annotating.
    random_state : int, Generator, RandomState or None
        An integer gives the same fit each time.

    Attributes
    ----------
    inducing_ : (R, d) float
        Inducing points, standardised.
    means_ : (R, C) float
        Posterior means of the whitened inducing values.
    covariance_ : (R, R) float
        Their posterior covariance, the same for all classes.
    samples_ : (S, R, C) float or None
        Gibbs draws of them; None after variational inference.
    curve_ : list of float
        ELBO before each variational update.

    Examples
    --------
    >>> from miml_core import BagSet
    >>> bags = BagSet([[0.0], [5.0], [5.2], [0.1]], [0, 2, 3, 4], [[1, 1], [-1, 1], [1, -1]], ["wren", "robin"])
    >>> model = GPProbit(n_inducing=4).fit(bags)
    >>> model.annotate(bags).argmax(axis=1)
    array([0, 1, 1, 0])
    >>> model.informativeness([[0.0], [2.5]]).shape
    (2,)
    """

    name = "gp-probit"

    centre_: Array
    spread_: Array
    inducing_: Array
    covariance_: Array
    means_: Array
    samples_: Array | None = None
    background_shift_: float

    def __init__(
        self,
        *,
        kernel: str = "exponential",
        length_scale: float | str = "auto",
        n_inducing: int = 50,
        inference: str = "vi",
        max_iter: int = 25,
        tol: float = 1e-6,
        n_samples: int = 5000,
        burn_in: int = 1000,
        background: bool = False,
        leak: float = 0.0,
        random_state: RandomState = 0,
    ) -> None:
        self.kernel = kernel
        self.length_scale = length_scale
        self.n_inducing = n_inducing
        self.inference = inference
        self.max_iter = max_iter
        self.tol = tol
        self.n_samples = n_samples
        self.burn_in = burn_in
        self.background = background
        self.leak = leak
        self.random_state = random_state

    # fit

    def fit(
        self, bags: BagSet, y: object = None, *, progress: Progress | None = None, warm_start: Model | None = None
    ) -> Self:
        seed = draw_seed(self.random_state)
        watched = WatchedProgress(progress)
        earlier = self._usable(self._begin_fit(warm_start), bags)
        if not self.background:
            refuse_all_absent(bags)
        self._prepare(bags, earlier, seed)
        known = known_signs(bags)
        whitened, residual = self._project(bags.X)
        if self.inference == "vi":
            start = np.zeros((len(whitened), bags.n_classes)) if earlier is None else earlier.means_
            self._variational(whitened, residual, known, bags.offsets, start, watched)
        else:
            self._gibbs(whitened, known, bags.offsets, seed, watched)
        if self.background:
            self.background_shift_ = supported_shift(self._log_proba(bags.X), bags, leak=self.leak)
        self.classes_ = list(bags.classes)
        if earlier is None:
            once = self.inference != "vi"
            calibrate_by_folds(self, bags, self._log_proba(bags.X), seed=seed, progress=watched, once=once)
        else:
            self.set_calibration(earlier.calibration)
        return self

    def _usable(self, earlier: Model | None, bags: BagSet) -> GPProbit | None:
        """Return the earlier fit if its inducing points and classes are those of this one."""
        if not isinstance(earlier, GPProbit):
            return None
        same = all(getattr(earlier, name) == getattr(self, name) for name in ("kernel", "length_scale", "n_inducing"))
        same = same and earlier.classes_ == bags.classes and earlier.n_features_ == bags.X.shape[1]
        return earlier if same else None

    def _prepare(self, bags: BagSet, earlier: GPProbit | None, seed: int) -> None:
        """Standardise the features and place the inducing points, or take both from the earlier fit."""
        self.n_features_ = bags.X.shape[1]
        if earlier is not None:
            self.centre_, self.spread_, self.inducing_ = earlier.centre_, earlier.spread_, earlier.inducing_
        else:
            self.centre_, spread = mean_and_spread(bags.X)
            self.spread_ = divisors(self.centre_, spread)
            self.inducing_ = _inducing_points(self._standardise(bags.X), self.n_inducing, seed)
        gram = self._gram(self.inducing_, self.inducing_)
        self.factor_ = cholesky(gram + _JITTER * np.eye(len(gram)), lower=True)

    def _standardise(self, X: Array) -> Array:
        return scale_by_division(X, self.centre_, self.spread_)

    def _gram(self, X: Array, Z: Array) -> Array:
        scale = np.sqrt(self.n_features_) if self.length_scale == "auto" else float(self.length_scale)
        if self.kernel == "exponential":
            return np.exp(-cdist(X, Z) / scale)
        return np.exp(-0.5 * cdist(X, Z, "sqeuclidean") / scale**2)

    def _project(self, X: Array) -> tuple[Array, Array]:
        """Return A (R, N), and k (N,), the variance of f given the inducing points (the diagonal in eq. 6)."""
        cross = self._gram(self.inducing_, self._standardise(X))
        whitened = solve_triangular(self.factor_, cross, lower=True)
        return whitened, np.maximum(1.0 + _JITTER - (whitened**2).sum(axis=0), 0.0)

    def _variational(
        self,
        whitened: Array,
        residual: Array,
        known: NDArray[np.int8],
        offsets: NDArray[np.int64],
        start: Array,
        progress: Progress | None,
    ) -> None:
        """Repeat closed-form updates; after eq. 19 the ELBO is the data term minus KL(Q(v) || p(v))."""
        precision = np.eye(len(whitened)) + whitened @ whitened.T
        self.covariance_ = _inverse(precision)  # eq. 17
        constant = (
            -0.5
            * known.shape[1]
            * (
                residual.sum()
                + np.einsum("rn,rs,sn->", whitened, self.covariance_, whitened, optimize=True)
                + np.trace(self.covariance_)
                - len(whitened)
                + np.linalg.slogdet(precision)[1]
            )
        )
        fit_progress = FitProgress(progress, [Phase(self.max_iter)])
        self.means_, self.samples_, self.curve_ = start, None, []
        for step in range(self.max_iter):
            mean_m, evidence = expected_m(whitened.T @ self.means_, known, offsets)  # eqs. 19, 21-23
            elbo = evidence - 0.5 * float((self.means_**2).sum()) + float(constant)
            self.curve_.append(elbo)
            if fit_progress.step(0, objective=elbo):
                break
            if step and elbo - self.curve_[-2] < self.tol * abs(elbo):
                break
            self.means_ = self.covariance_ @ (whitened @ mean_m)  # eq. 18

    def _gibbs(
        self,
        whitened: Array,
        known: NDArray[np.int8],
        offsets: NDArray[np.int64],
        seed: int,
        progress: Progress | None,
    ) -> None:
        """Draw v given m, then each m given v and the signs of its bag (eqs. 26-28); keep some of the draws of v."""
        from miml_core.models.gp_probit_kernels import sample_m

        rng = np.random.default_rng(seed)
        covariance = _inverse(np.eye(len(whitened)) + whitened @ whitened.T)
        root = cholesky(covariance, lower=True)
        n_classes, n_sweeps = known.shape[1], self.burn_in + self.n_samples
        thin = max(1, self.n_samples // _KEPT_SAMPLES)
        fit_progress = FitProgress(progress, [Phase(n_sweeps)])
        m = np.where(np.isin(known.T, (POSITIVE, IN_POSITIVE_BAG)), 0.5, -0.5)
        signs = np.ascontiguousarray(known.T)
        kept, self.curve_ = [], []
        for sweep in range(n_sweeps):
            v = covariance @ (whitened @ m.T) + root @ rng.standard_normal((len(whitened), n_classes))
            means = v.T @ whitened
            for c in range(n_classes):
                sample_m(rng, means[c], signs[c], offsets, m[c])
            if sweep >= self.burn_in and (sweep - self.burn_in) % thin == 0:
                kept.append(v)
            if fit_progress.step(0) and kept:
                break
        self.samples_ = np.stack(kept)
        self.means_, self.covariance_ = self.samples_.mean(axis=0), covariance

    def _check_parameters(self) -> None:
        self._check_choice("kernel", "exponential", "gaussian")
        self._check_choice("inference", "vi", "gibbs")
        self._check_number("length_scale", above=0, also="auto")
        self._check_number("n_inducing", at_least=1, whole=True)
        self._check_number("max_iter", at_least=1, whole=True)
        self._check_number("tol", at_least=0)
        self._check_number("n_samples", at_least=1, whole=True)
        self._check_number("burn_in", at_least=0, whole=True)
        self._check_flag("background")
        self._check_number("leak", at_least=0, below=1)

    # predict

    def predict_each(self, X: ArrayLike) -> Array:
        """Return the (N, C) probability of each class by itself, the paper's binary model; rows need not sum to 1."""
        return ndtr(self._scores(self._check_features(X)))

    def predict_proba(self, X: ArrayLike) -> Array:
        return self._calibrated(np.exp(self._log_proba(self._check_features(X))))

    def annotate(self, bags: BagSet) -> Array:
        self._check_bags(bags)
        log_prior = self._log_proba(bags.X)
        if self.background:
            log_prior = lower_background(log_prior, self.background_shift_)
        posterior = bag_posterior(log_prior, bags.offsets, bags.tags, bags.labels, leak=self.leak)
        return self._calibrated_given_tags(posterior.probabilities)

    def predict_tags(self, bags: BagSet) -> Array:
        """Return (B, C) 1 - P(all m_i < 0), the normal integral over the bag's joint distribution (section 3.4)."""
        from miml_core.models.gp_probit_bags import bag_probabilities

        self._check_bags(bags)
        whitened, residual = self._project(bags.X)
        return bag_probabilities(self.means_, self.covariance_, whitened, residual, bags.offsets, self.samples_)

    def informativeness(self, X: ArrayLike) -> Array:
        """Return (N,) BALD: the information on f in a segment's label, in nats, summed over the classes.

        The entropy of the mean prediction minus the mean entropy (Houlsby et al. 2011), by Gauss-Hermite quadrature.
        """
        whitened, residual = self._project(self._check_features(X))
        mean, variance = self._moments(whitened, residual)
        nodes, weights = np.polynomial.hermite_e.hermegauss(24)
        p = ndtr(mean + np.sqrt(variance) * nodes[:, None, None])
        weights = (weights / weights.sum())[:, None, None]
        average = (weights * p).sum(axis=0)
        spread = _entropy(average) - (weights * _entropy(p)).sum(axis=0)
        return np.maximum(spread, 0.0).sum(axis=1)

    def _moments(self, whitened: Array, residual: Array) -> tuple[Array, Array]:
        """Return the mean (N, C) and variance (N, 1 or C) of f."""
        if self.samples_ is not None:
            f = np.einsum("rn,src->snc", whitened, self.samples_, optimize=True)
            return f.mean(axis=0), f.var(axis=0) + residual[:, None]
        spread = np.einsum("rn,rs,sn->n", whitened, self.covariance_, whitened, optimize=True)
        return whitened.T @ self.means_, (spread + residual)[:, None]

    def _scores(self, X: Array) -> Array:
        """Return the mean of m divided by its standard deviation, whose Phi is the probability."""
        whitened, residual = self._project(X)
        mean, variance = self._moments(whitened, residual)
        return mean / np.sqrt(1.0 + variance)

    def _log_proba(self, X: Array) -> Array:
        """Return log p(one class or none): proportional to the odds of each class by itself, and 1 for none."""
        scores = self._scores(X)
        log_odds = log_ndtr(scores) - log_ndtr(-scores)
        if self.background:
            log_odds = np.concatenate([log_odds, np.zeros((len(X), 1))], axis=1)
        return log_odds - np.logaddexp.reduce(log_odds, axis=1, keepdims=True)


def known_signs(bags: BagSet) -> NDArray[np.int8]:
    """Return (N, C) what tags and corrections imply for the sign of each m: a constant of `probit_moments`.

    Examples
    --------
    >>> bags = BagSet([[0.1], [0.9], [0.5]], [0, 2, 3], [[1, -1], [0, 1]], ["wren", "robin"])
    >>> FREE, NEGATIVE, IN_POSITIVE_BAG
    (0, 1, 3)
    >>> known_signs(bags)
    array([[3, 1],
           [3, 1],
           [0, 3]], dtype=int8)
    """
    tags = np.repeat(bags.tags, np.diff(bags.offsets), axis=0)
    known = np.select([tags < 0, tags > 0], [NEGATIVE, IN_POSITIVE_BAG], FREE).astype(np.int8)
    corrected = bags.labels != UNKNOWN
    known[corrected] = NEGATIVE
    named = np.flatnonzero(bags.labels >= 0)
    known[named, bags.labels[named]] = POSITIVE
    bag, label = bags.bag_of[named], bags.labels[named]
    explained = np.zeros(bags.tags.shape, dtype=bool)
    explained[bag, label] = True
    known[(known == IN_POSITIVE_BAG) & explained[bags.bag_of]] = FREE
    return known


def warm() -> None:
    """Compile the Gibbs sampler."""
    bags = BagSet([[0.0], [1.0]], [0, 1, 2], [[1], [-1]], ["a"])
    GPProbit(inference="gibbs", n_inducing=2, n_samples=2, burn_in=1).fit(bags)


def _inverse(matrix: Array) -> Array:
    """Return the inverse of a positive definite matrix."""
    return cho_solve(cho_factor(matrix), np.eye(len(matrix)))


def _entropy(p: Array) -> Array:
    return entr(p) + entr(1.0 - p)


def _inducing_points(X: Array, wanted: int, seed: int) -> Array:
    """Return the centres of k-means started by k-means++, or all distinct rows if there are no more than `wanted`."""
    from sklearn.cluster import KMeans

    distinct = np.unique(X, axis=0)
    if len(distinct) <= wanted:
        return distinct
    seed %= 2**32  # the largest that scikit-learn takes
    return KMeans(wanted, init="k-means++", n_init=1, max_iter=30, random_state=seed).fit(X).cluster_centers_
