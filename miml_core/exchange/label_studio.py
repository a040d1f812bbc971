"""Label Studio JSON: tasks with annotations of people and predictions of models, of pictures and of sounds."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import numpy as np

from miml_core.exchange.base import Format
from miml_core.exchange.brush_rle import decode_brush
from miml_core.exchange.label_studio_tasks import BACKGROUND, labeling_config, make_task
from miml_core.exchange.labels import LabelTable, readable_as
from miml_core.exchange.masks import Box, box_of, mask_outline
from miml_core.exchange.rows import Ring, SegmentRow, by_file

_MEDIA_KEYS = ("image", "audio", "img", "url", "sound", "file", "ocr")
_UPLOADED = re.compile(r"^[0-9a-f]{8}-")
_SHAPES = ("rectanglelabels", "polygonlabels", "brushlabels", "ellipselabels", "labels", "choices")
_ELLIPSE_POINTS = 64


class LabelStudio(Format):
    """Rectangles, polygons, ellipses and brushes of pictures, time ranges of sounds, and choices for a whole task.

    Segments are written as predictions, which Label Studio shows as pre-annotations, for a configuration whose controls
    are called `label` (time ranges, polygons), `box` and `brush` and whose object is called `image` or `audio`.
    """

    name = "label-studio"
    title = "Label Studio JSON (predictions)"
    kinds = ("sound", "picture")
    extensions = (".json",)
    many_files = False
    needs_outlines = True
    keeps = (
        "Times, or outlines (those with holes to whole pixels), labels and probabilities, 1 for confirmed ones. "
        "Frequencies are left out: Label Studio has none."
    )

    def make_files(self, rows: Sequence[SegmentRow]) -> Iterator[tuple[str, bytes]]:
        tasks = [make_task(file, segments) for file, segments in by_file(rows)]
        yield "label-studio.json", json.dumps(tasks, indent=1).encode("ascii")

    def describe(self, rows: Sequence[SegmentRow]) -> dict[str, str]:
        return {"label_studio_configuration": labeling_config(rows)}

    def recognises(self, name: str, head: str) -> bool:
        return head.lstrip("\ufeff \r\n\t").startswith("[") and any(
            f'"{key}"' in head for key in ("annotations", "completions", "predictions", "data", "rectanglelabels")
        )

    def read_file(self, name: str, content: bytes, table: LabelTable) -> None:
        with readable_as("Label Studio JSON", name):
            tasks = json.loads(content)
            if isinstance(tasks, dict):
                tasks = [tasks]
            for number, task in enumerate(tasks, start=1):
                where = f"{name!r}, task {task.get('id', number)}"
                file = media_name(task.get("data", task), task.get("file_upload"))
                for region, who, score in _regions(task):
                    if region.get("type", _labels_key(region)) in _SHAPES:
                        table.add(where, _row, region, file, who, score, where)


def media_name(data: dict[str, Any], uploaded: Any = None) -> str:
    """Return the path of the picture or sound of a task.

    >>> media_name({"image": "/data/upload/3/0a1b2c3d-pond%20a.jpg"})
    'pond a.jpg'
    >>> media_name({"audio": "/data/local-files/?d=b/c.wav"})
    'b/c.wav'
    """
    texts = {key: value for key, value in data.items() if isinstance(value, str)}
    address = next((texts[key] for key in _MEDIA_KEYS if key in texts), next(iter(texts.values()), uploaded or ""))
    parts = urlsplit(address.replace("\\", "/"))
    local = parse_qs(parts.query).get("d")
    path = local[0] if local else unquote(parts.path)
    if "/upload/" in path or uploaded:
        path = _UPLOADED.sub("", path.rsplit("/", 1)[-1])
    return path.lstrip("/") if parts.scheme else path


def _regions(task: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str, float | None]]:
    """Yield (region, annotator, score) of a task: of annotations without, of predictions with a score."""
    for annotation in task.get("annotations") or task.get("completions") or []:
        if not annotation.get("was_cancelled"):
            who = annotation.get("completed_by")
            named = who.get("email") or who.get("username") or who.get("id") if isinstance(who, dict) else who
            for region in annotation.get("result") or []:
                yield region, "" if named is None else str(named), None
    for prediction in task.get("predictions") or []:
        overall = prediction.get("score")
        for region in prediction.get("result") or []:
            score = region.get("score", overall)
            yield region, str(prediction.get("model_version") or ""), 1.0 if score is None else float(score)
    for key, value in task.items():  # the format "JSON-MIN" has the regions beside the address of the media
        if key not in ("annotations", "completions", "predictions", "drafts") and isinstance(value, list):
            for region in value:
                if isinstance(region, dict) and _labels_key(region):
                    yield {**region, "value": region}, str(task.get("annotator") or ""), None


def _labels_key(region: dict[str, Any]) -> str:
    value = region.get("value", region)
    return next((key for key in _SHAPES if isinstance(value, dict) and key in value), "")


def _row(region: dict[str, Any], file: str, who: str, score: float | None, where: str) -> SegmentRow:
    with readable_as("a region of Label Studio", where, quote=False):
        value = region["value"]
        key = _labels_key(region)
        names = value[key] if key else []
        named = str(names[0]) if names else ""
        known = "confirmed" if score is None else "predicted"
        common: dict[str, Any] = {
            "file": file,
            "label": "" if named == BACKGROUND else named,
            "who": who,
            "probability": score,
            "status": "unlabelled" if not named else "background" if named == BACKGROUND else known,
            "said_by": "" if not named else "person" if score is None else "model",
        }
        if "start" in value and "end" in value:
            return SegmentRow(start_s=float(value["start"]), end_s=float(value["end"]), **common)
        size = region.get("original_width"), region.get("original_height")
        width, height = (None if side is None else int(side) for side in size)
        if key == "choices":
            return SegmentRow(kind="picture" if width else "sound", width=width, height=height, **common)
        if width is None or height is None:
            raise ValueError("the size of the picture is missing")
        box, outline = _geometry(key, value, width, height)
        return SegmentRow(kind="picture", box=box, outline=outline, width=width, height=height, **common)


def _geometry(key: str, value: dict[str, Any], width: int, height: int) -> tuple[Box, tuple[Ring, ...]]:
    scale = np.array([width, height]) / 100.0
    if key == "brushlabels":
        outline = mask_outline(decode_brush(value["rle"], height, width))
        if not outline:
            raise ValueError("the brush is empty")
        return box_of(outline), outline
    if key == "polygonlabels":
        points = np.asarray(value["points"], dtype=float) * scale
    elif key == "ellipselabels":
        angles = np.linspace(0, 2 * np.pi, _ELLIPSE_POINTS, endpoint=False)
        radii = np.column_stack([value["radiusX"] * np.cos(angles), value["radiusY"] * np.sin(angles)]) * scale
        points = _turned(radii, value.get("rotation") or 0) + np.array([value["x"], value["y"]]) * scale
    else:
        corner = np.array([value["x"], value["y"]]) * scale
        right, bottom = np.array([value["width"], value["height"]]) * scale
        if not value.get("rotation"):
            left, top = (float(edge) for edge in corner)
            return (left, top, left + float(right), top + float(bottom)), ()
        corners = np.array([(0, 0), (right, 0), (right, bottom), (0, bottom)])
        points = _turned(corners, value["rotation"]) + corner  # around the upper left corner
    if len(points) < 3:
        raise ValueError("a polygon needs three points")
    ring = tuple((float(x), float(y)) for x, y in points)
    return box_of((ring,)), (ring,)


def _turned(points: np.ndarray[Any, Any], degrees: float) -> np.ndarray[Any, Any]:
    angle = np.deg2rad(float(degrees))
    return points @ np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
