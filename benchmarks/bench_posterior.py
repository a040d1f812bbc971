"""The exact posterior against the paper's forward algorithm in NumPy, and how its time grows."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from miml_core.posterior import bag_posterior, warm

Array = NDArray[np.float64]


def forward_in_numpy(prior: Array) -> Array:
    """Run algorithm 1 of Pham et al. (2015), every class required: one step per segment, by arrays of subsets."""
    n, r = prior.shape
    masks = np.arange(1 << r)
    has = (masks[:, None] >> np.arange(r)) & 1 == 1
    without = masks[:, None] & ~(1 << np.arange(r))
    joint = np.empty_like(prior)
    for i in range(n):
        a = np.zeros(1 << r)
        a[0] = 1.0
        for j in range(n):
            if j != i:
                a = (np.where(has, prior[j], 0.0) * (a[:, None] + a[without])).sum(axis=1)
        joint[i] = prior[i] * (a[-1] + a[(len(a) - 1) & ~(1 << np.arange(r))])
    return joint


def seconds(work: Callable[[], object], least: float = 0.3) -> float:
    """Return the best of several runs, each long enough to be measured, after one that may have to compile."""
    work()
    best, began = np.inf, time.perf_counter()
    while time.perf_counter() - began < least or best == np.inf:
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return float(best)


def one_bag(n: int, r: int) -> tuple[Array, list[int], NDArray[np.int8]]:
    scores = np.random.default_rng(0).standard_normal((n, r))
    return scores - np.logaddexp.reduce(scores, axis=1, keepdims=True), [0, n], np.ones((1, r), np.int8)


def run() -> None:
    warm()
    log_prior, offsets, tags = one_bag(20, 10)
    ours = seconds(lambda: bag_posterior(log_prior, offsets, tags))
    theirs = seconds(lambda: forward_in_numpy(np.exp(log_prior)), least=0.0)
    print(f"|R| = 10, n = 20: {theirs / ours:.0f} times as fast as the forward algorithm in NumPy (aim: 100)")
    _growth("segments, |R| = 8", "n", [(n, one_bag(n, 8)) for n in (200, 400, 800, 1600)], lambda n: n)
    _growth("tags, n = 40", "|R| 2^|R|", [(r, one_bag(40, r)) for r in (8, 10, 12, 14)], lambda r: r * 2.0**r)


def _growth(what: str, law: str, cases: list[tuple[int, tuple]], size: Callable[[int], float]) -> None:
    times = [(number, seconds(lambda case=case: bag_posterior(*case), least=0.1)) for number, case in cases]
    first, start = times[0]
    steps = ", ".join(f"{number}: {t / start:.1f} ({size(number) / size(first):.1f})" for number, t in times)
    print(f"time by number of {what}, and by the law {law} in brackets: {steps}")
