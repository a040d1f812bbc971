"""The picture behind the segments: a bag's spectrogram at the resolution it was analysed at, or its photograph.

Made once, kept in the project's cache folder with the numbers that place it in real units; the version in its address
changes with the file and with the settings, so a browser never shows an old one.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import threading
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from miml_core import BagtagError
from miml_core.project import Bag, Project
from pages.widgets.routes.doors import NotAllowed

LARGEST_SIDE = 4096
_PNG_PIXELS = 1_000_000
_KEPT_IN_MEMORY = 24
_KEPT_ON_DISK = 3000
_LOOK_EVERY = 100
_LAYOUT = 1
"""Part of every version; counted up when what is drawn changes."""

_memory: OrderedDict[tuple[str, int, str], BagImage] = OrderedDict()
_lock = threading.Lock()
_making: dict[tuple[str, int, str], threading.Lock] = {}
_written = 0
_tried: OrderedDict[tuple[str, str], BagImage] = OrderedDict()


@dataclass(frozen=True)
class BagImage:
    """An encoded picture; `extent` is where its outer edges lie in real units, `rate` the sound's sample rate."""

    content: bytes
    media_type: str
    extent: dict[str, Any]
    rate: int


def send_image(request: Request, project: Project) -> Response:
    """The picture of a bag at the version asked for."""
    bag = project.bag(request.path_params["bag"])
    wanted = request.query_params.get("v", "")
    image = _tried.get((str(project.folder), wanted))
    if image is None:
        if wanted != image_version(project, bag):
            raise NotAllowed(404, "This picture has changed: reload the page.")
        image = bag_image(project, bag)
    headers = {"Cache-Control": "private, max-age=604800, immutable"}
    return Response(image.content, media_type=image.media_type, headers=headers)


def keep_tried(project: Project, image: BagImage) -> str:
    """Keep a picture that belongs to a preview for a while; answers its version."""
    version = "tried-" + hashlib.sha256(image.content).hexdigest()[:16]
    with _lock:
        _tried[(str(project.folder), version)] = image
        while len(_tried) > _KEPT_IN_MEMORY:
            _tried.popitem(last=False)
    return version


def image_version(project: Project, bag: Bag) -> str:
    """Short name of everything the picture depends on."""
    settings = project.settings
    parts = [_LAYOUT, bag.thumbnail_key, bag.start, bag.end, settings.spectrogram.to_dict(), settings.channel]
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:16]


def placement(project: Project, bag: Bag) -> tuple[dict[str, Any], int]:
    """(extent, sample rate) of a bag's picture; a file that cannot be read still gets axes for its segments."""
    try:
        image = bag_image(project, bag)
    except BagtagError:
        return _stand_in(project, bag), 0
    return image.extent, image.rate


def bag_image(project: Project, bag: Bag) -> BagImage:
    """The picture from memory, from the cache folder, or made now."""
    name = (str(project.folder), bag.id, image_version(project, bag))
    with _lock:
        if name in _memory:
            _memory.move_to_end(name)
            return _memory[name]
        turn = _making.setdefault(name, threading.Lock())
    with turn:
        image = _memory.get(name) or _from_disk(project, name) or _made(project, bag, name)
    with _lock:
        _making.pop(name, None)
        _memory[name] = image
        while len(_memory) > _KEPT_IN_MEMORY:
            _memory.popitem(last=False)
    return image


def sound_image(spectrogram: Any, settings: Any) -> BagImage:
    """A spectrogram as a picture with its extent."""
    from miml_core.media.rendering import render_png

    grid = spectrogram.grid
    extent = {"left": grid.left, "right": grid.right, "top": grid.top, "bottom": grid.bottom, "scale": grid.scale}
    return BagImage(render_png(spectrogram, settings), "image/png", extent, spectrogram.rate)


def _made(project: Project, bag: Bag, name: tuple[str, int, str]) -> BagImage:
    path = project.media_path(bag.id)
    image = _of_sound(project, path, bag) if project.kind == "sound" else _of_picture(path)
    _to_disk(project, name, image)
    return image


def _of_sound(project: Project, path: Path, bag: Bag) -> BagImage:
    from miml_core.media.spectrogram import read_spectrogram

    settings = project.settings
    spectrogram = read_spectrogram(path, bag.start, bag.end, settings.spectrogram, settings.channel)
    return sound_image(spectrogram, settings.spectrogram)


def _of_picture(path: Path) -> BagImage:
    from PIL import Image

    from miml_core.media.image import open_image

    picture = open_image(path, max_side=LARGEST_SIDE)
    grid = picture.grid
    extent = {"left": grid.left, "right": grid.right, "top": grid.top, "bottom": grid.bottom, "scale": "linear"}
    stream = io.BytesIO()
    small = grid.width * grid.height <= _PNG_PIXELS
    Image.fromarray(picture.pixels).save(stream, "PNG" if small else "JPEG", **({} if small else {"quality": 90}))
    return BagImage(stream.getvalue(), "image/png" if small else "image/jpeg", extent, 0)


def _stand_in(project: Project, bag: Bag) -> dict[str, Any]:
    segments = project.segments(bag.id, predictions=False)
    right = max([bag.end, *(segment.right for segment in segments)], default=1.0)
    high = max([segment.high for segment in segments], default=0.0)
    if project.kind == "sound":
        return {"left": bag.start, "right": right, "top": max(high, 12_000.0), "bottom": 0.0, "scale": "linear"}
    return {"left": 0.0, "right": max(right, 100.0), "top": 0.0, "bottom": max(high, 100.0), "scale": "linear"}


def _file(project: Project, name: tuple[str, int, str]) -> Path:
    return project.cache_folder / "images" / f"{name[1]}-{name[2]}.image"


def _from_disk(project: Project, name: tuple[str, int, str]) -> BagImage | None:
    """The file holds one line of JSON, then the picture."""
    try:
        head, _, content = _file(project, name).read_bytes().partition(b"\n")
        return BagImage(content=content, **json.loads(head))
    except (OSError, ValueError, TypeError):
        return None


def _to_disk(project: Project, name: tuple[str, int, str], image: BagImage) -> None:
    """Keep the picture if possible: a full disk is no reason not to show it."""
    global _written
    file = _file(project, name)
    head = {"media_type": image.media_type, "extent": image.extent, "rate": image.rate}
    part = file.with_suffix(f".{os.getpid()}-{threading.get_ident()}.part")
    try:
        file.parent.mkdir(exist_ok=True)
        part.write_bytes(json.dumps(head).encode() + b"\n" + image.content)
        part.replace(file)
        _written += 1
        if _written % _LOOK_EVERY == 1:
            _drop_oldest(file.parent)
    except OSError:
        return


def _drop_oldest(folder: Path) -> None:
    files = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in files[_KEPT_ON_DISK:]:
        path.unlink(missing_ok=True)
