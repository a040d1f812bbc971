'''Outside embeddings: numbers for each segment from a network or any other function, beside the built-in features.

An embedding is a function of a clip and its segments that answers one row of numbers a segment. It is Python code of
yours, so Bagtag takes it from two places only: a call of `register_embedding` in your own script, or a package that you
installed and that offers it under the entry point group `bagtag.embeddings`. A project, or the command line, then names
it; a name is looked up among those, and is never run.

An example, whole: how loud the sound is in each third of a segment, in decibels below its loudest third.

```python
import numpy as np
from miml_core.features.embeddings import Embedding, SoundClip, register_embedding

def thirds(clip: SoundClip) -> np.ndarray:
    rows = []
    for start, low, end, high in clip.boxes:
        edges = np.linspace(start * clip.rate, end * clip.rate, 4).astype(int)
        parts = [clip.samples[a : max(b, a + 1)] for a, b in zip(edges, edges[1:])]
        power = np.array([np.mean(part**2) if len(part) else 0.0 for part in parts]) + 1e-12
        rows.append(10 * np.log10(power / power.max()))
    return np.array(rows)

loudness = Embedding("thirds-1", "sound", ("first third", "second third", "last third"), thirds)
register_embedding(loudness)
```

A script that registers it uses it by `replace(settings, embedding="thirds-1")`, where `settings` are
`InstanceSettings`. The jobs of a project run in processes of their own, which only know what is installed; so put the
lines above (without the last) into a module, `my_features.py` say, with this `pyproject.toml` beside it,

```toml
[project]
name = "my-features"
version = "1"

[project.entry-points."bagtag.embeddings"]
thirds-1 = "my_features:loudness"
```

`pip install -e .` it, and say `python -m miml_core segment PROJECT --embedding thirds-1`. Numbers are kept under the
embedding's name: when you change what it computes, change the name, too.
'''

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
"""Entry point group under which installed packages offer embeddings."""


@dataclass(frozen=True, eq=False)
class SoundClip:
    """One bag of sound.

    Attributes
    ----------
    samples : (n,) float32
    rate : int
        Samples a second.
    spectrogram : Spectrogram
        Its grid counts seconds from the start of the recording.
    regions : list of Region
        The segments, on the spectrogram's grid.
    """

    samples: NDArray[np.float32]
    rate: int
    spectrogram: Spectrogram
    regions: Sequence[Region]

    @property
    def boxes(self) -> NDArray[np.float64]:
        """(n, 4) start, low, end, high of each segment: seconds from the first sample, and hertz."""
        boxes = _boxes(self.spectrogram.grid, self.regions)
        boxes[:, [0, 2]] -= self.spectrogram.grid.left
        return boxes


@dataclass(frozen=True, eq=False)
class PictureClip:
    """One bag of a picture: its pixels (height, width, 3) at the working size, and its segments on them."""

    pixels: NDArray[np.uint8]
    regions: Sequence[Region]


@dataclass(frozen=True)
class Embedding:
    """A function of a clip and its segments.

    Parameters
    ----------
    name : str
        What settings and the command line call it by.
    kind : "sound" or "picture"
        Whether `describe` takes a `SoundClip` or a `PictureClip`.
    names : d names
        One a column.
    describe : function of a clip -> (n segments, d)
        Called for clips with at least one segment, in several processes at once; a network is best loaded on the
        first call.
    """

    name: str
    kind: Literal["sound", "picture"]
    names: tuple[str, ...]
    describe: Callable[[Any], NDArray[np.floating[Any]]]


_registered: dict[str, Embedding] = {}


def register_embedding(embedding: Embedding) -> None:
    """Make an embedding known to this process; another one of the same name is replaced."""
    if embedding.kind not in ("sound", "picture") or not embedding.names:
        raise BagtagError(f"The embedding {embedding.name!r} must be of sound or of pictures and name its columns.")
    _registered[embedding.name] = embedding


def find_embedding(name: str, kind: str) -> Embedding:
    """The embedding that was registered, or installed, under a name."""
    if name not in _registered:
        _register_installed(name)
    if name not in _registered:
        known = sorted({*_registered, *(entry.name for entry in _installed())})
        raise BagtagError(
            f"There is no embedding {name!r} here; "
            + (f"there are {', '.join(known)}." if known else "none is registered or installed.")
        )
    found = _registered[name]
    if found.kind != kind:
        raise BagtagError(f"The embedding {name!r} is one of {found.kind}s, not of {kind}s.".replace("sounds", "sound"))
    return found


def embed(name: str, clip: SoundClip | PictureClip) -> NDArray[np.float64]:
    """(n, d) the numbers of a clip's segments; whatever is wrong with them is told in a sentence."""
    embedding = find_embedding(name, "sound" if isinstance(clip, SoundClip) else "picture")
    wanted = (len(clip.regions), len(embedding.names))
    if not clip.regions:
        return np.empty(wanted)
    try:
        X = np.asarray(embedding.describe(clip), dtype=np.float64)
    except Exception as error:  # the function is not ours: it may raise anything
        raise BagtagError(f"The embedding {name!r} failed ({type(error).__name__}: {error}).") from error
    if X.shape != wanted:
        raise BagtagError(
            f"The embedding {name!r} answered numbers of shape {X.shape}; "
            f"{wanted[0]} segments and {wanted[1]} names need {wanted}."
        )
    if not np.isfinite(X).all():
        raise BagtagError(f"The embedding {name!r} answered numbers that are not finite.")
    return X


def _installed() -> list[Any]:
    from importlib.metadata import entry_points

    return list(entry_points(group=GROUP))


def _register_installed(name: str) -> None:
    for entry in _installed():
        if entry.name == name:
            try:
                found = entry.load()
            except Exception as error:  # as above: importing a package may fail in any way
                raise BagtagError(
                    f"The package that offers the embedding {name!r} cannot be used ({type(error).__name__}: {error})."
                ) from error
            if not isinstance(found, Embedding) or found.name != name:
                raise BagtagError(f"The package that offers {name!r} must offer an Embedding of that name.")
            register_embedding(found)


def _boxes(grid: Grid, regions: Sequence[Region]) -> NDArray[np.float64]:
    edges = np.array([region.box for region in regions], dtype=np.float64).reshape(-1, 4)
    top, left, bottom, right = edges.T
    return np.column_stack([grid.x_at(left), grid.y_at(bottom), grid.x_at(right), grid.y_at(top)])
