"""Clusters of segments that are like no class: what nobody has named yet.

A cluster is a dense part of the map. It stands out if hardly any of its segments, and of the segments most like them,
has a name: a label by a person, or a class that the current run predicts surely.

Measured on HJA bird song with one of six species left out of all tags: among its labelled segments 8 to 42 clusters
stood out, and in each of the six cases one to 39 of them consisted mostly of the hidden species; with none hidden there
were ten. With all its segments, nine of ten in such clusters carry no species at all: noise shows first, and a hidden
species only where the model leaves it to the background.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FEWEST = 8
"""Segments of a cluster."""
SURE = 0.5
"""A predicted class counts as a name from this probability."""
_MOST_NAMED = 0.35


def find_clusters(places: NDArray[np.floating]) -> NDArray[np.int32]:
    """Return the cluster of each place of a map; -1 for those in none.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> groups = find_clusters(np.concatenate([rng.normal(c, 0.02, (15, 2)) for c in (-1, 0, 1)]))
    >>> sorted(set(groups.tolist()) - {-1})
    [0, 1, 2]
    """
    from sklearn.cluster import HDBSCAN

    if len(places) < 2 * FEWEST:
        return np.full(len(places), -1, dtype=np.int32)
    smallest = max(FEWEST, len(places) // 1000)
    found = HDBSCAN(min_cluster_size=smallest, min_samples=5, cluster_selection_method="leaf", copy=True).fit(places)
    return np.asarray(found.labels_, dtype=np.int32)


def unnamed_clusters(
    clusters: NDArray[np.integer], neighbours: NDArray[np.integer], named: NDArray[np.bool_]
) -> list[NDArray[np.int64]]:
    """Return the rows of the clusters that are like nothing named, the largest first.

    Parameters
    ----------
    clusters : (n,) int
        From `find_clusters`.
    neighbours : (n, k) int
        Rows of the segments most like each segment.
    named : (n,) bool
        Whether a segment has a name.
    """
    named_near = (named[neighbours].mean(axis=1) + named) / 2
    found = []
    for cluster in np.unique(clusters[clusters >= 0]):
        rows = np.flatnonzero(clusters == cluster)
        if len(rows) >= FEWEST and named_near[rows].mean() <= _MOST_NAMED:
            found.append(rows[np.argsort(named_near[rows], kind="stable")])
    return sorted(found, key=len, reverse=True)
