"""The compiled loops of `posterior.py`.

Subsets of a bag's required tags are bit masks; a row has one number per subset. Rows are rescaled as they are made,
so that thousands of segments neither under- nor overflow. In a large bag only every `block`-th forward row is kept
and the others are made again on the way back, so that memory grows with the square root of the number of segments.

Where even rescaled numbers lie too far apart for floating point (a tag less likely than 1e-250 in every segment),
the bag is done again with logarithms: slower, as exact.
"""

import numpy as np
from numba import njit

_TABLE_CELLS = 1 << 17  # what a processor's cache holds
_TINY = 1e-250


@njit(cache=True, nogil=True)
def pass_over_bags(log_prior, offsets, tags, labels, leak, bags, posterior, log_likelihood):
    """Fill `posterior` and `log_likelihood` for the listed bags."""
    for bag in bags:
        first, last = offsets[bag], offsets[bag + 1]
        n_required = np.sum(tags[bag] > 0)
        if first == last:  # only the leak explains a tag
            log_likelihood[bag] = n_required * np.log(leak) if n_required > 0 else 0.0
            continue
        log_weights, shift = _gather(log_prior[first:last], tags[bag], labels[first:last], n_required)
        share = np.empty((last - first, n_required + 1))
        likelihood = _forward_backward(np.exp(log_weights), leak, share)
        if likelihood == -np.inf:
            likelihood = _forward_backward_in_logs(log_weights, leak, share)
        log_likelihood[bag] = likelihood + shift.sum()
        for i in range(last - first):
            _write_row(log_prior[first + i], tags[bag], labels[first + i], shift[i], log_weights[i, n_required],
                       share[i], posterior[first + i])  # fmt: skip


@njit(cache=True, nogil=True)
def _allowed(c, tag_row, label):
    """Return whether a segment with this label may carry class c; the class after the last is the background."""
    if c == len(tag_row):
        return label < 0
    return tag_row[c] >= 0 and (label == -1 or label == c)


@njit(cache=True, nogil=True)
def _gather(log_prior, tag_row, labels, n_required):
    """Compute log p_i(c) of each required class, then log s_i of all optional ones; each row less its largest."""
    log_weights = np.full((len(log_prior), n_required + 1), -np.inf)
    shift = np.zeros(len(log_prior))
    for i in range(len(log_prior)):
        row, label = log_prior[i], labels[i]
        if label == -2 and len(row) == len(tag_row):
            log_weights[i, n_required] = 0.0
            continue
        top = -np.inf
        for c in range(len(row)):
            if _allowed(c, tag_row, label):
                top = max(top, row[c])
        shift[i] = top
        if not top > -np.inf:
            continue
        r, optional = 0, 0.0
        for c in range(len(row)):
            is_required = c < len(tag_row) and tag_row[c] > 0
            if _allowed(c, tag_row, label):
                if is_required:
                    log_weights[i, r] = row[c] - top
                else:
                    optional += np.exp(row[c] - top)
            r += is_required
        log_weights[i, n_required] = np.log(optional) if optional > 0.0 else -np.inf
    return log_weights, shift


@njit(cache=True, nogil=True)
def _write_row(log_row, tag_row, label, shift, log_optional, share, out):
    """Spread a segment's shares over the classes: required ones have their own, optional ones divide the last."""
    if label == -2 and len(log_row) == len(tag_row):
        return
    r = 0
    for c in range(len(log_row)):
        is_required = c < len(tag_row) and tag_row[c] > 0
        if is_required:
            out[c] = share[r]
            r += 1
        elif log_optional > -np.inf and _allowed(c, tag_row, label):
            out[c] = share[-1] * np.exp(log_row[c] - shift - log_optional)


@njit(cache=True, nogil=True)
def _start(n_required, leak):
    """Fill a_0: each required tag is explained from the start with probability `leak`."""
    a = np.ones(1 << n_required)
    for r in range(n_required):
        for low in range(1 << r):
            a[low + (1 << r)] = a[low] * leak
            a[low] *= 1.0 - leak
    return a


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def _step(weights, stay, a, out):
    """Take one forward step (eq. 15), rescaled; `stay` gets the weight that leaves each subset as it is.

    Returns the logarithm of what the row was divided by, minus infinity for an impossible segment.
    """
    n_required = len(weights) - 1
    stay[0] = weights[n_required]
    for r in range(n_required):
        for low in range(1 << r):
            stay[low + (1 << r)] = stay[low] + weights[r]
    for mask in range(len(a)):
        out[mask] = stay[mask] * a[mask]
    for r in range(n_required):
        bit, weight = 1 << r, weights[r]
        for high in range(0, len(a), 2 * bit):
            for low in range(high, high + bit):
                out[low + bit] += weight * a[low]
    return _rescale(out)


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def _step_back(weights, stay, b, out):
    """Take one backward step, rescaled; `stay` is as the forward step of the same segment left it."""
    for mask in range(len(b)):
        out[mask] = stay[mask] * b[mask]
    for r in range(len(weights) - 1):
        bit, weight = 1 << r, weights[r]
        for high in range(0, len(b), 2 * bit):
            for low in range(high, high + bit):
                out[low] += weight * b[low + bit]
    _rescale(out)


@njit(cache=True, nogil=True)
def _rescale(row):
    top = 0.0
    for mask in range(len(row)):
        top = max(top, row[mask])
    if not top > 0.0:
        return -np.inf
    factor = 1.0 / top
    for mask in range(len(row)):
        row[mask] *= factor
    return np.log(top)


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def _fill_shares(weights, a, b, share):
    """Fill a segment's shares (eq. 19) from the forward row before it and the backward row after it; return the sum."""
    n_required, total = len(weights) - 1, 0.0
    for mask in range(len(a)):
        total += a[mask] * b[mask]
    share[n_required] = weights[n_required] * total
    for r in range(n_required):
        bit, total = 1 << r, 0.0
        for high in range(0, len(a), 2 * bit):
            for low in range(high, high + bit):
                total += (a[low] + a[low + bit]) * b[low + bit]
        share[r] = weights[r] * total
    total = share.sum()
    if total > _TINY:
        share /= total
    return total


@njit(cache=True, nogil=True)
def _forward_backward(weights, leak, share):
    """Fill `share` and return the log-likelihood; minus infinity if impossible, or too extreme for this arithmetic."""
    n, n_required = len(weights), weights.shape[1] - 1
    size = 1 << n_required
    block = n if n * size <= _TABLE_CELLS else int(np.ceil(np.sqrt(n)))
    n_blocks = (n + block - 1) // block
    kept, rows, stay = np.empty((n_blocks, size)), np.empty((block + 1, size)), np.empty((block, size))
    kept[0] = _start(n_required, leak)
    likelihood = 0.0
    for k in range(n_blocks):
        likelihood += _fill_block(weights[k * block : (k + 1) * block], kept[k], rows, stay)
        if k + 1 < n_blocks:
            kept[k + 1] = rows[block]
    explained = rows[n - (n_blocks - 1) * block, size - 1]
    if not explained > _TINY or likelihood == -np.inf:
        return -np.inf
    b, out = np.zeros(size), np.empty(size)
    b[size - 1] = 1.0
    for k in range(n_blocks - 1, -1, -1):
        if k < n_blocks - 1:
            _fill_block(weights[k * block : (k + 1) * block], kept[k], rows, stay)
        for i in range(min(n, (k + 1) * block) - 1, k * block - 1, -1):
            if not _fill_shares(weights[i], rows[i - k * block], b, share[i]) > _TINY:
                return -np.inf
            _step_back(weights[i], stay[i - k * block], b, out)
            b, out = out, b
    return likelihood + np.log(explained)


@njit(cache=True, nogil=True)
def _fill_block(weights, start, rows, stay):
    """Fill forward rows of consecutive segments; return the logarithm of what they were divided by in all."""
    rows[0] = start
    scale = 0.0
    for i in range(len(weights)):
        scale += _step(weights[i], stay[i], rows[i], rows[i + 1])
    return scale


@njit(cache=True, nogil=True)
def _forward_backward_in_logs(log_weights, leak, share):
    """Do the same pass with every number kept as its logarithm."""
    n, n_required = len(log_weights), log_weights.shape[1] - 1
    size = 1 << n_required
    a = np.empty((n + 1, size))
    a[0] = np.log(_start(n_required, leak))
    for i in range(n):
        for mask in range(size):
            total = log_weights[i, n_required] + a[i, mask]
            for r in range(n_required):
                if mask >> r & 1:
                    total = _log_add(total, log_weights[i, r] + _log_add(a[i, mask], a[i, mask ^ (1 << r)]))
            a[i + 1, mask] = total
    likelihood = a[n, size - 1]
    if not likelihood > -np.inf:
        return likelihood
    b, out = np.full(size, -np.inf), np.empty(size)
    b[size - 1] = 0.0
    for i in range(n - 1, -1, -1):
        share[i] = 0.0
        for mask in range(size):
            out[mask] = log_weights[i, n_required] + b[mask]
            share[i, n_required] += np.exp(a[i, mask] + out[mask] - likelihood)
            for r in range(n_required):
                through = log_weights[i, r] + b[mask | (1 << r)]
                out[mask] = _log_add(out[mask], through)
                share[i, r] += np.exp(a[i, mask] + through - likelihood)
        b, out = out, b
    return likelihood


@njit(cache=True, nogil=True)
def _log_add(x, y):
    top = max(x, y)
    return top if top == -np.inf else top + np.log1p(np.exp(min(x, y) - top))
