"""Cut sound into the windows that BirdNET's network takes: 3 s at 48 kHz."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from miml_core.errors import BagtagError
from miml_core.media.audio import Channel, read_audio

RATE = 48_000
SECONDS = 3.0
WINDOW = 144_000
"""Samples per window."""

STEP_SECONDS = 0.75
"""Largest distance between the starts of the windows by which clips are scored and segments are described; one number,
because both use the same timeline. Of the steps tried, it ranked species best."""

LOWEST_RATE, HIGHEST_RATE = 16_000, 96_000

_MOST_WINDOWS = 16
_BLOCK_SECONDS = 60.0
_MARGIN_SECONDS = 0.1
"""Of sound around a block, so that resampling makes no edges in it."""


def suitable_rate(rate: float) -> bool:
    """Return whether BirdNET can describe sound of a sample rate.

    Below 16 kHz most bird song is missing: a recording of 8 kHz ends at 4 kHz, and the network takes the silence above
    for a property of the sound. Recorders with more than 96 kHz are set up for bats, and the network detects nothing
    above 15 kHz.

    Examples
    --------
    >>> [suitable_rate(rate) for rate in (8000, 16000, 44100, 96000, 384000)]
    [False, True, True, True, False]
    """
    return LOWEST_RATE <= rate <= HIGHEST_RATE


def check_rate(rate: float, name: str = "The recording") -> None:
    """Raise a BagtagError with one sentence if BirdNET cannot describe sound of this rate.

    Parameters
    ----------
    rate : float
        Samples per second.
    name : str
        What the sentence is about, such as the name of a file.

    Examples
    --------
    >>> check_rate(384000, "bat.wav")
    Traceback (most recent call last):
    miml_core.errors.BagtagError: bat.wav has a sample rate of 384 kHz, but BirdNET supports 16 to 96 kHz only; \
use the hand-made features for it.
    """
    if not suitable_rate(rate):
        raise BagtagError(
            f"{name} has a sample rate of {rate / 1000:g} kHz, but BirdNET supports {LOWEST_RATE / 1000:g} to "
            f"{HIGHEST_RATE / 1000:g} kHz only; use the hand-made features for it."
        )


def resample(samples: ArrayLike, rate: float, name: str = "The recording") -> NDArray[np.float32]:
    """Return sound at 48 kHz.

    Parameters
    ----------
    samples : (n,) float
    rate : float
        Samples per second, from 16 to 96 kHz.
    name : str
        See `check_rate`, which raises an error for other rates.

    Returns
    -------
    samples : (about n * 48000 / rate,) float32

    Examples
    --------
    >>> resample(np.zeros(8820), 44100).shape
    (9600,)
    """
    check_rate(rate, name)
    given = np.ascontiguousarray(samples, dtype=np.float32)
    if rate == RATE or not given.size:
        return given
    import soxr

    return np.asarray(soxr.resample(given, rate, RATE), dtype=np.float32)


def window_starts(duration: float, step: float = SECONDS) -> NDArray[np.float64]:
    """Return the starts of windows that cover a clip, in seconds.

    The last window ends with the clip, so that none holds more padding than needed; a clip of less than 3 s is one
    window.

    Parameters
    ----------
    duration : float
        Of the clip, in seconds.
    step : float
        Largest distance between neighbouring windows, in seconds; at most 3 for windows without gaps.

    Examples
    --------
    >>> window_starts(10.0)
    array([0.        , 2.33333333, 4.66666667, 7.        ])
    >>> window_starts(0.2)
    array([0.])
    """
    last = max(0.0, duration - SECONDS)
    count = int(np.ceil(round(last / step, 6))) + 1
    return np.linspace(0.0, last, count)


def cut_windows(samples: ArrayLike, starts: ArrayLike) -> NDArray[np.float32]:
    """Cut windows out of sound at 48 kHz.

    What lies outside the sound is filled with zeros, as BirdNET's own programs fill the end of a recording.

    Parameters
    ----------
    samples : (n,) float
        At 48 kHz.
    starts : (w,) float
        In seconds from the first sample; negative for a window that begins before it.

    Returns
    -------
    windows : (w, 144000) float32

    Examples
    --------
    >>> cut_windows(np.ones(96000), [-1.0]).reshape(3, -1).mean(axis=1)
    array([0., 1., 1.], dtype=float32)
    """
    given = np.asarray(samples, dtype=np.float32)
    first = np.rint(np.asarray(starts, dtype=np.float64) * RATE).astype(np.int64)
    windows = np.zeros((len(first), WINDOW), dtype=np.float32)
    for window, start in zip(windows, first.tolist()):
        inside = given[max(0, start) : max(0, start + WINDOW)]
        offset = max(0, -start)
        window[offset : offset + len(inside)] = inside
    return windows


def read_windows(
    path: str | Path, starts: ArrayLike, start: float = 0.0, end: float = math.inf, channel: Channel = "mix"
) -> Iterator[NDArray[np.float32]]:
    """Yield windows of a recording, at most 16 at a time, so that memory does not depend on its length.

    Parameters
    ----------
    path : path
        A sound file of 16 to 96 kHz.
    starts : (w,) float
        Starts of the windows in seconds from the start of the recording; neighbours are read together if they ascend.
    start, end : float
        What lies outside this part of the recording, such as a bag, is filled with zeros.
    channel : int or "mix"

    Yields
    ------
    windows : (16 or fewer, 144000) float32

    Examples
    --------
    >>> import tempfile
    >>> import soundfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     soundfile.write(f"{folder}/dawn.wav", np.zeros(60 * 16000), 16000)
    ...     [len(windows) for windows in read_windows(f"{folder}/dawn.wav", window_starts(60.0))]
    [16, 4]
    """
    path, places = Path(path), np.asarray(starts, dtype=np.float64)
    first = 0
    while first < len(places):
        last = first + 1
        while last < min(len(places), first + _MOST_WINDOWS) and 0 <= places[last] - places[first] <= _BLOCK_SECONDS:
            last += 1
        group = places[first:last]
        # Whole seconds are whole samples at every rate, before and after resampling.
        begin = max(start, math.floor(group.min() - _MARGIN_SECONDS), 0.0)
        stop = min(end, group.max() + SECONDS + _MARGIN_SECONDS)
        samples, rate = read_audio(path, begin, max(0.0, stop - begin), channel)
        yield cut_windows(resample(samples, rate, path.name), group - begin)
        first = last
