"""A random forest over single pixels as plain arrays, which are stored without code and evaluated by a kernel.

The arrays of a forest are `roots` (one node per tree) and, of each node, `feature` (below 0: a leaf), `threshold`,
`left`, `right` and `value`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miml_core.errors import BagtagError

Trees = dict[str, NDArray[Any]]
TREE_ARRAYS = ("roots", "feature", "threshold", "left", "right", "value")
_N_TREES = 20
_DEPTH = 12
_LEAF = 4


def grow_trees(calls: NDArray[np.float32], others: NDArray[np.float32], seed: int) -> Trees | None:
    """Return a forest that separates pixels of calls from others, or None if there is only one of the two.

    Parameters
    ----------
    calls, others : (n, d) float
        Features of pixels inside and outside calls.
    seed : int
        The same seed gives the same forest.
    """
    from sklearn.ensemble import ExtraTreesClassifier

    from miml_core.threads import thread_count

    if not len(calls) or not len(others):
        return None
    forest = ExtraTreesClassifier(
        _N_TREES,
        max_depth=_DEPTH,
        min_samples_leaf=_LEAF,
        max_features="sqrt",
        class_weight="balanced",
        random_state=seed,
        n_jobs=thread_count(),
    ).fit(np.vstack([calls, others]), np.repeat([1, 0], [len(calls), len(others)]))
    return _arrays([tree.tree_ for tree in forest.estimators_])


def mean_probability(
    trees: Trees, pixels: NDArray[np.float32], owner: NDArray[np.int64], n: int
) -> NDArray[np.float64]:
    """Return (n,) the mean probability of a call over the pixels of each of n regions.

    Parameters
    ----------
    trees : dict of arrays
    pixels : (m, d) float
    owner : (m,) int
        The region of each pixel.
    n : int
    """
    from miml_core.segments.learned_kernels import mean_leaf

    if trees["feature"].max() >= pixels.shape[1]:  # the kernel checks no index
        raise BagtagError("The learned segmenter uses features that do not exist; learn it again.")
    likely = mean_leaf(pixels, *[trees[name] for name in TREE_ARRAYS])
    return np.bincount(owner, likely, minlength=n) / np.maximum(np.bincount(owner, minlength=n), 1)


def are_valid_trees(trees: Trees) -> bool:
    """Return whether every path through the trees stays inside the arrays and ends."""
    n = len(trees["feature"])
    if not n or any(len(trees[name]) != n for name in TREE_ARRAYS[1:]) or not len(trees["roots"]):
        return False
    kinds = {name: "f" if name in ("threshold", "value") else "i" for name in TREE_ARRAYS}
    if any(trees[name].ndim != 1 or trees[name].dtype.kind != kind for name, kind in kinds.items()):
        return False
    inner = np.flatnonzero(trees["feature"] >= 0)
    below = np.concatenate([trees["left"][inner] - inner, trees["right"][inner] - inner])
    ends = np.concatenate([trees["left"][inner], trees["right"][inner], trees["roots"]])
    return bool((below > 0).all() and (ends >= 0).all() and (ends < n).all())


def _arrays(grown: Sequence[Any]) -> Trees:
    """Return the nodes of all trees, one tree after the other."""
    roots = np.cumsum([0, *(tree.node_count for tree in grown[:-1])]).astype(np.int32)
    value = np.concatenate([tree.value[:, 0, :] for tree in grown])
    return {
        "roots": roots,
        "feature": np.concatenate([np.maximum(tree.feature, -1) for tree in grown]).astype(np.int32),
        "threshold": np.concatenate([tree.threshold for tree in grown]),
        "left": np.concatenate([tree.children_left + root for tree, root in zip(grown, roots)]).astype(np.int32),
        "right": np.concatenate([tree.children_right + root for tree, root in zip(grown, roots)]).astype(np.int32),
        "value": (value[:, 1] / value.sum(axis=1)).astype(np.float32),
    }
