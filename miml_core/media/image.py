"""Read picture files: their properties, and their upright 8-bit pixels within the limits of memory."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from miml_core.errors import BagtagError
from miml_core.media.grid import Grid
from miml_core.media.image_headers import is_read_whole, png_exif, stored_size
from miml_core.media.recording_place import Place
from miml_core.media.recording_time import time_in_name
from miml_core.media.regular_files import check_regular_file

if TYPE_CHECKING:
    from PIL import Image

PICTURE_SUFFIXES = (".jpg", ".jpeg", ".png", ".tif", ".tiff", ".gif", ".webp", ".bmp", ".ppm", ".pgm", ".jp2", ".avif")
"""File name extensions that the import of a folder treats as pictures."""

MAX_DECODED_BYTES = 512 * 2**20
"""A picture that would need more than this to decode is decoded smaller where its format allows, or refused."""
MAX_WHOLE_FILE_BYTES = 512 * 2**20
"""The largest file of a format that Pillow reads whole before it knows the size of the picture (WebP, AVIF)."""

_FORMATS = ("JPEG", "PNG", "TIFF", "GIF", "WEBP", "BMP", "PPM", "JPEG2000", "AVIF")
_ORIENTATION, _TAKEN, _CHANGED, _EXIF_PART, _GPS_PART = 0x0112, 0x9003, 0x0132, 0x8769, 0x8825
_CLOCK, _TAKEN_CLOCK = 0x9010, 0x9011
_opening = threading.Lock()


@dataclass(frozen=True)
class ImageInfo:
    """Properties of a picture that are known without decoding it; width and height are of the upright picture.

    Examples
    --------
    >>> info = ImageInfo(Path("meadow.jpg"), 4000, 3000, datetime(2024, 5, 1, 12, 0), "EXIF")
    >>> info.width, info.height, info.place is None
    (4000, 3000, True)
    """

    path: Path
    width: int
    height: int
    taken_at: datetime
    taken_from: str
    place: Place | None = None
    """Where the camera was, if its EXIF entries state it."""


@dataclass(frozen=True, eq=False)
class Picture:
    """Upright 8-bit colour pixels, (height, width, 3), and the grid that maps them to pixels of the original.

    Examples
    --------
    >>> picture = Picture(np.zeros((120, 160, 3), dtype=np.uint8), Grid(160, 120, 0.0, 640.0, 0.0, 480.0))
    >>> float(picture.grid.x_at(80))  # the middle column, in pixels of the original
    320.0
    """

    pixels: NDArray[np.uint8]
    grid: Grid


def image_info(path: str | Path) -> ImageInfo:
    """Return the size of the upright picture, and when and where it was taken, without decoding it.

    A picture that is too large to be opened is refused. The time is that of the camera's EXIF entry ("camera"), of the
    file name ("file name") or of the file itself ("file time").

    Examples
    --------
    >>> import tempfile
    >>> from PIL import Image
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Image.new("RGB", (640, 480)).save(f"{folder}/20240501_120000.png")
    ...     info = image_info(f"{folder}/20240501_120000.png")
    >>> info.width, info.height, info.taken_at.isoformat(), info.taken_from
    (640, 480, '2024-05-01T12:00:00', 'file name')
    """
    path = Path(path)
    with _opened(path) as image:
        check_size(path, image)
        width, height = _upright_size(image)
        taken, place = _camera_time(image), _camera_place(image)
    if taken is not None:
        return ImageInfo(path, width, height, taken, "camera", place)
    named = time_in_name(path.name)
    if named is not None:
        return ImageInfo(path, width, height, named, "file name", place)
    return ImageInfo(path, width, height, datetime.fromtimestamp(path.stat().st_mtime), "file time", place)


def open_image(path: str | Path, max_side: int | None = None) -> Picture:
    """Return the pixels of a picture: upright, on white where transparent, the first frame of an animation.

    Parameters
    ----------
    path : path
    max_side : int, optional
        The longer side is reduced to at most this many pixels. A picture too large for memory is reduced in any case if
        its format can be decoded at a smaller size, and refused otherwise.

    Examples
    --------
    >>> import tempfile
    >>> from PIL import Image
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Image.new("RGB", (640, 480)).save(f"{folder}/meadow.png")
    ...     picture = open_image(f"{folder}/meadow.png", max_side=160)
    >>> picture.pixels.shape, float(picture.grid.x_at(160))
    ((120, 160, 3), 640.0)
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
    """Open a file with Pillow; any error inside the block becomes a `BagtagError` about the file."""
    try:
        with _identified(path) as image:
            yield image
    except BagtagError:
        raise
    except PermissionError:
        raise BagtagError(f"{path.name} cannot be read: permission denied. Check the permissions of {path}.") from None
    except MemoryError:
        raise BagtagError(f"{path.name} is too large for the memory of this computer; save a smaller copy.") from None
    except Exception as error:  # decoders of damaged files raise almost anything
        if "MAX_TEXT" in str(error):  # Pillow unpacks at most 1 MB per text of a PNG, and 64 MB in all
            raise BagtagError(
                f"{path.name} contains texts that unpack to more than 1 MB, which may be an attack. "
                "Save it again without its comments and colour profile."
            ) from error
        raise BagtagError(
            f"{path.name} cannot be read as a picture: it is cut off or damaged ({error}). "
            "Copy it again from its source."
        ) from error


def _identified(path: Path) -> Image.Image:
    """Open a file without decoding it. Pillow's own limit only considers the stored size, so ours replaces it."""
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
                f"{path.name} is not a picture that can be read: it is damaged, or a file of another kind. Copy it "
                "again, or save it as PNG or JPEG."
            ) from None
        finally:
            Image.MAX_IMAGE_PIXELS = limit
    if image.format == "PNG" and "exif" not in image.info:
        late = png_exif(path)
        if late is not None:
            image.info["exif"] = late
    return image


def check_size(path: Path, image: Image.Image) -> None:
    """Refuse, by its header alone, a picture that would need more memory than `MAX_DECODED_BYTES`.

    Examples
    --------
    >>> from PIL import Image
    >>> check_size(Path("meadow.png"), Image.new("RGB", (640, 480)))  # raises nothing: it fits
    """
    width, height = stored_size(path, image)
    baseline_jpeg = image.format in ("JPEG", "MPO") and not image.info.get("progressive")
    shrink = 8 if baseline_jpeg else 1  # a progressive JPEG is decoded at full size in any case
    needed = -(-width // shrink) * -(-height // shrink) * _pixel_bytes(image)
    if needed > MAX_DECODED_BYTES:
        most = MAX_DECODED_BYTES // _pixel_bytes(image) * shrink**2
        raise BagtagError(
            f"{path.name} is too large to open: it has {width} x {height} = {width * height:,} pixels, and at most "
            f"{most:,} are possible for its format. Save a smaller copy, or cut it into pieces."
        )


def _decode_small(image: Image.Image, max_side: int | None) -> None:
    """Request a smaller picture from decoders that support it."""
    wanted = max_side or max(image.size)
    if _decoded_bytes(image) > MAX_DECODED_BYTES:
        wanted = min(wanted, _affordable_side(image.size) // 2)  # the decoder returns up to twice the requested size
    if wanted < max(image.size):
        image.draft(None, _fitted(image.size, wanted))


def _decoded_bytes(image: Image.Image) -> int:
    return int(image.width * image.height * _pixel_bytes(image))


def _pixel_bytes(image: Image.Image) -> int:
    """Return the bytes per pixel while a picture is decoded and converted to 8 bits."""
    if image.format == "JPEG2000":
        return 4 + 4 * len(image.getbands())  # its decoder holds each band as 32-bit numbers
    if image.mode.startswith("I") or image.mode == "F":
        return 8
    return 1 if image.mode == "L" else 4


def _affordable_side(size: tuple[int, int]) -> int:
    """Return the longer side at which a colour picture of these proportions stays within the limit."""
    return max(1, int(max(size) * (MAX_DECODED_BYTES / (4 * size[0] * size[1])) ** 0.5))


def _eight_bit(image: Image.Image) -> Image.Image:
    """Return the decoded picture as L, RGB or RGBA; deep greys are scaled, palettes and inks become colours."""
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
    """Scale deep grey to 8 bits by the number of bits of its brightest pixel, so that 12-bit pictures are not black.

    Steps of two bits keep the scale the same for the pictures of one camera. Numbers from 0 to 1 are scaled by 255; any
    other range (below 0, or fractions) is stretched.
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
    """Undo the rotation and mirroring of an EXIF orientation (1 to 8)."""
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
    """Return EXIF entries without decoding: Pillow's own `getexif` decodes a PNG to read what follows its pixels."""
    from PIL import Image

    return Image.Image.getexif(image)


def _orientation(image: Image.Image) -> int:
    """Return the EXIF orientation; 1 (upright) if the entry is missing or damaged."""
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
        taken = datetime.strptime(str(written).strip("\0 "), "%Y:%m:%d %H:%M:%S")
    except Exception:  # as above: no entry, a damaged one or a date such as 0000:00:00
        return None
    return taken.replace(tzinfo=_camera_clock(image))


def _camera_clock(image: Image.Image) -> timezone | None:
    """Return how far the camera's clock was ahead of UTC, if it wrote that (EXIF 2.31), for example `+02:00`."""
    try:
        part = _exif(image).get_ifd(_EXIF_PART)
        text = str(part.get(_TAKEN_CLOCK) or part.get(_CLOCK) or "").strip("\0 ")
        zone = datetime.strptime(text, "%z").tzinfo
        return zone if isinstance(zone, timezone) else None
    except Exception:  # as above
        return None


def _camera_place(image: Image.Image) -> Place | None:
    """Return the place of the GPS entries: degrees, minutes and seconds, with N or S and E or W."""
    try:
        gps = _exif(image).get_ifd(_GPS_PART)
        signs = [-1 if str(gps[ref]).strip("\0 ").upper() in ("S", "W") else 1 for ref in (1, 3)]
        degrees = [sum(float(part) / 60**k for k, part in enumerate(gps[entry])) for entry in (2, 4)]
        place = Place(signs[0] * degrees[0], signs[1] * degrees[1])
    except Exception:  # as above
        return None
    return None if (place.latitude, place.longitude) == (0.0, 0.0) else place
