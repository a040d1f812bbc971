"""Mark exported pictures, so that an import of their folder leaves them out.

The mark is a text chunk of the PNG file, so that copies have it, too.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.PngImagePlugin import PngInfo

_KEY, _TEXT = "Software", "Bagtag export"
_CHUNK = b"tEXt" + _KEY.encode() + b"\0" + _TEXT.encode()
_HEAD_BYTES = 256
"""The chunk comes right after the header of the picture."""


def png_mark() -> PngInfo:
    """Return the mark, for `Image.save(..., pnginfo=png_mark())`."""
    from PIL.PngImagePlugin import PngInfo

    mark = PngInfo()
    mark.add_text(_KEY, _TEXT)
    return mark


def is_marked(path: Path) -> bool:
    """Return whether an export of Bagtag wrote the picture; reads a few bytes of PNG files, nothing of others."""
    if path.suffix.lower() != ".png":
        return False
    try:
        if not path.is_file():  # opening a pipe would block
            return False
        with path.open("rb") as file:
            return _CHUNK in file.read(_HEAD_BYTES)
    except OSError:
        return False
