"""Which species BirdNET detects in a clip: one score per species, without training."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from miml_core.features.birdnet.network import run_frames, score_embeddings
from miml_core.features.birdnet.windows import STEP_SECONDS, Channel, read_windows, window_starts

MOST_WINDOWS = 60
"""Of a longer recording that many windows, spread evenly, are a sample that takes about two seconds."""


def sampled_starts(duration: float) -> NDArray[np.float64]:
    """Return the starts of the windows that a clip is scored by, in seconds from its start.

    Parameters
    ----------
    duration : float
        Of the clip, in seconds.

    Examples
    --------
    >>> sampled_starts(5.0)
    array([0.        , 0.66666667, 1.33333333, 2.        ])
    >>> len(sampled_starts(3 * 3600.0))
    60
    """
    starts = window_starts(duration, STEP_SECONDS)
    return np.linspace(0.0, starts[-1], MOST_WINDOWS) if is_sampled(duration) else starts


def is_sampled(duration: float) -> bool:
    """Return whether a clip is so long that only a sample of its windows is scored."""
    return len(window_starts(duration, STEP_SECONDS)) > MOST_WINDOWS


def mean_scores(embeddings: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the score of each species in a clip: the mean over its windows of the sigmoid of the logits.

    Parameters
    ----------
    embeddings : (w, 1024) float32
        Of the clip's windows, at least one.

    Returns
    -------
    scores : (6522,) float32
        From 0 to 1, in the order of `species_list`.
    """
    logits = score_embeddings(embeddings)
    return np.asarray((0.5 * (1.0 + np.tanh(0.5 * logits))).mean(axis=0), dtype=np.float32)


def score_clip(path: str | Path, start: float, end: float, channel: Channel = "mix") -> NDArray[np.float32]:
    """Return BirdNET's score of each species in a part of a recording.

    Parameters
    ----------
    path : path
        A sound file of 16 to 96 kHz.
    start, end : float
        The part, in seconds from the start of the recording.
    channel : int or "mix"

    Returns
    -------
    scores : (6522,) float32
        See `mean_scores`.

    Raises
    ------
    BagtagError
        BirdNET is not installed, or the file cannot be read or has another rate.

    Examples
    --------
    >>> import tempfile
    >>> import soundfile
    >>> from miml_core.features.birdnet import birdnet_status
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     soundfile.write(f"{folder}/dawn.wav", np.zeros(5 * 48000), 48000)
    ...     if birdnet_status().installed:
    ...         assert score_clip(f"{folder}/dawn.wav", 0.0, 5.0).shape == (6522,)
    """
    starts = start + sampled_starts(end - start)
    embeddings = [run_frames(windows).mean(axis=1) for windows in read_windows(path, starts, start, end, channel)]
    return mean_scores(np.concatenate(embeddings))
