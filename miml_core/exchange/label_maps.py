"""Label maps: one PNG per picture whose pixel values are classes, as semantic segmentation tools read them."""

from __future__ import annotations

import colorsys
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miml_core.errors import BagtagError
from miml_core.exchange.base import Format
from miml_core.exchange.labels import LabelTable
from miml_core.exchange.marking import png_mark
from miml_core.exchange.masks import box_of, mask_outline, row_region, row_size
from miml_core.exchange.names import name_beside
from miml_core.exchange.rows import SegmentRow, by_file
from miml_core.segments.regions import to_labels

_INDEX = "classes.json"
_ROW_FIELDS = (
    *("bag", "segment", "label", "scientific_name", "probability", "said_by", "who", "checked_by", "status", "run"),
    "other_tags",
)


class LabelMaps(Format):
    """`labels/PICTURE.png` (which class), `segments/PICTURE.png` (which segment) and `classes.json` (what they mean).

    Value 0 means that nothing is known; background segments have a value of their own. Where segments overlap, the
    smaller one is on top.
    """

    name = "label-maps"
    title = "Label-map PNGs"
    kinds = ("picture",)
    extensions = (".png", ".json")
    many_files = True
    needs_outlines = True
    keeps = "Everything; outlines to whole pixels, without what a smaller segment covers."

    def make_files(self, rows: Sequence[SegmentRow]) -> Iterator[tuple[str, bytes]]:
        names = sorted({row.label for row in rows if row.label})
        values = {name: value for value, name in enumerate(names, start=1)}
        background = len(names) + 1
        pictures = []
        for file, unordered in by_file(rows):
            segments, segment_map = _paint(unordered)
            numbers = [background if row.status == "background" else values.get(row.label, 0) for row in segments]
            label_name, segment_name = (f"{folder}/{name_beside(file, '.png')}" for folder in ("labels", "segments"))
            yield label_name, _png(np.asarray([0, *numbers])[segment_map], background)
            yield segment_name, _png(segment_map, 256)
            pictures.append(_picture(segments, label_name, segment_name))
        classes = [{"value": value, "name": name} for name, value in values.items()]
        index = {"classes": classes, "background": background, "nothing": 0, "pictures": pictures}
        yield _INDEX, json.dumps(index, indent=1).encode("ascii")

    def read_file(self, name: str, content: bytes, table: LabelTable) -> None:
        raise BagtagError(f"{name!r}: label maps are read from a folder or a zip archive with their {_INDEX!r}.")

    def parse_files(self, files: Iterable[tuple[str, bytes]]) -> list[SegmentRow]:
        stored = dict(files)
        if _INDEX not in stored:
            raise BagtagError(f"There is no {_INDEX!r}; choose a folder of label maps.")
        try:
            index = json.loads(stored[_INDEX])
            return [row for picture in index["pictures"] for row in _parse_picture(picture, stored)]
        except (ValueError, KeyError, TypeError) as error:
            if isinstance(error, BagtagError):
                raise
            raise BagtagError(
                f"{_INDEX!r} cannot be read ({type(error).__name__}: {error}); export or copy it again."
            ) from error


def _paint(rows: Sequence[SegmentRow]) -> tuple[list[SegmentRow], NDArray[np.int32]]:
    """Return the rows in order of decreasing area, and a map with i + 1 where row i is on top."""
    if len({row_size(row) for row in rows}) != 1:
        raise BagtagError(
            f"{rows[0].file!r} cannot be written: its segments were made for pictures of different sizes. Detect its "
            "segments again."
        )
    widest_first = sorted(((row_region(row), row) for row in rows), key=lambda pair: -pair[0].area)
    segment_map = to_labels([region for region, _ in widest_first], *row_size(rows[0]))
    return [row for _, row in widest_first], segment_map


def _picture(rows: Sequence[SegmentRow], label_name: str, segment_name: str) -> dict[str, Any]:
    return {
        "file": rows[0].file,
        "recorded_at": rows[0].recorded_at,
        "labels": label_name,
        "segments": segment_name,
        "rows": [{name: getattr(row, name) for name in _ROW_FIELDS} for row in rows],
    }


def _parse_picture(picture: dict[str, Any], stored: dict[str, bytes]) -> Iterator[SegmentRow]:
    from scipy.ndimage import find_objects

    if picture["segments"] not in stored:
        raise BagtagError(
            f"{picture['segments']!r} is missing from the folder of label maps; copy the whole folder again."
        )
    segment_map = _open_png(stored[picture["segments"]], picture["segments"])
    boxes = find_objects(segment_map, max_label=len(picture["rows"]))
    for number, (fields, box) in enumerate(zip(picture["rows"], boxes), start=1):
        outline = () if box is None else mask_outline(segment_map[box] == number, box[0].start, box[1].start)
        yield SegmentRow(
            file=picture["file"],
            kind="picture",
            recorded_at=picture["recorded_at"],
            outline=outline,
            box=box_of(outline) if outline else None,
            height=segment_map.shape[0],
            width=segment_map.shape[1],
            **{name: fields[name] for name in _ROW_FIELDS if name in fields},
        )


def _png(values: NDArray[np.integer], largest: int) -> bytes:
    """Return an 8-bit PNG with a colour palette if the values fit, else a 16-bit one."""
    from PIL import Image

    if values.max(initial=0) > 65535:
        raise BagtagError("A label map can contain at most 65535 segments per picture; choose another format.")
    if largest < 256:
        picture = Image.fromarray(values.astype(np.uint8), mode="P")
        picture.putpalette([channel for value in range(largest + 1) for channel in _colour(value, largest)])
    else:
        picture = Image.fromarray(values.astype(np.uint16))
    buffer = io.BytesIO()
    picture.save(buffer, "PNG", pnginfo=png_mark())
    return buffer.getvalue()


def _colour(value: int, background: int) -> tuple[int, int, int]:
    if value in (0, background):
        return (0, 0, 0) if value == 0 else (128, 128, 128)
    red, green, blue = colorsys.hsv_to_rgb(value * 0.618034 % 1.0, 0.65, 0.95)
    return round(255 * red), round(255 * green), round(255 * blue)


def _open_png(content: bytes, name: str) -> NDArray[np.int32]:
    from PIL import Image, UnidentifiedImageError

    try:
        return np.asarray(Image.open(io.BytesIO(content))).astype(np.int32)
    except (OSError, UnidentifiedImageError, SyntaxError) as error:
        raise BagtagError(f"{name!r} cannot be read as PNG; export or copy it again.") from error
