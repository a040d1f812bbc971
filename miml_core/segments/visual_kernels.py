"""Compiled loops of `visual.py`: Felzenszwalb's segmentation, the region adjacency graph, and merging on it."""

import numpy as np
from numba import njit

_STEPS = 1 << 13  # edge weights are sorted by counting, in steps of 1/64 of a Lab unit
_STEP = 64.0


@njit(cache=True, nogil=True)
def _root(parent, i):
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@njit(cache=True, nogil=True)
def _difference(planes, i, j, k, m):
    total = np.float32(0)
    for c in range(3):
        total += (planes[c, i, j] - planes[c, k, m]) ** 2
    return np.sqrt(total)


@njit(cache=True, nogil=True)
def _edges(planes):
    """Return pairs of neighbouring pixels (right and below) and the colour difference between them."""
    _, height, width = planes.shape
    n = height * (width - 1) + (height - 1) * width
    first, second, weight = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.float32)
    e = 0
    for i in range(height):
        for j in range(width):
            if j + 1 < width:
                first[e], second[e] = i * width + j, i * width + j + 1
                weight[e] = _difference(planes, i, j, i, j + 1)
                e += 1
            if i + 1 < height:
                first[e], second[e] = i * width + j, (i + 1) * width + j
                weight[e] = _difference(planes, i, j, i + 1, j)
                e += 1
    return first, second, weight


@njit(cache=True, nogil=True)
def _sorted_order(weight):
    starts = np.zeros(_STEPS + 1, np.int64)
    step = np.empty(len(weight), np.int32)
    for e in range(len(weight)):
        step[e] = min(int(weight[e] * _STEP), _STEPS - 1)
        starts[step[e] + 1] += 1
    for s in range(_STEPS):
        starts[s + 1] += starts[s]
    order = np.empty(len(weight), np.int32)
    for e in range(len(weight)):
        order[starts[step[e]]] = e
        starts[step[e]] += 1
    return order


@njit(cache=True, nogil=True)
def oversegment(planes, scale, smallest):
    """Return the label map, from 0, and the number of regions, by Felzenszwalb and Huttenlocher (2004).

    Two regions join when the difference between them is no larger than that inside either, plus `scale` over its
    size; then every region below `smallest` pixels joins its most similar neighbour. All are 4-connected.
    `skimage.segmentation.felzenszwalb` takes 6 times as long (`python -m benchmarks kernels`).
    """
    _, height, width = planes.shape
    n = height * width
    first, second, weight = _edges(planes)
    order = _sorted_order(weight)
    parent = np.arange(n).astype(np.int32)
    size = np.ones(n, np.int32)
    limit = np.full(n, scale, np.float32)
    for joining_small in (False, True):
        for e in order:
            a, b = _root(parent, first[e]), _root(parent, second[e])
            if a == b:
                continue
            if joining_small:
                join = size[a] < smallest or size[b] < smallest
            else:
                join = weight[e] <= limit[a] and weight[e] <= limit[b]
            if join:
                if size[a] < size[b]:
                    a, b = b, a
                parent[b] = a
                size[a] += size[b]
                limit[a] = weight[e] + scale / size[a]
    labels = np.empty((height, width), np.int32)
    number = np.full(n, -1, np.int32)
    count = 0
    for i in range(n):
        root = _root(parent, i)
        if number[root] < 0:
            number[root] = count
            count += 1
        labels[i // width, i % width] = number[root]
    return labels, count


@njit(cache=True, nogil=True)
def region_graph(labels, n, planes):
    """Return sums of planes and pixel counts by region, and length and summed colour difference of shared borders."""
    n_planes, height, width = planes.shape
    sums, sizes = np.zeros((n, n_planes)), np.zeros(n)
    border, contrast = np.zeros((n, n), np.float32), np.zeros((n, n), np.float32)
    for i in range(height):
        for j in range(width):
            a = labels[i, j]
            sizes[a] += 1
            for p in range(n_planes):
                sums[a, p] += planes[p, i, j]
            for k, m in ((i, j + 1), (i + 1, j)):
                if k < height and m < width and labels[k, m] != a:
                    b = labels[k, m]
                    step = _difference(planes, i, j, k, m)
                    border[a, b] += 1
                    border[b, a] += 1
                    contrast[a, b] += step
                    contrast[b, a] += step
    return sums, sizes, border, contrast


@njit(cache=True, nogil=True)
def _cost(a, b, sums, sizes, border, contrast, weights):
    """Return the cost of joining two neighbours; see `visual.py`."""
    apart = (contrast[a, b] / border[a, b]) ** 2
    for p in range(sums.shape[1]):
        apart += weights[p] * (sums[a, p] / sizes[a] - sums[b, p] / sizes[b]) ** 2
    shared_size = sizes[a] * sizes[b] / (sizes[a] + sizes[b])
    return apart * shared_size * np.sqrt(min(sizes[a], sizes[b])) / border[a, b]


@njit(cache=True, nogil=True)
def merge_regions(sums, sizes, border, contrast, wanted, weights):
    """Join the two neighbours with the least cost until `wanted` are left; return the new number of each region.

    The neighbour with the lowest cost is stored for every region, so that a step reads one number per region.
    """
    n = len(sizes)
    costs = np.full((n, n), np.inf, np.float32)
    cheapest, least = np.zeros(n, np.int64), np.full(n, np.inf, np.float32)
    for a in range(n):
        for b in range(n):
            if border[a, b] > 0:
                costs[a, b] = _cost(a, b, sums, sizes, border, contrast, weights)
                if costs[a, b] < least[a]:
                    least[a], cheapest[a] = costs[a, b], b
    parent = np.arange(n)
    for _ in range(n - wanted):
        a = np.argmin(least)
        b = cheapest[a]
        parent[b] = a
        sums[a] += sums[b]
        sizes[a] += sizes[b]
        least[a] = least[b] = np.inf
        for k in range(n):
            if k != a and border[b, k] > 0:
                border[a, k] += border[b, k]
                border[k, a] = border[a, k]
                contrast[a, k] += contrast[b, k]
                contrast[k, a] = contrast[a, k]
            border[b, k] = border[k, b] = 0
            costs[b, k] = costs[k, b] = np.inf
        for k in range(n):
            if border[a, k] > 0:
                costs[a, k] = costs[k, a] = _cost(a, k, sums, sizes, border, contrast, weights)
                if costs[a, k] < least[a]:
                    least[a], cheapest[a] = costs[a, k], k
                if cheapest[k] == a or cheapest[k] == b:
                    least[k] = np.inf
                    for m in range(n):
                        if costs[k, m] < least[k]:
                            least[k], cheapest[k] = costs[k, m], m
                elif costs[k, a] < least[k]:
                    least[k], cheapest[k] = costs[k, a], a
    number = np.full(n, -1, np.int32)
    count = 0
    for i in range(n):
        root = _root(parent, i)
        if number[root] < 0:
            number[root] = count
            count += 1
        number[i] = number[root]
    return number
