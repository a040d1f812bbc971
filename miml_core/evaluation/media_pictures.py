"""Measure the steps from picture files to labelled segments, on folders of pictures with label maps.

Pictures are cut by our segmenter, tagged with the classes of their label maps, and annotated by ORed-LR from those
tags only. A segment's truth is the class of most of its labelled pixels; pixels of no class are ignored. Also measured
are the best possible labels of the segments, the most common tag (the baseline), and the accuracy with one step at a
time replaced by the truth, which shows the error of that step.

Segments given the tags, and those of new pictures (ten folds), are also counted one by one, with a background class
(the default of the app) and without: the share that is right, and the expected calibration error. A segment most of
whose pixels have no class is background; without a background class, it is never right, and left out of the error.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miml_core.bags import UNKNOWN, BagSet
from miml_core.errors import BagtagError
from miml_core.evaluation.benchmark import bag_folds
from miml_core.evaluation.metrics import calibration_error, predicted_classes
from miml_core.evaluation.picture_sets import PictureSet, Segmented, cut_and_count, find_picture_sets, true_segments
from miml_core.posterior import DEFAULT_LEAK
from miml_core.progress import Progress
from miml_core.segments.visual import PictureSegmentSettings

Step = Callable[..., None]
"""Counts a picture or some fits; `measure_pictures` reports the count as `Progress`."""
Ways = tuple[Segmented, Segmented, Segmented]

BENCHMARK_SEGMENTS = 40
MOST_TAGS = 0.5
"""If pictures have more than this share of all tags on average, the tags are too uninformative to learn from."""


def measure_pictures(
    data_dir: str | Path, progress: Progress | None = None, jobs: int = 1, folds: int = 10
) -> dict[str, dict[str, Any]]:
    """Return figures for every picture set under `data_dir`/images, by name; {} if there is none.

    `jobs` is the number of processes that read pictures (-1: one per core), `folds` into how many parts pictures are
    divided, each of which is new to a model once.
    """
    sets = find_picture_sets(Path(data_dir))
    total = sum(len(each.files) + _n_fits(folds) for each in sets)
    done = 0

    def step(n: int = 1) -> None:
        nonlocal done
        done += n
        if progress is not None:
            progress(done, total, {})

    return {each.name: _measure(each, step, jobs, folds) for each in sets}


def _measure(pictures: PictureSet, step: Step, jobs: int, folds: int) -> dict[str, Any]:
    started = time.perf_counter()
    read, skipped = _read_all(pictures, step, jobs)
    if not read:
        return {"pictures": 0, "skipped": skipped}
    ours, fine, ideal = (CutSet([each[way] for each in read], pictures) for way in range(3))
    return {
        "pictures": len(read),
        "classes": len(ours.classes),
        "tags_per_picture": round(float((ours.tags > 0).sum(axis=1).mean()), 2),
        "skipped": skipped,
        "segments": {"default": ours.best_labelling(), "benchmark": fine.best_labelling()},
        **_accuracies(ours, ideal, step, folds),
        "seconds": round(time.perf_counter() - started, 1),
    }


def _read_all(pictures: PictureSet, step: Step, jobs: int) -> tuple[list[Ways], list[str]]:
    """Return every picture segmented in three ways, and the names of those that failed, with the reason."""
    from joblib import Parallel, delayed

    not_classes = tuple(number for number in range(256) if not pictures.is_class(number))
    read, skipped = [], []
    tasks = (delayed(_read_one)(*files, not_classes) for files in pictures.files)
    for files, found in zip(pictures.files, Parallel(n_jobs=jobs, return_as="generator")(tasks)):
        step()
        if isinstance(found, str):
            skipped.append(f"{files[0].name}: {found}")
        else:
            read.append(found)
    return read, skipped


def _read_one(picture_path: Path, map_path: Path, not_classes: tuple[int, ...]) -> Ways | str:
    """Return our segments at the default number and at the benchmark's, and the true segments; or the error message."""
    defaults = PictureSegmentSettings()
    try:
        ours = cut_and_count(picture_path, map_path, defaults, ("paper", "extended"))
        if not np.delete(ours.pixels, [n for n in not_classes if n < ours.pixels.shape[1]], axis=1).any():
            return "no pixel of its label map has a class"
        fine = cut_and_count(picture_path, map_path, replace(defaults, segments=BENCHMARK_SEGMENTS), ())
        return ours, fine, true_segments(picture_path, map_path, defaults, not_classes)
    except BagtagError as error:
        return str(error)


def _n_fits(folds: int) -> int:
    return 5 + 3 * folds


def _accuracies(ours: CutSet, ideal: CutSet, step: Step, folds: int) -> dict[str, Any]:
    majority = {"majority tag": ours.score(ours.majority_tag())}
    if (ours.tags > 0).mean() > MOST_TAGS:
        step(_n_fits(folds))
        return {"accuracy": majority, "not_measured": "most pictures have most of the tags, too uninformative"}
    found = {}
    for features in ("paper", "extended"):
        given = probabilities_from_tags(ours.bags(features))
        found[features] = ours.score(predicted_classes(given, len(ours.classes)))
        step()
    one_by_one = {"with_background": ours.one_by_one(given, _of_new_pictures(ours.bags("extended"), step, folds))}
    given = probabilities_from_tags(ours.bags("extended"), background=False)
    step()
    new = _of_new_pictures(ours.bags("extended"), step, folds, background=False)
    one_by_one["without_background"] = ours.one_by_one(given, new)
    swaps = {"segments": ideal.score(annotate_from_tags(ideal.bags("extended")))}
    step()
    swaps["features"] = ours.score(annotate_from_tags(ours.bags("truth")))
    step()
    swaps["model"] = ours.score(_supervised(ours.bags("extended"), ours.truth, step, folds))
    return {
        "accuracy": majority | found,
        "background_share": round(float((ours.columns == len(ours.classes)).mean()), 4),
        "one_by_one": one_by_one,
        "with_truth_for": swaps,
        "costs_most": max(swaps, key=lambda part: swaps[part]["pixel_accuracy"]),
    }


class CutSet:
    """A set of pictures segmented in one way: segments in rows, the classes that occur in columns."""

    def __init__(self, segmented: list[Segmented], pictures: PictureSet) -> None:
        n_numbers = max(each.pixels.shape[1] for each in segmented)
        counts = [np.pad(each.pixels, ((0, 0), (0, n_numbers - each.pixels.shape[1]))) for each in segmented]
        tagged = np.array([each.any(axis=0) for each in counts])
        numbers = [number for number in range(n_numbers) if tagged[:, number].any() and pictures.is_class(number)]
        self.classes = [pictures.class_name(number) for number in numbers]
        self.tags = np.where(tagged[:, numbers], 1, -1)
        self.pixels: NDArray[np.int64] = np.concatenate(counts)[:, numbers]
        self.offsets = np.concatenate([[0], np.cumsum([len(each) for each in counts])])
        self.features = {
            name: np.concatenate([each.features[name] for each in segmented]) for name in segmented[0].features
        }
        labelled = self.pixels.sum(axis=1)
        self.truth = np.where(labelled > 0, self.pixels.argmax(axis=1), UNKNOWN)
        mostly_none = 2 * labelled < np.concatenate([each.sum(axis=1) for each in counts])
        self.columns = np.where(mostly_none, len(numbers), self.truth)
        self.features["truth"] = np.eye(len(numbers) + 1)[self.truth][:, :-1]

    def bags(self, features: str) -> BagSet:
        return BagSet(self.features[features], self.offsets, self.tags, self.classes)

    def best_labelling(self) -> dict[str, float]:
        """Return segments per picture, and the share of labelled pixels that have their segment's majority class."""
        return {
            "per_picture": round(len(self.pixels) / len(self.tags), 2),
            "best_labelling": round(float(self.pixels.max(axis=1).sum() / self.pixels.sum()), 4),
        }

    def majority_tag(self) -> NDArray[np.int64]:
        """Return, for each segment, the most frequent of its picture's tags."""
        likely = np.where(self.tags > 0, (self.tags > 0).sum(axis=0), -1).argmax(axis=1)
        return np.repeat(likely, np.diff(self.offsets))

    def one_by_one(self, given: NDArray[np.float64], new: NDArray[np.float64]) -> dict[str, dict[str, float]]:
        """Return the share of segments that are right and the calibration error, given the tags and in new pictures."""
        figures = {}
        for name, probabilities in (("given_tags", given), ("new_pictures", new)):
            possible = self.columns < probabilities.shape[1]
            figures[name] = {
                "right": round(float((probabilities.argmax(axis=1) == self.columns).mean()), 4),
                "calibration_error": round(calibration_error(self.columns[possible], probabilities[possible]), 4),
            }
        return figures

    def score(self, predicted: NDArray[np.int64]) -> dict[str, float]:
        """Return the accuracy of segments weighted by labelled pixels, and the pixel accuracy."""
        weights = self.pixels.sum(axis=1)
        right = self.pixels[np.arange(len(predicted)), predicted].sum()
        return {
            "accuracy": round(float(weights[predicted == self.truth].sum() / weights.sum()), 4),
            "pixel_accuracy": round(float(right / weights.sum()), 4),
        }


def annotate_from_tags(bags: BagSet) -> NDArray[np.int64]:
    """Return the most likely class of each segment, learnt from these tags and given them (transductive)."""
    return predicted_classes(probabilities_from_tags(bags), bags.n_classes)


def probabilities_from_tags(bags: BagSet, *, background: bool = True) -> NDArray[np.float64]:
    """Return the (N, C + 1) or (N, C) class probabilities of segments, learnt from these tags and given them."""
    from miml_core.models.ored_lr import ORedLR

    return ORedLR(background=background, leak=DEFAULT_LEAK).fit(bags).annotate(bags)


def _of_new_pictures(bags: BagSet, step: Step, n_folds: int, *, background: bool = True) -> NDArray[np.float64]:
    """Return the (N, C + 1) or (N, C) class probabilities of segments, learnt from the tags of the other pictures."""
    from miml_core.models.ored_lr import ORedLR

    found = np.zeros((bags.n_segments, bags.n_classes + background))
    folds = list(bag_folds(bags.n_bags, n_folds, seed=0))
    step(n_folds - len(folds))
    for learnt, held_out in folds:
        model = ORedLR(background=background, leak=DEFAULT_LEAK).fit(bags[learnt])
        found[bags.rows_of(held_out)] = model.predict_proba(bags[held_out].X)
        step()
    return found


def _supervised(bags: BagSet, truth: NDArray[np.int64], step: Step, folds: int) -> NDArray[np.int64]:
    """Return the classes predicted by a model that is trained on the true classes of the other folds' segments."""
    from miml_core.models.ored_lr import ORedLR

    predicted = np.zeros(bags.n_segments, dtype=np.int64)
    labelled = bags.replace(labels=truth)
    fold_of = np.random.default_rng(0).permutation(bags.n_bags) % min(folds, bags.n_bags)
    for fold in range(folds):
        step()
        held_out = np.flatnonzero(fold_of == fold)
        others = np.flatnonzero(fold_of != fold)
        if len(held_out) and len(others):
            model = ORedLR(background=True, leak=DEFAULT_LEAK).fit(labelled[others])
            predicted[bags.rows_of(held_out)] = predicted_classes(model.annotate(bags[held_out]), bags.n_classes)
    return predicted
