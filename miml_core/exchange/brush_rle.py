"""Run lengths of Label Studio's brush: a bit stream of four values (red, green, blue, alpha) per pixel.

The layout is that of the JavaScript package @thi.ng/rle-pack: 32 bits with the number of values, 5 with the size of a
value, four times 4 with the sizes of run lengths; then runs of one value, or of single values.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

_SIZES = (3, 4, 8, 16)
"""Bits of a run length, by the two bits in front of it."""
_MOST_VALUES = 2**30


class _Bits:
    def __init__(self, values: list[int]) -> None:
        self._bits = np.unpackbits(np.asarray(values, dtype=np.uint8)).tobytes().translate(_DIGITS).decode("ascii")
        self._place = 0

    def read(self, size: int) -> int:
        self._place += size
        if self._place > len(self._bits):
            raise ValueError("the run lengths of a brush end too early")
        return int(self._bits[self._place - size : self._place], 2)


_DIGITS = bytes([48, 49]) + bytes(range(2, 256))


def decode_brush(rle: list[int], height: int, width: int) -> NDArray[np.bool_]:
    """Return the (height, width) mask of a brush.

    >>> mask = np.array([[True, False, False], [True, True, False]])
    >>> bool((decode_brush(encode_brush(mask), 2, 3) == mask).all())
    True
    """
    bits = _Bits(rle)
    n_values = bits.read(32)
    if n_values != 4 * height * width or n_values > _MOST_VALUES:
        raise ValueError(f"the brush has {n_values} values, not four per pixel of {width} x {height}")
    word = bits.read(5) + 1
    sizes = [bits.read(4) + 1 for _ in range(4)]
    values = np.zeros(n_values, dtype=np.int64)
    place = 0
    while place < n_values:
        is_run = bits.read(1)
        stop = place + 1 + bits.read(sizes[bits.read(2)])
        if stop > n_values:
            raise ValueError("the run lengths of a brush are longer than the picture")
        if is_run:
            values[place:stop] = bits.read(word)
        else:
            values[place:stop] = [bits.read(word) for _ in range(stop - place)]
        place = stop
    return values.reshape(height, width, 4)[:, :, 3] > 0


def encode_brush(mask: NDArray[np.bool_]) -> list[int]:
    """Return the run lengths of a mask, of which `decode_brush` returns the same."""
    flat = mask.ravel()
    edges = np.concatenate([[0], np.flatnonzero(flat[1:] != flat[:-1]) + 1, [flat.size]])
    pieces = [f"{4 * flat.size:032b}{7:05b}" + "".join(f"{size - 1:04b}" for size in _SIZES)]
    for start, stop in pairwise(edges.tolist()):
        value, left = 255 if flat[start] else 0, 4 * int(stop - start)
        while left:
            run = min(left, 1 << _SIZES[-1])
            size = next(place for place, bits in enumerate(_SIZES) if run <= 1 << bits)
            pieces.append(f"1{size:02b}{run - 1:0{_SIZES[size]}b}{value:08b}")
            left -= run
    text = "".join(pieces)
    text += "0" * (-len(text) % 8)
    return [int(text[place : place + 8], 2) for place in range(0, len(text), 8)]
