"""Bags for the tests of Support Instance Machines, and support instances written out plainly."""

import numpy as np

from miml_core import UNKNOWN, BagSet


def random_bags(seed=0, n_bags=12, n_classes=4, n_features=3, *, unknown=0.2, corrected=0.15):
    """Bags whose segments cluster by class, with tags and labels partly known."""
    rng = np.random.default_rng(seed)
    centres = 3.0 * rng.standard_normal((n_classes, n_features))
    sizes = rng.integers(1, 6, n_bags)
    truth = rng.integers(0, n_classes, sizes.sum())
    bag_of = np.repeat(np.arange(n_bags), sizes)
    tags = np.full((n_bags, n_classes), -1)
    tags[bag_of, truth] = 1
    tags[rng.random(tags.shape) < unknown] = 0
    labels = np.where(rng.random(len(truth)) < corrected, truth, UNKNOWN)
    X = centres[truth] + rng.standard_normal((len(truth), n_features))
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    return BagSet(X, offsets, tags, [f"c{c}" for c in range(n_classes)], labels), truth


def plain_support(problem, bag, c, W):
    rows = np.arange(problem.offsets[bag], problem.offsets[bag + 1])
    if problem.tags[bag, c] > 0:
        rows = rows[problem.candidate[rows, c]]
    scores = problem.X[rows] @ W[c]
    if problem.aggregate == "max":
        return problem.X[rows[np.argmax(scores)]]
    alpha = np.exp(scores) / np.exp(scores).sum()
    return alpha @ problem.X[rows]
