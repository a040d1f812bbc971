"""Opening pictures: every kind comes out upright in 8-bit colour, or is refused with a sentence naming the file."""

import io
from datetime import datetime, timedelta

import numpy as np
import pytest
from PIL import Image

import miml_core.media.image as image_module
from miml_core.errors import BagtagError
from miml_core.media.image import image_info, open_image

RED, GREEN, BLUE, WHITE = (255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 255)


def corners(height: int = 40, width: int = 60) -> np.ndarray:
    """Red, green / blue, white quarters: any turn or mirroring shows."""
    pixels = np.zeros((height, width, 3), dtype=np.uint8)
    pixels[: height // 2, : width // 2], pixels[: height // 2, width // 2 :] = RED, GREEN
    pixels[height // 2 :, : width // 2], pixels[height // 2 :, width // 2 :] = BLUE, WHITE
    return pixels


def saved(path, image: Image.Image, **options):
    image.save(path, **options)
    return path


@pytest.mark.parametrize("suffix", ["png", "bmp", "tif", "ppm", "webp"])
def test_formats_keep_their_pixels(tmp_path, suffix):
    options = {"lossless": True} if suffix == "webp" else {}
    picture = open_image(saved(tmp_path / f"a.{suffix}", Image.fromarray(corners()), **options))
    np.testing.assert_array_equal(picture.pixels, corners())
    assert (picture.grid.width, picture.grid.height, picture.grid.right, picture.grid.bottom) == (60, 40, 60, 40)


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("max_side", [None, 30])
def test_exif_orientation_is_undone(tmp_path, orientation, max_side):
    turned = {
        1: lambda p: p,
        2: lambda p: p[:, ::-1],
        3: lambda p: p[::-1, ::-1],
        4: lambda p: p[::-1],
        5: lambda p: p.transpose(1, 0, 2),
        6: lambda p: np.rot90(p),
        7: lambda p: p[::-1, ::-1].transpose(1, 0, 2),
        8: lambda p: np.rot90(p, -1),
    }[orientation](corners())
    exif = Image.Exif()
    exif[0x0112] = orientation
    exif[0x0132] = "2021:05:06 07:08:09"
    path = saved(tmp_path / "turned.png", Image.fromarray(np.ascontiguousarray(turned)), exif=exif)
    picture = open_image(path, max_side)
    height, width = picture.pixels.shape[:2]
    for (row, column), colour in zip([(1, 1), (1, -2), (-2, 1), (-2, -2)], [RED, GREEN, BLUE, WHITE]):
        np.testing.assert_allclose(picture.pixels[row, column], colour, atol=3)
    info = image_info(path)
    assert (info.width, info.height) == (60, 40) == (picture.grid.right, picture.grid.bottom)
    assert (width, height) == ((60, 40) if max_side is None else (30, 20))
    assert (info.taken_at, info.taken_from) == (datetime(2021, 5, 6, 7, 8, 9), "camera")


@pytest.mark.parametrize(("written", "minutes"), [("+02:00", 120), ("-03:30", -210), ("Z", 0), ("  :  ", None)])
def test_the_clock_of_the_camera(tmp_path, written, minutes):
    exif = Image.Exif()
    exif.get_ifd(0x8769).update({0x9003: "2021:05:06 07:08:09", 0x9011: written})
    taken = image_info(saved(tmp_path / "clock.jpg", Image.fromarray(corners()), exif=exif)).taken_at
    assert taken.replace(tzinfo=None) == datetime(2021, 5, 6, 7, 8, 9)
    assert taken.utcoffset() == (None if minutes is None else timedelta(minutes=minutes))


def test_time_from_the_name_or_the_file(tmp_path):
    named = image_info(saved(tmp_path / "cam1_20200708_091011.png", Image.fromarray(corners())))
    assert (named.taken_at, named.taken_from) == (datetime(2020, 7, 8, 9, 10, 11), "file name")
    assert image_info(saved(tmp_path / "x.png", Image.fromarray(corners()))).taken_from == "file time"


@pytest.mark.parametrize(("brightest", "expected"), [(200, 200), (4000, 249), (65535, 255)])
def test_sixteen_bit_grey_is_not_black(tmp_path, brightest, expected):
    grey = np.linspace(0, brightest, 60 * 40).reshape(40, 60).astype(np.uint16)
    for suffix in ("png", "tif"):
        pixels = open_image(saved(tmp_path / f"deep.{suffix}", Image.fromarray(grey))).pixels
        assert (pixels[0, 0] == 0).all() and (pixels[-1, -1] == expected).all()
        assert (np.diff(pixels[..., 0].ravel().astype(int)) >= 0).all()


@pytest.mark.parametrize(
    "values", [np.linspace(0, 1, 12), np.linspace(-40, 85, 12), np.r_[np.nan, np.linspace(0, 1, 11)]]
)
def test_float_and_signed_grey_spans_black_to_white(tmp_path, values):
    path = saved(tmp_path / "heat.tif", Image.fromarray(values.reshape(3, 4).astype(np.float32)))
    pixels = open_image(path).pixels
    assert pixels.min() == 0 and pixels.max() == 255


def test_grey_bilevel_palette_alpha_and_cmyk(tmp_path):
    picture = Image.fromarray(corners())
    see_through = picture.copy()
    see_through.putalpha(0)
    assert (open_image(saved(tmp_path / "alpha.png", see_through)).pixels == 255).all()
    grey = open_image(saved(tmp_path / "grey.png", picture.convert("L"))).pixels
    assert (grey[..., 0] == grey[..., 2]).all() and grey[0, 0, 0] == 76
    assert set(np.unique(open_image(saved(tmp_path / "two.tif", picture.convert("1"))).pixels)) == {0, 255}
    palette = picture.quantize(8)
    np.testing.assert_array_equal(open_image(saved(tmp_path / "palette.png", palette)).pixels, corners())
    hidden = palette.getpixel((0, 0))
    pixels = open_image(saved(tmp_path / "hole.png", palette, transparency=hidden)).pixels
    assert tuple(pixels[0, 0]) == WHITE and tuple(pixels[0, -1]) == GREEN
    inks = open_image(saved(tmp_path / "inks.jpg", picture.convert("CMYK"), quality=95)).pixels
    np.testing.assert_allclose(inks[5, 5].astype(int), RED, atol=12)
    assert open_image(saved(tmp_path / "la.png", picture.convert("LA"))).pixels.shape == (40, 60, 3)


@pytest.mark.parametrize("suffix", ["gif", "png", "webp"])
def test_an_animation_gives_its_first_frame(tmp_path, suffix):
    frames = [Image.new("RGB", (20, 10), colour) for colour in (RED, BLUE)]
    path = saved(tmp_path / f"film.{suffix}", frames[0], save_all=True, append_images=frames[1:])
    np.testing.assert_allclose(open_image(path).pixels[5, 5].astype(int), RED, atol=6)


def test_one_pixel_and_max_side(tmp_path):
    one = open_image(saved(tmp_path / "one.png", Image.new("RGB", (1, 1), RED)), max_side=100)
    assert one.pixels.tolist() == [[[255, 0, 0]]]
    line = open_image(saved(tmp_path / "line.png", Image.new("RGB", (3000, 1), RED)), max_side=100)
    assert line.pixels.shape == (1, 100, 3)
    assert (line.grid.right, line.grid.bottom) == (3000, 1)


def test_a_jpeg_beyond_the_bound_is_decoded_smaller(tmp_path, monkeypatch):
    monkeypatch.setattr(image_module, "MAX_DECODED_BYTES", 2**20)
    picture = open_image(saved(tmp_path / "map.jpg", Image.fromarray(corners(1200, 1600))))
    assert picture.pixels.nbytes < 2**20
    assert (picture.grid.right, picture.grid.bottom) == (1600, 1200)
    np.testing.assert_allclose(picture.pixels[3, -4].astype(int), GREEN, atol=12)
    with pytest.raises(BagtagError, match=r"film\.jpg is too large"):
        open_image(saved(tmp_path / "film.jpg", Image.fromarray(corners(1200, 1600)), progressive=True), max_side=90)


def broken() -> dict[str, bytes]:
    good = io.BytesIO()
    Image.fromarray(np.random.default_rng(0).integers(0, 255, (60, 60, 3), dtype=np.uint8)).save(good, "PNG")
    whole = good.getvalue()
    return {
        "empty.png": b"",
        "cut.png": whole[: len(whole) // 2],
        "header.png": whole[:20],
        "song.jpg": b"RIFF\x24\x00\x00\x00WAVEfmt " + b"\0" * 64,
        "words.tif": b"these are only words, not a picture",
    }


@pytest.mark.parametrize("name", ["empty.png", "cut.png", "header.png", "song.jpg", "words.tif"])
def test_bad_files_are_refused_by_name(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(broken()[name])
    with pytest.raises(BagtagError, match=name):
        open_image(path)


def test_renamed_pictures_open_all_the_same(tmp_path):
    path = tmp_path / "really_a_png.jpg"
    Image.fromarray(corners()).save(path, "PNG")
    np.testing.assert_array_equal(open_image(path).pixels, corners())


def test_missing_files_and_folders_are_refused_by_name(tmp_path):
    with pytest.raises(BagtagError, match=r"gone\.png is missing"):
        open_image(tmp_path / "gone.png")
    with pytest.raises(BagtagError, match="folder"):
        image_info(tmp_path)
