"""Embeddings: features from a neural network or any other function, in addition to the built-in ones.

An embedding is a function of a clip and its segments that returns one row of numbers per segment. "birdnet-2.4" is
known where BirdNET is installed. Others are Python code of the user, so Bagtag takes them from two sources only: a call
of `register_embedding` in a script, or an installed package that declares it under the entry point group
`bagtag.embeddings`. Projects and the command line refer to an embedding by name; a name is looked up among these, and
is never run. CONTRIBUTING.md has a complete example.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from miml_core.errors import BagtagError
from miml_core.media.grid import Grid
from miml_core.media.spectrogram import Spectrogram
from miml_core.segments.regions import Region

GROUP = "bagtag.embeddings"
"""Entry point group under which installed packages declare embeddings."""

BIRDNET = "birdnet-2.4"
"""Name of the built-in embedding of sounds, see `birdnet/embedding.py`."""

_KINDS = {"sound": "sound", "picture": "pictures"}
_NEXT_STEP = "Correct the plug-in, or choose another embedding (or none) on the Segment page."


class ArrayCache(Protocol):
    """Where an embedding may keep one array that it computed from the samples of a clip, whatever its segments.

    Examples
    --------
    >>> class InMemory:
    ...     kept = None
    ...     def read(self, shape):
    ...         return None if self.kept is None or self.kept.shape != shape else self.kept
    ...     def write(self, values):
    ...         self.kept = values
    >>> cache: ArrayCache = InMemory()
    >>> cache.write(np.zeros((8, 3), dtype=np.float16))
    >>> cache.read((8, 3)).shape, cache.read((8, 4))
    ((8, 3), None)
    """

    def read(self, shape: tuple[int, int]) -> NDArray[np.float16] | None:
        """Return the array that was kept; None if there is none of this shape."""

    def write(self, values: NDArray[np.float16]) -> None:
        """Keep an array; it may get lost."""


@dataclass(frozen=True, eq=False)
class SoundClip:
    """One bag of sound, as it is passed to an embedding.

    Attributes
    ----------
    samples : (n,) float32
    rate : int
        Samples per second.
    spectrogram : Spectrogram
        The x axis of its grid is seconds from the start of the recording.
    regions : sequence of Region
        The segments, on the spectrogram's grid.
    cache : ArrayCache, optional
        For what takes long and does not depend on the segments.

    Examples
    --------
    >>> from miml_core.media.grid import Grid
    >>> grid = Grid(100, 80, 5.0, 15.0, 8000.0, 0.0)
    >>> spectrogram = Spectrogram(np.zeros((80, 100), dtype=np.float32), grid, 16000)
    >>> call = Region(10, 20, np.ones((5, 30), dtype=bool))
    >>> clip = SoundClip(np.zeros(160_000, dtype=np.float32), 16000, spectrogram, [call])
    >>> clip.boxes.tolist()  # from the first sample of the clip, which starts at 5 s
    [[2.0, 6500.0, 5.0, 7000.0]]
    """

    samples: NDArray[np.float32]
    rate: int
    spectrogram: Spectrogram
    regions: Sequence[Region]
    cache: ArrayCache | None = None

    @property
    def boxes(self) -> NDArray[np.float64]:
        """(n, 4) float: start, low, end, high of each segment, in seconds from the first sample and hertz."""
        boxes = _boxes(self.spectrogram.grid, self.regions)
        boxes[:, [0, 2]] -= self.spectrogram.grid.left
        return boxes


@dataclass(frozen=True, eq=False)
class PictureClip:
    """One picture, as it is passed to an embedding: (height, width, 3) pixels at the working size, and its segments.

    Examples
    --------
    >>> clip = PictureClip(np.zeros((60, 80, 3), dtype=np.uint8), [Region(0, 40, np.ones((60, 40), dtype=bool))])
    >>> clip.pixels.shape, clip.regions[0].box
    ((60, 80, 3), (0, 40, 60, 80))
    """

    pixels: NDArray[np.uint8]
    regions: Sequence[Region]


@dataclass(frozen=True)
class Embedding:
    """A function that computes features of the segments of a clip.

    Parameters
    ----------
    name : str
        Name in settings and on the command line.
    kind : "sound" or "picture"
        Whether `describe` takes a `SoundClip` or a `PictureClip`.
    names : tuple of d str
        Names of the columns.
    describe : callable
        Returns (n, d) features of the n segments of a clip. It is called for clips with at least one segment, in
        several processes at once; load a network on the first call.
    class_weights : callable, optional
        For an embedding of a network that was trained on species: given the C names and scientific names (which may be
        empty) of classes, returns the (d + 1, C) weights, in the last row the bias, of a linear classifier on its
        columns; NaN in the columns of classes it does not know.
    not_described : callable, optional
        Given the name of a recording and its sample rate, returns why it cannot be described, as a sentence, or an
        empty text. `describe` is not called for such recordings; their columns are zeros.
    licence : str
        Licence of the network, shown with exports.

    Examples
    --------
    >>> durations = Embedding("durations-1", "sound", ("duration",), lambda clip: np.diff(clip.boxes[:, [0, 2]]))
    >>> register_embedding(durations)
    >>> find_embedding("durations-1", "sound").names
    ('duration',)
    """

    name: str
    kind: Literal["sound", "picture"]
    names: tuple[str, ...]
    describe: Callable[[Any], NDArray[np.floating[Any]]]
    class_weights: Callable[[Sequence[str], Sequence[str]], NDArray[np.floating[Any]]] | None = None
    not_described: Callable[[str, float], str] | None = None
    licence: str = ""


_registered: dict[str, Embedding] = {}


def register_embedding(embedding: Embedding) -> None:
    """Register an embedding in this process, in place of one of the same name; `Embedding` has an example.

    Examples
    --------
    >>> register_embedding(Embedding("ones", "sound", ("one",), lambda clip: np.ones((len(clip.regions), 1))))
    >>> find_embedding("ones", "sound").names
    ('one',)
    """
    if embedding.kind not in ("sound", "picture") or not embedding.names:
        raise BagtagError(
            f"The embedding {embedding.name!r} needs the kind 'sound' or 'picture' and names of its columns."
        )
    _registered[embedding.name] = embedding


def find_embedding(name: str, kind: str) -> Embedding:
    """Return the embedding that is registered, or installed, under a name.

    Raises
    ------
    BagtagError
        There is none of that name, it is of another kind of media, or it is BirdNET, which is not installed.

    Examples
    --------
    >>> find_embedding("no-such-name", "sound")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    miml_core.errors.BagtagError: There is no embedding 'no-such-name'; ...
    """
    if name not in _registered and name == BIRDNET:
        _register_birdnet()
    if name not in _registered:
        _register_installed(name)
    if name not in _registered:
        known = known_embeddings()
        raise BagtagError(
            f"There is no embedding {name!r}; "
            + (f"there are {', '.join(known)}." if known else "none is registered or installed.")
        )
    found = _registered[name]
    if found.kind != kind:
        raise BagtagError(f"The embedding {name!r} is for {_KINDS[found.kind]}, not for {_KINDS[kind]}.")
    return found


def known_embeddings() -> list[str]:
    """Return the names of all embeddings, of both kinds of media, that are built in, registered or installed.

    Examples
    --------
    >>> register_embedding(Embedding("ones", "sound", ("one",), lambda clip: np.ones((len(clip.regions), 1))))
    >>> "ones" in known_embeddings()
    True
    """
    from miml_core.features.birdnet.files import birdnet_status

    built_in = [BIRDNET] if birdnet_status().installed else []
    return sorted({*built_in, *_registered, *(entry.name for entry in _installed())})


def embeddings_for(kind: str) -> list[str]:
    """Return the names of the embeddings of one kind of media; those that cannot be imported are left out.

    Examples
    --------
    >>> register_embedding(Embedding("ones", "sound", ("one",), lambda clip: np.ones((len(clip.regions), 1))))
    >>> "ones" in embeddings_for("sound"), "ones" in embeddings_for("picture")
    (True, False)
    """
    found = []
    for name in known_embeddings():
        with suppress(BagtagError):
            found.append(find_embedding(name, kind).name)
    return found


def default_embedding(rate: float) -> str | None:
    """Return the embedding of a new project of recordings, by the sample rate of the first one.

    It is BirdNET if that is installed and supports the sample rate. `BAGTAG_EMBEDDING` names another one, or
    "none", for all new projects: the weights of BirdNET are for non-commercial use only.

    Examples
    --------
    >>> default_embedding(384_000) is None  # BirdNET does not know bats
    True
    """
    from miml_core.features.birdnet.files import birdnet_status
    from miml_core.features.birdnet.windows import suitable_rate

    chosen = os.environ.get("BAGTAG_EMBEDDING", "").strip()
    if chosen:
        return None if chosen == "none" else chosen
    return BIRDNET if suitable_rate(rate) and birdnet_status().installed else None


def embed(name: str, clip: SoundClip | PictureClip) -> NDArray[np.float64]:
    """Return the (n, d) features of a clip's segments by the embedding of that name.

    Raises
    ------
    BagtagError
        The embedding failed, or returned an array of another shape or with numbers that are not finite.

    Examples
    --------
    >>> from miml_core.media.grid import Grid
    >>> grid = Grid(100, 80, 5.0, 15.0, 8000.0, 0.0)
    >>> spectrogram = Spectrogram(np.zeros((80, 100), dtype=np.float32), grid, 16000)
    >>> call = Region(10, 20, np.ones((5, 30), dtype=bool))
    >>> clip = SoundClip(np.zeros(160_000, dtype=np.float32), 16000, spectrogram, [call])
    >>> register_embedding(Embedding("durations-1", "sound", ("s",), lambda clip: np.diff(clip.boxes[:, [0, 2]])))
    >>> embed("durations-1", clip)
    array([[3.]])
    """
    embedding = find_embedding(name, "sound" if isinstance(clip, SoundClip) else "picture")
    wanted = (len(clip.regions), len(embedding.names))
    if not clip.regions:
        return np.empty(wanted)
    if isinstance(clip, SoundClip) and embedding.not_described and embedding.not_described("", clip.rate):
        return np.zeros(wanted)
    try:
        X = np.asarray(embedding.describe(clip), dtype=np.float64)
    except BagtagError:
        raise
    except Exception as error:  # code of the user may raise anything
        raise BagtagError(f"The embedding {name!r} failed ({type(error).__name__}: {error}). {_NEXT_STEP}") from error
    if X.shape != wanted:
        raise BagtagError(
            f"The embedding {name!r} returned an array of shape {X.shape}; "
            f"{wanted[0]} segments and {wanted[1]} names need {wanted}. {_NEXT_STEP}"
        )
    if not np.isfinite(X).all():
        raise BagtagError(f"The embedding {name!r} returned numbers that are not finite. {_NEXT_STEP}")
    return X


def pretrained_weights(
    name: str, kind: str, names: Sequence[str], scientific_names: Sequence[str]
) -> NDArray[np.float64] | None:
    """Return the classifier of an embedding for classes; None if it has none, or none for these classes.

    Parameters
    ----------
    name : str
        Of the embedding.
    kind : "sound" or "picture"
    names, scientific_names : sequence of C str

    Returns
    -------
    weights : (d + 1, C) float64 or None
        See `Embedding.class_weights`.

    Raises
    ------
    BagtagError
        As `find_embedding` does; or the embedding failed, or returned an array of another shape.

    Examples
    --------
    >>> def weights(names, scientific_names):  # the last row has the intercepts; NaN: a class that it does not know
    ...     return np.array([[1.0 if name == "Wren" else np.nan for name in names]] * 2)
    >>> register_embedding(Embedding("wrens-1", "sound", ("one",), lambda clip: np.ones((1, 1)), class_weights=weights))
    >>> pretrained_weights("wrens-1", "sound", ["Wren", "Owl"], ["", ""])
    array([[ 1., nan],
           [ 1., nan]])
    """
    embedding = find_embedding(name, kind)
    if embedding.class_weights is None:
        return None
    try:
        weights = np.asarray(embedding.class_weights(names, scientific_names), dtype=np.float64)
    except BagtagError:
        raise
    except Exception as error:  # as in `embed`
        raise BagtagError(f"The embedding {name!r} failed ({type(error).__name__}: {error}). {_NEXT_STEP}") from error
    if weights.shape != (len(embedding.names) + 1, len(names)):
        raise BagtagError(
            f"The embedding {name!r} returned weights of shape {weights.shape}; {len(embedding.names)} columns and "
            f"{len(names)} classes need {(len(embedding.names) + 1, len(names))}."
        )
    return None if np.isnan(weights).any(axis=0).all() else weights


def _installed() -> list[Any]:
    from importlib.metadata import entry_points

    return list(entry_points(group=GROUP))


def _register_birdnet() -> None:
    from miml_core.features.birdnet.files import birdnet_status

    status = birdnet_status()
    if not status.installed:
        raise BagtagError(status.reason)
    from miml_core.features.birdnet.embedding import BIRDNET as found

    register_embedding(found)


def _register_installed(name: str) -> None:
    for entry in _installed():
        if entry.name == name:
            try:
                found = entry.load()
            except Exception as error:  # as above
                raise BagtagError(
                    f"The package of the embedding {name!r} cannot be imported ({type(error).__name__}: {error}). "
                    f"{_NEXT_STEP}"
                ) from error
            if not isinstance(found, Embedding) or found.name != name:
                raise BagtagError(f"The entry point {name!r} must be an Embedding of that name.")
            register_embedding(found)


def _boxes(grid: Grid, regions: Sequence[Region]) -> NDArray[np.float64]:
    edges = np.array([region.box for region in regions], dtype=np.float64).reshape(-1, 4)
    top, left, bottom, right = edges.T
    return np.column_stack([grid.x_at(left), grid.y_at(bottom), grid.x_at(right), grid.y_at(top)])
