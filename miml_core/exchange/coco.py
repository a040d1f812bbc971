"""COCO JSON: pictures, categories and annotations in one file.

`pycocotools.coco.COCO` would only load the JSON and index it (1.07 times the time of reading a file here) and stops at
the first annotation that is wrong, where a person needs all of them listed; `masks.py` explains why its run lengths are
not used.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, cast, get_args

import numpy as np

from miml_core.errors import BagtagError
from miml_core.exchange.base import Format
from miml_core.exchange.labels import LabelTable, readable_as
from miml_core.exchange.masks import box_of, from_runs, mask_outline, row_region, row_rings, row_size, to_runs
from miml_core.exchange.rows import KNOWN_STATUSES, LabelSource, Ring, SegmentRow, Status, by_file
from miml_core.segments.outlines import signed_area

_BACKGROUND, _UNLABELLED = "(background)", "(unlabelled)"
_OUR_TEXTS = ("bag", "status", "said_by", "who", "checked_by", "run", "other_tags")


class CocoJSON(Format):
    """A segment of one ring is a polygon; one with holes or parts has run lengths, as COCO's polygons have no holes.

    The probability is in `score`, and all that COCO has no field for in `attributes`, as in other tools.
    """

    name = "coco"
    title = "COCO JSON"
    kinds = ("picture",)
    extensions = (".json",)
    many_files = False
    needs_outlines = True
    keeps = "Everything; outlines to a thousandth of a pixel, those with holes or several parts to whole pixels."

    def make_files(self, rows: Sequence[SegmentRow]) -> Iterator[tuple[str, bytes]]:
        files = by_file(rows)
        names = sorted({_category(row) for row in rows})
        category_ids = {key: number for number, key in enumerate(names, start=1)}
        coco: dict[str, Any] = {
            "info": {"description": "Segments exported by Bagtag"},
            "images": [_image(number, segments[0]) for number, (_, segments) in enumerate(files, start=1)],
            "categories": [
                {"id": number, "name": name, "supercategory": "", "scientific_name": scientific_name}
                for (name, scientific_name), number in category_ids.items()
            ],
            "annotations": [
                _annotation(row, image_id, category_ids[_category(row)])
                for image_id, (_, segments) in enumerate(files, start=1)
                for row in segments
            ],
        }
        for number, annotation in enumerate(coco["annotations"], start=1):
            annotation["id"] = number
        yield "segments.coco.json", json.dumps(coco, indent=1).encode("ascii")

    def recognises(self, name: str, head: str) -> bool:
        return head.lstrip("\ufeff \r\n\t").startswith("{") and any(
            f'"{key}"' in head for key in ("images", "annotations", "categories")
        )

    def read_file(self, name: str, content: bytes, table: LabelTable) -> None:
        _parse(name, content, table)


def _category(row: SegmentRow) -> tuple[str, str]:
    nameless = _BACKGROUND if row.status == "background" else _UNLABELLED
    return row.label or nameless, row.scientific_name


def _image(number: int, row: SegmentRow) -> dict[str, Any]:
    height, width = row_size(row)
    return {
        "id": number,
        "file_name": row.file,
        "width": width,
        "height": height,
        "date_captured": row.recorded_at,
    }


def _annotation(row: SegmentRow, image_id: int, category_id: int) -> dict[str, Any]:
    rings = row_rings(row)
    left, top, right, bottom = row.box or box_of(rings)
    if len(rings) == 1:
        segmentation: Any = [[round(value, 3) for point in rings[0] for value in point]]
        area = abs(signed_area(np.asarray(rings[0])))
    else:
        region, (height, width) = row_region(row), row_size(row)
        segmentation = {"size": [height, width], "counts": to_runs(region.within((0, 0, height, width)))}
        area = float(region.area)
    attributes = {name: getattr(row, name) for name in _OUR_TEXTS} | {"segment": row.segment}
    annotation = {
        "id": 0,
        "image_id": image_id,
        "category_id": category_id,
        "bbox": [round(value, 3) for value in (left, top, right - left, bottom - top)],
        "area": round(area, 3),
        "iscrowd": 0,
        "segmentation": segmentation,
        "attributes": attributes,
    }
    return annotation if row.probability is None else annotation | {"score": round(row.probability, 6)}


def _parse(name: str, content: bytes, table: LabelTable) -> None:
    with readable_as("COCO JSON", name):
        coco = json.loads(content)
        images = {image["id"]: image for image in coco["images"]}
        categories = {category["id"]: category for category in coco["categories"]}
        for annotation in coco["annotations"]:
            where = f"{name!r}, annotation {annotation['id']}"
            table.add(where, _checked_row, annotation, images, categories, name)


def _checked_row(
    annotation: dict[str, Any], images: dict[Any, Any], categories: dict[Any, Any], name: str
) -> SegmentRow:
    with readable_as("an annotation of COCO", f"{name!r}, annotation {annotation['id']}", quote=False):
        where = f"{name!r}, annotation {annotation['id']}"
        for key, known, of in (("image_id", images, "picture"), ("category_id", categories, "category")):
            if key not in annotation or annotation[key] not in known:
                raise BagtagError(f"{where}: the file lists no {of} {annotation.get(key)!r}.")
        return _row(annotation, images[annotation["image_id"]], categories[annotation["category_id"]], name)


def _row(annotation: dict[str, Any], image: dict[str, Any], category: dict[str, Any], name: str) -> SegmentRow:
    where = f"{name!r}, annotation {annotation['id']}"
    attributes = annotation.get("attributes", {})
    label, score = category["name"], annotation.get("score")
    status = attributes.get("status") or _status(label, score)
    by_score = "model" if score is not None else "person" if status == "confirmed" else ""
    said_by = attributes.get("said_by", by_score)
    if status not in get_args(Status) or said_by not in get_args(LabelSource):
        raise BagtagError(f"{where}: the status {status!r} by {said_by!r} is not known; {KNOWN_STATUSES}.")
    outline = _rings(annotation.get("segmentation"), where)
    if "bbox" in annotation:
        left, top, width, height = (float(value) for value in annotation["bbox"])
        box = (left, top, round(left + width, 3), round(top + height, 3))
    elif outline:
        box = box_of(outline)
    else:
        raise BagtagError(f"{where}: it has neither a box nor an outline.")
    return SegmentRow(
        file=str(image["file_name"]),
        kind="picture",
        box=box,
        outline=outline,
        width=int(image["width"]),
        height=int(image["height"]),
        label="" if status in ("background", "unlabelled") else label,
        scientific_name=category.get("scientific_name", ""),
        probability=score,
        status=cast(Status, status),
        said_by=cast(LabelSource, said_by),
        recorded_at=image.get("date_captured") or "",
        segment=attributes.get("segment"),
        **{field: attributes.get(field, "") for field in ("bag", "who", "checked_by", "run", "other_tags")},
    )


def _status(label: str, score: float | None) -> str:
    if label in (_BACKGROUND, _UNLABELLED):
        return label.strip("()")
    return "confirmed" if score is None else "predicted"


def _rings(segmentation: Any, where: str) -> tuple[Ring, ...]:
    if isinstance(segmentation, dict):
        height, width = (int(side) for side in segmentation["size"])
        return mask_outline(from_runs(segmentation["counts"], height, width, where))
    flat = [[float(value) for value in ring] for ring in segmentation or []]
    if any(len(ring) < 6 or len(ring) % 2 for ring in flat):
        raise BagtagError(f"{where}: a polygon needs at least three points of two numbers.")
    return tuple(tuple(zip(ring[0::2], ring[1::2])) for ring in flat)
