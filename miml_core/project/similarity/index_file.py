"""The vectors of all segments in a file of the project's cache, which is mapped into memory.

Two files: `vectors.npz` names the file of the numbers and has everything else. A project may come from somebody else,
so sizes are compared before use; wrong numbers in them give wrong neighbours and nothing worse.
"""

from __future__ import annotations

import secrets
import string
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from miml_core.array_files import read_arrays
from miml_core.atomic_files import atomic_writer
from miml_core.errors import BagtagError
from miml_core.project.db.cache import FOLDER as CACHE
from miml_core.project.db.own_folders import find_own_folder, is_real_file, own_folder
from miml_core.project.similarity.vectors import VectorSpace

_FOLDER = "similarity"
_TABLE = "vectors.npz"
_LAYOUT = 1
"""Increased when the same features give other vectors or other files."""
_MOST_BYTES = 2**30
"""Of the file beside the vectors: ids and norms of 30 million segments."""


@dataclass(frozen=True, eq=False)
class StoredVectors:
    """The vectors of all segments that were described at one moment, bag by bag."""

    space: VectorSpace
    feature_key: str
    revision: int
    """Of the project, when they were read."""
    n_described: int
    """How often features had been described by then (`meta.features_described`)."""
    bag_ids: NDArray[np.int64]
    """(B,) ascending."""
    offsets: NDArray[np.int64]
    """(B + 1,) bag b has the rows `offsets[b]:offsets[b + 1]`."""
    segment_ids: NDArray[np.int64]
    """(N,)"""
    squares: NDArray[np.float32]
    """(N,) squared lengths of the vectors; infinite where a segment has none."""
    vectors: NDArray[np.float32]
    """(N, d), mapped from the file."""

    def __post_init__(self) -> None:
        n = len(self.segment_ids)
        starts_and_ends = len(self.offsets) == len(self.bag_ids) + 1 and self.offsets[0] == 0 and self.offsets[-1] == n
        if not (starts_and_ends and (np.diff(self.offsets) >= 0).all() and (np.diff(self.bag_ids) > 0).all()):
            raise ValueError("the rows do not fit the bags")
        if len(self.squares) != n or self.vectors.shape != (n, self.space.width):
            raise ValueError("the vectors do not fit the segments")


def read(project: Path) -> StoredVectors | None:
    """Return the stored vectors; None if there are none, or the files are damaged or of another version."""
    folder = find_own_folder(project, CACHE, _FOLDER)
    if folder is None or not is_real_file(folder / _TABLE):
        return None
    try:
        kept = read_arrays(folder / _TABLE, most_bytes=_MOST_BYTES)
        layout, revision, n_described, first_column, cosine = (int(each) for each in kept["numbers"])
        if layout != _LAYOUT or first_column < 0:
            return None
        space = VectorSpace(first_column, _floats(kept["centre"]), _floats(kept["matrix"]), bool(cosine))
        segment_ids = kept["segment_ids"].astype(np.int64)
        return StoredVectors(
            space,
            str(kept["feature_key"]),
            revision,
            n_described,
            kept["bag_ids"].astype(np.int64),
            kept["offsets"].astype(np.int64),
            segment_ids,
            _floats(kept["squares"]),
            _mapped(folder, str(kept["vectors"]), (len(segment_ids), space.width)),
        )
    except (OSError, ValueError, KeyError, IndexError, TypeError, zipfile.BadZipFile):
        return None


def write(project: Path, stored: StoredVectors, vectors_name: str) -> None:
    """Write everything but the vectors themselves, which `write_vectors` has written; remove earlier vectors."""
    space = stored.space
    numbers = [_LAYOUT, stored.revision, stored.n_described, space.first_column, space.cosine]
    with suppress(OSError, BagtagError):
        folder = own_folder(project, CACHE, _FOLDER)
        with atomic_writer(folder / _TABLE, durable=False) as file:
            np.savez(
                file,
                numbers=np.array(numbers, dtype=np.int64),
                feature_key=np.array(stored.feature_key),
                vectors=np.array(vectors_name),
                centre=space.centre,
                matrix=space.matrix,
                bag_ids=stored.bag_ids,
                offsets=stored.offsets,
                segment_ids=stored.segment_ids,
                squares=stored.squares,
            )
        for path in folder.glob("*.f32"):  # a process that has one mapped keeps it
            if path.stem != vectors_name:
                with suppress(OSError):
                    path.unlink(missing_ok=True)


def write_vectors(
    project: Path, shape: tuple[int, int], batches: Callable[[], Iterator[NDArray[np.float32]]]
) -> tuple[str, NDArray[np.float32]]:
    """Write the rows that `batches` yields to a new file; return its name and the array, mapped from it.

    If the file cannot be written (the disk is full), the array is in memory and the name is empty.
    """
    if 0 not in shape:
        name = secrets.token_hex(16)
        try:
            folder = own_folder(project, CACHE, _FOLDER)
            with atomic_writer(folder / f"{name}.f32", durable=False) as file:
                for batch in batches():
                    file.write(np.ascontiguousarray(batch, dtype="<f4").tobytes())
            return name, _mapped(folder, name, shape)
        except (OSError, BagtagError):
            pass
    vectors = np.empty(shape, dtype=np.float32)
    start = 0
    for batch in batches():
        vectors[start : start + len(batch)] = batch
        start += len(batch)
    return "", vectors


def _mapped(folder: Path, name: str, shape: tuple[int, int]) -> NDArray[np.float32]:
    path = folder / f"{name}.f32"
    if len(name) != 32 or not set(name) <= set(string.hexdigits) or not is_real_file(path):
        raise ValueError("there is no such file of vectors")
    if path.stat().st_size != 4 * shape[0] * shape[1]:
        raise ValueError("the file of vectors is not whole")
    return np.memmap(path, dtype="<f4", mode="r", shape=shape)


def _floats(values: NDArray[np.generic]) -> NDArray[np.float32]:
    return np.ascontiguousarray(values, dtype=np.float32)
