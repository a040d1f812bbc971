"""Clusters of segments that are like no class: what nobody has named yet.

A cluster is a dense part of the map. If it consisted of a named class, most of the tagged bags in which it occurs would
have the tag of that class. A cluster stands out if this can be rejected for every class: let at least `MOSTLY` of its
segments be of class c; then each of the m bags in which it occurs and of which it is known whether they have tag c has
it with at least that probability, so that the number of those with the tag is at least binomial (m, `MOSTLY`). The
class is rejected if so few have the tag only with a probability of `ERROR`, divided by the number of clusters. A
cluster of several named classes is rejected, too; therefore at most half of a cluster that stands out may be named by
the current run with a probability of at least `SURE`. A cluster that occurs in fewer than about six tagged bags never
stands out. Whether a cluster is a species or noise the tags cannot show.

Measured on HJA bird song, its tags given except those of the hidden species, of which nothing is known (`MOSTLY` and
the size of clusters were chosen using these figures). Clusters that stood out, by the kind of most of their
segments:

* Only segments that the authors labelled (4998): with nothing hidden none. With each of the eight most frequent species
  hidden, two of them were found, by 22 clusters, and no cluster was of another species. With two hidden (three choices)
  three of six were found, by 25, and two were of others; with four (two choices) six of eight, by 36, and none was of
  others.
* All segments (10 232): with nothing hidden 15, all of segments without a label, which are mostly noise. In the same
  cases as above four of eight, four of six and seven of eight species were found, by 16, 17 and 25 clusters; none, two
  and none were of other species, and 15 to 40 of noise in each case.

A species is missed if another one sings in nearly all of its bags.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FEWEST = 8
"""Segments of a cluster."""
MOSTLY = 0.7
ERROR = 0.05
SURE = 0.5
_MOST_NAMED = 0.5


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
    smallest = max(FEWEST, len(places) // 300)
    found = HDBSCAN(min_cluster_size=smallest, min_samples=5, cluster_selection_method="leaf", copy=True).fit(places)
    return np.asarray(found.labels_, dtype=np.int32)


def unnamed_clusters(
    clusters: NDArray[np.integer],
    bags: NDArray[np.integer],
    tags: NDArray[np.integer],
    labelled: NDArray[np.bool_],
    predicted: NDArray[np.bool_],
) -> list[NDArray[np.int64]]:
    """Return the rows of the clusters that are like no class, the largest first, without labelled segments.

    Parameters
    ----------
    clusters : (n,) int
        From `find_clusters`.
    bags : (n,) int
        Row of `tags` of the bag of each segment.
    tags : (b, c) int
        1 if a bag has a tag, -1 if not, 0 if that is not known.
    labelled : (n,) bool
        Whether a person labelled the segment. A cluster of which half was labelled is named.
    predicted : (n,) bool
        Whether the current run surely predicts a class.

    Examples
    --------
    Two clusters, each with a segment in twenty bags. Those of the first have a wren, some of the second have a robin:

    >>> clusters, bags = np.repeat([0, 1], [20, 20]), np.concatenate([np.arange(20), np.arange(20, 40)])
    >>> tags = np.full((40, 2), -1)
    >>> tags[:20, 0] = 1
    >>> tags[18:25, 1] = 1
    >>> none = np.zeros(40, dtype=bool)
    >>> [rows.tolist() == list(range(20, 40)) for rows in unnamed_clusters(clusters, bags, tags, none, none)]
    [True]
    """
    from scipy.stats import binom

    ids = np.unique(clusters[clusters >= 0])
    found = []
    for cluster in ids:
        rows = np.flatnonzero(clusters == cluster)
        left = rows[~labelled[rows]]
        if len(left) < max(FEWEST, len(rows) / 2) or predicted[left].mean() > _MOST_NAMED:
            continue
        known = tags[np.unique(bags[left])]
        with_tag = (known > 0).sum(axis=0)
        chance = binom.cdf(with_tag, (known != 0).sum(axis=0), MOSTLY)
        if chance.size and chance.max() <= ERROR / len(ids):
            found.append(left)
    return sorted(found, key=len, reverse=True)
