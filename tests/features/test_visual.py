"""Features of segments of pictures."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from miml_core.errors import BagtagError
from miml_core.features.visual import picture_feature_names, picture_features
from miml_core.media.grid import Grid
from miml_core.media.image import Picture
from miml_core.segments.regions import Region
from miml_core.segments.visual import find_picture_segments


def as_picture(pixels: np.ndarray) -> Picture:
    height, width = pixels.shape[:2]
    return Picture(pixels.astype(np.uint8), Grid(width, height, 0.0, float(width), 0.0, float(height)))


def whole(pixels: np.ndarray) -> list[Region]:
    return [Region(0, 0, np.ones(pixels.shape[:2], dtype=bool))]


def described(pixels: np.ndarray, regions: list[Region] | None = None) -> dict[str, np.ndarray]:
    table = picture_features(as_picture(pixels), whole(pixels) if regions is None else regions)
    return dict(zip(picture_feature_names(), table.T, strict=True))


def test_the_papers_set_is_48_numbers_whose_roots_begin_the_extended_one():
    names = picture_feature_names("paper")
    assert len(names) == 48
    assert picture_feature_names("extended")[:48] == names
    assert len(set(picture_feature_names("extended"))) == len(picture_feature_names("extended"))
    pixels = np.random.default_rng(0).integers(0, 256, (20, 30, 3))
    paper = picture_features(as_picture(pixels), whole(pixels), "paper")
    extended = picture_features(as_picture(pixels), whole(pixels), "extended")
    np.testing.assert_allclose(np.sqrt(paper[0]), extended[0, :48])
    np.testing.assert_allclose([paper[0, :16].sum(), paper[0, 16:].sum()], 1)


@given(hnp.arrays(np.uint8, st.tuples(st.integers(1, 12), st.integers(1, 12), st.just(3))))
@settings(max_examples=40)
def test_numbers_are_finite_for_any_picture_and_one_pixel_regions(pixels):
    height, width = pixels.shape[:2]
    one = Region(height // 2, width // 2, np.ones((1, 1), dtype=bool))
    table = picture_features(as_picture(pixels), [one, *whole(pixels)])
    assert table.shape == (2, len(picture_feature_names()))
    assert np.isfinite(table).all()


def test_a_segment_is_described_alone_as_among_others():
    pixels = np.random.default_rng(1).integers(0, 256, (60, 80, 3))
    regions = find_picture_segments(as_picture(pixels))
    together = picture_features(as_picture(pixels), regions)
    alone = np.concatenate([picture_features(as_picture(pixels), [region]) for region in regions])
    np.testing.assert_allclose(together, alone, atol=1e-9)


def test_gradient_directions_turn_with_the_picture():
    ramp = np.tile(np.arange(0, 240, 4), (50, 1))
    right = described(np.repeat(ramp[..., None], 3, axis=2))
    down = described(np.repeat(ramp.T[..., None], 3, axis=2))
    assert right["direction 0"] == pytest.approx(1, abs=1e-6)
    assert down["direction 90"] == pytest.approx(1, abs=1e-6)
    assert right["fine grain upright"] > 1 and down["fine grain upright"] < -1


def test_directions_do_not_change_with_contrast():
    rng = np.random.default_rng(2)
    grey = np.repeat(rng.integers(100, 116, (40, 40, 1)), 3, axis=2)
    weak, strong = described(grey), described((grey - 108) * 2 + 108)
    for k in range(16):
        name = f"direction {k * 22.5:g}"
        assert weak[name] == pytest.approx(strong[name], abs=0.03)


@pytest.mark.parametrize(
    ("colour", "name"),
    [((250, 10, 10), "bright red"), ((10, 10, 250), "bright blue"), ((0, 60, 0), "dark green"), ((5, 5, 5), "grey 1")],
)
def test_colours_are_counted_under_their_names(colour, name):
    assert described(np.full((9, 9, 3), colour))[name] == 1


def test_place_shape_and_surroundings():
    pixels = np.full((100, 100, 3), 128)
    pixels[:50] = 255
    upper = Region(0, 0, np.ones((50, 100), dtype=bool))
    square = Region(70, 20, np.ones((10, 10), dtype=bool))
    values = described(pixels, [upper, square])
    np.testing.assert_allclose(values["y"], [0.25, 0.75])
    np.testing.assert_allclose(values["x"], [0.5, 0.25])
    np.testing.assert_allclose(values["at upper edge"], [1, 0])
    np.testing.assert_allclose(np.exp(values["log area"]), [0.5, 0.01])
    np.testing.assert_allclose(np.exp(values["raggedness"][1]), 16)
    assert values["lightness below"][0] == pytest.approx(53.6 - 100, abs=0.5)
    assert values["lightness above"][0] == 0 and values["lightness below"][1] == pytest.approx(0, abs=1e-3)


def test_texture_grows_with_roughness():
    rng = np.random.default_rng(4)
    pixels = np.full((60, 120, 3), 128)
    pixels[:, 60:] += rng.integers(-40, 41, (60, 60, 1))
    halves = [Region(0, left, np.ones((60, 60), dtype=bool)) for left in (0, 60)]
    values = described(pixels, halves)
    for name in ("slope at 1", "detail at 1", "spread of lightness"):
        assert values[name][1] > values[name][0] + 0.5


def test_no_regions_and_regions_off_the_picture():
    pixels = np.zeros((5, 5, 3))
    assert picture_features(as_picture(pixels), []).shape == (0, len(picture_feature_names()))
    with pytest.raises(BagtagError, match="outside"):
        picture_features(as_picture(pixels), [Region(3, 3, np.ones((4, 4), dtype=bool))])
    with pytest.raises(BagtagError, match="paper"):
        picture_features(as_picture(pixels), whole(pixels), "other")
