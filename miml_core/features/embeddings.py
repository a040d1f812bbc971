"""Embeddings: features from a neural network or any other function, in addition to the built-in ones.

An embedding is a function of a clip and its segments that returns one row of numbers per segment. It is Python code of
the user, so Bagtag takes it from two sources only: a call of `register_embedding` in a script, or an installed package
that declares it under the entry point group `bagtag.embeddings`. Projects and the command line refer to it by name; a
name is looked up among these, and is never run. CONTRIBUTING.md has a complete example.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from miml_core.errors import BagtagError
from miml_core.media.grid import Grid
from miml_core.media.spectrogram import Spectrogram
from miml_core.segments.regions import Region

GROUP = "bagtag.embeddings"
"""Entry point group under which installed packages declare embeddings."""

_KINDS = {"sound": "sound", "picture": "pictures"}


@dataclass(frozen=True, eq=False)
class SoundClip:
    """One bag of sound, as an embedding sees it.

    Attributes
    ----------
    samples : (n,) float32
    rate : int
        Samples per second.
    spectrogram : Spectrogram
        The x axis of its grid is seconds from the start of the recording.
    regions : sequence of Region
        The segments, on the spectrogram's grid.
    """

    samples: NDArray[np.float32]
    rate: int
    spectrogram: Spectrogram
    regions: Sequence[Region]

    @property
    def boxes(self) -> NDArray[np.float64]:
        """(n, 4) float: start, low, end, high of each segment, in seconds from the first sample and hertz."""
        boxes = _boxes(self.spectrogram.grid, self.regions)
        boxes[:, [0, 2]] -= self.spectrogram.grid.left
        return boxes


@dataclass(frozen=True, eq=False)
class PictureClip:
    """One picture, as an embedding sees it: (height, width, 3) pixels at the working size, and its segments."""

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


_registered: dict[str, Embedding] = {}


def register_embedding(embedding: Embedding) -> None:
    """Register an embedding in this process, in place of one of the same name; `Embedding` has an example."""
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
        There is none of that name, or it is of another kind of media.
    """
    if name not in _registered:
        _register_installed(name)
    if name not in _registered:
        known = sorted({*_registered, *(entry.name for entry in _installed())})
        raise BagtagError(
            f"There is no embedding {name!r}; "
            + (f"there are {', '.join(known)}." if known else "none is registered or installed.")
        )
    found = _registered[name]
    if found.kind != kind:
        raise BagtagError(f"The embedding {name!r} is for {_KINDS[found.kind]}, not for {_KINDS[kind]}.")
    return found


def embed(name: str, clip: SoundClip | PictureClip) -> NDArray[np.float64]:
    """Return the (n, d) features of a clip's segments by the embedding of that name.

    Raises
    ------
    BagtagError
        The embedding failed, or returned an array of another shape or with numbers that are not finite.
    """
    embedding = find_embedding(name, "sound" if isinstance(clip, SoundClip) else "picture")
    wanted = (len(clip.regions), len(embedding.names))
    if not clip.regions:
        return np.empty(wanted)
    try:
        X = np.asarray(embedding.describe(clip), dtype=np.float64)
    except Exception as error:  # code of the user may raise anything
        raise BagtagError(f"The embedding {name!r} failed ({type(error).__name__}: {error}).") from error
    if X.shape != wanted:
        raise BagtagError(
            f"The embedding {name!r} returned an array of shape {X.shape}; "
            f"{wanted[0]} segments and {wanted[1]} names need {wanted}."
        )
    if not np.isfinite(X).all():
        raise BagtagError(f"The embedding {name!r} returned numbers that are not finite.")
    return X


def _installed() -> list[Any]:
    from importlib.metadata import entry_points

    return list(entry_points(group=GROUP))


def _register_installed(name: str) -> None:
    for entry in _installed():
        if entry.name == name:
            try:
                found = entry.load()
            except Exception as error:  # as above
                raise BagtagError(
                    f"The package of the embedding {name!r} cannot be imported ({type(error).__name__}: {error})."
                ) from error
            if not isinstance(found, Embedding) or found.name != name:
                raise BagtagError(f"The entry point {name!r} must be an Embedding of that name.")
            register_embedding(found)


def _boxes(grid: Grid, regions: Sequence[Region]) -> NDArray[np.float64]:
    edges = np.array([region.box for region in regions], dtype=np.float64).reshape(-1, 4)
    top, left, bottom, right = edges.T
    return np.column_stack([grid.x_at(left), grid.y_at(bottom), grid.x_at(right), grid.y_at(top)])
