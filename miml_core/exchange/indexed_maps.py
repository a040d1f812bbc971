"""Label maps of any program: one PNG per picture, whose pixel values are classes named in `classes.json`.

Each connected area of a value is a segment. Value 0 and the class "void" mean that nothing is known. Values above the
list are numbered classes.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Any

import numpy as np

from miml_core.errors import BagtagError
from miml_core.exchange.labels import LabelTable, readable_as
from miml_core.exchange.masks import box_of, mask_outline
from miml_core.exchange.rows import SegmentRow

_INDEX = "classes.json"
_NOTHING = ("void", "background", "unlabelled", "unlabeled", "unknown", "")
_MOST_PIXELS = 2**28
_SMALLEST = 4
"""Areas of fewer pixels are left out: borders of hand-made maps are full of them."""


class _Coloured(BagtagError):
    """A picture that is no label map."""


def read_indexed_maps(files: Iterable[tuple[str, bytes]], table: LabelTable) -> None:
    """Add the segments of label maps, given as (name, content), with their `classes.json` among them."""
    stored = dict(files)
    index = next((name for name in sorted(stored) if PurePosixPath(name).name == _INDEX), None)
    names = _class_names(index, stored[index]) if index is not None else {}
    coloured, n_maps = [], 0
    for name in sorted(stored):
        if name.lower().endswith(".png"):
            try:
                _read_map(name, stored[name], names, table)
                n_maps += 1
            except _Coloured:
                coloured.append(name)
            except BagtagError as error:
                table.fail(repr(name), error)
    if not n_maps:  # otherwise they are the pictures of the maps
        for name in coloured:
            table.fail(repr(name), "it has colours instead of one number per pixel")


def _class_names(name: str, content: bytes) -> dict[int, str]:
    with readable_as("the list of classes", name):
        listed: Any = json.loads(content)
        listed = listed["classes"] if isinstance(listed, dict) and "classes" in listed else listed
        if isinstance(listed, dict):
            return {int(value): str(each) for value, each in listed.items()}
        if listed and isinstance(listed[0], dict):
            return {int(each["value"]): str(each["name"]) for each in listed}
        return {value: str(each) for value, each in enumerate(listed)}


def _read_map(name: str, content: bytes, names: dict[int, str], table: LabelTable) -> None:
    from PIL import Image, UnidentifiedImageError
    from scipy.ndimage import find_objects, label

    try:
        with Image.open(io.BytesIO(content)) as picture:
            if picture.width * picture.height > _MOST_PIXELS:
                raise BagtagError(f"{name!r} is too large for a label map; save a smaller copy.")
            if picture.mode not in ("P", "L", "I", "I;16", "1"):
                raise _Coloured(name)
            values = np.asarray(picture).astype(np.int64)
    except (OSError, UnidentifiedImageError, SyntaxError, ValueError) as error:
        if isinstance(error, BagtagError):
            raise
        raise BagtagError(f"{name!r} cannot be read as PNG; export or copy it again.") from error
    file = name[: -len(".png")]
    for value in np.unique(values).tolist():
        text = names.get(value, f"class {value}")
        if value == 0 or text.casefold() in _NOTHING:
            continue
        parts, _ = label(values == value)
        for number, area in enumerate(find_objects(parts), start=1):
            mask = parts[area] == number
            if np.count_nonzero(mask) < _SMALLEST:
                continue
            outline = mask_outline(mask, area[0].start, area[1].start)
            table.add(
                f"{name!r}, {text} {number}",
                SegmentRow,
                file=file,
                kind="picture",
                outline=outline,
                box=box_of(outline),
                height=values.shape[0],
                width=values.shape[1],
                label=text,
                status="confirmed",
                said_by="person",
            )
