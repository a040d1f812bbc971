"""One picture file becomes segments with features; drawn segments are described as found ones."""

import numpy as np
import pytest
from PIL import Image

from miml_core.errors import BagtagError
from miml_core.instances import InstanceSettings, describe_picture_regions, picture_instances
from miml_core.media.image import open_image
from miml_core.segments.regions import Region, to_labels
from miml_core.segments.visual import PictureSegmentSettings


@pytest.fixture
def photograph(tmp_path):
    """Sky over ground with a red disc, 300 x 200, as a turned JPEG of a camera held upright."""
    rows, columns = np.mgrid[:200, :300]
    pixels = np.where((rows < 100)[..., None], (120, 170, 240), (90, 120, 50))
    pixels[(rows - 120) ** 2 + (columns - 200) ** 2 < 900] = (200, 40, 40)
    noisy = np.clip(pixels + np.random.default_rng(0).normal(0, 6, pixels.shape), 0, 255).astype(np.uint8)
    exif = Image.Exif()
    exif[0x0112] = 6
    path = tmp_path / "held_upright.jpg"
    Image.fromarray(np.ascontiguousarray(np.rot90(noisy))).save(path, exif=exif, quality=95)
    return path


def with_segments(**chosen):
    return InstanceSettings(picture_segments=PictureSegmentSettings(**chosen))


def test_a_picture_becomes_segments_with_features(photograph):
    found = picture_instances(photograph, with_segments(segments=3))
    assert (found.grid.width, found.grid.height, found.grid.right) == (300, 200, 300.0)
    assert found.X.shape == (3, len(found.names)) and np.isfinite(found.X).all()
    disc = min(found.regions, key=lambda region: region.area)
    assert disc.box == pytest.approx((90, 170, 151, 231), abs=3)
    assert (to_labels(found.regions, 200, 300) > 0).all()


def test_large_pictures_are_cut_at_the_working_size_in_the_originals_coordinates(photograph):
    found = picture_instances(photograph, with_segments(segments=3, working_side=60))
    assert (found.grid.width, found.grid.height, found.grid.right, found.grid.bottom) == (60, 40, 300.0, 200.0)
    disc = min(found.regions, key=lambda region: region.area)
    x, y = disc.outline()[0].T
    assert found.grid.x_at(x).mean() == pytest.approx(200, abs=8)
    assert found.grid.y_at(y).mean() == pytest.approx(120, abs=8)


def test_regions_are_described_again_as_they_were_found(photograph):
    settings = with_segments(segments=5)
    found = picture_instances(photograph, settings)
    np.testing.assert_allclose(describe_picture_regions(photograph, found.grid, found.regions, settings), found.X)


def test_regions_drawn_on_another_grid_are_carried_over(photograph):
    settings = with_segments(working_side=150)
    view = open_image(photograph).grid
    drawn = Region(95, 175, np.ones((50, 50), dtype=bool))
    (row,) = describe_picture_regions(photograph, view, [drawn], settings)
    values = dict(zip(picture_instances(photograph, settings).names, row))
    assert values["x"] == pytest.approx(200 / 300, abs=0.01) and values["mean a"] > 40


def test_keys_change_with_what_they_stand_for():
    default = InstanceSettings()
    more, smaller = with_segments(segments=30), with_segments(working_side=200)
    assert default.segment_key != more.segment_key != smaller.segment_key
    assert default.feature_key == more.feature_key != smaller.feature_key
    assert InstanceSettings.from_dict(more.to_dict()) == more


def test_a_bad_picture_is_refused_by_name(tmp_path):
    path = tmp_path / "broken.jpg"
    path.write_bytes(b"\xff\xd8\xff\xe0 nothing more")
    with pytest.raises(BagtagError, match=r"broken\.jpg"):
        picture_instances(path, InstanceSettings())


@pytest.mark.parametrize("size", [(1, 1), (2, 1), (1, 300)])
def test_the_smallest_pictures_are_one_segment(tmp_path, size):
    Image.new("RGB", size, (10, 200, 30)).save(tmp_path / "small.png")
    found = picture_instances(tmp_path / "small.png", InstanceSettings())
    assert [region.area for region in found.regions] == [size[0] * size[1]] and np.isfinite(found.X).all()
