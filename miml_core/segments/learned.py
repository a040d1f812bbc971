"""A segmenter that learns from what people kept, drew and deleted: a forest of trees over single pixels.

After Neal, Briggs, Raich and Fern, "Time-frequency segmentation of bird song in noisy acoustic environments" (2011):
a random forest says of each pixel, from the patch around it, how likely it belongs to a call. What it is asked about
is what stands out of the background, also faintly: a segment is a candidate whose pixels are likely in the mean, so
that segments keep the outlines people know. The forest is kept as plain arrays: a file holds nothing to be executed.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miml_core.array_files import read_arrays
from miml_core.atomic_files import atomic_writer
from miml_core.errors import BagtagError
from miml_core.media.grid import Grid
from miml_core.media.spectrogram import Spectrogram
from miml_core.progress import Progress
from miml_core.segments.acoustic import SoundSegmentSettings, find_sound_segments
from miml_core.segments.pixel_features import PixelView
from miml_core.segments.regions import Region, to_labels

_FORMAT = "bagtag segmenter 2"
_TREES = ("roots", "feature", "threshold", "left", "right", "value")
_MOST_BYTES = 2**28
_NOT_WHOLE = (OSError, ValueError, KeyError, TypeError, EOFError, AttributeError, MemoryError, zipfile.BadZipFile)
_N_TREES = 20
_DEPTH = 12
_LEAF = 4
_PIXELS = 24_000
_BORDER = 2
_PIXELS_A_CANDIDATE = 200
_MORE_SENSITIVE = 0.2
_LEVELS = np.linspace(0.1, 0.9, 33)
_NEVER = 2.0
_FEWEST_FAINT = 10
_WORTH, _SURE = 0.01, 0.95
_UNTRIED = (0.4, 0.65)
_OTHER_RESOLUTION = 1.25


@dataclass(frozen=True, eq=False)
class Example:
    """One spectrogram with what people think of it.

    Attributes
    ----------
    kept, deleted : regions
        What is a call, and what is none.
    whole : bool
        Every call is in `kept`, so that the rest is none; otherwise only the given regions count.
    """

    spectrogram: Spectrogram
    kept: Sequence[Region]
    deleted: Sequence[Region]
    whole: bool = False


@dataclass(frozen=True, eq=False)
class LearnedSegmenter:
    """A trained segmenter; made by `train` or `load`.

    Attributes
    ----------
    settings
        The knobs it was trained with, used by `find` unless others are given.
    trees
        Arrays of the forest: `roots` (one node a tree), and of each node `feature` (below 0: a leaf), `threshold`,
        `left`, `right` and `value`.
    levels : (ordinary, faint)
        How likely a candidate must be, one that the built-in way finds and one that only a higher sensitivity finds.
    pixel : (seconds, hertz)
        Size of the pixels it learnt on.
    """

    settings: SoundSegmentSettings
    trees: dict[str, NDArray[Any]]
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
        """Learn from examples; equal seeds give equal segmenters."""
        used = settings or SoundSegmentSettings()
        report = progress or (lambda step, of, info: None)
        rng = np.random.default_rng(seed)
        lessons = []
        for number, example in enumerate(examples):
            lessons.append(_lesson(example, used, max(200, 3 * _PIXELS // len(examples)), rng))
            if report(number + 1, len(examples), {}):
                break
        trees = _grow(lessons, rng, seed)
        if trees is None:
            raise BagtagError("There is nothing to learn a segmenter from: it takes calls and what is no call.")
        levels = _choose_levels(lessons, rng, seed)
        return cls(used, trees, levels, _pixel(examples[0].spectrogram.grid))

    def find(self, spectrogram: Spectrogram, settings: SoundSegmentSettings | None = None) -> list[Region]:
        """Segments from left to right."""
        self._check(spectrogram.grid)
        regions, faint = _candidates(spectrogram, settings or self.settings)
        view = PixelView(spectrogram)
        likely = _likeliness(self.trees, *_pixels_of(view, regions), len(regions))
        kept = likely >= np.where(faint, self.levels[1], self.levels[0])
        found = [region for region, ok in zip(regions, kept) if ok]
        return sorted(found, key=lambda region: (region.left, region.top))

    def _check(self, grid: Grid) -> None:
        for mine, theirs in zip(self.pixel, _pixel(grid)):
            if not 1 / _OTHER_RESOLUTION < mine / theirs < _OTHER_RESOLUTION:
                raise BagtagError(
                    "The segmenter was learnt on spectrograms with another window or hop; learn it again, "
                    "or use the built-in way."
                )

    # files

    def save(self, path: str | Path) -> None:
        """Write one `.npz` file of arrays and JSON; it appears whole or not at all."""
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
    def load(cls, path: str | Path) -> LearnedSegmenter:
        """Read what `save` wrote."""
        path = Path(path)
        try:
            arrays = read_arrays(path, most_bytes=_MOST_BYTES)
            header = json.loads(arrays["header"].tobytes())
            trees = {name: arrays[name] for name in _TREES}
            if header["format"] != _FORMAT or not _sound_trees(trees):
                raise ValueError("format")
            settings = SoundSegmentSettings.from_dict(header["settings"])
            ordinary, faint = (float(level) for level in header["levels"])
            seconds, hertz = (float(size) for size in header["pixel"])
            return cls(settings, trees, (ordinary, faint), (seconds, hertz))
        except FileNotFoundError:
            raise BagtagError(
                f"There is no learned segmenter {path}; learn it again, or use the built-in way."
            ) from None
        except _NOT_WHOLE as error:
            raise BagtagError(
                f"{path} is not a whole learned segmenter; learn it again, or use the built-in way."
            ) from error


def warm() -> None:
    """Compile the kernels."""
    from miml_core.segments.learned_kernels import mean_leaf

    here = np.zeros(1, dtype=np.int64)
    PixelView(Spectrogram(np.zeros((4, 4), np.float32), Grid(4, 4, 0.0, 1.0, 8000.0, 0.0), 16000)).at(here, here)
    node = np.zeros(1, dtype=np.int32)
    mean_leaf(np.zeros((1, 1), dtype=np.float32), node, node - 1, np.zeros(1), node, node, np.zeros(1, np.float32))


@dataclass(frozen=True, eq=False)
class _Lesson:
    """What one example teaches: features of pixels in and outside calls, and its candidates to choose levels by."""

    calls: NDArray[np.float32]
    others: NDArray[np.float32]
    pixels: NDArray[np.float32]
    owner: NDArray[np.int64]
    faint: NDArray[np.bool_]
    truth: NDArray[np.int8]
    """1 for a candidate that people kept, 0 for one that is no call, -1 for one that nobody judged."""


def _lesson(example: Example, knobs: SoundSegmentSettings, most: int, rng: np.random.Generator) -> _Lesson:
    from scipy.ndimage import binary_dilation

    view = PixelView(example.spectrogram)
    height, width = view.contrast.shape
    regions, faint = _candidates(example.spectrogram, knobs)
    kept = to_labels(example.kept, height, width) > 0
    deleted = to_labels(example.deleted, height, width) > 0
    candidates = to_labels(regions, height, width) > 0
    near = binary_dilation(kept, np.ones((3, 3)), iterations=_BORDER)
    none = (deleted | candidates if example.whole else deleted) & ~near
    called = kept & candidates if (kept & candidates).any() else kept
    return _Lesson(
        view.at(*_some(called, most, rng)),
        view.at(*_some(none, most, rng)),
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


def _candidates(spectrogram: Spectrogram, knobs: SoundSegmentSettings) -> tuple[list[Region], NDArray[np.bool_]]:
    """What the built-in way finds and, marked as faint, what only a higher sensitivity finds elsewhere."""
    ordinary = find_sound_segments(spectrogram, knobs)
    keener = replace(knobs, sensitivity=min(1.0, knobs.sensitivity + _MORE_SENSITIVE))
    taken = to_labels(ordinary, *spectrogram.values.shape) > 0
    faint = []
    for region in find_sound_segments(spectrogram, keener):
        top, left, bottom, right = region.box
        if not (taken[top:bottom, left:right] & region.mask).any():
            faint.append(region)
    return ordinary + faint, np.repeat([False, True], [len(ordinary), len(faint)])


def _pixels_of(view: PixelView, regions: Sequence[Region]) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Features of pixels of the regions, at most some hundred of each, and which region each is of."""
    labels = to_labels(regions, *view.contrast.shape)
    sizes = np.bincount(labels.ravel(), minlength=len(regions) + 1)
    stride = np.maximum(1, sizes // _PIXELS_A_CANDIDATE)
    rows, columns = np.nonzero(labels)
    chosen = (rows + columns) % stride[labels[rows, columns]] == 0
    rows, columns = rows[chosen], columns[chosen]
    return view.at(rows, columns), labels[rows, columns].astype(np.int64) - 1


def _likeliness(
    trees: dict[str, NDArray[Any]], pixels: NDArray[np.float32], owner: NDArray[np.int64], n: int
) -> NDArray[np.float64]:
    """(n,) mean over each candidate's pixels of how likely they are of a call."""
    from miml_core.segments.learned_kernels import mean_leaf

    if trees["feature"].max() >= pixels.shape[1]:  # the kernel would read what lies behind the array
        raise BagtagError("The learned segmenter asks for features that pixels do not have; learn it again.")
    likely = mean_leaf(pixels, *[trees[name] for name in _TREES])
    return np.bincount(owner, likely, minlength=n) / np.maximum(np.bincount(owner, minlength=n), 1)


def _choose_levels(lessons: Sequence[_Lesson], rng: np.random.Generator, seed: int) -> tuple[float, float]:
    """Levels that do best on judged candidates of examples that the trees have not seen, by halves."""
    likely, truth, faint = [], [], []
    for half in (0, 1):
        trees = _grow(lessons[1 - half :: 2], rng, seed)
        if trees is None:
            return _UNTRIED
        for lesson in lessons[half::2]:
            judged = lesson.truth >= 0
            likely.append(_likeliness(trees, lesson.pixels, lesson.owner, len(lesson.truth))[judged])
            truth.append(lesson.truth[judged] == 1)
            faint.append(lesson.faint[judged])
    return _best_levels(np.concatenate(likely), np.concatenate(truth), np.concatenate(faint))


def _best_levels(
    likely: NDArray[np.float64], is_call: NDArray[np.bool_], is_faint: NDArray[np.bool_]
) -> tuple[float, float]:
    """The best F1 over ordinary candidates; then the lowest level at which faint ones are right as often as those.

    Both are left as the built-in way has them (all ordinary ones, no faint ones) unless unseen examples speak clearly
    for a change: by a gain of `_WORTH` in F1, and by a share that chance alone would not make so high.
    """
    p, true = likely[~is_faint], is_call[~is_faint]
    gains = [_f1(p >= level, true) for level in _LEVELS]
    best = int(np.argmax(gains))
    ordinary = float(_LEVELS[best]) if gains[best] >= _f1(np.ones_like(true), true) + _WORTH else 0.0
    wanted = min(_share(true[p >= ordinary]), _SURE)
    for faint in _LEVELS:
        accepted = is_call[is_faint & (likely >= faint)]
        if len(accepted) >= _FEWEST_FAINT and _surely(accepted) >= wanted:
            return ordinary, float(faint)
    return ordinary, _NEVER


def _surely(true: NDArray[np.bool_]) -> float:
    """What a share is at least, 19 times in 20 (Wilson's lower bound)."""
    n, share, z = len(true), float(true.mean()), 1.645
    spread = z * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return float((share + z**2 / (2 * n) - spread) / (1 + z**2 / n))


def _f1(said: NDArray[np.bool_], true: NDArray[np.bool_]) -> float:
    right = int(np.count_nonzero(said & true))
    return 2 * right / max(1, int(np.count_nonzero(said)) + int(np.count_nonzero(true)))


def _share(true: NDArray[np.bool_]) -> float:
    return float(true.mean()) if len(true) else 1.0


def _some(
    wanted: NDArray[np.bool_], most: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows and columns of at most so many of the wanted pixels, by chance."""
    places = np.flatnonzero(wanted)
    if len(places) > most:
        places = np.sort(rng.choice(places, most, replace=False))
    rows, columns = np.divmod(places, wanted.shape[1])
    return rows, columns


def _rows(parts: list[NDArray[np.float32]], rng: np.random.Generator) -> NDArray[np.float32]:
    rows = np.concatenate(parts) if parts else np.empty((0, 0), dtype=np.float32)
    most = _PIXELS // 2
    return rows if len(rows) <= most else rows[np.sort(rng.choice(len(rows), most, replace=False))]


def _grow(lessons: Sequence[_Lesson], rng: np.random.Generator, seed: int) -> dict[str, NDArray[Any]] | None:
    """A forest that tells calls from the rest, or None where there is only one of the two."""
    from sklearn.ensemble import ExtraTreesClassifier

    from miml_core.threads import thread_count

    yes = _rows([lesson.calls for lesson in lessons], rng)
    no = _rows([lesson.others for lesson in lessons], rng)
    if not len(yes) or not len(no):
        return None
    forest = ExtraTreesClassifier(
        _N_TREES,
        max_depth=_DEPTH,
        min_samples_leaf=_LEAF,
        max_features="sqrt",
        class_weight="balanced",
        random_state=seed,
        n_jobs=thread_count(),
    ).fit(np.vstack([yes, no]), np.repeat([1, 0], [len(yes), len(no)]))
    return _arrays([tree.tree_ for tree in forest.estimators_])


def _arrays(grown: Sequence[Any]) -> dict[str, NDArray[Any]]:
    """The nodes of all trees one after another."""
    roots = np.cumsum([0, *(tree.node_count for tree in grown[:-1])]).astype(np.int32)
    value = np.concatenate([tree.value[:, 0, :] for tree in grown])
    return {
        "roots": roots,
        "feature": np.concatenate([np.maximum(tree.feature, -1) for tree in grown]).astype(np.int32),
        "threshold": np.concatenate([tree.threshold for tree in grown]),
        "left": np.concatenate([tree.children_left + root for tree, root in zip(grown, roots)]).astype(np.int32),
        "right": np.concatenate([tree.children_right + root for tree, root in zip(grown, roots)]).astype(np.int32),
        "value": (value[:, 1] / value.sum(axis=1)).astype(np.float32),
    }


def _pixel(grid: Grid) -> tuple[float, float]:
    """Seconds a column, and hertz a row in the mean."""
    return (grid.right - grid.left) / grid.width, abs(grid.top - grid.bottom) / grid.height


def _sound_trees(trees: dict[str, NDArray[Any]]) -> bool:
    """Can a pixel walk these trees without leaving them or going round in circles?"""
    n = len(trees["feature"])
    if not n or any(len(trees[name]) != n for name in _TREES[1:]) or not len(trees["roots"]):
        return False
    kinds = {name: "f" if name in ("threshold", "value") else "i" for name in _TREES}
    if any(trees[name].ndim != 1 or trees[name].dtype.kind != kind for name, kind in kinds.items()):
        return False
    inner = np.flatnonzero(trees["feature"] >= 0)
    below = np.concatenate([trees["left"][inner] - inner, trees["right"][inner] - inner])
    ends = np.concatenate([trees["left"][inner], trees["right"][inner], trees["roots"]])
    return bool((below > 0).all() and (ends >= 0).all() and (ends < n).all())
