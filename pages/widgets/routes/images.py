"""The picture behind the segments: tiles of a bag's spectrogram (see `miml_core.media.tiles`), or its photograph.

Tiles are grey levels; the browser colours them (`view.py`), so that contrast changes without fetching any again.

Each is made once and kept in the project's cache folder; the version in its address changes with the file and with the
settings, so a browser never shows an old one. Where a picture lies in real units follows from the file's header and
the settings: nothing is decoded to open a bag.
"""

from __future__ import annotations

import hashlib
import io
import json
import threading
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response

from miml_core import BagtagError
from miml_core.project import Bag, Project
from miml_core.project.db import cache
from miml_core.project.db.rows import LARGEST_ID
from pages.widgets.routes.auth import NotAllowed, number_in

if TYPE_CHECKING:
    from miml_core.media.grid import Grid
    from miml_core.media.tiles import SpectrogramTiles

LARGEST_SIDE = 4096
_PNG_PIXELS = 1_000_000
_KEPT_IN_MEMORY = 48
_KEPT_ON_DISK = 3000
_LOOK_EVERY = 100
_FOLDER = "images"
_SIGNATURES = {"image/png": b"\x89PNG\r\n\x1a\n", "image/jpeg": b"\xff\xd8\xff"}
_LAYOUT = 3
"""Part of every version; counted up when what is drawn changes."""

Name = tuple[str, int, str, str]
"""Project, bag, version, and which tile ("" is the only picture)."""

_memory: OrderedDict[Name, BagImage] = OrderedDict()
_places: OrderedDict[tuple[str, int, str], Placement] = OrderedDict()
_lock = threading.Lock()
_making: dict[Name, threading.Lock] = {}
_written = 0
_preview_images: OrderedDict[tuple[str, str], BagImage] = OrderedDict()


@dataclass(frozen=True)
class BagImage:
    """An encoded picture; `extent` is where its outer edges lie in real units, `rate` the sound's sample rate."""

    content: bytes
    media_type: str
    extent: dict[str, Any]
    rate: int


@dataclass(frozen=True)
class Placement:
    """Where a bag's picture lies in real units, and how it is cut into tiles (None: it is one picture)."""

    extent: dict[str, Any]
    rate: int
    tiles: SpectrogramTiles | None = None

    def tiling(self) -> dict[str, Any] | None:
        """Return what a browser needs for tiles: columns of the lowest level, columns per tile, the highest level."""
        from miml_core.media.tiles import TILE_COLUMNS

        if self.tiles is None:
            return None
        return {"width": self.tiles.width, "columns": TILE_COLUMNS, "top": self.tiles.top_level}


def send_image(request: Request, project: Project) -> Response:
    """Send the picture of a bag at the version asked for; of a sound, one tile (`level`, `tile`) of it."""
    bag = project.bags.get(request.path_params["bag"])
    wanted = request.query_params.get("v", "")
    image = _preview_images.get((str(project.folder), wanted))
    if image is None:
        if wanted != image_version(project, bag):
            raise NotAllowed(404, "This picture has changed: reload the page.")
        image = bag_image(project, bag, *_asked_tile(request, project, bag))
    headers = {"Cache-Control": "private, max-age=604800, immutable"}
    return Response(image.content, media_type=image.media_type, headers=headers)


def keep_preview_image(project: Project, image: BagImage) -> str:
    """Keep a picture that belongs to a preview for a while; return its version."""
    version = "preview-" + hashlib.sha256(image.content).hexdigest()[:16]
    with _lock:
        _preview_images[(str(project.folder), version)] = image
        while len(_preview_images) > _KEPT_IN_MEMORY:
            _preview_images.popitem(last=False)
    return version


def image_version(project: Project, bag: Bag) -> str:
    """Return a short hash of everything that the picture depends on."""
    settings = project.settings
    drawn = {**settings.spectrogram.analysis_dict(), "flat": settings.spectrogram.flat}
    parts = [_LAYOUT, bag.thumbnail_key, bag.start, bag.end, drawn, settings.channel]
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:16]


def placement(project: Project, bag: Bag) -> Placement:
    """Return where a bag's picture lies; a file that cannot be read still gets axes for its segments."""
    try:
        return _place(project, bag)
    except BagtagError:
        return Placement(_stand_in(project, bag), 0)


def bag_image(project: Project, bag: Bag, level: int = 0, tile: int = 0) -> BagImage:
    """Return the picture (or one tile of it) from memory, from the cache folder, or made now."""
    which = f"-{level}-{tile}" if project.kind == "sound" else ""
    name = (str(project.folder), bag.id, image_version(project, bag), which)
    with _lock:
        if name in _memory:
            _memory.move_to_end(name)
            return _memory[name]
        turn = _making.setdefault(name, threading.Lock())
    with turn:
        image = _memory.get(name) or _from_disk(project, name) or _made(project, bag, name, level, tile)
    with _lock:
        _making.pop(name, None)
        _keep(_memory, name, image)
    return image


def _asked_tile(request: Request, project: Project, bag: Bag) -> tuple[int, int]:
    """Return (level, tile) of a request; without them, the whole bag as one tile."""
    tiles = _place(project, bag).tiles
    if tiles is None:
        return 0, 0
    level = number_in(request, "level", 0, 62, tiles.top_level)
    tile = number_in(request, "tile", 0, LARGEST_ID, 0)
    if level != int(level) or tile != int(tile) or level > tiles.top_level or tile >= tiles.tiles(int(level)):
        raise NotAllowed(404, "This picture has no such tile: reload the page.")
    return int(level), int(tile)


def _place(project: Project, bag: Bag) -> Placement:
    """Return where a bag's picture lies, from the file's header, which is read once."""
    path = project.media.path(bag.id)
    name = (str(project.folder), bag.id, image_version(project, bag))
    with _lock:
        if name in _places:
            _places.move_to_end(name)
            return _places[name]
    place = _place_sound(project, path, bag) if project.kind == "sound" else _place_picture(path)
    with _lock:
        _keep(_places, name, place)
    return place


def _place_sound(project: Project, path: Path, bag: Bag) -> Placement:
    from miml_core.media.sound_blocks import SoundWindow
    from miml_core.media.tiles import SpectrogramTiles

    settings = project.settings
    window = SoundWindow.of(path, bag.start, bag.end, settings.spectrogram, settings.channel)
    return Placement(_extent(window.grid), window.rate, SpectrogramTiles(window))


def _place_picture(path: Path) -> Placement:
    from miml_core.media.image import image_info

    info = image_info(path)
    size = {"right": float(info.width), "bottom": float(info.height)}
    return Placement({"left": 0.0, "top": 0.0, **size, "scale": "linear"}, 0)


def _extent(grid: Grid) -> dict[str, Any]:
    return {"left": grid.left, "right": grid.right, "top": grid.top, "bottom": grid.bottom, "scale": grid.scale}


def _keep(kept: OrderedDict[Any, Any], name: Any, value: Any) -> None:
    kept[name] = value
    kept.move_to_end(name)
    while len(kept) > _KEPT_IN_MEMORY:
        kept.popitem(last=False)


def sound_image(spectrogram: Any, settings: Any) -> BagImage:
    """Return a spectrogram as a picture with its extent."""
    from miml_core.media.rendering import render_png

    return BagImage(render_png(spectrogram, settings), "image/png", _extent(spectrogram.grid), spectrogram.rate)


def _made(project: Project, bag: Bag, name: Name, level: int, tile: int) -> BagImage:
    place = _place(project, bag)
    if place.tiles is None:
        image = _of_picture(project.media.path(bag.id))
    else:
        image = BagImage(place.tiles.levels_png(level, tile), "image/png", place.extent, place.rate)
    _to_disk(project, name, image)
    return image


def _of_picture(path: Path) -> BagImage:
    from PIL import Image

    from miml_core.media.image import open_image

    picture = open_image(path, max_side=LARGEST_SIDE)
    grid = picture.grid
    stream = io.BytesIO()
    small = grid.width * grid.height <= _PNG_PIXELS
    Image.fromarray(picture.pixels).save(stream, "PNG" if small else "JPEG", **({} if small else {"quality": 90}))
    return BagImage(stream.getvalue(), "image/png" if small else "image/jpeg", _extent(grid), 0)


def _stand_in(project: Project, bag: Bag) -> dict[str, Any]:
    segments = project.segments.list(bag.id, predictions=False, outlines=False)
    right = max([bag.end, *(segment.right for segment in segments)], default=1.0)
    high = max([segment.high for segment in segments], default=0.0)
    if project.kind == "sound":
        return {"left": bag.start, "right": right, "top": max(high, 12_000.0), "bottom": 0.0, "scale": "linear"}
    return {"left": 0.0, "right": max(right, 100.0), "top": 0.0, "bottom": max(high, 100.0), "scale": "linear"}


def _file(name: Name) -> str:
    return f"{name[1]}-{name[2]}{name[3]}.image"


def _from_disk(project: Project, name: Name) -> BagImage | None:
    """Read a kept picture: one line of JSON, then the picture. It may be somebody else's, so its type is looked at."""
    head, _, content = (cache.read(project.folder, _file(name), _FOLDER) or b"").partition(b"\n")
    try:
        image = BagImage(content=content, **json.loads(head))
    except (ValueError, TypeError):
        return None
    return image if content.startswith(_SIGNATURES.get(image.media_type, b"\0none")) else None


def _to_disk(project: Project, name: Name, image: BagImage) -> None:
    """Keep the picture if possible: a full disk is no reason not to show it."""
    global _written
    head = {"media_type": image.media_type, "extent": image.extent, "rate": image.rate}
    if cache.write(project.folder, _file(name), json.dumps(head).encode() + b"\n" + image.content, _FOLDER):
        _written += 1
        if _written % _LOOK_EVERY == 1:
            cache.drop_oldest(project.folder, _KEPT_ON_DISK, _FOLDER)
