"""Segments of pictures: they cover the picture, hang together, follow edges, and obey the number asked for."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.ndimage import label

from miml_core.errors import BagtagError
from miml_core.media.grid import Grid
from miml_core.media.image import Picture
from miml_core.segments.regions import to_labels
from miml_core.segments.visual import PictureSegmentSettings, find_picture_segments


def as_picture(pixels: np.ndarray) -> Picture:
    height, width = pixels.shape[:2]
    return Picture(pixels.astype(np.uint8), Grid(width, height, 0.0, float(width), 0.0, float(height)))


def shapes(noise: float = 6.0) -> tuple[np.ndarray, np.ndarray]:
    """Sky, ground and two discs with grain on them, and the truth."""
    rows, columns = np.mgrid[:120, :160]
    truth = (rows > 70).astype(int)
    truth[(rows - 60) ** 2 + (columns - 40) ** 2 < 400] = 2
    truth[(rows - 80) ** 2 + (columns - 115) ** 2 < 500] = 3
    colours = np.array([[120, 160, 230], [70, 120, 40], [180, 60, 50], [220, 210, 190]])
    grain = np.random.default_rng(3).normal(0, noise, (120, 160, 3))
    return np.clip(colours[truth] + grain, 0, 255), truth


@given(hnp.arrays(np.uint8, st.tuples(st.integers(1, 24), st.integers(1, 24), st.just(3))), st.integers(1, 30))
@settings(max_examples=60)
def test_segments_cover_everything_once_and_hang_together(pixels, wanted):
    regions = find_picture_segments(as_picture(pixels), PictureSegmentSettings(segments=wanted))
    assert 1 <= len(regions) <= wanted
    height, width = pixels.shape[:2]
    assert (to_labels(regions, height, width) > 0).all()
    assert sum(region.area for region in regions) == height * width
    assert all(label(region.mask)[1] == 1 for region in regions)


@pytest.mark.parametrize("wanted", [4, 8, 25])
def test_segments_follow_the_edges(wanted):
    pixels, truth = shapes()
    regions = find_picture_segments(as_picture(pixels), PictureSegmentSettings(segments=wanted))
    assert len(regions) == wanted
    labels = to_labels(regions, *truth.shape)
    right = sum(np.bincount(truth[labels == number]).max() for number in range(1, wanted + 1))
    assert right / truth.size > 0.98


def test_noise_gives_no_specks_and_no_more_than_asked_for():
    pixels = np.random.default_rng(0).integers(0, 256, (200, 300, 3))
    regions = find_picture_segments(as_picture(pixels), PictureSegmentSettings(segments=50))
    assert len(regions) == 50
    assert min(region.area for region in regions) >= 200 * 300 / (64 * 50)


def test_an_even_picture_is_one_segment():
    (region,) = find_picture_segments(as_picture(np.full((40, 50, 3), 99)))
    assert region.box == (0, 0, 40, 50)


def test_the_same_picture_gives_the_same_segments():
    pixels, _ = shapes(noise=25)
    first, second = (find_picture_segments(as_picture(pixels)) for _ in range(2))
    assert all(a.equals(b) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("wrong", [{"segments": 0}, {"segments": 10_000}, {"working_side": 3}])
def test_settings_out_of_range_are_refused(wrong):
    with pytest.raises(BagtagError):
        PictureSegmentSettings(**wrong)


def test_settings_round_trip():
    chosen = PictureSegmentSettings(segments=33, working_side=300)
    assert PictureSegmentSettings.from_dict(chosen.to_dict()) == chosen


def merged_by_hand(labels: np.ndarray, planes: np.ndarray, wanted: int) -> np.ndarray:
    """Recompute everything from the pixels at every step and join the pair that costs least."""
    labels = labels.copy()
    weights = np.array([1, 1, 1, 5])
    while len(np.unique(labels)) > wanted:
        costs = {}
        borders: dict[tuple[int, int], list[float]] = {}
        for one, other in ((np.s_[:, :-1], np.s_[:, 1:]), (np.s_[:-1], np.s_[1:])):
            steps = np.sqrt(((planes[:3][:, *_index(one)] - planes[:3][:, *_index(other)]) ** 2).sum(axis=0))
            for a, b, step in zip(labels[one].ravel(), labels[other].ravel(), steps.ravel()):
                if a != b:
                    borders.setdefault((min(a, b), max(a, b)), []).append(step)
        for (a, b), steps in borders.items():
            mean_a, mean_b = (planes[:, labels == number].mean(axis=1) for number in (a, b))
            n_a, n_b = (labels == a).sum(), (labels == b).sum()
            apart = (weights * (mean_a - mean_b) ** 2).sum() + np.mean(steps) ** 2
            costs[a, b] = apart * n_a * n_b / (n_a + n_b) * np.sqrt(min(n_a, n_b)) / len(steps)
        a, b = min(costs, key=lambda pair: costs[pair])
        labels[labels == b] = a
    return np.unique(labels, return_inverse=True)[1].reshape(labels.shape)


def _index(part):
    return part if isinstance(part, tuple) else (part, slice(None))


@pytest.mark.parametrize("seed", range(6))
def test_merging_joins_the_cheapest_pair_at_every_step(seed):
    from miml_core.segments.visual import _WEIGHTS
    from miml_core.segments.visual_kernels import merge_regions, oversegment, region_graph

    rng = np.random.default_rng(seed)
    planes = rng.normal(0, 20, (4, 14, 17)).astype(np.float32)
    labels, n = oversegment(planes, np.float32(5.0), 3)
    assert n > 12 and np.bincount(labels.ravel()).min() >= 3
    merged = merge_regions(*region_graph(labels, n, planes), 6, _WEIGHTS)[labels]
    by_hand = merged_by_hand(labels, planes, 6)
    pairs = np.unique(np.stack([merged.ravel(), by_hand.ravel()]), axis=1)
    assert pairs.shape[1] == 6
