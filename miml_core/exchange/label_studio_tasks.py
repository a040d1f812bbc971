"""Tasks of Label Studio with predictions, made of segments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote
from xml.sax.saxutils import quoteattr

from miml_core.exchange.brush_rle import encode_brush
from miml_core.exchange.masks import row_region, row_rings, row_size
from miml_core.exchange.rows import SegmentRow

BACKGROUND = "(background)"
"""The label of segments that are none of the classes."""
_CONTROLS = {
    "labels": ("label", "Labels"),
    "polygonlabels": ("label", "PolygonLabels"),
    "rectanglelabels": ("box", "RectangleLabels"),
    "brushlabels": ("brush", "BrushLabels"),
}
"""Type of a region -> name and tag of its control: Label Studio refuses a region of another type than its control."""


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


def labeling_config(rows: Sequence[SegmentRow]) -> str:
    """Return the labelling configuration of a project in Label Studio that shows the tasks of some rows.

    >>> row = SegmentRow("a.wav", start_s=1.0, end_s=2.0, label="Wren", status="confirmed", said_by="person")
    >>> print(labeling_config([row]))
    <View>
     <Audio name="audio" value="$audio"/>
     <Labels name="label" toName="audio">
      <Label value="Wren"/>
     </Labels>
    </View>
    """
    target = "image" if rows[0].kind == "picture" else "audio"
    labels = sorted({_label(row) for row in rows} - {""})
    lines = ["<View>", f' <{target.capitalize()} name="{target}" value="${target}"/>']
    for name, tag in sorted({_CONTROLS[_shape(row)] for row in rows}):
        lines.append(f' <{tag} name="{name}" toName="{target}">')
        lines += [f"  <Label value={quoteattr(label)}/>" for label in labels]
        lines.append(f" </{tag}>")
    return "\n".join([*lines, "</View>"])


def _label(row: SegmentRow) -> str:
    return BACKGROUND if row.status == "background" else row.label


def _shape(row: SegmentRow) -> str:
    if row.kind == "sound":
        return "labels"
    return "brushlabels" if len(row_rings(row)) > 1 else "polygonlabels" if row.outline else "rectanglelabels"


def _region(number: int, row: SegmentRow, target: str) -> dict[str, Any]:
    label = _label(row)
    kind, value = _shape(row), _value(row)
    region: dict[str, Any] = {
        "id": str(number),
        "from_name": _CONTROLS[kind][0],
        "to_name": target,
        "type": kind,
        "score": 1.0 if row.probability is None else round(row.probability, 6),
        "value": {**value, kind: [label] if label else []},
    }
    if target == "image":
        height, width = row_size(row)
        region |= {"original_width": width, "original_height": height, "image_rotation": 0}
    return region


def _value(row: SegmentRow) -> dict[str, Any]:
    shape = _shape(row)
    if shape == "labels":
        return {"start": row.start_s or 0.0, "end": row.end_s or 0.0, "channel": 0}
    height, width = row_size(row)
    rings = row_rings(row)
    if shape == "brushlabels":
        mask = row_region(row).within((0, 0, height, width))
        return {"format": "rle", "rle": encode_brush(mask)}
    if shape == "polygonlabels":
        return {"points": [[100 * x / width, 100 * y / height] for x, y in rings[0]], "closed": True}
    (left, top), _, (right, bottom), _ = rings[0]
    place = {"x": 100 * left / width, "y": 100 * top / height, "rotation": 0}
    return {**place, "width": 100 * (right - left) / width, "height": 100 * (bottom - top) / height}
