"""A segmenter that learns from the segments people kept, drew and deleted: a random forest over single pixels.

After Neal, Briggs, Raich and Fern, "Time-frequency segmentation of bird song in noisy acoustic environments" (2011): a
random forest predicts from the patch around a pixel the probability that it belongs to a call. The candidates are the
segments of the built-in segmenter, also at a higher sensitivity; one is a segment if the mean probability of its pixels
is high enough, so that outlines do not change. The forest is stored as plain arrays: a file contains no code.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from miml_core.array_files import read_arrays
from miml_core.atomic_files import atomic_writer
from miml_core.errors import BagtagError
from miml_core.intervals import wilson_interval
from miml_core.media.grid import Grid
from miml_core.media.spectrogram import Spectrogram
from miml_core.progress import Progress
from miml_core.segments.acoustic import SoundSegmentSettings, find_sound_segments
from miml_core.segments.pixel_features import PixelView
from miml_core.segments.pixel_forest import TREE_ARRAYS, Trees, are_valid_trees, grow_trees, mean_probability
from miml_core.segments.regions import Region, to_labels

_FORMAT = "bagtag segmenter 2"
_MOST_BYTES = 2**28
_INVALID_FILE = (OSError, ValueError, KeyError, TypeError, EOFError, AttributeError, MemoryError, zipfile.BadZipFile)
_PIXELS = 24_000
_BORDER = 2
_PIXELS_PER_CANDIDATE = 200
_MORE_SENSITIVE = 0.2
_LEVELS = np.linspace(0.1, 0.9, 33)
_NEVER = 2.0
_FEWEST_FAINT, _CONFIDENCE = 10, 0.9
_WORTH, _SURE = 0.01, 0.95
_UNTRIED = (0.4, 0.65)
_OTHER_RESOLUTION = 1.25


@dataclass(frozen=True, eq=False)
class Example:
    """A spectrogram with the segments that people kept and deleted.

    Attributes
    ----------
    spectrogram : Spectrogram
    kept, deleted : sequence of Region
        Calls, and segments that are no calls.
    whole : bool
        Whether `kept` contains every call of the spectrogram; otherwise only the given regions are used.

    Examples
    --------
    >>> from miml_core.media.grid import Grid
    >>> spectrogram = Spectrogram(np.zeros((64, 200), dtype=np.float32), Grid(200, 64, 0.0, 1.0, 8000.0, 0.0), 16000)
    >>> call = Region(45, 40, np.ones((7, 50), dtype=bool))
    >>> example = Example(spectrogram, kept=[call], deleted=[], whole=True)  # one call, and everything else is none
    """

    spectrogram: Spectrogram
    kept: Sequence[Region]
    deleted: Sequence[Region]
    whole: bool = False


@dataclass(frozen=True, eq=False)
class LearnedSegmenter:
    """A trained segmenter, returned by `train` or `load`.

    Attributes
    ----------
    settings : SoundSegmentSettings
        Settings of the training, used by `find` unless others are given.
    trees : dict of arrays
        The forest, see `pixel_forest`.
    levels : (ordinary, faint)
        Smallest mean probability of candidates that the built-in segmenter finds, and of those that it only finds at a
        higher sensitivity.
    pixel : (seconds, hertz)
        Size of the pixels of the training spectrograms.

    Examples
    --------
    Somebody keeps the lower of two calls and deletes the upper one:

    >>> from miml_core.media.grid import Grid
    >>> def recording(seed):
    ...     values = np.random.default_rng(seed).normal(size=(64, 200)).astype(np.float32)
    ...     values[45:52, 40:90] += 25.0
    ...     values[8:15, 120:170] += 25.0
    ...     return Spectrogram(values, Grid(200, 64, 0.0, 1.0, 8000.0, 0.0), 16000)
    >>> settings = SoundSegmentSettings()
    >>> def judged(spectrogram):
    ...     upper, lower = sorted(find_sound_segments(spectrogram, settings), key=lambda region: region.top)
    ...     return Example(spectrogram, kept=[lower], deleted=[upper])
    >>> segmenter = LearnedSegmenter.train([judged(recording(seed)) for seed in range(4)], settings)
    >>> len(find_sound_segments(recording(4), settings)), len(segmenter.find(recording(4)))
    (2, 1)
    """

    settings: SoundSegmentSettings
    trees: Trees
    levels: tuple[float, float]
    pixel: tuple[float, float]

    @classmethod
    def train(
        cls,
        examples: Sequence[Example],
        settings: SoundSegmentSettings | None = None,
        *,
        seed: int = 0,
        progress: Progress | None = None,
    ) -> LearnedSegmenter:
        """Train a segmenter.

        Parameters
        ----------
        examples : sequence of Example
        settings : SoundSegmentSettings, optional
            Settings of the built-in segmenter that finds the candidates.
        seed : int
            The same seed gives the same segmenter.
        progress : callable, optional
            Called as `progress(step, of, info)` after each example; if it returns a true value, the segmenter is
            trained on the examples so far.
        """
        used = settings or SoundSegmentSettings()
        report = progress or (lambda step, of, info: None)
        rng = np.random.default_rng(seed)
        prepared = []
        for number, example in enumerate(examples):
            prepared.append(_prepare_example(example, used, max(200, 3 * _PIXELS // len(examples)), rng))
            if report(number + 1, len(examples), {}):
                break
        trees = _grow(prepared, rng, seed)
        if trees is None:
            raise BagtagError(
                "A segmenter needs examples of calls and of other sounds; delete segments that are no calls."
            )
        levels = _choose_levels(prepared, rng, seed)
        return cls(used, trees, levels, _pixel(examples[0].spectrogram.grid))

    def find(self, spectrogram: Spectrogram, settings: SoundSegmentSettings | None = None) -> list[Region]:
        """Return the segments of a spectrogram, from left to right."""
        self._check(spectrogram.grid)
        regions, faint = _candidates(spectrogram, settings or self.settings)
        view = PixelView(spectrogram)
        likely = mean_probability(self.trees, *_pixels_of(view, regions), len(regions))
        kept = likely >= np.where(faint, self.levels[1], self.levels[0])
        found = [region for region, ok in zip(regions, kept) if ok]
        return sorted(found, key=lambda region: (region.left, region.top))

    def _check(self, grid: Grid) -> None:
        for mine, theirs in zip(self.pixel, _pixel(grid)):
            if not 1 / _OTHER_RESOLUTION < mine / theirs < _OTHER_RESOLUTION:
                raise BagtagError(
                    "The segmenter was learned on spectrograms with another window or hop; learn it again, "
                    "or use the built-in segmenter."
                )

    # files

    def save(self, path: str | Path) -> None:
        """Write one `.npz` file of arrays and JSON, which appears complete or not at all."""
        header = {
            "format": _FORMAT,
            "settings": self.settings.to_dict(),
            "levels": list(self.levels),
            "pixel": list(self.pixel),
        }
        text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
        with atomic_writer(path) as file:
            np.savez_compressed(file, allow_pickle=False, header=text, **self.trees)

    @classmethod
    def load(cls, path: str | Path | BinaryIO) -> LearnedSegmenter:
        """Read a segmenter that `save` wrote."""
        path = Path(path) if isinstance(path, str | Path) else path
        try:
            arrays = read_arrays(path, most_bytes=_MOST_BYTES)
            header = json.loads(arrays["header"].tobytes())
            trees = {name: arrays[name] for name in TREE_ARRAYS}
            if header["format"] != _FORMAT or not are_valid_trees(trees):
                raise ValueError("format")
            settings = SoundSegmentSettings.from_dict(header["settings"])
            ordinary, faint = (float(level) for level in header["levels"])
            seconds, hertz = (float(size) for size in header["pixel"])
            return cls(settings, trees, (ordinary, faint), (seconds, hertz))
        except FileNotFoundError:
            raise BagtagError(
                f"There is no learned segmenter {path}; learn it again, or use the built-in segmenter."
            ) from None
        except _INVALID_FILE as error:
            raise BagtagError(
                f"{path} is not a complete learned segmenter; learn it again, or use the built-in segmenter."
            ) from error


def warm() -> None:
    """Compile the kernels."""
    from miml_core.segments.learned_kernels import mean_leaf

    here = np.zeros(1, dtype=np.int64)
    PixelView(Spectrogram(np.zeros((4, 4), np.float32), Grid(4, 4, 0.0, 1.0, 8000.0, 0.0), 16000)).at(here, here)
    node = np.zeros(1, dtype=np.int32)
    mean_leaf(np.zeros((1, 1), dtype=np.float32), node, node - 1, np.zeros(1), node, node, np.zeros(1, np.float32))


@dataclass(frozen=True, eq=False)
class _PreparedExample:
    """Training data of one example: features of pixels inside and outside calls, and its candidates for the levels."""

    calls: NDArray[np.float32]
    others: NDArray[np.float32]
    pixels: NDArray[np.float32]
    owner: NDArray[np.int64]
    faint: NDArray[np.bool_]
    truth: NDArray[np.int8]
    """(n,) 1 for a candidate that people kept, 0 for one that is no call, -1 if that is not known."""


def _prepare_example(
    example: Example, settings: SoundSegmentSettings, most: int, rng: np.random.Generator
) -> _PreparedExample:
    from scipy.ndimage import binary_dilation

    view = PixelView(example.spectrogram)
    height, width = view.contrast.shape
    regions, faint = _candidates(example.spectrogram, settings)
    kept = to_labels(example.kept, height, width) > 0
    deleted = to_labels(example.deleted, height, width) > 0
    candidates = to_labels(regions, height, width) > 0
    near = binary_dilation(kept, np.ones((3, 3)), iterations=_BORDER)
    none = (deleted | candidates if example.whole else deleted) & ~near
    called = kept & candidates if (kept & candidates).any() else kept
    return _PreparedExample(
        view.at(*_sample_pixels(called, most, rng)),
        view.at(*_sample_pixels(none, most, rng)),
        *_pixels_of(view, regions),
        faint,
        np.array([_truth(region, kept, deleted, example.whole) for region in regions], dtype=np.int8),
    )


def _truth(region: Region, kept: NDArray[np.bool_], deleted: NDArray[np.bool_], whole: bool) -> int:
    top, left, bottom, right = region.box
    here = (slice(top, bottom), slice(left, right))
    if kept[here][region.mask].mean() >= 0.5:
        return 1
    return 0 if whole or deleted[here][region.mask].mean() >= 0.5 else -1


def _candidates(spectrogram: Spectrogram, settings: SoundSegmentSettings) -> tuple[list[Region], NDArray[np.bool_]]:
    """Return the segments of the built-in segmenter and, marked as faint, those of a higher sensitivity elsewhere."""
    ordinary = find_sound_segments(spectrogram, settings)
    sensitive = replace(settings, sensitivity=min(1.0, settings.sensitivity + _MORE_SENSITIVE))
    taken = to_labels(ordinary, *spectrogram.values.shape) > 0
    faint = []
    for region in find_sound_segments(spectrogram, sensitive):
        top, left, bottom, right = region.box
        if not (taken[top:bottom, left:right] & region.mask).any():
            faint.append(region)
    return ordinary + faint, np.repeat([False, True], [len(ordinary), len(faint)])


def _pixels_of(view: PixelView, regions: Sequence[Region]) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return features of pixels of the regions, at most some hundred per region, and the region of each pixel."""
    labels = to_labels(regions, *view.contrast.shape)
    sizes = np.bincount(labels.ravel(), minlength=len(regions) + 1)
    stride = np.maximum(1, sizes // _PIXELS_PER_CANDIDATE)
    rows, columns = np.nonzero(labels)
    chosen = (rows + columns) % stride[labels[rows, columns]] == 0
    rows, columns = rows[chosen], columns[chosen]
    return view.at(rows, columns), labels[rows, columns].astype(np.int64) - 1


def _choose_levels(prepared: Sequence[_PreparedExample], rng: np.random.Generator, seed: int) -> tuple[float, float]:
    """Return the levels that are best for candidates of held-out examples, in two folds."""
    likely, truth, faint = [], [], []
    for half in (0, 1):
        trees = _grow(prepared[1 - half :: 2], rng, seed)
        if trees is None:
            return _UNTRIED
        for one in prepared[half::2]:
            judged = one.truth >= 0
            likely.append(mean_probability(trees, one.pixels, one.owner, len(one.truth))[judged])
            truth.append(one.truth[judged] == 1)
            faint.append(one.faint[judged])
    return _best_levels(np.concatenate(likely), np.concatenate(truth), np.concatenate(faint))


def _best_levels(
    likely: NDArray[np.float64], is_call: NDArray[np.bool_], is_faint: NDArray[np.bool_]
) -> tuple[float, float]:
    """Return the level of the best F1 of ordinary candidates, and the lowest at which faint ones are as often calls.

    The levels stay those of the built-in segmenter (all ordinary candidates, no faint ones) unless held-out examples
    clearly support a change: a gain of `_WORTH` in F1, and a share of calls that is unlikely to be chance.
    """
    p, true = likely[~is_faint], is_call[~is_faint]
    gains = [_f1(p >= level, true) for level in _LEVELS]
    best = int(np.argmax(gains))
    ordinary = float(_LEVELS[best]) if gains[best] >= _f1(np.ones_like(true), true) + _WORTH else 0.0
    wanted = min(_share(true[p >= ordinary]), _SURE)
    for faint in _LEVELS:
        accepted = is_call[is_faint & (likely >= faint)]
        least, _ = wilson_interval(int(accepted.sum()), len(accepted), _CONFIDENCE)
        if len(accepted) >= _FEWEST_FAINT and least >= wanted:
            return ordinary, float(faint)
    return ordinary, _NEVER


def _f1(predicted: NDArray[np.bool_], true: NDArray[np.bool_]) -> float:
    right = int(np.count_nonzero(predicted & true))
    return 2 * right / max(1, int(np.count_nonzero(predicted)) + int(np.count_nonzero(true)))


def _share(true: NDArray[np.bool_]) -> float:
    return float(true.mean()) if len(true) else 1.0


def _sample_pixels(
    wanted: NDArray[np.bool_], most: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return rows and columns of a random sample of at most `most` of the wanted pixels."""
    places = np.flatnonzero(wanted)
    if len(places) > most:
        places = np.sort(rng.choice(places, most, replace=False))
    rows, columns = np.divmod(places, wanted.shape[1])
    return rows, columns


def _rows(parts: list[NDArray[np.float32]], rng: np.random.Generator) -> NDArray[np.float32]:
    rows = np.concatenate(parts) if parts else np.empty((0, 0), dtype=np.float32)
    most = _PIXELS // 2
    return rows if len(rows) <= most else rows[np.sort(rng.choice(len(rows), most, replace=False))]


def _grow(prepared: Sequence[_PreparedExample], rng: np.random.Generator, seed: int) -> Trees | None:
    calls = _rows([one.calls for one in prepared], rng)
    return grow_trees(calls, _rows([one.others for one in prepared], rng), seed)


def _pixel(grid: Grid) -> tuple[float, float]:
    """Return seconds per column, and mean hertz per row."""
    return (grid.right - grid.left) / grid.width, abs(grid.top - grid.bottom) / grid.height
