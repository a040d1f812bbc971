"""CVAT for images 1.1: one XML file with boxes, polygons, masks and tags of pictures.

The parser refuses document type declarations, so that a foreign file can neither expand entities nor name other files.
"""

from __future__ import annotations

from typing import Any
from xml.parsers import expat

import numpy as np

from miml_core.errors import BagtagError
from miml_core.exchange.labels import LabelReader, LabelTable, readable_as
from miml_core.exchange.masks import Box, box_of, mask_outline
from miml_core.exchange.rows import Ring, SegmentRow

_SHAPES = ("box", "polygon", "mask", "tag")
_IGNORED = ("polyline", "points", "cuboid", "ellipse", "skeleton")
_MOST_PIXELS = 2**28


class CvatImages(LabelReader):
    """Shapes that are no areas (lines, points) are listed as not read."""

    name = "cvat"
    title = "CVAT for images (XML)"
    kinds = ("picture",)
    extensions = (".xml",)

    def recognises(self, name: str, head: str) -> bool:
        return "<annotations" in head

    def read_file(self, name: str, content: bytes, table: LabelTable) -> None:
        parser = expat.ParserCreate()
        image: dict[str, str] = {}

        def start(element: str, attributes: dict[str, str]) -> None:
            where = f"{name!r}, line {parser.CurrentLineNumber}"
            if element == "image":
                image.clear()
                image.update(attributes)
            elif element in _SHAPES and image:
                table.add(where, _row, element, attributes, dict(image), where)
            elif element in _IGNORED and image:
                table.fail(where, f"a {element} has no area")

        def refuse(*_: Any) -> None:
            raise BagtagError(
                f"{name!r} contains a document type declaration, which no export of CVAT has. Export it again."
            )

        parser.StartElementHandler = start
        parser.StartDoctypeDeclHandler = refuse
        parser.EntityDeclHandler = refuse
        try:
            parser.Parse(content, True)
        except expat.ExpatError as error:
            raise BagtagError(f"{name!r} is not a complete XML file: {error}. Export it again.") from error


def _row(element: str, shape: dict[str, str], image: dict[str, str], where: str) -> SegmentRow:
    with readable_as("a shape of CVAT", where, quote=False):
        width, height = int(image["width"]), int(image["height"])
        box, outline = _geometry(element, shape)
        by_program = shape.get("source") in ("auto", "semi-auto")
        return SegmentRow(
            file=image["name"],
            kind="picture",
            box=box,
            outline=outline,
            width=width,
            height=height,
            label=shape["label"],
            status="predicted" if by_program else "confirmed",
            said_by="model" if by_program else "person",
        )


def _geometry(element: str, shape: dict[str, str]) -> tuple[Box | None, tuple[Ring, ...]]:
    if element == "tag":
        return None, ()
    if element == "box":
        left, top, right, bottom = (float(shape[edge]) for edge in ("xtl", "ytl", "xbr", "ybr"))
        if float(shape.get("rotation") or 0):
            ring = _rotated(left, top, right, bottom, float(shape["rotation"]))
            return box_of((ring,)), (ring,)
        return (left, top, right, bottom), ()
    if element == "polygon":
        x_y = [point.split(",") for point in shape["points"].split(";")]
        ring = tuple((float(x), float(y)) for x, y in x_y)
        if len(ring) < 3:
            raise ValueError("a polygon needs three points")
        return box_of((ring,)), (ring,)
    width, height = int(shape["width"]), int(shape["height"])
    runs = np.array([int(run) for run in shape["rle"].split(",")], dtype=np.int64)
    if width * height > _MOST_PIXELS or (runs < 0).any() or runs.sum() != width * height:
        raise ValueError("the run lengths do not fit the size of the mask")
    mask = np.repeat(np.arange(len(runs)) % 2 == 1, runs).reshape(height, width)
    outline = mask_outline(mask, int(shape["top"]), int(shape["left"]))
    if not outline:
        raise ValueError("the mask is empty")
    return box_of(outline), outline


def _rotated(left: float, top: float, right: float, bottom: float, degrees: float) -> Ring:
    """Return the corners of a box that is turned clockwise around its centre."""
    angle = np.deg2rad(degrees)
    centre = np.array([(left + right) / 2, (top + bottom) / 2])
    corners = np.array([(left, top), (right, top), (right, bottom), (left, bottom)]) - centre
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    return tuple((float(x), float(y)) for x, y in corners @ turn + centre)
