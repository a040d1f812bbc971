"""Run BirdNET's network on windows of 3 s.

The network is a stack of convolutions over a pair of mel spectrograms. Its last layers are the mean over six frames of
1024 numbers (the *embedding*), and one linear function of it per species (the *logits*; their sigmoid is BirdNET's
score). Only the convolutions are run by LiteRT, with one thread: the spectrograms are computed three times as fast by
`mel_images.py`, and the linear functions are one matrix product for all windows together. One window at a time is as
fast as a batch and needs the least memory.

Per process there is one interpreter, made when it is first needed; threads take turns, window by window.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cache, lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from miml_core.features.birdnet.files import model_file
from miml_core.features.birdnet.graph import Graph
from miml_core.features.birdnet.interpreters import make_interpreter
from miml_core.features.birdnet.mel_images import N_BANDS, N_COLUMNS, MelBand, normalize
from miml_core.features.birdnet.windows import WINDOW

N_EMBEDDING = 1024
N_SPECIES = 6522
N_FRAMES = 6
"""Frames per window, see `run_frames`."""

FRAME_CENTRES = (np.arange(N_FRAMES) + 1.5) * 64 * 279 / 48000
"""(6,) float: the middle of each frame, in seconds from the start of its window.

The network halves time six times, so that a column of its last map is 64 columns of the spectrogram; a frame joins
three neighbouring columns."""

# Tensors of the file, whose content `files.py` checks.
_LOW_BAND, _HIGH_BAND = (129, 166, 165), (126, 168, 167)  # window of the transform, mel weights, exponent
_IMAGES = 263  # model/concatenate/concat
_FRAMES = 544  # model/POST_ACT_1/Relu, the input of GLOBAL_AVG_POOL/Mean
_WEIGHTS, _BIAS = 164, 142  # model/CLASS_DENSE_LAYER


def run_windows(windows: ArrayLike) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the embeddings and the logits of windows.

    Parameters
    ----------
    windows : (w, 144000) float32
        Windows of 3 s at 48 kHz; see `windows.py`.

    Returns
    -------
    embeddings : (w, 1024) float32
    logits : (w, 6522) float32
        One column per species, in the order of `species_list`; BirdNET's score is their sigmoid.

    Raises
    ------
    BagtagError
        BirdNET is not installed, or damaged.

    Examples
    --------
    >>> from miml_core.features.birdnet.files import birdnet_status
    >>> if birdnet_status().installed:
    ...     embeddings, logits = run_windows(np.zeros((2, 144000)))
    ...     assert embeddings.shape == (2, 1024) and logits.shape == (2, 6522)
    """
    embeddings = run_frames(windows).mean(axis=1)
    return embeddings, score_embeddings(embeddings)


def run_frames(windows: ArrayLike) -> NDArray[np.float32]:
    """Return the output of the network for six stretches of each window; their mean is the embedding.

    The stretches are centred at `FRAME_CENTRES`. Because logits are linear in the embedding, those of a window are the
    means of the logits of its frames: `score_embeddings(run_frames(windows))` shows when in a window a species calls.

    Parameters
    ----------
    windows : (w, 144000) float32

    Returns
    -------
    frames : (w, 6, 1024) float32
    """
    samples = np.asarray(windows, dtype=np.float32)
    if samples.ndim != 2 or samples.shape[1] != WINDOW:
        raise ValueError(f"Windows of {WINDOW} samples are needed, one per row, not an array of shape {samples.shape}.")
    network = _network()
    frames = np.empty((len(samples), N_FRAMES, N_EMBEDDING), dtype=np.float32)
    for row, window in enumerate(samples):
        frames[row] = network.frames(network.images(window))
    return frames


def score_embeddings(embeddings: NDArray[np.float32], species: Sequence[int] | None = None) -> NDArray[np.float32]:
    """Return the logits of embeddings, or of frames.

    Parameters
    ----------
    embeddings : (..., 1024) float32
    species : sequence of s int, optional
        Indices of the species that are needed (default: all 6522).

    Returns
    -------
    logits : (..., s) float32
    """
    network = _network()
    weights, bias = network.weights, network.bias
    if species is not None:
        weights, bias = weights[np.asarray(species, dtype=np.intp)], bias[np.asarray(species, dtype=np.intp)]
    return np.asarray(embeddings, dtype=np.float32) @ weights.T + bias


@lru_cache(maxsize=8)
def species_weights(species: tuple[int, ...]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the linear functions of some species: `embedding @ weights.T + bias` are their logits.

    They are read from the file; the network is not loaded.

    Parameters
    ----------
    species : tuple of s int
        Indices in `species_list`; one may occur several times.

    Returns
    -------
    weights : (s, 1024) float32
    bias : (s,) float32
        Neither is to be changed.
    """
    graph = Graph(model_file().read_bytes())
    chosen = np.asarray(species, dtype=np.intp)
    weights, bias = graph.constant(_WEIGHTS)[chosen], graph.constant(_BIAS)[chosen]
    weights.setflags(write=False)
    bias.setflags(write=False)
    return weights, bias


def mel_images(windows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the (w, 96, 511, 2) spectrograms that are the input of the network: up to 3 kHz, and 500 Hz to 15 kHz."""
    network = _network()
    return np.stack([network.images(window) for window in windows])


def run_mel_images(images: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the (w, 6, 1024) frames of spectrograms that `mel_images` made and that may have been changed since."""
    network = _network()
    return np.stack([network.frames(image) for image in images])


def load_network() -> None:
    """Load the network now, which takes about a second, so that the first window does not wait for it.

    Raises
    ------
    BagtagError
        BirdNET is not installed, or damaged.
    """
    _network()


class _Network:
    """The network, taken apart: spectrograms, convolutions, linear functions."""

    def __init__(self) -> None:
        graph = Graph(bytearray(model_file().read_bytes()))
        self._bands = [
            MelBand.of(*(graph.constant(tensor) for tensor in _LOW_BAND), hop=278),
            MelBand.of(*(graph.constant(tensor) for tensor in _HIGH_BAND), hop=280),
        ]
        content = graph.cut(_IMAGES, _FRAMES, (1, N_BANDS, N_COLUMNS, 2))
        self.weights: NDArray[np.float32] = Graph(content).constant(_WEIGHTS)
        self.bias: NDArray[np.float32] = Graph(content).constant(_BIAS)
        self._interpreter = make_interpreter(content)
        self._lock = threading.Lock()

    def images(self, window: NDArray[np.float32]) -> NDArray[np.float32]:
        scaled, level = normalize(window)
        return np.stack([band.image(scaled, level) for band in self._bands], axis=-1)

    def frames(self, image: NDArray[np.float32]) -> NDArray[np.float32]:
        with self._lock:
            self._interpreter.set_tensor(_IMAGES, image[None])
            self._interpreter.invoke()
            return np.asarray(self._interpreter.get_tensor(_FRAMES)[0, 0])


_loading = threading.Lock()


def _network() -> _Network:
    with _loading:
        return _loaded()


@cache
def _loaded() -> _Network:
    return _Network()
