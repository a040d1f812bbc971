"""Pictures that would take gigabytes: refused by their headers, before anything is decoded."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image, ImageFile

from miml_core.errors import BagtagError
from miml_core.media import image as image_module
from miml_core.media.image import image_info, open_image

SIDE = 40_000


def png_chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def png(width: int, height: int, before: bytes = b"", after: bytes = b"") -> bytes:
    header = png_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    rows = zlib.compress(bytes((1 + 3 * width) * min(height, 200)))
    return b"\x89PNG\r\n\x1a\n" + header + before + png_chunk(b"IDAT", rows) + after + png_chunk(b"IEND", b"")


def small(form: str, **options: int) -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (64, 64)).save(stream, form, **options)
    return stream.getvalue()


def tiff(tags: dict[int, int], *, big: bool = False) -> bytes:
    """One strip or tile of nothing; `big` for BigTIFF."""
    plain = {258: 8, 259: 8, 262: 1, 277: 1}
    entries = sorted((plain | tags).items())
    if big:
        body = struct.pack("<Q", len(entries)) + b"".join(struct.pack("<HHQQ", tag, 4, 1, n) for tag, n in entries)
        return b"II+\0" + struct.pack("<HHQ", 8, 0, 16) + body + bytes(72)
    body = struct.pack("<H", len(entries)) + b"".join(struct.pack("<HHII", tag, 4, 1, n) for tag, n in entries)
    return b"II*\0" + struct.pack("<I", 8) + body + bytes(68)


def jp2_with_large_codestream() -> bytes:
    """The box around it says 64 x 64, which Pillow believes."""
    whole = small("JPEG2000")
    place = whole.index(b"\xff\x4f\xff\x51") + 8
    return whole[:place] + struct.pack(">8I", SIDE, SIDE, 0, 0, SIDE, SIDE, 0, 0) + whole[place + 32 :]


def progressive_jpeg() -> bytes:
    whole = small("JPEG", progressive=True)
    place = whole.index(b"\xff\xc2") + 5
    return whole[:place] + struct.pack(">HH", SIDE, SIDE) + whole[place + 4 :]


STRIP = {273: 8, 278: SIDE, 279: 20}
BOMBS: dict[str, Callable[[], bytes]] = {
    "map.png": lambda: png(SIDE, SIDE),
    "film.png": lambda: png(SIDE, SIDE, png_chunk(b"acTL", struct.pack(">II", 2, 0))),
    "strip.tif": lambda: tiff({256: SIDE, 257: SIDE, **STRIP}),
    "big.tif": lambda: tiff({256: SIDE, 257: SIDE, **STRIP}, big=True),
    "tile.tif": lambda: tiff({256: 100, 257: 100, 322: SIDE, 323: SIDE, 324: 8, 325: 20}),
    "map.bmp": lambda: (
        b"BM"
        + struct.pack("<IHHI", 1000, 0, 0, 54)
        + struct.pack("<IiiHHIIiiII", 40, SIDE, SIDE, 1, 24, 0, 0, 0, 0, 0, 0)
        + bytes(100)
    ),
    "map.gif": lambda: (
        b"GIF89a"
        + struct.pack("<HHBBB", SIDE, SIDE, 0x80, 0, 0)
        + bytes(6)
        + b","
        + struct.pack("<HHHHB", 0, 0, SIDE, SIDE, 0)
        + b"\x02\x02\x44\x01\0;"
    ),
    "map.ppm": lambda: f"P6\n{SIDE} {SIDE}\n255\n".encode() + bytes(10),
    "map.pgm": lambda: f"P5\n{SIDE} {SIDE}\n65535\n".encode() + bytes(10),
    "map.jp2": jp2_with_large_codestream,
    "film.jpg": progressive_jpeg,
}


@pytest.fixture
def no_decoding(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(self: object, *_: object) -> None:
        raise AssertionError("decoded")

    for kind in (ImageFile.ImageFile, *ImageFile.ImageFile.__subclasses__()):
        if "load" in vars(kind):
            monkeypatch.setattr(kind, "load", load)


@pytest.mark.usefixtures("no_decoding")
@pytest.mark.parametrize("name", BOMBS)
def test_a_picture_too_large_for_memory_is_refused_by_its_header(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(BOMBS[name]())
    for act in (image_info, lambda path: open_image(path, max_side=100)):
        with pytest.raises(BagtagError, match=rf"{name} is too large to open: it has {SIDE} x {SIDE} = .*at most"):
            act(path)


def test_a_webp_too_large_for_memory_is_refused(tmp_path: Path, no_decoding: None) -> None:
    path = tmp_path / "map.webp"
    path.write_bytes(bytes.fromhex("5249464616000000574542505650384c0a0000002ffebfff0f07508801fdff"))
    with pytest.raises(BagtagError, match=r"map\.webp is too large to open: it has 16383 x 16383"):
        image_info(path)


@pytest.mark.usefixtures("no_decoding")
@pytest.mark.parametrize("after", [False, True])
def test_the_header_of_a_png_is_read_without_decoding_it(tmp_path: Path, after: bool) -> None:
    exif = Image.Exif()
    exif[0x0112], exif[0x0132] = 6, "2021:05:06 07:08:09"
    chunk = png_chunk(b"eXIf", exif.tobytes().removeprefix(b"Exif\0\0"))
    path = tmp_path / "leaf.png"
    path.write_bytes(png(30, 20, after=chunk) if after else png(30, 20, before=chunk))
    info = image_info(path)
    assert (info.width, info.height, info.taken_from) == (20, 30, "camera")
    path.write_bytes(png(30, 20))
    assert (image_info(path).width, image_info(path).height) == (30, 20)


@pytest.mark.parametrize("chunk", [b"zTXt", b"iTXt", b"iCCP"])
def test_texts_that_unpack_to_megabytes_are_refused(tmp_path: Path, chunk: bytes) -> None:
    packed = zlib.compress(bytes(20_000_000))
    content = b"Comment\0\1\0\0\0" + packed if chunk == b"iTXt" else b"Comment\0\0" + packed
    path = tmp_path / "text.png"
    path.write_bytes(png(10, 10, png_chunk(chunk, content)))
    with pytest.raises(BagtagError, match=r"text\.png contains texts that unpack"):
        image_info(path)


def test_a_large_file_that_is_read_whole_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image_module, "MAX_WHOLE_FILE_BYTES", 40)
    path = tmp_path / "leaf.webp"
    path.write_bytes(small("WEBP"))
    with pytest.raises(BagtagError, match=r"leaf\.webp is .* large"):
        image_info(path)
