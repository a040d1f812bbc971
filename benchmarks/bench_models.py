"""ORed-LR against its own matrix products, against candidate-label EM, warm against cold, and how it grows."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from benchmarks.bench_posterior import seconds
from benchmarks.bench_sim import hja
from miml_core import BagSet
from miml_core.models import MODELS
from miml_core.models.calibration import log_softmax
from miml_core.models.ored_lr_likelihood import MarginalLikelihood


def run() -> None:
    bags = hja()
    _objective(bags)
    _against_candidates(bags)
    _warm_against_cold(bags)
    _growth()


def _objective(bags: BagSet) -> None:
    """Time one objective and gradient in units of the two matrix products and the softmax it cannot do without."""
    Z = np.concatenate([(bags.X - bags.X.mean(0)) / (bags.X.std(0) + 1e-9), np.ones((bags.n_segments, 1))], axis=1)
    W = 0.1 * np.random.default_rng(0).standard_normal((Z.shape[1], bags.n_classes))
    objective = MarginalLikelihood(Z, bags, leak=0.01, alpha=1.0)
    least = seconds(lambda: Z.T @ np.exp(log_softmax(Z @ W)))
    ours = seconds(lambda: objective.value_and_gradient(W))
    print(f"one objective and gradient: {ours / least:.1f} times its own products and softmax (aim: at most 3)")


def _against_candidates(bags: BagSet) -> None:
    ored = _time(lambda: MODELS["ored-lr"](leak=0.01).fit(bags))
    candidate = _time(lambda: MODELS["candidate-em"]().fit(bags))
    ratio = f"{ored / candidate:.2f} of candidate-label EM's {candidate:.1f} s (aim: below 1)"
    print(f"a fit with alpha chosen: {ored:.1f} s, {ratio}")


def _warm_against_cold(bags: BagSet) -> None:
    model = MODELS["ored-lr"](background=True, leak=0.01)
    cold = _time(lambda: model.fit(bags))
    guess = model.annotate(bags)[:, : bags.n_classes].argmax(axis=1)
    labels = np.full(bags.n_segments, -1)
    rows = np.random.default_rng(0).permutation(bags.n_segments)
    allowed = rows[bags.tags[bags.bag_of[rows], guess[rows]] >= 0][:50]
    labels[allowed] = guess[allowed]
    corrected = bags.replace(labels=labels)
    again = _time(lambda: MODELS["ored-lr"](background=True, leak=0.01).fit(corrected, warm_start=model))
    print(f"retraining after 50 corrections: {again / cold:.2f} of a cold fit's {cold:.1f} s (aim: at most 0.33)")


def _growth() -> None:
    """Time of a fit with alpha given, by number of bags and of classes."""
    base = _time(lambda: _fit(500, 10))
    for n_bags, n_classes in ((1000, 10), (2000, 10), (500, 20), (500, 40)):
        times = _time(lambda b=n_bags, c=n_classes: _fit(b, c)) / base
        print(f"{n_bags} bags, {n_classes} classes: {times:.1f} times 500 bags, 10 classes")


def _fit(n_bags: int, n_classes: int) -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, n_classes, (n_bags, 9))
    truth = np.where(rng.random(truth.shape) < 0.6, truth[:, :1], truth)
    X = rng.standard_normal((n_classes, 38))[truth.ravel()] + rng.standard_normal((9 * n_bags, 38))
    tags = np.full((n_bags, n_classes), -1)
    np.put_along_axis(tags, truth, 1, axis=1)
    bags = BagSet(X, np.arange(n_bags + 1) * 9, tags, [str(c) for c in range(n_classes)])
    MODELS["ored-lr"](alpha=1.0, max_iter=40, tol=0.0).fit(bags)


def _time(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
