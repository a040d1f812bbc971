"""The loops over pixels behind the acoustic features, compiled."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

DIRECTIONS = 16
FAINTEST = 0.03
"""Amplitude above the background, in units of it, that is distinguished from none (-30 dB)."""


@njit(cache=True, nogil=True)
def describe(values, masks, starts, tops, lefts, heights, widths):  # type: ignore[no-untyped-def]
    """Compute the 38 features of each region; see `acoustic.paper_features`.

    Parameters
    ----------
    values : (height, width) float32
        Noise-reduced spectrogram, row 0 the highest frequency.
    masks, starts, tops, lefts, heights, widths
        See `mask_arrays`.
    """
    total_height, total_width = values.shape
    features = np.zeros((len(tops), 22 + DIRECTIONS))
    for i in range(len(tops)):
        height, width = heights[i], widths[i]
        mask = masks[starts[i] : starts[i] + height * width].reshape(height, width)
        out = features[i]
        by_row = np.zeros(height)
        by_column = np.zeros(width)
        area = 0
        perimeter = 0
        total = 0.0
        squares = 0.0
        for row in range(height):
            y = tops[i] + row
            for column in range(width):
                if not mask[row, column]:
                    continue
                x = lefts[i] + column
                value = float(values[y, x])
                area += 1
                total += value
                squares += value * value
                by_row[row] += value
                by_column[column] += value
                perimeter += (row == 0 or not mask[row - 1, column]) + (row == height - 1 or not mask[row + 1, column])
                perimeter += (column == 0 or not mask[row, column - 1]) + (
                    column == width - 1 or not mask[row, column + 1]
                )
                above, below = max(y - 1, 0), min(y + 1, total_height - 1)
                before, after = max(x - 1, 0), min(x + 1, total_width - 1)
                along = (
                    (values[above, after] - values[above, before])
                    + 2.0 * (values[y, after] - values[y, before])
                    + (values[below, after] - values[below, before])
                )
                upward = (
                    (values[above, before] - values[below, before])
                    + 2.0 * (values[above, x] - values[below, x])
                    + (values[above, after] - values[below, after])
                )
                strength = math.sqrt(along * along + upward * upward)
                if strength > 0.0:
                    turn = math.atan2(upward, along) / (2.0 * math.pi)
                    out[22 + math.floor(turn * DIRECTIONS + 0.5) % DIRECTIONS] += strength
        if total <= 0.0:
            for row in range(height):
                for column in range(width):
                    by_row[row] += mask[row, column]
                    by_column[column] += mask[row, column]
        _profile(by_row[::-1], total_height - tops[i] - height, total_height, out, 0)
        _profile(by_column, 0, width, out, 1)
        mean = total / area
        out[12] = mean
        out[13] = math.sqrt(max(0.0, squares / area - mean * mean))
        out[14] = total_height - tops[i] - height
        out[15] = total_height - tops[i]
        out[16] = height
        out[17] = width
        out[18] = area
        out[19] = perimeter
        out[20] = perimeter * perimeter / area
        out[21] = area / (height * width)
        directions = out[22:].sum()
        if directions > 0.0:
            out[22:] /= directions
        else:
            out[22:] = 1.0 / DIRECTIONS
    return features


@njit(cache=True, nogil=True)
def _profile(profile, first, length, out, place):  # type: ignore[no-untyped-def]
    """Compute Gini index, mean, three central moments and peak of a profile from `first` of `length` cells on."""
    share = profile / profile.sum()
    gini = 1.0
    mean = 0.0
    peak = 0
    for k in range(len(share)):
        gini -= share[k] * share[k]
        mean += share[k] * (first + k + 0.5) / length
        if share[k] > share[peak]:
            peak = k
    second = third = fourth = 0.0
    for k in range(len(share)):
        away = (first + k + 0.5) / length - mean
        second += share[k] * away**2
        third += share[k] * away**3
        fourth += share[k] * away**4
    out[place] = gini
    out[place + 2] = mean
    out[place + 4] = second
    out[place + 6] = third
    out[place + 8] = fourth
    out[place + 10] = (first + peak + 0.5) / length


@njit(cache=True, nogil=True, fastmath=True)
def cepstra(  # type: ignore[no-untyped-def]
    values, loudest, masks, starts, tops, lefts, heights, widths, first_band, share, cosines, deviations
):
    """Compute cepstral coefficients of each whole region, and deviations over its columns of the first `deviations`.

    Parameters
    ----------
    values : (height, width) float32
        Noise-reduced spectrogram, in which 1 is `loudest` decibels above the background.
    masks, starts, tops, lefts, heights, widths
        See `mask_arrays`.
    first_band : (height,), share : (height, 2)
        Each row counts for two bands, `first_band` and the next.
    cosines : (coefficients, bands)
    """
    coefficients, bands = cosines.shape
    out = np.zeros((len(tops), coefficients + deviations))
    to_amplitude = loudest * math.log(10.0) / 20.0
    to_decibels = 20.0 / math.log(10.0)
    for i in range(len(tops)):
        height, width = heights[i], widths[i]
        mask = masks[starts[i] : starts[i] + height * width].reshape(height, width)
        amplitude = np.zeros((width, bands))
        for row in range(height):
            y = tops[i] + row
            band = first_band[y]
            for column in range(width):
                if mask[row, column]:
                    above = math.exp(to_amplitude * values[y, lefts[i] + column]) - 1.0
                    amplitude[column, band] += share[y, 0] * above
                    amplitude[column, band + 1] += share[y, 1] * above
        whole = np.zeros(bands)
        sums = np.zeros(deviations)
        squares = np.zeros(deviations)
        level = np.empty(bands)
        for column in range(width):
            for band in range(bands):
                whole[band] += amplitude[column, band]
                level[band] = to_decibels * math.log(amplitude[column, band] + FAINTEST)
            for k in range(deviations):
                value = 0.0
                for band in range(bands):
                    value += cosines[k, band] * level[band]
                sums[k] += value
                squares[k] += value * value
        for k in range(coefficients):
            for band in range(bands):
                out[i, k] += cosines[k, band] * to_decibels * math.log(whole[band] / width + FAINTEST)
        for k in range(deviations):
            mean = sums[k] / width
            out[i, coefficients + k] = math.sqrt(max(0.0, squares[k] / width - mean * mean))
    return out
