"""Mark exported pictures and sounds, so that an import of their folder leaves them out.

The mark is a text in the file itself (a text chunk of a PNG, the software of a WAV), so that copies have it, too.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.PngImagePlugin import PngInfo
    from soundfile import SoundFile

_KEY, _TEXT = "Software", "Bagtag export"
_MARKS = {".png": b"tEXt" + _KEY.encode() + b"\0" + _TEXT.encode(), ".wav": _TEXT.encode()}
"""What the beginning of a marked file contains, by the extension of the file."""
_HEAD_BYTES = 256
"""The text comes right after the header of the picture or sound."""


def png_mark() -> PngInfo:
    """Return the mark of a picture, for `Image.save(..., pnginfo=png_mark())`."""
    from PIL.PngImagePlugin import PngInfo

    mark = PngInfo()
    mark.add_text(_KEY, _TEXT)
    return mark


def mark_sound(sound: SoundFile) -> None:
    """Mark a WAV file that is opened for writing, before the first samples."""
    sound.software = _TEXT


def is_marked(path: Path) -> bool:
    """Return whether an export of Bagtag wrote the file; reads a few bytes of PNG and WAV files, nothing of others."""
    mark = _MARKS.get(path.suffix.lower())
    if mark is None:
        return False
    try:
        if not path.is_file():  # opening a pipe would block
            return False
        with path.open("rb") as file:
            return mark in file.read(_HEAD_BYTES)
    except OSError:
        return False
