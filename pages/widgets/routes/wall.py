"""The wall: which segments it has, what it shows of them, and their cut-outs."""

from __future__ import annotations

import struct
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from miml_core.bags import BACKGROUND
from miml_core.json_text import to_json
from miml_core.project import Project
from miml_core.project.db.rows import LARGEST_ID
from miml_core.project.queries.wall import WallOrder, WallQuery, WallShow
from miml_core.project.review_records import WallClass, WallItem
from pages.widgets.routes.auth import NotAllowed, choice_in
from pages.widgets.routes.bags import class_fields, rounded_down
from pages.widgets.routes.json_response import JSONResponse
from pages.widgets.segment_selections import find_selection

MOST_ITEMS = 240
MOST_CUTOUTS = 24
SHOWS: tuple[WallShow, ...] = ("open", "unsure", "checked", "threshold")
_GONE = "This list of segments is no longer available; create it again, or choose a class."


def send_wall(request: Request, project: Project) -> Response:
    """Send the ids of a wall in their order, its title, and the classes with the number of their segments.

    `predicted` (a class, with `order` and `show`) or `selection` (see `pages.widgets.segment_selections`) say which.
    Without either, only the classes are sent.
    """
    title, query = _query(request, project)
    revision = project.revision
    ids = [] if query is None else project.review.wall_ids(query)
    total = len(ids) if query is None or query.segments else project.review.wall_size(query)
    counts = {one.label: _counts(one) for one in project.review.wall_classes()}
    none = dict.fromkeys(SHOWS, 0)
    classes = [{**class_fields(one), "counts": counts.get(one.id, none)} for one in project.classes.list()]
    return JSONResponse(
        {
            "title": title,
            "kind": project.kind,
            "revision": revision,
            "ids": ids,
            "total": total,
            "classes": classes,
            "background": counts.get(BACKGROUND, none),
        }
    )


def _counts(one: WallClass) -> dict[str, int]:
    return dict(zip(SHOWS, (one.n_open, one.n_unsure, one.n_checked, one.n_threshold)))


def send_wall_items(request: Request, project: Project) -> Response:
    """Send label, prediction and place of some segments (`ids`); those that are gone are left out."""
    ids = _ids(request, MOST_ITEMS)
    return JSONResponse({"items": [_item(one) for one in project.review.wall_items(ids)]})


def send_cutouts(request: Request, project: Project) -> Response:
    """Send small pictures of some segments (`ids`) in one response.

    It is a whole number (4 bytes, big-endian), so many bytes of JSON ``{"pictures": [[id, bytes], ...], "problems":
    {id: sentence}}``, and the JPEGs one after another.
    """
    found = project.segments.cutouts(_ids(request, MOST_CUTOUTS))
    sizes = [[segment, len(picture)] for segment, picture in found.pictures.items()]
    head = to_json({"pictures": sizes, "problems": {str(one): why for one, why in found.problems.items()}}).encode()
    content = struct.pack(">I", len(head)) + head + b"".join(found.pictures.values())
    return Response(content, media_type="application/octet-stream")


def send_large_cutout(request: Request, project: Project) -> Response:
    """Send a large picture of one segment of a picture."""
    segment = request.path_params["segment"]
    found = project.segments.cutouts([segment], large=project.kind == "picture")
    if segment not in found.pictures:
        raise NotAllowed(404, found.problems.get(segment, "This segment no longer exists."))
    return Response(found.pictures[segment], media_type="image/jpeg")


def _query(request: Request, project: Project) -> tuple[str, WallQuery | None]:
    token = request.query_params.get("selection")
    if token is not None:
        found = find_selection(project, token)
        if found is None:
            raise NotAllowed(404, _GONE)
        return found.title, WallQuery(segments=found.segment_ids)
    if "predicted" not in request.query_params:
        return "", None
    label = _label(request.query_params["predicted"])
    name = (
        "background"
        if label == BACKGROUND
        else next((one.name for one in project.classes.list() if one.id == label), None)
    )
    if name is None:
        raise NotAllowed(404, "This class is no longer in the project: choose another one.")
    order, show = choice_in(request, "order", WallOrder, "doubtful"), choice_in(request, "show", WallShow, "open")
    return name, WallQuery(predicted=label, order=order, show=show)


def _label(text: str) -> int:
    if text == str(BACKGROUND):
        return BACKGROUND
    if text.isascii() and text.isdigit() and 0 < int(text[:20]) < LARGEST_ID:
        return int(text)
    raise NotAllowed(400, f"predicted must be the id of a class, or {BACKGROUND} for the background.")


def _ids(request: Request, most: int) -> list[int]:
    parts = request.query_params.get("ids", "").split(",")
    if len(parts) > most or not all(part.isascii() and part.isdigit() and len(part) < 16 for part in parts):
        raise NotAllowed(400, f"ids must be 1 to {most} segment ids.")
    return [int(part) for part in parts]


def _item(one: WallItem) -> dict[str, Any]:
    return {
        "id": one.segment_id,
        "bag": one.bag_id,
        "name": one.bag,
        "number": one.number,
        "left": round(one.left, 4),
        "right": round(one.right, 4),
        "low": round(one.low, 1),
        "high": round(one.high, 1),
        "label": one.label,
        "accepted": one.accepted,
        "checked_by": one.checked_by,
        "guesses": [[label, rounded_down(probability)] for label, probability in one.guesses],
    }
