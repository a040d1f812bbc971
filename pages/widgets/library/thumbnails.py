"""Small pictures of bags for lists, made once and kept in the project's cache."""

from __future__ import annotations

import base64
import io
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from miml_core import BagtagError
from miml_core.project import Bag, Project
from miml_core.project.db import cache

if TYPE_CHECKING:
    from PIL import Image

WIDTH, HEIGHT = 160, 48
_FOLDER = "thumbnails"
_LONGEST_SECONDS = 15.0
_SECONDS_A_LOOK = 0.6


def thumbnails(project: Project, bags: Sequence[Bag]) -> tuple[dict[int, str], bool]:
    """Return data URLs by bag id, and whether these are all.

    Making many takes longer than a page may: after a moment the rest is left for the next call.
    """
    until = time.monotonic() + _SECONDS_A_LOOK
    found: dict[int, str] = {}
    complete = True
    for bag in bags:
        name = f"{bag.id}-{_safe(bag.thumbnail_key)}.jpg"
        content = cache.read(project.folder, name, _FOLDER)
        if content is None:
            if bag.missing or bag.changed or bag.not_allowed:
                continue  # not kept: the file may come back
            if time.monotonic() > until:
                complete = False
                continue
            content = _make(project, bag)
            cache.write(project.folder, name, content, _FOLDER)
        if content:
            found[bag.id] = f"data:image/jpeg;base64,{base64.b64encode(content).decode()}"
    return found, complete


def _make(project: Project, bag: Bag) -> bytes:
    """Return the JPEG of one bag; nothing when its file cannot be read, which the list shows in its own column."""
    try:
        path = project.media.path(bag.id)
        return _of_sound(project, path, bag) if project.kind == "sound" else _of_picture(path)
    except BagtagError:
        return b""


def _of_sound(project: Project, path: Path, bag: Bag) -> bytes:
    from PIL import Image

    from miml_core.media.rendering import render_png
    from miml_core.media.spectrogram import read_spectrogram

    settings = project.settings.spectrogram
    end = min(bag.end, bag.start + _LONGEST_SECONDS)
    png = render_png(read_spectrogram(path, bag.start, end, settings), settings)
    return _jpeg(Image.open(io.BytesIO(png)).convert("RGB").resize((2 * WIDTH, 2 * HEIGHT)))


def _of_picture(path: Path) -> bytes:
    from PIL import Image

    from miml_core.media.image import open_image

    return _jpeg(Image.fromarray(open_image(path, max_side=2 * WIDTH).pixels))


def _jpeg(picture: Image.Image) -> bytes:
    stream = io.BytesIO()
    picture.save(stream, "JPEG", quality=80)
    return stream.getvalue()


def _safe(key: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in key)
