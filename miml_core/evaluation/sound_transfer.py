"""Measure what features of sound are worth: labels and tags of new clips, and labels given the tags.

ORed-LR learns from the tags of clips on hand-made features, on BirdNET's embedding with its classifier, and on both;
each without a background class and with one, which is the default of the app.

* New clips (ten folds by clip, tags of the test clips not known): the share of all segments that get their label, of
  those with a name, and how well tags are ranked: average precision per clip, and its mean over classes.
* Given the tags (fitted to all clips, as in the app): the share of all segments that get their label, of those with a
  name, and of *clean* ones, which touch events of one label only, in clips with two tags or more.
* For both, the expected calibration error: of named segments, or with a background class of all.
* Without training: the same ranking by BirdNET's scores alone, over the classes that are species of BirdNET.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from miml_core.bags import BACKGROUND, UNKNOWN, BagSet, FeatureGroup
from miml_core.evaluation.benchmark import bag_folds
from miml_core.evaluation.metrics import average_precision, calibration_error, class_average_precision
from miml_core.posterior import DEFAULT_LEAK

if TYPE_CHECKING:
    from miml_core.evaluation.sound_chain import SegmentedRecording

Array = NDArray[np.float64]
Labels = NDArray[np.int64]

FOLDS = 10
FEATURES = ("hand_made", "embedding", "both")


def n_tasks(folds: int = FOLDS) -> int:
    """Return the number of fits of `transfer_figures`."""
    return 2 * len(FEATURES) * (folds + 1)


def transfer_figures(
    recordings: Sequence[SegmentedRecording],
    hand_made: BagSet,
    truth: Labels,
    species: dict[str, tuple[str, str]],
    jobs: int = 1,
    step: Callable[[], None] = lambda: None,
    folds: int = FOLDS,
) -> dict[str, Any]:
    """Return the figures of the module's docstring; only those of hand-made features if BirdNET is not installed.

    Parameters
    ----------
    recordings : sequence of B SegmentedRecording
        With at least one segment each.
    hand_made : BagSet
        Their segments with hand-made features, and their tags.
    truth : (N,) int
        Label of each segment, or `BACKGROUND`.
    species : dict
        Scientific and English name by label.
    jobs : int
        Number of processes.
    step : callable
        Called once for each of the `n_tasks` fits, also for those that are left out.
    folds : int
        Folds of the clips.
    """
    from joblib import Parallel, delayed

    bag_sets = _bag_sets(recordings, hand_made, species)
    variants = [(name, bags, background) for background in (False, True) for name, bags in bag_sets.items()]
    used = list(bag_folds(hand_made.n_bags, folds, seed=0))
    tasks = []
    for _, bags, background in variants:
        tasks += [delayed(_new_clips)(bags, *fold, background=background) for fold in used]
        tasks.append(delayed(_given_tags)(bags, background=background))
    for _ in range(n_tasks(folds) - len(tasks)):
        step()
    results = []
    for result in Parallel(n_jobs=jobs, return_as="generator")(tasks):
        results.append(result)
        step()
    clean = clean_segments(recordings, hand_made)
    figures: dict[str, Any] = {}
    for number, (name, _, background) in enumerate(variants):
        *new_clips, given_tags = results[number * (len(used) + 1) : (number + 1) * (len(used) + 1)]
        found = _figures(hand_made, truth, clean, new_clips, given_tags)
        figures[f"{name}_with_background" if background else name] = found
    if len(bag_sets) > 1:
        figures["without_training"] = _untrained(recordings, bag_sets["embedding"], species)
    return figures


def clean_segments(recordings: Sequence[SegmentedRecording], bags: BagSet) -> NDArray[np.bool_]:
    """Return (N,) whether a segment touches events of exactly one class, in a clip with two tags or more."""
    clean = np.zeros(bags.n_segments, dtype=bool)
    for bag in np.flatnonzero((bags.tags > 0).sum(axis=1) > 1).tolist():
        one = recordings[bag]
        for row, (start, end) in enumerate(one.times, start=int(bags.offsets[bag])):
            touched = {event.label for event in one.events if min(end, event.end) > max(start, event.start)}
            clean[row] = len(touched) == 1 and touched <= set(bags.classes)
    return clean


def _bag_sets(
    recordings: Sequence[SegmentedRecording], hand_made: BagSet, species: dict[str, tuple[str, str]]
) -> dict[str, BagSet]:
    """Return the bags with each choice of features."""
    parts = [one.embedding for one in recordings]
    present = [part for part in parts if part is not None]
    if len(present) < len(parts):
        return {"hand_made": hand_made}
    from miml_core.features.birdnet.embedding import NAME, class_weights

    E = np.concatenate(present).astype(np.float64)
    groups = [FeatureGroup("hand-made", hand_made.X.shape[1]), FeatureGroup(NAME, E.shape[1])]
    names = [species.get(label, ("", label)) for label in hand_made.classes]
    weights = class_weights([english for _, english in names], [scientific for scientific, _ in names])
    above = np.where(np.isnan(weights[:1]), np.nan, np.zeros((hand_made.X.shape[1], 1)))
    both = np.concatenate([hand_made.X, E], axis=1)

    def make(X: Array, some: list[FeatureGroup], pretrained: Array) -> BagSet:
        bags = hand_made
        return BagSet(X, bags.offsets, bags.tags, bags.classes, groups=some, pretrained=pretrained)

    return {
        "hand_made": hand_made,
        "embedding": make(E, groups[1:], weights),
        "both": make(both, groups, np.concatenate([above, weights])),
    }


def _new_clips(bags: BagSet, train: Labels, test: Labels, *, background: bool) -> tuple[Labels, Array, Array]:
    """Return the test bags, their tag probabilities, and the class probabilities of their segments."""
    from miml_core.models.ored_lr import ORedLR

    learnt = train if background else np.intersect1d(train, _tagged(bags))
    model = ORedLR(background=background, leak=DEFAULT_LEAK).fit(bags[learnt])
    chosen = bags[test]
    return test, model.predict_tags(chosen), model.predict_proba(chosen.X)


def _given_tags(bags: BagSet, *, background: bool) -> Array:
    """Return the (N, C) or (N, C + 1) class probabilities given the tags.

    Without a background class, a clip without tags has rows of zeros.
    """
    from miml_core.models.ored_lr import ORedLR

    found = np.zeros((bags.n_segments, bags.n_classes + background))
    learnt = np.arange(bags.n_bags) if background else _tagged(bags)
    chosen = bags[learnt]
    found[bags.rows_of(learnt)] = ORedLR(background=background, leak=DEFAULT_LEAK).fit(chosen).annotate(chosen)
    return found


def _tagged(bags: BagSet) -> Labels:
    return np.flatnonzero((bags.tags > 0).any(axis=1))


def _figures(
    bags: BagSet,
    truth: Labels,
    clean: NDArray[np.bool_],
    folds: list[tuple[Labels, Array, Array]],
    given_probabilities: Array,
) -> dict[str, Any]:
    scores = np.zeros(bags.tags.shape)
    probabilities = np.zeros_like(given_probabilities)
    for test, tag_scores, found in folds:
        scores[test] = tag_scores
        probabilities[bags.rows_of(test)] = found
    predicted, given = _labels(probabilities, bags.n_classes), _labels(given_probabilities, bags.n_classes)
    every, named = np.ones(len(truth), dtype=bool), truth >= 0
    has_background = given_probabilities.shape[1] > bags.n_classes
    columns = np.where(named, truth, bags.n_classes if has_background else UNKNOWN)
    return {
        "new_clips": {
            "calibration_error": round(calibration_error(columns, probabilities), 4),
            "all": _share(predicted, truth, every),
            "segments": _share(predicted, truth, named),
            **_tag_figures(bags.tags, scores),
        },
        "given_tags": {
            "calibration_error": round(calibration_error(columns, given_probabilities), 4),
            "all": _share(given, truth, every),
            "named": _share(given, truth, named),
            "clean": _share(given, truth, clean),
        },
    }


def _labels(probabilities: Array, n_classes: int) -> Labels:
    """Return the most likely class; background also for a row of zeros."""
    best = probabilities.argmax(axis=1)
    return np.where(probabilities.any(axis=1) & (best < n_classes), best, BACKGROUND)


def _untrained(
    recordings: Sequence[SegmentedRecording], bags: BagSet, species: dict[str, tuple[str, str]]
) -> dict[str, Any]:
    """Return how well BirdNET's scores of clips rank the classes that are its species."""
    from miml_core.features.birdnet.species import find_species

    names = [species.get(label, ("", label)) for label in bags.classes]
    found = [find_species(english, scientific) for scientific, english in names]
    columns = [column for column, one in enumerate(found) if one is not None]
    indices = [one.index for one in found if one is not None]
    if not columns:
        return {"known_classes": 0}
    scores = np.stack([np.asarray(one.clip_scores)[indices] for one in recordings])
    return {"known_classes": len(columns), **_tag_figures(bags.tags[:, columns], scores)}


def _tag_figures(tags: NDArray[np.int8], scores: Array) -> dict[str, float]:
    return {
        "tags_average_precision": round(average_precision(tags, scores), 4),
        "tags_average_precision_per_class": round(class_average_precision(tags, scores), 4),
    }


def _share(labels: Labels, truth: Labels, among: NDArray[np.bool_]) -> float | None:
    return round(float((labels == truth)[among].mean()), 4) if among.any() else None
