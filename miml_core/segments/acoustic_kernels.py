"""The loops over pixels behind the acoustic segmenter, compiled.

`python -m benchmarks kernels` measured the times of libraries that docstrings state.
"""

from __future__ import annotations

import numpy as np
from numba import njit

_LOWEST_DB = -160.0
_STEPS_A_DB = 4
_LEVELS = 240 * _STEPS_A_DB


@njit(cache=True, nogil=True)
def row_quantiles(values, share):  # type: ignore[no-untyped-def]
    """Return the (height,) levels below which `share` of each row lies, by a histogram of quarter decibels.

    `np.quantile` takes 14 times as long. `np.partition` takes 1.3 to 1.6 times as long on processors with AVX2, 15 on
    others, and its levels differ slightly: all stored segments and exported models would be out of date.
    """
    height, width = values.shape
    out = np.empty(height, dtype=np.float32)
    counts = np.empty(_LEVELS, dtype=np.int64)
    for row in range(height):
        counts[:] = 0
        for column in range(width):
            level = int((values[row, column] - _LOWEST_DB) * _STEPS_A_DB)
            counts[min(max(level, 0), _LEVELS - 1)] += 1
        wanted = share * width
        seen = 0
        level = 0
        while seen + counts[level] < wanted:
            seen += counts[level]
            level += 1
        within = (wanted - seen) / counts[level] if counts[level] > 0 else 0.0
        out[row] = _LOWEST_DB + (level + within) / _STEPS_A_DB
    return out


@njit(cache=True, nogil=True, fastmath=True)
def smooth(values, down, along):  # type: ignore[no-untyped-def]
    """Return weighted means over 7 rows by 7 columns; `down` and `along` are four weights each, from the middle on.

    The border repeats. `scipy.ndimage.correlate1d` takes 4 to 6 times as long.
    """
    height, width = values.shape
    rows = np.empty((height, width), dtype=np.float32)
    padded = np.empty(width + 6, dtype=np.float32)
    for row in range(height):
        padded[:3] = values[row, 0]
        padded[3 : width + 3] = values[row]
        padded[width + 3 :] = values[row, width - 1]
        for column in range(width):
            rows[row, column] = (
                along[0] * padded[column + 3]
                + along[1] * (padded[column + 2] + padded[column + 4])
                + along[2] * (padded[column + 1] + padded[column + 5])
                + along[3] * (padded[column] + padded[column + 6])
            )
    out = np.empty((height, width), dtype=np.float32)
    last = height - 1
    for row in range(height):
        up1, up2, up3 = rows[max(row - 1, 0)], rows[max(row - 2, 0)], rows[max(row - 3, 0)]
        low1, low2, low3 = rows[min(row + 1, last)], rows[min(row + 2, last)], rows[min(row + 3, last)]
        here = rows[row]
        for column in range(width):
            out[row, column] = (
                down[0] * here[column]
                + down[1] * (up1[column] + low1[column])
                + down[2] * (up2[column] + low2[column])
                + down[3] * (up3[column] + low3[column])
            )
    return out


@njit(cache=True, nogil=True)
def find_peaks(contrast, mask, depth):  # type: ignore[no-untyped-def]
    """Return the number of the peak of each pixel of the mask (0 outside), and the level of each peak.

    Pixels are visited from the loudest down and join the loudest neighbour. Where two peaks meet they become one,
    unless the fainter of them stands more than `depth` above the meeting place: the watershed by persistence.
    """
    height, width = contrast.shape
    order = _loudest_first(contrast, mask)
    labels = np.zeros((height, width), dtype=np.int32)
    parent = np.zeros(len(order) + 1, dtype=np.int32)
    level = np.zeros(len(order) + 1, dtype=np.float32)
    count = 0
    for place in order:
        row, column = place // width, place % width
        here = contrast[row, column]
        top, bottom = max(0, row - 1), min(height, row + 2)
        left, right = max(0, column - 1), min(width, column + 2)
        joined = 0
        loudest = -np.inf
        for y in range(top, bottom):
            for x in range(left, right):
                if labels[y, x] and contrast[y, x] > loudest:
                    loudest = contrast[y, x]
                    joined = _root(parent, labels[y, x])
        if joined == 0:
            count += 1
            parent[count] = count
            level[count] = here
            labels[row, column] = count
            continue
        for y in range(top, bottom):
            for x in range(left, right):
                if labels[y, x]:
                    joined = _join_peaks(parent, level, joined, _root(parent, labels[y, x]), here + depth)
        labels[row, column] = joined
    return _renumber(labels, parent, level, count)


@njit(cache=True, nogil=True)
def _loudest_first(contrast, mask):  # type: ignore[no-untyped-def]
    """Return places (row * width + column) of the mask by falling contrast, to a quarter decibel: a counting sort."""
    height, width = contrast.shape
    starts = np.zeros(_LEVELS + 1, dtype=np.int64)
    for row in range(height):
        for column in range(width):
            if mask[row, column]:
                starts[_bucket(contrast[row, column]) + 1] += 1
    for k in range(_LEVELS):
        starts[k + 1] += starts[k]
    order = np.empty(starts[_LEVELS], dtype=np.int64)
    for row in range(height):
        for column in range(width):
            if mask[row, column]:
                k = _bucket(contrast[row, column])
                order[starts[k]] = row * width + column
                starts[k] += 1
    return order


@njit(cache=True, nogil=True)
def _bucket(level):  # type: ignore[no-untyped-def]
    return _LEVELS - 1 - min(max(int((level - _LOWEST_DB) * _STEPS_A_DB), 0), _LEVELS - 1)


@njit(cache=True, nogil=True)
def _root(parent, number):  # type: ignore[no-untyped-def]
    while parent[number] != number:
        parent[number] = parent[parent[number]]
        number = parent[number]
    return number


@njit(cache=True, nogil=True)
def _join_peaks(parent, level, first, second, too_high):  # type: ignore[no-untyped-def]
    """Join the fainter of two peaks to the louder unless it reaches `too_high`; return the peak to go on with."""
    if first == second:
        return first
    louder, fainter = (first, second) if level[first] >= level[second] else (second, first)
    if level[fainter] >= too_high:
        return first
    parent[fainter] = louder
    return louder


@njit(cache=True, nogil=True)
def _renumber(labels, parent, level, count):  # type: ignore[no-untyped-def]
    numbers = np.zeros(count + 1, dtype=np.int32)
    levels = np.zeros(count, dtype=np.float32)
    used = 0
    for k in range(1, count + 1):
        if parent[k] == k:
            levels[used] = level[k]
            used += 1
            numbers[k] = used
    height, width = labels.shape
    for row in range(height):
        for column in range(width):
            if labels[row, column]:
                labels[row, column] = numbers[_root(parent, labels[row, column])]
    return labels, levels[:used]


@njit(cache=True, nogil=True)
def trim(labels, contrast, lowest):  # type: ignore[no-untyped-def]
    """Take out, in place, the pixels below the lowest level of their peak, and what that cuts off from the peak."""
    height, width = labels.shape
    for row in range(height):
        for column in range(width):
            k = labels[row, column]
            if k and contrast[row, column] < lowest[k - 1]:
                labels[row, column] = 0
    best = np.full(len(lowest), -np.inf)
    where = np.zeros((len(lowest), 2), dtype=np.int64)
    for row in range(height):
        for column in range(width):
            k = labels[row, column] - 1
            if k >= 0 and contrast[row, column] > best[k]:
                best[k] = contrast[row, column]
                where[k, 0], where[k, 1] = row, column
    reached = np.zeros((height, width), dtype=np.bool_)
    stack = np.empty((height * width, 2), dtype=np.int32)
    for k in range(len(lowest)):
        if best[k] == -np.inf:
            continue
        stack[0, 0], stack[0, 1] = where[k, 0], where[k, 1]
        reached[where[k, 0], where[k, 1]] = True
        waiting = 1
        while waiting:
            waiting -= 1
            row, column = stack[waiting, 0], stack[waiting, 1]
            for y in range(max(0, row - 1), min(height, row + 2)):
                for x in range(max(0, column - 1), min(width, column + 2)):
                    if labels[y, x] == k + 1 and not reached[y, x]:
                        reached[y, x] = True
                        stack[waiting, 0], stack[waiting, 1] = y, x
                        waiting += 1
    for row in range(height):
        for column in range(width):
            if not reached[row, column]:
                labels[row, column] = 0


@njit(cache=True, nogil=True)
def measure(labels, count, loudness, run):  # type: ignore[no-untyped-def]
    """Measure each labelled piece: box (top, left, bottom, right), area, peak, highest mean of `run` columns.

    `find_objects` and `maximum` of `scipy.ndimage` take 20 times as long.
    """
    height, width = labels.shape
    boxes = np.empty((count, 4), dtype=np.int64)
    boxes[:, 0] = height
    boxes[:, 1] = width
    boxes[:, 2:] = 0
    areas = np.zeros(count, dtype=np.int64)
    peaks = np.zeros(count, dtype=np.float32)
    run_peaks = np.zeros(count, dtype=np.float32)
    half = run // 2
    for row in range(height):
        for column in range(width):
            k = labels[row, column] - 1
            if k < 0:
                continue
            boxes[k, 0] = min(boxes[k, 0], row)
            boxes[k, 1] = min(boxes[k, 1], column)
            boxes[k, 2] = max(boxes[k, 2], row + 1)
            boxes[k, 3] = max(boxes[k, 3], column + 1)
            areas[k] += 1
            peaks[k] = max(peaks[k], loudness[row, column])
            first, last = max(0, column - half), min(width, column + half + 1)
            total = np.float32(0.0)
            for other in range(first, last):
                total += loudness[row, other]
            run_peaks[k] = max(run_peaks[k], total / (last - first))
    return boxes, areas, peaks, run_peaks


@njit(cache=True, nogil=True)
def strongest_neighbours(boxes, levels, near, far, rows):  # type: ignore[no-untyped-def]
    """Return, for each box, the highest level of those close in time, and of those of its own band that come again.

    Close is at most `near` columns away; of the same band is a middle less than `rows` rows off, at most `far`
    columns away. Boxes are sorted by their left edge; where there is no neighbour the value is minus infinity.
    """
    count = len(levels)
    beside = np.full(count, -np.inf)
    again = np.full(count, -np.inf)
    longest = 0
    for i in range(count):
        longest = max(longest, boxes[i, 3] - boxes[i, 1])
    first = 0
    for i in range(count):
        middle = boxes[i, 0] + boxes[i, 2]
        while boxes[i, 1] - boxes[first, 1] > longest + far:
            first += 1
        for j in range(first, count):
            if boxes[j, 1] - boxes[i, 3] > far:
                break
            apart = max(0, boxes[j, 1] - boxes[i, 3], boxes[i, 1] - boxes[j, 3])
            if i == j or apart > far:
                continue
            if apart <= near:
                beside[i] = max(beside[i], levels[j])
            if abs(boxes[j, 0] + boxes[j, 2] - middle) < 2 * rows:
                again[i] = max(again[i], levels[j])
    return beside, again


@njit(cache=True, nogil=True)
def bridge(mask, gap):  # type: ignore[no-untyped-def]
    """Fill, in place, runs of at most `gap` columns outside the mask between two inside it.

    `scipy.ndimage.binary_closing` takes 14 times as long.
    """
    if gap == 0:
        return
    height, width = mask.shape
    for row in range(height):
        last = -gap - 2
        for column in range(width):
            if mask[row, column]:
                if 1 < column - last <= gap + 1:
                    for k in range(last + 1, column):
                        mask[row, k] = True
                last = column
