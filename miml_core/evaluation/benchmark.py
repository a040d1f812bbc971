"""Measure a model on a data set: its labels of the segments it was trained on, and of those of other bags."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miml_core.bags import UNKNOWN, BagSet
from miml_core.evaluation import metrics
from miml_core.evaluation.configurations import make_model, training_bags
from miml_core.evaluation.data_sets import DataSet
from miml_core.evaluation.published import published
from miml_core.evaluation.reliability import expected_calibration_error
from miml_core.models.gp_probit import GPProbit
from miml_core.progress import Progress, ignore_progress

Truth = NDArray[np.int64]
Array = NDArray[np.float64]
Confidence = tuple[Array, NDArray[np.bool_]]
MEASURES = (
    *("transductive", "inductive", "bag_accuracy"),
    *("hamming_loss", "ranking_loss", "average_precision", "one_error", "coverage"),
    *("each_auc", "each_log_likelihood"),
)


def measure(data: DataSet, name: str, *, folds: int, seed: int, progress: Progress = ignore_progress) -> dict[str, Any]:
    """Return one row of the benchmark; `progress` is called after each fit (one, and one per fold)."""
    row: dict[str, Any] = {"set": data.name, "model": name, "bags": data.bags.n_bags, "segments": data.bags.n_segments}
    row |= _transductive(data, name, seed)
    parts = list(bag_folds(data.bags.n_bags, folds, seed))
    progress(1, 1 + len(parts), {})
    scores, segments, tags = [], [], []
    for number, (train, test) in enumerate(parts, start=2):
        score, of_segments, of_tags = _inductive(data, name, train, test, seed)
        scores.append(score)
        segments.append(of_segments)
        tags.append(of_tags)
        progress(number, 1 + len(parts), {})
    row |= _calibration("inductive", segments) | _calibration("tags", tags)
    for key in scores[0] if scores else ():
        values = np.array([score[key] for score in scores])
        row[key], row[f"{key}_sd"] = float(np.nanmean(values)), float(np.nanstd(values))
    row["published"] = {
        key: {"value": figure.value, "source": figure.source}
        for key in MEASURES
        if (figure := published(data.name, name, key)) is not None
    }
    return row


def bag_folds(n_bags: int, folds: int, seed: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield the training and test bags of each fold; the segments of a bag stay together."""
    order = np.random.default_rng(seed).permutation(n_bags)
    for fold in range(min(folds, n_bags) if folds > 1 else 0):
        test = np.sort(order[fold::folds])
        yield np.setdiff1d(order, test), test


def _transductive(data: DataSet, name: str, seed: int) -> dict[str, float]:
    model = make_model(name, data, seed)
    began = time.perf_counter()
    model.fit(training_bags(name, data.bags, data.truth))
    row = {"seconds": time.perf_counter() - began}
    if data.truth is None:
        return row
    probabilities = model.annotate(data.bags)
    n_classes = data.bags.n_classes
    predicted = metrics.predicted_classes(probabilities, n_classes)
    if model.has_background:
        free_to_win = np.argmax(probabilities, axis=1)
        row["transductive_background_free"] = 100 * metrics.instance_accuracy(data.truth, free_to_win)
        if (data.truth < 0).any():
            row["background_of_unlabelled"] = 100 * float(np.mean(free_to_win[data.truth < 0] == n_classes))
    return row | {
        "transductive": 100 * metrics.instance_accuracy(data.truth, predicted),
        "transductive_macro_f1": 100 * metrics.macro_f1(data.truth, predicted),
        "transductive_log_likelihood": metrics.log_likelihood(data.truth, probabilities),
        "transductive_brier": metrics.brier_score(data.truth, probabilities),
        **_calibration("transductive", [_confidence(data, data.truth, probabilities)]),
        "key_instance_accuracy": metrics.key_instance_accuracy(
            data.truth, probabilities, data.bags.offsets, data.bags.tags
        ),
    }


def _inductive(
    data: DataSet, name: str, train: NDArray[np.int64], test: NDArray[np.int64], seed: int
) -> tuple[dict[str, float], Confidence, Confidence]:
    """Return figures of the held-out bags, and how sure of their segments and tags the model was, and rightly so."""
    held_out = data.bags[test]
    truth = None if data.truth is None else _rows(data.truth, data.bags, train)
    model = make_model(name, data, seed).fit(training_bags(name, data.bags[train], truth))
    probabilities = model.predict_proba(held_out.X)
    scores = model.predict_tags(held_out)
    n_classes, known = held_out.n_classes, held_out.tags != 0
    of_tags = scores[known], (held_out.tags > 0)[known]
    nothing = np.zeros(0), np.zeros(0, dtype=bool)
    if n_classes == 1:
        return {"bag_accuracy": 100 * float(((scores > 0.5) == (held_out.tags > 0)).mean())}, nothing, of_tags
    tags = metrics.union_tags(np.argmax(probabilities, axis=1), held_out.offsets, n_classes)
    row = metrics.bag_measures(held_out.tags, scores, tags)
    if data.truth is None:
        return row, nothing, of_tags
    truth = _rows(data.truth, data.bags, test)
    predicted = metrics.predicted_classes(probabilities, n_classes)
    if isinstance(model, GPProbit):
        row |= metrics.one_against_rest(truth, model.predict_each(held_out.X))
    row |= {
        "inductive": 100 * metrics.instance_accuracy(truth, predicted),
        "inductive_macro_f1": 100 * metrics.macro_f1(truth, predicted),
    }
    return row, _confidence(data, truth, probabilities), of_tags


def _confidence(data: DataSet, truth: Truth, probabilities: Array) -> Confidence:
    """Return the top probability of segments, and whether it is right.

    Where segments may be background and the model has a column for it, segments that nobody labelled count as
    background; otherwise they are left out.
    """
    n_classes = data.bags.n_classes
    if data.may_have_background and probabilities.shape[1] > n_classes:
        truth = np.where(truth < 0, n_classes, truth)
    known = truth >= 0
    return probabilities[known].max(axis=1), probabilities[known].argmax(axis=1) == truth[known]


def _calibration(name: str, found: list[Confidence]) -> dict[str, float]:
    """Return the expected calibration error over all folds together: few segments of one fold would raise it."""
    if not found or not sum(len(right) for _, right in found):
        return {}
    probability, right = (np.concatenate(parts) for parts in zip(*found))
    return {f"{name}_calibration_error": expected_calibration_error(probability, right)}


def _rows(values: Truth, bags: BagSet, chosen: NDArray[np.int64]) -> Truth:
    return np.concatenate([values[bags.rows(int(bag))] for bag in chosen])


def correct_some(data: DataSet, share: float, seed: int) -> tuple[BagSet, NDArray[np.bool_]]:
    """Return bags with the true labels of a random share of the segments, and (N,) which segments those are.

    A true class that the bag is tagged as not having is never used: a person would correct the tags first.
    """
    assert data.truth is not None
    allowed = np.flatnonzero(data.truth >= 0)
    allowed = allowed[data.bags.tags[data.bags.bag_of[allowed], data.truth[allowed]] >= 0]
    order = np.random.default_rng(seed).permutation(allowed)
    revealed = np.zeros(data.bags.n_segments, dtype=bool)
    revealed[order[: round(share * len(order))]] = True
    return data.bags.replace(labels=np.where(revealed, data.truth, UNKNOWN)), revealed


def measure_corrections(
    data: DataSet, name: str, shares: list[float], *, seed: int, progress: Progress = ignore_progress
) -> dict[str, Any]:
    """Return the accuracy on the segments without a correction, for each share of corrections (per cent)."""
    assert data.truth is not None
    row: dict[str, Any] = {"set": data.name, "model": name, "accuracy_on_the_rest": {}}
    for number, share in enumerate(shares, start=1):
        bags, revealed = correct_some(data, share / 100, seed)
        probabilities = make_model(name, data, seed).fit(bags).annotate(bags)
        predicted = metrics.predicted_classes(probabilities, bags.n_classes)
        rest = np.where(revealed, UNKNOWN, data.truth)
        row["accuracy_on_the_rest"][f"{share:g}"] = 100 * metrics.instance_accuracy(rest, predicted)
        progress(number, len(shares), {})
    return row
