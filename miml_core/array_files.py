"""Read `.npz` files that may come from somebody else: arrays of numbers only, and no larger than stated."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

_MOST_ARRAYS = 1000
_DAMAGED = (EOFError, RuntimeError, zlib.error)
"""What `zipfile` raises besides its documented exceptions if bytes were changed: content that ends early or cannot be
unpacked, a compression or a version that it does not know (`NotImplementedError`), or a flag for encryption."""


def read_arrays(path: Path | BinaryIO, *, most_bytes: int) -> dict[str, NDArray[Any]]:
    """Return the arrays of an `.npz` file, or of an open one, by name.

    Sizes are checked before anything is unpacked, so that a small file cannot fill the memory; nothing in it is
    executed (`allow_pickle=False`).

    Raises
    ------
    OSError, ValueError, zipfile.BadZipFile
        The file cannot be read, is no `.npz` file, or has more than `most_bytes`.
    """
    try:
        with zipfile.ZipFile(path) as packed:
            members = packed.infolist()
            if len(members) > _MOST_ARRAYS or sum(member.file_size for member in members) > most_bytes:
                raise ValueError(f"{path} is too large")
            for member in members:
                _check_size(packed, member)
        if not isinstance(path, Path):
            path.seek(0)
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except _DAMAGED as error:
        raise ValueError(f"{path} is damaged: {error}") from error


def _check_size(packed: zipfile.ZipFile, member: zipfile.ZipInfo) -> None:
    """Refuse an array that states more numbers than the file has: NumPy would allocate them."""
    with packed.open(member) as file:
        version = npy.read_magic(file)
        read_header = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}.get(version)
        if read_header is None:
            raise ValueError(f"{member.filename} is of a later version")
        shape, _, dtype = read_header(file)
    if dtype.hasobject or int(np.prod(shape, dtype=object)) * dtype.itemsize > member.file_size:
        raise ValueError(f"{member.filename} is not whole")
