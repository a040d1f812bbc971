"""Tasks of Label Studio with predictions, made of segments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from miml_core.exchange.brush_rle import encode_brush
from miml_core.exchange.masks import row_region, row_rings, row_size
from miml_core.exchange.rows import SegmentRow

BACKGROUND = "(background)"
"""The label of segments that are none of the classes."""
_CONTROL = "label"


def make_task(file: str, rows: Sequence[SegmentRow]) -> dict[str, Any]:
    """Return the task of one recording or picture; its address is that of Label Studio's local files.

    >>> row = SegmentRow("a b.wav", start_s=1.0, end_s=2.0, label="Wren", status="confirmed", said_by="person")
    >>> task = make_task("a b.wav", [row])
    >>> task["data"], task["predictions"][0]["result"][0]["value"]
    ({'audio': '/data/local-files/?d=a%20b.wav'}, {'start': 1.0, 'end': 2.0, 'channel': 0, 'labels': ['Wren']})
    """
    target = "image" if rows[0].kind == "picture" else "audio"
    by_model: dict[str, list[dict[str, Any]]] = {}
    for number, row in enumerate(rows, start=1):
        by_model.setdefault(row.who, []).append(_region(number, row, target))
    predictions = [
        {"model_version": who, "score": sum(each["score"] for each in regions) / len(regions), "result": regions}
        for who, regions in by_model.items()
    ]
    address = f"/data/local-files/?d={quote(file, errors='surrogateescape')}"
    return {"data": {target: address}, "predictions": predictions}


def _region(number: int, row: SegmentRow, target: str) -> dict[str, Any]:
    label = BACKGROUND if row.status == "background" else row.label
    kind, value = _value(row)
    region: dict[str, Any] = {
        "id": str(number),
        "from_name": _CONTROL,
        "to_name": target,
        "type": kind,
        "score": 1.0 if row.probability is None else round(row.probability, 6),
        "value": {**value, kind: [label] if label else []},
    }
    if target == "image":
        height, width = row_size(row)
        region |= {"original_width": width, "original_height": height, "image_rotation": 0}
    return region


def _value(row: SegmentRow) -> tuple[str, dict[str, Any]]:
    if row.kind == "sound":
        return "labels", {"start": row.start_s or 0.0, "end": row.end_s or 0.0, "channel": 0}
    height, width = row_size(row)
    rings = row_rings(row)
    if len(rings) > 1:
        mask = row_region(row).within((0, 0, height, width))
        return "brushlabels", {"format": "rle", "rle": encode_brush(mask)}
    if row.outline:
        return "polygonlabels", {"points": [[100 * x / width, 100 * y / height] for x, y in rings[0]], "closed": True}
    (left, top), _, (right, bottom), _ = rings[0]
    place = {"x": 100 * left / width, "y": 100 * top / height, "rotation": 0}
    return "rectanglelabels", {**place, "width": 100 * (right - left) / width, "height": 100 * (bottom - top) / height}
