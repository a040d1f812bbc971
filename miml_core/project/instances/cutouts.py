"""Cut-outs of segments from the project's cache, or made now.

Their names are hashes of everything that they depend on: the file, the outline, and the settings of the view. So an old
one is never shown, and nothing has to be deleted when settings change; the oldest ones are, beyond a number of bytes.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import Row, text

from miml_core.errors import BagtagError
from miml_core.media.image import open_image
from miml_core.media.sound_blocks import SoundWindow
from miml_core.media.tiles import SpectrogramTiles
from miml_core.project.db import cache, settings
from miml_core.project.db.store import Store
from miml_core.project.media import files as media_files
from miml_core.project.queries import segments
from miml_core.segments import cutouts as drawing

if TYPE_CHECKING:
    from miml_core.instances import InstanceSettings
    from miml_core.media.grid import Grid
    from miml_core.media.image import Picture
    from miml_core.media.tiles import SpectrogramTiles

LARGE_WIDTH, LARGE_HEIGHT = 640, 480
"""Pixels of an enlarged cut-out of a picture."""

_FOLDER = "cutouts"
_LAYOUT = 2
"""Increased if files of the same name would look different."""
_MOST_BYTES = 256 * 2**20
"""Of all cut-outs of a project: about 40 000."""
_LOOK_EVERY = 400
_KEPT_OPEN = 64
_KEPT_PICTURES = 4
_JPEG = b"\xff\xd8\xff"

_SEGMENTS = text(
    """
    SELECT segments.id, segments.bag_id, region, segments.grid_id, bags.start, bags."end", fingerprint
    FROM segments JOIN bags ON bags.id = segments.bag_id JOIN media ON media.id = bags.media_id
    WHERE segments.id IN (SELECT value FROM json_each(:ids)) AND alive
    """
)

Made = TypeVar("Made")
_written = itertools.count(1)
_lock = threading.Lock()
_open: OrderedDict[tuple[str, ...], Any] = OrderedDict()
_pictures: OrderedDict[tuple[str, ...], Any] = OrderedDict()


@dataclass(frozen=True)
class Cutouts:
    """Cut-outs of some segments.

    Attributes
    ----------
    pictures : dict
        {segment id: JPEG}.
    problems : dict
        {segment id: why there is none}, for segments whose file is missing or cannot be read.
    """

    pictures: dict[int, bytes]
    problems: dict[int, str]


def cutouts(store: Store, segment_ids: Sequence[int], *, large: bool = False) -> Cutouts:
    """Return small pictures of segments; `large` ones, only of pictures, are not kept."""
    with store.read() as connection:
        used = settings.instance_settings(connection)
        kind = settings.kind(connection)
        rows = connection.execute(_SEGMENTS, {"ids": json.dumps(list(segment_ids))}).all()
        grids = {row.grid_id: segments.grid(connection, row.grid_id) for row in rows}
    look = json.dumps([_LAYOUT, kind, used.spectrogram.to_dict(), used.channel], sort_keys=True, default=str)
    found = Cutouts({}, {})
    for row in sorted(rows, key=lambda row: row.bag_id):  # segments of one file one after another
        grid = grids[row.grid_id]
        name = _name(look, row, grid)
        try:
            picture = None if large else _kept(store.folder, name)
            found.pictures[row.id] = picture or _make(store, row, grid, used, kind, name, large)
        except BagtagError as error:
            found.problems[row.id] = str(error)
    return found


def _name(look: str, row: Row[Any], grid: Grid) -> str:
    parts = [look, row.fingerprint, row.start, row.end, grid.to_dict()]
    return hashlib.sha256(json.dumps(parts).encode() + row.region).hexdigest()[:32] + ".jpg"


def _kept(folder: Path, name: str) -> bytes | None:
    content = cache.read(folder, name, _FOLDER)
    return content if content is not None and content.startswith(_JPEG) else None


def _make(store: Store, row: Row[Any], grid: Grid, used: InstanceSettings, kind: str, name: str, large: bool) -> bytes:
    region = segments.region(row)
    with store.read() as connection:
        path = media_files.path_of_bag(connection, store.folder, row.bag_id)
    if kind == "sound":
        content = drawing.sound_cutout(_tiles(path, row, used), grid, region)
    elif large:
        side = drawing.picture_side(grid, region, LARGE_WIDTH)
        return drawing.picture_cutout(_picture(path, row, side), grid, region, LARGE_WIDTH, LARGE_HEIGHT)
    else:
        content = drawing.picture_cutout(_picture(path, row, drawing.picture_side(grid, region)), grid, region)
    cache.write(store.folder, name, content, _FOLDER)
    if next(_written) % _LOOK_EVERY == 0:
        cache.drop_oldest_bytes(store.folder, _MOST_BYTES, _FOLDER)
    return content


def _tiles(path: Path, row: Row[Any], used: InstanceSettings) -> SpectrogramTiles:
    """Return the spectrogram of a bag, of which only what is asked for is read; its header is read once."""

    look = replace(used.spectrogram, normalisation="none", flat=False)  # noise of the whole bag would read all of it
    key = (str(path), row.fingerprint, str((row.start, row.end, used.channel)), json.dumps(look.to_dict(), default=str))

    def make() -> SpectrogramTiles:
        return SpectrogramTiles(SoundWindow.of(path, row.start, row.end, look, used.channel))

    return _once(_open, key, make, _KEPT_OPEN)


def _picture(path: Path, row: Row[Any], side: int) -> Picture:
    key = (str(path), row.fingerprint, str(side))
    return _once(_pictures, key, lambda: open_image(path, max_side=side), _KEPT_PICTURES)


def _once(kept: OrderedDict[tuple[str, ...], Made], key: tuple[str, ...], make: Callable[[], Made], most: int) -> Made:
    with _lock:
        if key in kept:
            kept.move_to_end(key)
            return kept[key]
    made = make()
    with _lock:
        kept[key] = made
        while len(kept) > most:
            kept.popitem(last=False)
    return made
