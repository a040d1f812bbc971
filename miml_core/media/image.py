"""Picture files: what they are, and their pixels as 8-bit colour, upright, no larger than memory allows."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from miml_core.errors import BagtagError
from miml_core.media.grid import Grid
from miml_core.media.image_headers import is_read_whole, png_exif, stored_size
from miml_core.media.recording_time import time_in_name
from miml_core.media.regular_files import check_regular_file

if TYPE_CHECKING:
    from PIL import Image

PICTURE_SUFFIXES = (".jpg", ".jpeg", ".png", ".tif", ".tiff", ".gif", ".webp", ".bmp", ".ppm", ".pgm", ".jp2", ".avif")
"""File name endings that a folder import takes for pictures."""

MAX_DECODED_BYTES = 512 * 2**20
"""A picture that would need more than this to decode is decoded smaller where its format allows, or refused."""
MAX_WHOLE_FILE_BYTES = 512 * 2**20
"""The largest file of a format that Pillow reads whole before it knows the size of the picture (WebP, AVIF)."""

_FORMATS = ("JPEG", "PNG", "TIFF", "GIF", "WEBP", "BMP", "PPM", "JPEG2000", "AVIF")
_ORIENTATION, _TAKEN, _CHANGED, _EXIF_PART = 0x0112, 0x9003, 0x0132, 0x8769
_opening = threading.Lock()


@dataclass(frozen=True)
class ImageInfo:
    """What is known of a picture without decoding it; width and height are those of the upright picture."""

    path: Path
    width: int
    height: int
    taken_at: datetime
    taken_from: str


@dataclass(frozen=True, eq=False)
class Picture:
    """Upright 8-bit colour pixels, (height, width, 3), and the grid that ties them to the original's pixels."""

    pixels: NDArray[np.uint8]
    grid: Grid


def image_info(path: str | Path) -> ImageInfo:
    """Size of a picture after turning it upright, and when it was taken, without decoding it.

    A picture that is too large to be opened is refused. The time comes from the camera's EXIF entry ("camera"), the
    file's name ("file name") or its own time ("file time").
    """
    path = Path(path)
    with _opened(path) as image:
        check_size(path, image)
        width, height = _upright_size(image)
        taken = _camera_time(image)
    if taken is not None:
        return ImageInfo(path, width, height, taken, "camera")
    named = time_in_name(path.name)
    if named is not None:
        return ImageInfo(path, width, height, named, "file name")
    return ImageInfo(path, width, height, datetime.fromtimestamp(path.stat().st_mtime), "file time")


def open_image(path: str | Path, max_side: int | None = None) -> Picture:
    """The pixels of a picture, upright, transparency on white, the first frame of an animation.

    With `max_side` the longer side is reduced to at most that many pixels. A picture too large for memory is
    reduced in any case where its format lets it be decoded smaller or in grey, and refused otherwise.
    """
    path = Path(path)
    with _opened(path) as image:
        check_size(path, image)
        width, height = _upright_size(image)
        orientation = _orientation(image)
        _decode_small(image, max_side)
        eight_bit = _eight_bit(image)
        side = min(max_side or max(image.size), _affordable_side(image.size))
        if max(eight_bit.size) > side:
            eight_bit = eight_bit.resize(_fitted(eight_bit.size, side), reducing_gap=2.0)
        pixels = _upright(np.asarray(_on_white(eight_bit)), orientation)
    grid = Grid(pixels.shape[1], pixels.shape[0], 0.0, float(width), 0.0, float(height))
    return Picture(pixels, grid)


@contextmanager
def _opened(path: Path) -> Iterator[Image.Image]:
    """The file as Pillow sees it; whatever goes wrong inside becomes a sentence about the file."""
    try:
        with _identified(path) as image:
            yield image
    except BagtagError:
        raise
    except PermissionError:
        raise BagtagError(f"{path.name} may not be read; check who may open {path}.") from None
    except MemoryError:
        raise BagtagError(f"{path.name} is too large for the memory of this computer; save a smaller copy.") from None
    except Exception as error:  # decoders of damaged files raise almost anything
        if "MAX_TEXT" in str(error):  # Pillow unpacks at most 1 MB per text of a PNG, and 64 MB in all
            raise BagtagError(
                f"{path.name} holds texts that unpack to more than 1 MB beside its picture, which may be a trap. "
                "Save it again without its comments and colour profile."
            ) from error
        raise BagtagError(
            f"{path.name} cannot be read as a picture: it is cut off or damaged ({error}). "
            "Copy it again from its source."
        ) from error


def _identified(path: Path) -> Image.Image:
    """Open lazily. Pillow's own limit on pixels looks at the stored size only, so it gives way to ours."""
    from PIL import Image, UnidentifiedImageError

    if (size := check_regular_file(path).st_size) == 0:
        raise BagtagError(f"{path.name} is empty (0 bytes); copy it again from its source.")
    if size > MAX_WHOLE_FILE_BYTES and is_read_whole(path):
        raise BagtagError(
            f"{path.name} is {size / 2**20:.0f} MB large; a WebP or AVIF file may be at most "
            f"{MAX_WHOLE_FILE_BYTES / 2**20:.0f} MB large. Save a smaller copy."
        )
    with _opening:
        limit, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, None
        try:
            image = Image.open(path, formats=_FORMATS)
        except UnidentifiedImageError:
            raise BagtagError(
                f"{path.name} is not a picture that can be read: it is damaged, or another kind of file by that name."
            ) from None
        finally:
            Image.MAX_IMAGE_PIXELS = limit
    if image.format == "PNG" and "exif" not in image.info:
        late = png_exif(path)
        if late is not None:
            image.info["exif"] = late
    return image


def check_size(path: Path, image: Image.Image) -> None:
    """Refuse, by its header alone, a picture that would need more memory than `MAX_DECODED_BYTES`."""
    width, height = stored_size(path, image)
    baseline_jpeg = image.format in ("JPEG", "MPO") and not image.info.get("progressive")
    shrink = 8 if baseline_jpeg else 1  # a progressive JPEG is held whole whatever size is asked for
    needed = -(-width // shrink) * -(-height // shrink) * _pixel_bytes(image)
    if needed > MAX_DECODED_BYTES:
        most = MAX_DECODED_BYTES // _pixel_bytes(image) * shrink**2
        raise BagtagError(
            f"{path.name} is too large to open: it has {width} x {height} = {width * height:,} pixels, and at most "
            f"{most:,} are possible for its format. Save a smaller copy, or cut it into pieces."
        )


def _decode_small(image: Image.Image, max_side: int | None) -> None:
    """Ask the decoder for a smaller picture where it can."""
    wanted = max_side or max(image.size)
    if _decoded_bytes(image) > MAX_DECODED_BYTES:
        wanted = min(wanted, _affordable_side(image.size) // 2)  # the decoder gives up to twice what is asked for
    if wanted < max(image.size):
        image.draft(None, _fitted(image.size, wanted))


def _decoded_bytes(image: Image.Image) -> int:
    return int(image.width * image.height * _pixel_bytes(image))


def _pixel_bytes(image: Image.Image) -> int:
    """Bytes per pixel while it is decoded and made 8-bit."""
    if image.format == "JPEG2000":
        return 4 + 4 * len(image.getbands())  # its decoder holds each band as 32-bit numbers
    if image.mode.startswith("I") or image.mode == "F":
        return 8
    return 1 if image.mode == "L" else 4


def _affordable_side(size: tuple[int, int]) -> int:
    """The longer side at which a picture of these proportions, in colour, stays within the bound."""
    return max(1, int(max(size) * (MAX_DECODED_BYTES / (4 * size[0] * size[1])) ** 0.5))


def _eight_bit(image: Image.Image) -> Image.Image:
    """The decoded picture as L, RGB or RGBA; deep greys are scaled down, palettes and inks become colours."""
    from PIL import Image

    image.load()
    if image.mode.startswith("I") or image.mode == "F":
        return Image.fromarray(_scaled_grey(np.asarray(image)))
    if image.mode in ("P", "PA", "LA", "La", "RGBA", "RGBa") or "transparency" in image.info:
        return image.convert("RGBA")
    if image.mode in ("1", "L"):
        return image.convert("L")
    return image.convert("RGB")


def _scaled_grey(values: NDArray[np.generic]) -> NDArray[np.uint8]:
    """Deep grey as 8 bits: by the number of bits its brightest pixel needs, so that 12-bit pictures are not black.

    Steps of two bits keep the scale the same among the pictures of one camera. Numbers from 0 to 1 are taken as
    such; any other range (below 0, or fractions) is stretched.
    """
    grey = np.nan_to_num(np.array(values, dtype=np.float32), copy=False, posinf=0.0, neginf=0.0)
    low, high = float(grey.min()), float(grey.max())
    if low < 0 or (values.dtype.kind == "f" and high > 1):
        grey -= np.float32(low)
        high -= low
        full = high or 1.0
    elif values.dtype.kind == "f":
        full = 1.0
    else:
        full = next(2.0**bits - 1 for bits in range(8, 34, 2) if high < 2**bits)
    grey *= np.float32(255.0 / full)
    return np.round(grey, out=grey).astype(np.uint8)


def _on_white(image: Image.Image) -> Image.Image:
    from PIL import Image

    if image.mode != "RGBA":
        return image.convert("RGB")
    white = Image.new("RGBA", image.size, "white")
    return Image.alpha_composite(white, image).convert("RGB")


def _upright(pixels: NDArray[np.uint8], orientation: int) -> NDArray[np.uint8]:
    """Undo the turn and mirroring that an EXIF orientation (1 to 8) states."""
    if orientation in (5, 6, 7, 8):
        pixels = pixels.transpose(1, 0, 2)
    if orientation in (3, 4, 7, 8):
        pixels = pixels[::-1]
    if orientation in (2, 3, 6, 7):
        pixels = pixels[:, ::-1]
    return np.ascontiguousarray(pixels)


def _fitted(size: tuple[int, int], max_side: int) -> tuple[int, int]:
    share = min(1.0, max_side / max(size))
    return max(1, round(size[0] * share)), max(1, round(size[1] * share))


def _exif(image: Image.Image) -> Image.Exif:
    """EXIF entries, without decoding: Pillow's own `getexif` of a PNG decodes it to look behind its pixels."""
    from PIL import Image

    return Image.Image.getexif(image)


def _orientation(image: Image.Image) -> int:
    """EXIF orientation; 1, upright, where the entry is missing or damaged."""
    try:
        return int(_exif(image).get(_ORIENTATION, 1))
    except Exception:  # a damaged entry is no reason to refuse the picture
        return 1


def _upright_size(image: Image.Image) -> tuple[int, int]:
    return (image.height, image.width) if _orientation(image) in (5, 6, 7, 8) else image.size


def _camera_time(image: Image.Image) -> datetime | None:
    try:
        exif = _exif(image)
        written = exif.get_ifd(_EXIF_PART).get(_TAKEN) or exif.get(_CHANGED)
        return datetime.strptime(str(written).strip("\0 "), "%Y:%m:%d %H:%M:%S")
    except Exception:  # as above: no entry, a damaged one or a date such as 0000:00:00
        return None
