"""Convert outlines of pictures to pixels, and pixels to COCO's run lengths.

The run lengths are not pycocotools': version 2.0.11 does not check them, so that text which does not fill the picture
gives uninitialised memory and may end the process; it writes compressed text only; and reading takes 1.3 to 2.1 times
as long for text and 8 to 12 times as long for lists of numbers (1500 x 1000 pixels, processor time).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from miml_core.errors import BagtagError
from miml_core.exchange.rows import Ring, SegmentRow
from miml_core.segments.outlines import trace
from miml_core.segments.regions import Region, from_polygon

Box = tuple[float, float, float, float]

_MOST_PIXELS = 2**29
"""Of a mask: half a gigabyte."""


def row_size(row: SegmentRow) -> tuple[int, int]:
    """Return (height, width) of the row's whole picture."""
    if row.width is None or row.height is None:
        raise BagtagError(
            f"{row.file!r} cannot be written: the size of the picture is not known. Make the picture available on this "
            "computer, or choose another format."
        )
    return row.height, row.width


def row_rings(row: SegmentRow) -> tuple[Ring, ...]:
    """Return the outline of a row, or its box as an outline."""
    if not row.outline and row.box is None:
        raise BagtagError(f"Segment {row.segment} of {row.file!r} has neither an outline nor a box.")
    return row.outline or (box_ring(cast(Box, row.box)),)


def row_region(row: SegmentRow) -> Region:
    """Return the pixels of the original picture whose centres are inside the row's outline."""
    try:
        return from_polygon(row_rings(row), *row_size(row))
    except BagtagError as error:
        raise BagtagError(f"Segment {row.segment} of {row.file!r} cannot be written. {error}") from error


def box_ring(box: Box) -> Ring:
    """Return a box as an outline."""
    left, top, right, bottom = box
    return ((left, top), (right, top), (right, bottom), (left, bottom))


def box_of(rings: Sequence[Ring]) -> Box:
    """Return (left, top, right, bottom) of some rings."""
    x, y = zip(*(point for ring in rings for point in ring))
    return min(x), min(y), max(x), max(y)


def mask_outline(mask: NDArray[np.bool_], top: int = 0, left: int = 0) -> tuple[Ring, ...]:
    """Return rings along the pixel edges of a mask that starts at (`top`, `left`)."""
    return tuple(tuple((float(x + left), float(y + top)) for x, y in ring) for ring in trace(mask))


def to_runs(mask: NDArray[np.bool_]) -> list[int]:
    """Return COCO's uncompressed run lengths: down the columns, alternately outside and inside, outside first.

    Examples
    --------
    >>> to_runs(np.array([[False, True], [False, True]]))
    [2, 2]
    >>> from_runs([2, 2], 2, 2, "example")
    array([[False,  True],
           [False,  True]])
    """
    flat = mask.ravel(order="F")
    changes = np.flatnonzero(flat[1:] != flat[:-1]) + 1
    starts = [0, 0] if flat[:1].any() else [0]
    return [int(run) for run in np.diff(np.concatenate([starts, changes, [flat.size]]))]


def from_runs(counts: Sequence[int] | str, height: int, width: int, where: str) -> NDArray[np.bool_]:
    """Return the (height, width) mask of run lengths, given as a list or as COCO's compressed text."""
    try:
        runs = np.asarray(_decompress(counts) if isinstance(counts, str) else counts, dtype=np.int64)
    except (TypeError, ValueError, IndexError) as error:
        raise BagtagError(f"{where}: the run lengths cannot be read.") from error
    if height * width > _MOST_PIXELS:
        raise BagtagError(f"{where}: a picture of {width} x {height} pixels is too large.")
    if runs.ndim != 1 or (runs < 0).any() or runs.sum() != height * width:
        raise BagtagError(f"{where}: the run lengths do not add up to a picture of {width} x {height} pixels.")
    return np.repeat(np.arange(len(runs)) % 2 == 1, runs).reshape((height, width), order="F")


def _decompress(text: str) -> list[int]:
    """Decode COCO's text: five bits per character from the lowest up, and differences from the third run on."""
    runs: list[int] = []
    characters = iter(text.encode("ascii"))
    for character in characters:
        value, shift = 0, 0
        while True:
            bits = character - 48
            value |= (bits & 0x1F) << shift
            shift += 5
            if not bits & 0x20:
                break
            character = next(characters, 48)
        if bits & 0x10:
            value -= 1 << shift
        runs.append(value + runs[-2] if len(runs) > 2 else value)
    return runs
