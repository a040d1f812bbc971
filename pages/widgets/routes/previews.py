"""Segments that a page only tries out: they are shown on the canvas but kept nowhere.

A page finds segments with the settings a person is trying, stores them here, and passes the canvas their name.
"""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from starlette.requests import Request
from starlette.responses import Response

from miml_core.project import Project
from pages.widgets.routes.auth import NotAllowed
from pages.widgets.routes.bags import bag_header_json, flat_rings, opening_range
from pages.widgets.routes.images import BagImage, Placement, image_version, keep_preview_image, placement
from pages.widgets.routes.json_response import JSONResponse
from pages.widgets.routes.view import sound_view

if TYPE_CHECKING:
    from miml_core.media.grid import Grid
    from miml_core.segments.regions import Region

_MOST = 32
_lock = threading.Lock()


@dataclass(frozen=True)
class _Preview:
    bag_id: int
    segments: list[dict[str, Any]]
    image: str | None
    extent: dict[str, Any] | None
    rate: int


_previews: OrderedDict[tuple[str, str], _Preview] = OrderedDict()


def keep_preview(
    project: Project, bag_id: int, grid: Grid, regions: Sequence[Region], image: BagImage | None = None
) -> str:
    """Keep segments that are only tried; return the name to give to the canvas.

    `image` is the picture they were found on, where that is not the bag's own (other spectrogram settings).
    """
    name = secrets.token_hex(8)
    segments = [_segment(place, grid, region, project.kind) for place, region in enumerate(regions)]
    if image is None:
        preview = _Preview(bag_id, segments, None, None, 0)
    else:
        preview = _Preview(bag_id, segments, keep_preview_image(project, image), image.extent, image.rate)
    with _lock:
        _previews[(str(project.folder), name)] = preview
        while len(_previews) > _MOST:
            _previews.popitem(last=False)
    return name


def send_preview(request: Request, project: Project) -> Response:
    """Send a bag with the tried segments in place of its own."""
    preview = _previews.get((str(project.folder), request.path_params["preview"]))
    if preview is None:
        raise NotAllowed(404, "This preview is no longer available; change a setting to compute it again.")
    bag = project.bags.get(preview.bag_id)
    place = Placement(preview.extent, preview.rate) if preview.extent else placement(project, bag)
    shown = {
        **bag_header_json(project, bag),
        "revision": project.revision,
        "image": preview.image or image_version(project, bag),
        "extent": place.extent,
        "rate": place.rate,
        "tiles": place.tiling(),
        "opening": opening_range(project, bag),
        "view": sound_view(project),
        "segments": preview.segments,
        "range": None,
        "counts": None,
        "suggestions": [],
    }
    return JSONResponse(shown)


def _segment(place: int, grid: Grid, region: Region, kind: str) -> dict[str, Any]:
    rings = [np.column_stack([grid.x_at(ring[:, 0]), grid.y_at(ring[:, 1])]).tolist() for ring in region.outline(0.7)]
    return {
        "id": place + 1,
        "number": place + 1,
        "rings": flat_rings(rings, kind),
        "label": None,
        "accepted": False,
        "checked_by": None,
        "origin": "automatic",
        "guesses": [],
        "free": None,
        "contradicts": False,
    }
