"""MIMLfast on a set of the size of the paper's largest: to its stopping rule, how time grows, beside ORed-LR.

The paper's MSRA set has 30 000 bags, 270 000 instances, 99 labels, 2.7 labels per bag, and took 12 minutes on 16 cores.
Ours is generated: a label has two kinds of segments, frequent and rare labels, nine segments of 100 features per bag.
"""

from __future__ import annotations

import resource
import time

import numpy as np

from miml_core import BagSet
from miml_core.models.mimlfast import MIMLFast
from miml_core.models.mimlfast_kernels import descend
from miml_core.models.mimlfast_training import Weights
from miml_core.models.ored_lr import ORedLR
from miml_core.models.ored_lr_solvers import SOLVERS

N_LABELS, BAG_SIZE, N_FEATURES = 99, 9, 100


def generated(n_bags: int, seed: int = 0) -> tuple[BagSet, np.ndarray]:
    """Return bags and the true labels of their segments; the labels look the same whatever the seed."""
    centres = 0.6 * np.random.default_rng(99).standard_normal((N_LABELS, 2, N_FEATURES))
    rng = np.random.default_rng(seed)
    frequency = 1.0 / np.sqrt(np.arange(1, N_LABELS + 1))
    own = rng.choice(N_LABELS, (n_bags, 4), p=frequency / frequency.sum())
    place = (rng.random((n_bags, BAG_SIZE)) * rng.integers(2, 5, n_bags)[:, None]).astype(int)
    labels = np.take_along_axis(own, place, axis=1).ravel()
    tags = np.full((n_bags, N_LABELS), -1, dtype=np.int8)
    tags[np.repeat(np.arange(n_bags), BAG_SIZE), labels] = 1
    X = centres[labels, rng.integers(0, 2, len(labels))]
    X += rng.standard_normal(X.shape)
    offsets = np.arange(0, len(labels) + 1, BAG_SIZE)
    return BagSet(X, offsets, tags, [f"label {c}" for c in range(N_LABELS)]), labels


def seconds_of_a_pass(bags: BagSet) -> float:
    """Time as many steps as there are bags, from random weights."""
    rng = np.random.default_rng(0)
    X, candidate = bags.X.astype(np.float32), np.ones(bags.tags[bags.bag_of].shape, dtype=bool)
    weights = Weights.random(N_FEATURES, N_LABELS, 100, 5, rng)
    every = np.arange(bags.n_bags)
    started = time.perf_counter()
    descend(X, bags.offsets, bags.tags, candidate, every, rng, bags.n_bags, 0, 0.002, 1e-5, 10.0, weights.shared,
            weights.concepts)  # fmt: skip
    return time.perf_counter() - started


def fit(model: MIMLFast | ORedLR, bags: BagSet, test: tuple[BagSet, np.ndarray]) -> tuple[float, float]:
    """Return the seconds, and the share of new segments labelled correctly."""
    started = time.perf_counter()
    model.fit(bags)
    seconds = time.perf_counter() - started
    return seconds, float((model.predict_proba(test[0].X).argmax(axis=1) == test[1]).mean())


def run() -> None:
    test = generated(500, seed=1)
    fit(MIMLFast(), generated(100)[0], test)
    passes = {n: seconds_of_a_pass(generated(n)[0]) for n in (1000, 3000, 10_000, 30_000)}
    power = np.polyfit(np.log(list(passes)), np.log(list(passes.values())), 1)[0]
    print("one pass over the bags: " + ", ".join(f"{n}: {seconds:.2f} s" for n, seconds in passes.items())
          + f"; grows as bags^{power:.2f}")  # fmt: skip
    beside_ored_lr(test)
    bags = generated(30_000)[0]
    seconds, right = fit(MIMLFast(), bags, test)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"{bags}, {(bags.tags > 0).sum(axis=1).mean():.1f} tags a bag, to the stopping rule, K chosen:")
    print(f"  {seconds:.0f} s (under 120 wanted), {memory:.2f} GB of memory (under 2 wanted), {right:.1%} right")


def beside_ored_lr(test: tuple[BagSet, np.ndarray], n_bags: int = 2000) -> None:
    """Give the same bags to both; ORed-LR with alpha given, so that neither chooses its strength."""
    solver = "stochastic" if "stochastic" in SOLVERS else "lbfgs"
    bags = generated(n_bags)[0]
    ours, right = fit(MIMLFast(K=5), bags, test)
    theirs, theirs_right = fit(ORedLR(alpha=1.0, solver=solver), bags, test)
    print(f"{n_bags} bags: MIMLfast (K = 5) {ours:.1f} s, {right:.1%} right; ORed-LR ({solver}, alpha = 1) "
          f"{theirs:.1f} s, {theirs_right:.1%} right; ratio {theirs / ours:.1f}")  # fmt: skip


if __name__ == "__main__":
    run()
