"""Read the parts of picture headers that Pillow reads late or not at all, without decoding anything."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL import Image

_PNG = b"\x89PNG\r\n\x1a\n"
_MOST_CHUNKS = 200_000
"""A PNG of 1 GB in the usual chunks of 8 kB has 130 000."""
_LARGEST_EXIF = 1 << 20
_LARGEST_JP2_HEADER = 1 << 16
_TILE_WIDTH, _TILE_LENGTH = 322, 323


def png_exif(path: Path) -> bytes | None:
    """Return the EXIF bytes of a PNG, before or after its pixels, in the form of Pillow's `info["exif"]`.

    Only the headers of other chunks are read, so that a large picture costs as much as a small one.
    """
    with path.open("rb") as file:
        if file.read(8) != _PNG:
            return None
        for _ in range(_MOST_CHUNKS):
            header = file.read(8)
            if len(header) < 8:
                return None
            size, name = struct.unpack(">I4s", header)
            if name == b"eXIf" and size <= _LARGEST_EXIF:
                return b"Exif\0\0" + file.read(size)
            if name == b"IEND":
                return None
            file.seek(size + 4, 1)
    return None


def stored_size(path: Path, image: Image.Image) -> tuple[int, int]:
    """Return the width and height that a decoder allocates: those of the picture, or of a larger tile in it."""
    width, height = image.size
    if image.format == "TIFF":
        tags = image.tag_v2  # type: ignore[attr-defined]
        return max(width, _number(tags.get(_TILE_WIDTH))), max(height, _number(tags.get(_TILE_LENGTH)))
    if image.format == "JPEG2000":
        inner = _jpeg2000_size(path)
        return max(width, inner[0]), max(height, inner[1])
    return width, height


def is_read_whole(path: Path) -> bool:
    """Return whether Pillow reads the whole file into memory to learn its size: WebP and AVIF."""
    with path.open("rb") as file:
        head = file.read(12)
    return head[8:12] == b"WEBP" or head[4:8] == b"ftyp"


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


def _jpeg2000_size(path: Path) -> tuple[int, int]:
    """Return the size of picture or tile in the codestream; the JP2 box around it, which Pillow uses, may differ."""
    with path.open("rb") as file:
        head = file.read(_LARGEST_JP2_HEADER)
    place = head.find(b"\xff\x4f\xff\x51")
    if place < 0 or len(head) < place + 32:
        return 0, 0
    width, height, left, top, tile_width, tile_height = struct.unpack_from(">6I", head, place + 8)
    return max(width - left, min(tile_width, width)), max(height - top, min(tile_height, height))
