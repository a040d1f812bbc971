"""Our kernels beside the functions of libraries that do the same, on recordings and pictures, in one run.

A library that takes less than 1.5 times as long is used instead of a kernel. The docstrings of those that remain state
the ratios; they were measured on the recordings and pictures of `BAGTAG_DATA` (or ../shared/data), without which
generated ones are used. Results are compared first: libraries and kernels agree, as far as they compute the same.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.bench_pictures import draw_pictures
from benchmarks.bench_sound import write_sound
from miml_core.instances import InstanceSettings
from miml_core.media.audio import audio_info, read_audio
from miml_core.media.image import Picture, open_image
from miml_core.media.lab import blur, to_lab
from miml_core.media.spectrogram import Spectrogram, make_spectrogram
from miml_core.segments import acoustic, acoustic_kernels, outlines, visual, visual_kernels
from miml_core.segments.learned import _pixels_of
from miml_core.segments.learned_kernels import mean_leaf
from miml_core.segments.pixel_features import PixelView
from miml_core.segments.pixel_forest import TREE_ARRAYS, _arrays
from miml_core.segments.regions import to_labels

Work = Callable[[], object]
N_FILES = 12
REPEATS = 7


def run() -> None:
    """Print how many times as long as a kernel the library takes."""
    seconds: dict[str, NDArray[np.float64]] = {}
    with tempfile.TemporaryDirectory() as name:
        sounds, pictures = _files(Path(name))
        for compared in (*map(_of_sound, sounds), *map(_of_picture, pictures), _of_tags()):
            for what, ours, theirs in compared:
                seconds[what] = seconds.get(what, np.zeros(2)) + _seconds(ours, theirs)
    print(f"{len(sounds)} recordings, {len(pictures)} pictures; milliseconds of ours, of the library, and their ratio:")
    for what, (ours, theirs) in seconds.items():
        print(f"  {what:<62} {1000 * ours:8.2f} {1000 * theirs:9.2f} {theirs / ours:7.1f}")


def _files(folder: Path) -> tuple[list[Path], list[Path]]:
    data = Path(os.environ.get("BAGTAG_DATA", "../shared/data"))
    found = []
    for kind in ("audio/nips4bplus/**/*.flac", "images/*/images/*.png"):
        paths = sorted(data.glob(kind))
        found.append(paths[:: max(1, len(paths) // N_FILES)][:N_FILES])
    sounds = [*found[0], *sorted(data.glob("audio/examples/*.wav"))]
    sounds = sounds or [write_sound(folder / f"{number}.wav", 10, seed=number) for number in range(3)]
    return sounds, found[1] or draw_pictures(folder)[:N_FILES]


def _of_sound(path: Path) -> Iterator[tuple[str, Work, Work]]:
    from scipy import ndimage

    made = _spectrogram(path)
    values, song = made.values, acoustic._CALLS["song"]
    down, along = acoustic._gaussian(song.smooth_rows), acoustic._gaussian(song.smooth_columns)

    def smooth() -> NDArray[np.float32]:
        rows = ndimage.correlate1d(values, np.r_[down[:0:-1], down], axis=0, mode="nearest")
        return ndimage.correlate1d(rows, np.r_[along[:0:-1], along], axis=1, mode="nearest")

    np.testing.assert_allclose(acoustic_kernels.smooth(values, down, along), smooth(), atol=1e-3)
    yield "smooth: scipy.ndimage.correlate1d", partial(acoustic_kernels.smooth, values, down, along), smooth

    share, place = 1 / 3, values.shape[1] // 3
    exact = np.quantile(values, share, axis=1)
    assert np.abs(acoustic_kernels.row_quantiles(values, share) - exact).max() < 0.3
    ours = partial(acoustic_kernels.row_quantiles, values, share)
    yield "row_quantiles: numpy.quantile", ours, partial(np.quantile, values, share, axis=1)
    yield "row_quantiles: numpy.partition, the level below", ours, partial(np.partition, values, place, axis=1)

    loudness = acoustic._loudness(values, song)
    rows, columns = acoustic._NEARBY_ROWS, acoustic._NEARBY_COLUMNS

    def nearby() -> NDArray[np.float32]:
        return ndimage.maximum_filter1d(ndimage.maximum_filter1d(loudness, rows, axis=0), columns, axis=1)

    def running_max() -> NDArray[np.float32]:
        return acoustic.running_max(acoustic.running_max(loudness, rows, 0), columns, 1)

    np.testing.assert_array_equal(running_max(), nearby())
    yield "running_max (NumPy): scipy.ndimage.maximum_filter1d", running_max, nearby

    mask = loudness > acoustic._amplitude(acoustic._EDGE_DB)
    labels, count = acoustic._connected(mask)

    def measured() -> tuple[object, ...]:
        numbers, means = np.arange(1, count + 1), ndimage.uniform_filter1d(loudness, acoustic._RUN_COLUMNS, axis=1)
        highest = [ndimage.maximum(each, labels, numbers) for each in (loudness, means)]
        return ndimage.find_objects(labels), np.bincount(labels.ravel()), *highest

    np.testing.assert_array_equal(measured()[2], acoustic_kernels.measure(labels, count, loudness, 5)[2])
    ours = partial(acoustic_kernels.measure, labels, count, loudness, acoustic._RUN_COLUMNS)
    yield "measure: scipy.ndimage.find_objects, maximum", ours, measured

    gap = 5

    def closed() -> NDArray[np.bool_]:
        padded = np.pad(mask, ((0, 0), (gap, gap)))
        return ndimage.binary_closing(padded, np.ones((1, gap + 1)))[:, gap:-gap]

    def bridged() -> NDArray[np.bool_]:
        filled = mask.copy()
        acoustic_kernels.bridge(filled, gap)
        return filled

    np.testing.assert_array_equal(bridged(), closed())
    yield "bridge: scipy.ndimage.binary_closing", bridged, closed
    yield _of_forest(made)


def _of_forest(made: Spectrogram) -> tuple[str, Work, Work]:
    """Compare the forest of a learned segmenter, on the pixels of a recording's candidates."""
    from sklearn.ensemble import ExtraTreesClassifier

    regions = acoustic.find_sound_segments(made, InstanceSettings().segments)
    is_call = to_labels(regions, *made.values.shape).ravel() > 0
    places = np.arange(0, made.values.size, 7)
    every = PixelView(made).at(*np.divmod(places, made.values.shape[1]))
    forest = ExtraTreesClassifier(20, max_depth=12, min_samples_leaf=4, random_state=0).fit(every, is_call[places])
    pixels, _ = _pixels_of(PixelView(made), regions)
    trees = _arrays([tree.tree_ for tree in forest.estimators_])
    ours = partial(mean_leaf, pixels, *(trees[name] for name in TREE_ARRAYS))
    np.testing.assert_allclose(ours(), forest.predict_proba(pixels)[:, -1], atol=1e-5)
    return "mean_leaf: sklearn ExtraTreesClassifier.predict_proba", ours, partial(forest.predict_proba, pixels)


def _of_picture(path: Path) -> Iterator[tuple[str, Work, Work]]:
    from scipy.ndimage import gaussian_filter
    from skimage.color import rgb2lab
    from skimage.draw import polygon2mask
    from skimage.measure import approximate_polygon
    from skimage.segmentation import felzenszwalb

    picture = open_image(path)
    pixels, lab = picture.pixels, to_lab(picture.pixels)
    scaled = pixels.astype(np.float32) / 255
    np.testing.assert_allclose(lab, np.moveaxis(rgb2lab(scaled), 2, 0), atol=0.1)
    yield "to_lab: skimage.color.rgb2lab", partial(to_lab, pixels), partial(rgb2lab, scaled)

    def blurred() -> NDArray[np.float32]:
        return gaussian_filter(lab[0], 4.0, mode="nearest", truncate=3.0)

    np.testing.assert_allclose(blur(lab[0], 4.0), blurred(), atol=1e-3)
    yield "blur_plane: scipy.ndimage.gaussian_filter", partial(blur, lab[0], 4.0), blurred

    smooth = np.stack([blur(plane, 0.8) for plane in lab])
    size, last = smooth[0].size / 320, np.moveaxis(smooth, 0, 2).astype(np.float64)
    scale, smallest = 0.14 * size, max(1, round(size / 8))
    yield (
        "oversegment: skimage.segmentation.felzenszwalb",
        partial(visual_kernels.oversegment, smooth, np.float32(scale), smallest),
        partial(felzenszwalb, last, scale=scale, sigma=0, min_size=smallest, channel_axis=2),
    )
    yield from _of_outlines(picture, approximate_polygon, polygon2mask)


def _of_outlines(picture: Picture, approximate: Callable, polygon2mask: Callable) -> Iterator[tuple[str, Work, Work]]:
    masks = [region.mask for region in visual.find_picture_segments(picture)]
    traced = [outlines.trace(mask) for mask in masks]
    rings = [ring for each in traced for ring in each]
    closed = [np.vstack([ring, ring[:1]]) for ring in rings]

    def simple() -> list[NDArray[np.float64]]:
        return [outlines.simplify(ring, 1.0) for ring in rings]

    def approximated() -> list[NDArray[np.float64]]:
        return [approximate(ring, 1.0) for ring in closed]

    yield "simplify (Python): skimage.measure.approximate_polygon", simple, approximated

    def filled() -> list[NDArray[np.bool_]]:
        return [outlines.fill(each, *mask.shape) for mask, each in zip(masks, traced)]

    def drawn() -> list[NDArray[np.bool_]]:
        """Combine rings, which the function does not do, by the even-odd rule; its points are centres of pixels."""
        return [
            np.logical_xor.reduce([polygon2mask(mask.shape, ring[:, ::-1] - 0.5) for ring in each])
            for mask, each in zip(masks, traced)
        ]

    assert all((one == other).all() for one, other in zip(filled(), drawn()))
    yield "fill (NumPy): skimage.draw.polygon2mask", filled, drawn


def _of_tags() -> Iterator[tuple[str, Work, Work]]:
    """Compare the ranking loss of 500 bags and 13 classes, about as many as of HJA Birdsong."""
    from sklearn.metrics import label_ranking_loss

    from miml_core.models.mimlfast_kernels import ranking_loss

    rng = np.random.default_rng(0)
    scores, tags = rng.normal(size=(500, 13)), np.where(rng.random((500, 13)) < 0.3, 1, -1).astype(np.int8)
    tags[:, :2] = 1, -1  # scikit-learn counts bags without pairs, ours does not
    assert np.isclose(ranking_loss(scores, tags), label_ranking_loss(tags > 0, scores))
    theirs = partial(label_ranking_loss, tags > 0, scores)
    yield "ranking_loss: sklearn label_ranking_loss", partial(ranking_loss, scores, tags), theirs


def _spectrogram(path: Path) -> Spectrogram:
    info = audio_info(path)
    samples, rate = read_audio(path, 0.0, min(60.0, info.duration))
    return make_spectrogram(samples, rate, InstanceSettings.for_rate(rate).spectrogram)


def _seconds(ours: Work, theirs: Work) -> NDArray[np.float64]:
    """Return the least processor seconds of each, called in turns, the first calls left out."""
    spent = np.empty((REPEATS + 1, 2))
    for row in spent:
        for column, work in enumerate((ours, theirs)):
            started = time.process_time()
            work()
            row[column] = time.process_time() - started
    return spent[1:].min(axis=0)


if __name__ == "__main__":
    run()
