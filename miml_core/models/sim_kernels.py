"""The compiled loops of Support Instance Machines: support instances, losses and subgradients, bag by bag.

A tag is +1 (present), -1 (absent) or 0 (not known: takes no part). Every loop takes a range of bags, so that ranges
can be given to threads.
"""

import numpy as np
from numba import njit

_SUMS_MAY_BE_REORDERED = {"reassoc", "contract"}  # lets dot products use the processor's vector units


@njit(cache=True, nogil=True, fastmath=_SUMS_MAY_BE_REORDERED)
def fill_supports(X, offsets, tags, candidate, scores, soft, first, last, supports):
    """Compute the support instances of bags `first` to `last`: eq. 7 (max), or eq. 9, 10 and 65 (softmax).

    `candidate[row, c]` is whether a segment may support class c where its bag has that tag; in bags without the
    tag every segment may.
    """
    for bag in range(first, last):
        start, stop = offsets[bag], offsets[bag + 1]
        for c in range(tags.shape[1]):
            supports[bag, c] = 0.0
            if tags[bag, c] == 0:
                continue
            best = _best_row(scores, candidate, start, stop, c, tags[bag, c])
            if soft:
                _average_row(X, scores, candidate, start, stop, c, tags[bag, c], scores[best, c], supports[bag, c])
            else:
                supports[bag, c] = X[best]


@njit(cache=True, nogil=True, fastmath=_SUMS_MAY_BE_REORDERED)
def _best_row(scores, candidate, start, stop, c, tag):
    best = -1
    for row in range(start, stop):
        if (tag < 0 or candidate[row, c]) and (best < 0 or scores[row, c] > scores[best, c]):
            best = row
    return best


@njit(cache=True, nogil=True, fastmath=_SUMS_MAY_BE_REORDERED)
def _average_row(X, scores, candidate, start, stop, c, tag, top, out):
    total = 0.0
    for row in range(start, stop):
        if tag < 0 or candidate[row, c]:
            weight = np.exp(scores[row, c] - top)
            total += weight
            for f in range(X.shape[1]):
                out[f] += weight * X[row, f]
    for f in range(X.shape[1]):
        out[f] /= total


@njit(cache=True, nogil=True, fastmath=_SUMS_MAY_BE_REORDERED)
def add_fixed_supports(supports, tags, weight, W, rank, first, last, V):
    """Return the loss of eq. 26 (rank) or 31 (Hamming) over some bags; add its subgradient, eq. 27 or 32, to V."""
    n_classes, n_features = W.shape
    scores = np.empty(n_classes)
    slope = np.empty(n_classes)
    loss = 0.0
    for bag in range(first, last):
        for c in range(n_classes):
            if tags[bag, c] != 0:
                total = 0.0
                for f in range(n_features):
                    total += W[c, f] * supports[bag, c, f]
                scores[c] = total
        loss += _loss_and_slope(scores, tags[bag], weight[bag], rank, slope)
        for c in range(n_classes):
            if slope[c] != 0.0:
                for f in range(n_features):
                    V[c, f] += slope[c] * supports[bag, c, f]
    return loss


@njit(cache=True, nogil=True, fastmath=_SUMS_MAY_BE_REORDERED)
def add_moving_supports(X, offsets, segment_scores, supports, tags, weight, W, rank, first, last, V):
    """Return the loss of CCCP's convex problem, eq. 25 (Algorithm 3); add its subgradient, eq. 29, to V.

    Present tags keep the support instances of the outer iteration; absent ones take the segment that scores highest
    under W now. `segment_scores` is X W'.
    """
    n_classes, n_features = W.shape
    scores = np.empty(n_classes)
    slope = np.empty(n_classes)
    best = np.empty(n_classes, dtype=np.int64)
    loss = 0.0
    for bag in range(first, last):
        _moving_scores(offsets[bag], offsets[bag + 1], segment_scores, supports[bag], tags[bag], W, scores, best)
        loss += _loss_and_slope(scores, tags[bag], weight[bag], rank, slope)
        for c in range(n_classes):
            if slope[c] != 0.0:
                support = supports[bag, c] if tags[bag, c] > 0 else X[best[c]]
                for f in range(n_features):
                    V[c, f] += slope[c] * support[f]
    return loss


@njit(cache=True, nogil=True, fastmath=_SUMS_MAY_BE_REORDERED)
def _moving_scores(start, stop, segment_scores, supports, tags, W, scores, best):
    best[:] = start
    scores[:] = segment_scores[start]
    for row in range(start + 1, stop):
        for c in range(len(tags)):
            if segment_scores[row, c] > scores[c]:
                best[c] = row
                scores[c] = segment_scores[row, c]
    for c in range(len(tags)):
        if tags[c] > 0:
            total = 0.0
            for f in range(W.shape[1]):
                total += W[c, f] * supports[c, f]
            scores[c] = total


@njit(cache=True, nogil=True, fastmath=_SUMS_MAY_BE_REORDERED)
def _loss_and_slope(scores, tags, weight, rank, slope):
    """Return a bag's loss and its derivative in the bag's scores; `weight` is beta_i of eq. 5 or 1 / nc of eq. 30."""
    slope[:] = 0.0
    loss = 0.0
    for j in range(len(tags)):
        if not rank and tags[j] != 0 and tags[j] * scores[j] < 1.0:
            loss += 1.0 - tags[j] * scores[j]
            slope[j] = -weight * tags[j]
        if not rank or tags[j] <= 0:
            continue
        for k in range(len(tags)):
            if tags[k] < 0 and 1.0 + scores[k] - scores[j] > 0.0:
                loss += 1.0 + scores[k] - scores[j]
                slope[j] -= weight
                slope[k] += weight
    return weight * loss
