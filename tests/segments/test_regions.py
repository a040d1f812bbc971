"""Regions: no pixel is lost or invented by storing, outlining, merging, splitting or resampling."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from miml_core.errors import BagtagError
from miml_core.media.grid import Grid
from miml_core.segments.outlines import fill, signed_area, simplify, trace
from miml_core.segments.regions import (
    Region,
    from_labels,
    from_mask,
    from_polygon,
    merge,
    overlap,
    resample,
    split,
    to_labels,
)

MASKS = hnp.arrays(bool, hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=12)).filter(np.any)
OFFSETS = st.integers(0, 9)
REGIONS = st.builds(lambda mask, top, left: from_mask(mask, top, left), MASKS, OFFSETS, OFFSETS)
COORDINATES = st.floats(-4, 26, allow_nan=False)
LINES = st.lists(st.tuples(COORDINATES, COORDINATES), min_size=2, max_size=5)


def on_canvas(region: Region, size: int = 24) -> np.ndarray:
    return region.within((0, 0, size, size))


@given(REGIONS)
def test_bytes_round_trip(region):
    back = Region.from_bytes(region.to_bytes())
    assert back.box == region.box
    np.testing.assert_array_equal(back.mask, region.mask)


def test_bytes_of_a_plain_region_are_few():
    rows, columns = np.mgrid[:100, :100]
    disc = Region(1000, 70000, (rows - 50) ** 2 + (columns - 50) ** 2 < 2400)
    assert len(disc.to_bytes()) < disc.mask.size / 40


@pytest.mark.parametrize(
    "damage", [lambda b: b[:-1], lambda b: b[:5], lambda b: b"\x09" + b[1:], lambda b: b + b"\x01"]
)
def test_damaged_bytes_are_refused(damage):
    with pytest.raises(BagtagError, match="stored segment"):
        Region.from_bytes(damage(Region(2, 3, np.eye(4, dtype=bool)).to_bytes()))


@given(REGIONS)
def test_outline_gives_the_same_pixels_back(region):
    assert from_polygon(region.outline(), 24, 24).equals(region)


@given(REGIONS)
def test_outline_areas_add_up_and_holes_run_backwards(region):
    from scipy.ndimage import label

    rings = region.outline()
    assert sum(signed_area(ring) for ring in rings) == region.area
    pieces = label(region.mask)[1]
    holes = label(~np.pad(region.mask, 1), np.ones((3, 3)))[1] - 1
    assert sum(signed_area(ring) > 0 for ring in rings) == pieces
    assert sum(signed_area(ring) < 0 for ring in rings) == holes


@given(REGIONS, st.floats(0.1, 2))
def test_simplified_outline_stays_within_tolerance(region, tolerance):
    corner = np.array([region.left, region.top])
    rings = [ring + corner for ring in trace(region.mask)]
    simpler = [simplify(ring, tolerance) for ring in rings]
    assert {ring.tobytes() for ring in simpler} == {ring.tobytes() for ring in region.outline(tolerance)}
    for ring, simple in zip(rings, simpler, strict=True):
        assert len(simple) >= 3
        assert {tuple(point) for point in simple} <= {tuple(point) for point in ring}
        closed = np.vstack([simple, simple[:1]])
        assert max(distance_to(closed, point) for point in ring) <= tolerance + 1e-9


def distance_to(closed, point):
    """From a point to the nearest piece of a closed ring."""
    start, along = closed[:-1], np.diff(closed, axis=0)
    share = np.clip(((point - start) * along).sum(1) / (along**2).sum(1), 0, 1)[:, None]
    return np.hypot(*(point - start - share * along).T).min()


def test_simplified_disc_has_few_points_and_nearly_the_same_area():
    rows, columns = np.mgrid[:80, :80]
    disc = Region(5, 9, (rows - 40) ** 2 + (columns - 40) ** 2 < 1500)
    (ring,) = disc.outline(1.0)
    assert len(ring) <= 20
    drawn = from_polygon([ring], 100, 100)
    assert overlap(drawn, disc) > 0.95 * merge([drawn, disc]).area


@given(st.lists(st.tuples(COORDINATES, COORDINATES), min_size=3, max_size=8))
def test_fill_is_the_even_odd_rule_at_pixel_centres(points):
    ring = np.array(points)
    mask = fill([ring], 20, 22)
    x0, y0 = ring.T
    x1, y1 = np.roll(ring, -1, axis=0).T
    for row in range(0, 20, 3):
        for column in range(0, 22, 3):
            crosses = (y0 <= row + 0.5) != (y1 <= row + 0.5)
            x = x0[crosses] + (row + 0.5 - y0[crosses]) / (y1 - y0)[crosses] * (x1 - x0)[crosses]
            if np.abs(x - column - 0.5).min(initial=1) > 1e-6:
                assert mask[row, column] == (np.count_nonzero(x < column + 0.5) % 2 == 1)


@pytest.mark.parametrize(
    "rings", [[], [[(0, 0), (0, 0)]], [[(-9, -9), (-2, -9), (-2, -2)]], [[(0, 0), (np.nan, 1), (1, 1)]]]
)
def test_an_outline_without_pixels_is_refused(rings):
    with pytest.raises(BagtagError):
        from_polygon(rings, 10, 10)


@given(st.lists(REGIONS, min_size=1, max_size=4))
def test_merge_is_the_union(regions):
    merged = merge(regions)
    np.testing.assert_array_equal(on_canvas(merged), np.any([on_canvas(region) for region in regions], axis=0))


@given(REGIONS, REGIONS)
def test_overlap_counts_the_shared_pixels(a, b):
    shared = overlap(a, b)
    assert shared == np.count_nonzero(on_canvas(a) & on_canvas(b))


@given(REGIONS, LINES)
def test_split_loses_no_pixel(region, line):
    parts = split(region, line)
    assert sum(part.area for part in parts) == region.area
    assert merge(parts).equals(region)


@given(st.integers(1, 7), st.integers(8, 20), st.integers(8, 20))
def test_split_along_a_straight_line_gives_its_two_sides(cut_at, height, width):
    region = Region(3, 4, np.ones((height, width), dtype=bool))
    halves = split(region, [(4 + cut_at, 2), (4 + cut_at, 30)])
    assert sorted(part.area for part in halves) == sorted([height * cut_at, height * (width - cut_at)])


def test_split_parts_only_the_arm_that_the_line_crosses():
    horseshoe = np.ones((10, 9), dtype=bool)
    horseshoe[:7, 3:6] = False
    tip, rest = sorted(split(Region(0, 0, horseshoe), [(-1, 3), (4, 3)]), key=lambda part: part.area)
    assert tip.box == (0, 0, 3, 3)
    assert rest.area == horseshoe.sum() - 9


def test_split_lengthens_a_line_that_ends_inside_and_leaves_a_missed_region_whole():
    square = Region(0, 0, np.ones((10, 10), dtype=bool))
    assert [part.area for part in split(square, [(4, 4), (4, 6)])] == [40, 60]
    assert [part.area for part in split(square, [(20, 0), (20, 10)])] == [100]
    with pytest.raises(BagtagError, match="two points"):
        split(square, [(1, 1)])


def test_split_keeps_crumbs_and_loose_pieces_with_a_part():
    mask = np.zeros((12, 30), dtype=bool)
    mask[2:10, :20] = True
    mask[1, 10] = True
    mask[4:8, 24:] = True
    parts = split(Region(0, 0, mask), [(10.7, -1), (9.3, 13)])
    assert len(parts) == 2
    assert merge(parts).equals(from_mask(mask))


@given(hnp.arrays(np.int32, (9, 11), elements=st.integers(0, 5)))
def test_label_map_round_trip(labels):
    regions = from_labels(labels)
    assert len(regions) == len(np.unique(labels[labels > 0]))
    numbers = np.concatenate([[0], np.unique(labels[labels > 0])])
    np.testing.assert_array_equal(numbers[to_labels(regions, 9, 11)], labels)


@given(REGIONS)
def test_resample_to_the_same_and_to_a_finer_grid_is_exact(region):
    coarse = Grid(24, 24, 1.5, 4.5, 9000.0, 200.0, "mel")
    fine = Grid(72, 48, 1.5, 4.5, 9000.0, 200.0, "mel")
    assert resample(region, coarse, coarse).equals(region)
    finer = resample(region, coarse, fine)
    assert finer.area == 6 * region.area
    assert resample(finer, fine, coarse).equals(region)


@given(REGIONS)
def test_resample_never_loses_a_region_that_lies_on_the_new_grid(region):
    fine, coarse = Grid(24, 24, 0, 24, 0, 24), Grid(4, 4, 0, 24, 0, 24)
    there = resample(region, fine, coarse)
    assert there.area >= 1
    back = resample(there, coarse, fine)
    assert overlap(back, region) > 0
    assert resample(region, fine, Grid(4, 4, 100, 124, 0, 24)) is None


def test_a_stored_region_of_a_terabyte_is_refused():
    side, longest = 2**20, 2**32 - 1
    runs = np.array([longest] * 256 + [256], dtype="<u4")
    header = bytes([1, 4]) + bytes(8) + side.to_bytes(4, "little") * 2
    with pytest.raises(BagtagError, match="cannot be read"):
        Region.from_bytes(header + runs.tobytes())
