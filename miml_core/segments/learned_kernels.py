"""Compiled loops of a learned segmenter: features of pixels, and evaluating the trees."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def patches(raw, contrast, highest, sums, squares, rows, columns, boxes, spreads, step):  # type: ignore[no-untyped-def]
    """Return (n, d) features of pixels: level; means and variances of boxes around them; contrast to what lies around.

    Parameters
    ----------
    raw, contrast, highest : (height, width)
        Levels, their smoothed form, and the highest of that nearby.
    sums, squares : (height + 1, width + 1)
        Of the levels and their squares, over all that lies above and to the left.
    rows, columns : (n,)
        The pixels.
    boxes, spreads : (m, 2)
        Height and width (odd) of the boxes of which means and variances are taken, cut at the border; the last of
        the former is what a pixel is compared with.
    step : int
        How far the pixels lie that are looked at to either side.
    """
    height, width = raw.shape
    n_boxes, n_spreads = len(boxes), len(spreads)
    out = np.empty((len(rows), 1 + n_boxes + n_spreads + 6), dtype=np.float32)
    for i in range(len(rows)):
        row, column = rows[i], columns[i]
        near = contrast[row, column]
        out[i, 0] = raw[row, column]
        for k in range(n_boxes):
            out[i, 1 + k] = _box_mean(sums, row, column, boxes[k, 0] // 2, boxes[k, 1] // 2)
        for k in range(n_spreads):
            mean = _box_mean(sums, row, column, spreads[k, 0] // 2, spreads[k, 1] // 2)
            square = _box_mean(squares, row, column, spreads[k, 0] // 2, spreads[k, 1] // 2)
            out[i, 1 + n_boxes + k] = max(0.0, square - mean * mean)
        last = 1 + n_boxes + n_spreads
        out[i, last] = near - out[i, n_boxes]
        out[i, last + 1] = highest[row, column] - near
        out[i, last + 2] = contrast[row, min(column + step, width - 1)] - near
        out[i, last + 3] = contrast[row, max(column - step, 0)] - near
        out[i, last + 4] = contrast[min(row + step, height - 1), column] - near
        out[i, last + 5] = contrast[max(row - step, 0), column] - near
    return out


@njit(cache=True, nogil=True)
def _box_mean(sums, row, column, half_height, half_width):  # type: ignore[no-untyped-def]
    top, bottom = max(0, row - half_height), min(sums.shape[0] - 1, row + half_height + 1)
    left, right = max(0, column - half_width), min(sums.shape[1] - 1, column + half_width + 1)
    total = sums[bottom, right] - sums[top, right] - sums[bottom, left] + sums[top, left]
    return total / ((bottom - top) * (right - left))


@njit(cache=True, nogil=True)
def mean_leaf(X, roots, feature, threshold, left, right, value):  # type: ignore[no-untyped-def]
    """Return the (n,) means over the trees of the leaf values of each row of X; a leaf's `feature` is below 0.

    scikit-learn takes 0.7 times as long for the pixels of a recording's candidates (`python -m benchmarks kernels`),
    but reads a forest only by pickle, with which a file from somebody else could run code.
    """
    total = np.zeros(X.shape[0])
    for root in roots:
        for row in range(X.shape[0]):
            node = root
            while feature[node] >= 0:
                node = left[node] if X[row, feature[node]] <= threshold[node] else right[node]
            total[row] += value[node]
    return (total / len(roots)).astype(np.float32)
