"""Support Instance Machines against a plain NumPy loop over bags and label pairs, and how the time grows."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from miml_core import BagSet
from miml_core.models.sim import SIM
from miml_core.models.sim_solvers import Problem, heuristic

Array = NDArray[np.float64]
T, K, LAM = 10, 100, 1e-7


def plain_subgradient(supports: Array, tags: NDArray[np.int8], W: Array) -> tuple[float, Array]:
    """Compute Algorithm 2 of the paper, as it is written: bags, then pairs of a present and an absent label."""
    V, value = LAM * W, 0.5 * LAM * (W**2).sum()
    for bag in range(len(tags)):
        present, absent = np.flatnonzero(tags[bag] > 0), np.flatnonzero(tags[bag] < 0)
        beta = 1.0 / (len(tags) * max(1, len(present) * len(absent)))
        for j in present:
            for k in absent:
                slack = 1.0 + W[k] @ supports[bag, k] - W[j] @ supports[bag, j]
                if slack > 0:
                    value += beta * slack
                    V[j] -= beta * supports[bag, j]
                    V[k] += beta * supports[bag, k]
    return value, V


def plain_steps(supports: Array, tags: NDArray[np.int8], steps: int) -> None:
    """Take steps of projected subgradient descent, Algorithm 1, on the loop above."""
    W = np.zeros(supports.shape[1:])
    for step in range(1, steps + 1):
        W = W - plain_subgradient(supports, tags, W)[1] / (LAM * step)
        W *= min(1.0, np.sqrt(2.0 / LAM) / np.linalg.norm(W))


def hja() -> BagSet:
    """Return HJA Birdsong, filtered; without the data, bags of the same shape."""
    path = Path(os.environ.get("BAGTAG_DATA", "../shared/data")) / "miml" / "hja_birdsong.npz"
    if not path.exists():
        return generated()
    with np.load(path) as file:
        keep = file["instance_label"] >= 0
        present, sizes = np.unique(file["bag_id"][keep], return_counts=True)
        tags = np.where(file["bag_label_matrix"][present] > 0, 1, -1)
        return BagSet(file["X"][keep], np.concatenate([[0], np.cumsum(sizes)]), tags, file["class_names"])


def generated(n_bags: int = 548, n_classes: int = 13, bag_size: int = 9, n_features: int = 38) -> BagSet:
    """Return bags of segments around class centres, two or three classes per bag."""
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((n_classes, n_features))
    own = rng.integers(0, n_classes, (n_bags, 3))
    labels = np.take_along_axis(own, rng.integers(0, 3, (n_bags, bag_size)), axis=1).ravel()
    tags = np.full((n_bags, n_classes), -1)
    tags[np.repeat(np.arange(n_bags), bag_size), labels] = 1
    X = centres[labels] + rng.standard_normal((len(labels), n_features))
    return BagSet(X, np.arange(0, len(labels) + 1, bag_size), tags, [f"c{c}" for c in range(n_classes)])


def seconds_of_fit(bags: BagSet, **params: object) -> float:
    """Return the best of three fits at a fixed lambda."""
    times = []
    for _ in range(3):
        started = time.perf_counter()
        SIM(lam=LAM, T=T, K=K, **params).fit(bags)  # type: ignore[arg-type]
        times.append(time.perf_counter() - started)
    return min(times)


def seconds_of_plain_loop(bags: BagSet, steps: int = 5) -> float:
    """Time a few of the T K steps of the loop, scaled up to all of them."""
    centred = bags.X - bags.X.mean(axis=0)
    problem = Problem.of(bags, centred / np.linalg.norm(centred), "rank", "softmax")
    supports = problem.supports(next(heuristic(problem, LAM, T=1, K=1)).W)
    started = time.perf_counter()
    plain_steps(supports, bags.tags, steps)
    return (time.perf_counter() - started) * T * K / steps


def run() -> None:
    bags = hja()
    SIM(lam=LAM, T=1, K=1).fit(bags)
    ours, loop = seconds_of_fit(bags), seconds_of_plain_loop(bags)
    print(f"SIM softmax heuristic, T = {T}, K = {K}, {bags}")
    print(f"  {ours:.2f} s; plain NumPy loop {loop:.0f} s; ratio {loop / ours:.0f} (at least 20 wanted)")
    print(f"  max cccp: {seconds_of_fit(bags, aggregate='max', optimiser='cccp'):.2f} s")
    show_growth("bags", {n: seconds_of_fit(generated(n_bags=n)) for n in (500, 1000, 2000, 4000)})
    show_growth("classes", {c: seconds_of_fit(generated(n_classes=c)) for c in (8, 16, 32, 64)})


def show_growth(words: str, times: dict[int, float]) -> None:
    """Print times by size, and the power of the size that they grow with."""
    power = np.polyfit(np.log(list(times)), np.log(list(times.values())), 1)[0]
    listed = ", ".join(f"{size}: {seconds:.2f} s" for size, seconds in times.items())
    print(f"  {words} {listed}; grows as {words}^{power:.2f}")


if __name__ == "__main__":
    run()
