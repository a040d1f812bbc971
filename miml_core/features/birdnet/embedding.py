"""BirdNET as an embedding of segments: the output of its network for the time that a segment spans.

The network gives six frames per window of 3 s. Windows that overlap make a *timeline* of eight frames per second, which
does not depend on the segments; a segment's embedding is the mean of the frames weighted by their distance from it.
BirdNET's logits are linear in the frames, so those of the mean are the scores of the network during the segment.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from miml_core.features.birdnet.files import LICENCE, VERSION
from miml_core.features.birdnet.network import FRAME_CENTRES, N_EMBEDDING, run_frames, species_weights
from miml_core.features.birdnet.species import find_species
from miml_core.features.birdnet.windows import (
    HIGHEST_RATE,
    LOWEST_RATE,
    STEP_SECONDS,
    cut_windows,
    resample,
    suitable_rate,
    window_starts,
)
from miml_core.features.embeddings import Embedding, SoundClip

NAME = f"birdnet-{VERSION}"
"""Name of the embedding in settings and on the command line."""

_WIDTH_SECONDS = 0.25
"""Standard deviation of the weights of frames outside a segment."""
_LEAST_WEIGHT = 1e-9
_AT_ONCE = 16
_LARGEST = float(np.finfo(np.float16).max)


def frame_times(duration: float) -> NDArray[np.float64]:
    """Return the (t,) middles of the frames of a clip, in seconds from its start, in ascending order.

    Examples
    --------
    >>> len(frame_times(10.0)), frame_times(3.0).round(2).tolist()
    (66, [0.56, 0.93, 1.3, 1.67, 2.05, 2.42])
    """
    return np.sort(_times(duration).ravel(), kind="stable")


def birdnet_timeline(samples: ArrayLike, rate: float) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
    """Return the output of BirdNET's network for a clip, frame by frame.

    Windows of 3 s lie inside of the clip, at most 0.75 s apart; a clip of less than 3 s is padded by zeros.

    Parameters
    ----------
    samples : (n,) float
    rate : float
        Samples per second, from 16 to 96 kHz.

    Returns
    -------
    times : (t,) float64
        The middle of each frame, in seconds from the first sample; ascending.
    frames : (t, 1024) float32
        In steps of half precision, in which they are stored.

    Raises
    ------
    BagtagError
        BirdNET is not installed, or cannot describe sound of this rate.

    Examples
    --------
    >>> from miml_core.features.birdnet import birdnet_status
    >>> if birdnet_status().installed:
    ...     times, frames = birdnet_timeline(np.zeros(4410), 44100)
    ...     assert times.shape == (6,) and frames.shape == (6, 1024)
    """
    given = np.asarray(samples, dtype=np.float32)
    sound = resample(given, rate)
    starts = window_starts(len(given) / rate, STEP_SECONDS)
    frames = np.empty((len(starts), len(FRAME_CENTRES), N_EMBEDDING), dtype=np.float32)
    for first in range(0, len(starts), _AT_ONCE):
        part = slice(first, first + _AT_ONCE)
        frames[part] = run_frames(cut_windows(sound, starts[part]))
    times = _times(len(given) / rate).ravel()
    order = np.argsort(times, kind="stable")
    half = np.minimum(frames.reshape(-1, N_EMBEDDING)[order], _LARGEST).astype(np.float16)
    return times[order], half.astype(np.float32)


def window_embeddings(duration: float, frames: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the (w, 1024) embeddings of the windows of a timeline: the means of their six frames.

    Parameters
    ----------
    duration : float
        Of the clip, in seconds; its windows are those of `window_starts(duration, 0.75)`.
    frames : (t, 1024) float32
        Of `birdnet_timeline`, in ascending order of time.

    Examples
    --------
    >>> window_embeddings(3.5, np.arange(12.0)[:, None]).round(1).tolist()
    [[4.2], [6.8]]
    """
    times = _times(duration)
    sorted_frames = np.asarray(frames)
    by_window = np.empty_like(sorted_frames)
    by_window[np.argsort(times.ravel(), kind="stable")] = sorted_frames
    return np.asarray(by_window.reshape(*times.shape, -1).mean(axis=1))


def pool_frames(times: ArrayLike, frames: ArrayLike, spans: ArrayLike) -> NDArray[np.float32]:
    """Return one embedding per stretch of time: the mean of the frames in it and, with less weight, around it.

    Parameters
    ----------
    times : (t,) float
    frames : (t, d) float32
        Of `birdnet_timeline`.
    spans : (n, 2) float
        Start and end of each stretch, in the seconds of `times`.

    Returns
    -------
    embeddings : (n, d) float32

    Examples
    --------
    >>> pool_frames([0.0, 1.0, 2.0], [[1.0], [2.0], [6.0]], [[0.9, 1.1], [-1.0, 3.0]]).round(2).tolist()
    [[2.0], [3.0]]
    """
    middles, stretches = np.asarray(times, dtype=np.float64), np.asarray(spans, dtype=np.float64).reshape(-1, 2)
    outside = np.maximum(stretches[:, :1] - middles, middles - stretches[:, 1:])
    weights = np.exp(-0.5 * (np.maximum(outside, 0.0) / _WIDTH_SECONDS) ** 2) + _LEAST_WEIGHT
    weights /= weights.sum(axis=1, keepdims=True)
    return weights.astype(np.float32) @ np.asarray(frames, dtype=np.float32)


def clip_timeline(clip: SoundClip) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
    """Return the timeline of a clip as `birdnet_timeline` does, from the clip's cache if it is there."""
    times = frame_times(len(clip.samples) / clip.rate)
    kept = None if clip.cache is None else clip.cache.read((len(times), N_EMBEDDING))
    if kept is not None:
        return times, kept.astype(np.float32)
    times, frames = birdnet_timeline(clip.samples, clip.rate)
    if clip.cache is not None:
        clip.cache.write(frames.astype(np.float16))
    return times, frames


def class_weights(names: Sequence[str], scientific_names: Sequence[str]) -> NDArray[np.float64]:
    """Return BirdNET's linear functions of the embedding for classes of a project.

    Parameters
    ----------
    names, scientific_names : sequence of C str
        Scientific names may be empty. Several classes may be one species.

    Returns
    -------
    weights : (1025, C) float64
        The last row is the bias; NaN in the columns of classes that are no species of BirdNET.

    Examples
    --------
    >>> from miml_core.features.birdnet import birdnet_status
    >>> if birdnet_status().installed:
    ...     weights = class_weights(["Eurasian Wren", "creaking gate"], ["", ""])
    ...     assert np.isnan(weights).any(axis=0).tolist() == [False, True]
    """
    found = [find_species(name, scientific) for name, scientific in zip(names, scientific_names, strict=True)]
    known = {column: species.index for column, species in enumerate(found) if species is not None}
    matrix = np.full((N_EMBEDDING + 1, len(found)), np.nan)
    weights, bias = species_weights(tuple(known.values()))
    matrix[:-1, list(known)], matrix[-1, list(known)] = weights.T, bias
    return matrix


def not_described(name: str, rate: float) -> str:
    """Return why BirdNET does not describe a recording of this sample rate, as a sentence; empty if it does.

    Examples
    --------
    >>> not_described("bat.wav", 384000)
    'bat.wav has a sample rate of 384 kHz, and BirdNET supports 16 to 96 kHz only; its segments have the hand-made \
features only.'
    """
    if suitable_rate(rate):
        return ""
    return (
        f"{name} has a sample rate of {rate / 1000:g} kHz, and BirdNET supports {LOWEST_RATE / 1000:g} to "
        f"{HIGHEST_RATE / 1000:g} kHz only; its segments have the hand-made features only."
    )


def _times(duration: float) -> NDArray[np.float64]:
    return window_starts(duration, STEP_SECONDS)[:, None] + FRAME_CENTRES


def _describe(clip: SoundClip) -> NDArray[np.float32]:
    return pool_frames(*clip_timeline(clip), clip.boxes[:, [0, 2]])


BIRDNET = Embedding(
    NAME,
    "sound",
    tuple(f"BirdNET {number}" for number in range(N_EMBEDDING)),
    _describe,
    class_weights=class_weights,
    not_described=not_described,
    licence=LICENCE,
)
"""The embedding; `find_embedding("birdnet-2.4", "sound")` returns it where BirdNET is installed."""
