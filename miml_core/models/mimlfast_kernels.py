"""The compiled loop of MIMLfast: stochastic gradient steps on sampled triplets.

The shared space is kept transposed, `shared[f]` being the column of W_0 that belongs to feature f, so that the inner
loops run along memory. Features and weights are single precision, ample for stochastic steps and twice as fast. The
label after the last class is the dummy.
"""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def descend(X, offsets, tags, candidate, bags, rng, steps, t, gamma0, eta, C, shared, concepts):
    """Take `steps` steps of Algorithm 1 from step number `t` on; `shared` and `concepts` change in place.

    Returns the share of the steps that found a violated label.
    """
    n_classes, dimensions = tags.shape[1], shared.shape[1]
    harmonic = np.cumsum(1.0 / np.arange(1.0, n_classes + 2.0))
    projected = np.empty((np.max(np.diff(offsets)), dimensions), dtype=np.float32)
    present = np.empty(n_classes + 1, dtype=np.int64)
    absent = np.empty(n_classes + 1, dtype=np.int64)
    n_violated = 0
    for step in range(t, t + steps):
        bag = bags[rng.integers(0, len(bags))]
        start, stop = offsets[bag], offsets[bag + 1]
        n_present, n_absent = _split(tags[bag], present, absent)
        label = present[rng.integers(0, n_present)]
        if label != n_classes:
            absent[n_absent] = n_classes
            n_absent += 1
        if n_absent == 0:
            continue
        _project(X, start, stop, shared, projected)
        score, row, concept = best_of_bag(projected, start, stop, candidate, tags[bag], concepts, label)
        for tried in range(1, n_absent + 1):
            pick = tried - 1 + rng.integers(0, n_absent - tried + 1)
            absent[tried - 1], absent[pick] = absent[pick], absent[tried - 1]
            other = absent[tried - 1]
            rival, rival_row, rival_concept = best_of_bag(projected, start, stop, candidate, tags[bag], concepts, other)
            if rival > score - 1.0:
                rate = np.float32(gamma0 / (1.0 + eta * gamma0 * step) * harmonic[n_absent // tried - 1])
                _move_shared(shared, X[row], X[rival_row], concepts[label, concept], concepts[other, rival_concept],
                             rate, C)  # fmt: skip
                _move_concept(concepts[label, concept], projected[row - start], rate, C)
                _move_concept(concepts[other, rival_concept], projected[rival_row - start], -rate, C)
                n_violated += 1
                break
    return n_violated / max(1, steps)


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def best_of_bag(projected, start, stop, candidate, tags, concepts, label):
    """Return f_y(X) with its key instance and sub-concept: eq. 1 and the maximum over the bag."""
    best, best_row, best_concept = -np.inf, start, 0
    choosy = label < len(tags) and tags[label] > 0
    for row in range(start, stop):
        if choosy and not candidate[row, label]:
            continue
        for k in range(concepts.shape[1]):
            total = np.float32(0.0)
            for a in range(concepts.shape[2]):
                total += projected[row - start, a] * concepts[label, k, a]
            if total > best:
                best, best_row, best_concept = total, row, k
    return best, best_row, best_concept


@njit(cache=True, nogil=True)
def ranking_loss(scores, tags):
    """Return the mean over bags of the share of their (present, absent) pairs in the wrong order or tied.

    scikit-learn's `label_ranking_loss` takes about 145 times as long (`python -m benchmarks kernels`).
    """
    total, n_bags = 0.0, 0
    for bag in range(len(tags)):
        wrong, n_pairs = 0, 0
        for j in range(tags.shape[1]):
            for k in range(tags.shape[1]):
                if tags[bag, j] > 0 and tags[bag, k] < 0:
                    n_pairs += 1
                    wrong += scores[bag, j] <= scores[bag, k]
        if n_pairs > 0:
            total += wrong / n_pairs
            n_bags += 1
    return total / max(1, n_bags)


@njit(cache=True, nogil=True)
def _split(tags, present, absent):
    """List relevant labels, the dummy among them, and irrelevant ones; return how many of each."""
    n_present, n_absent = 0, 0
    for c in range(len(tags)):
        if tags[c] > 0:
            present[n_present] = c
            n_present += 1
        elif tags[c] < 0:
            absent[n_absent] = c
            n_absent += 1
    present[n_present] = len(tags)
    return n_present + 1, n_absent


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _project(X, start, stop, shared, projected):
    """Compute W_0 x of a bag's segments, one feature after the other, so that W_0 is read once for all of them."""
    projected[: stop - start] = 0.0
    for f in range(X.shape[1]):
        column = shared[f]
        for row in range(start, stop):
            x, out = X[row, f], projected[row - start]
            for a in range(len(column)):
                out[a] += x * column[a]


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _move_shared(shared, x, rival_x, concept, rival_concept, rate, C):
    """Apply eq. 7, then scale every column back to a norm of at most C."""
    for f in range(len(shared)):
        column = shared[f]
        push, rival_push = rate * x[f], rate * rival_x[f]
        squared = np.float32(0.0)
        for a in range(len(column)):
            column[a] += push * concept[a] - rival_push * rival_concept[a]
            squared += column[a] * column[a]
        _bound(column, squared, C)


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _move_concept(concept, direction, rate, C):
    """Apply eq. 8 or 9, then scale back to a norm of at most C."""
    squared = np.float32(0.0)
    for a in range(len(concept)):
        concept[a] += rate * direction[a]
        squared += concept[a] * concept[a]
    _bound(concept, squared, C)


@njit(cache=True, nogil=True)
def _bound(vector, squared, C):
    if squared > C * C:
        shrink = np.float32(C / np.sqrt(squared))
        for a in range(len(vector)):
            vector[a] *= shrink
