"""Measure what correct labels cost: a simulated annotator labels a set of known truth, and its seconds are counted.

Ways to label all segments of a set:

* one by one: the label of each segment is typed, in random order; a model that learns from these labels only predicts
  the rest. Labelling every segment in this way is what all seconds are compared with.
* tags only: the tags of each bag are typed, or accepted where the model suggests them. The model learns from the bags
  that are tagged so far; it is trained again when their number has grown by 15 %. Then those bags come next in which it
  expects the most errors, for their length (`worth_tagging`).
* tags and least sure: then segments are reviewed one at a time, those with the smallest lead first; a right one is
  accepted, a wrong one is corrected.
* tags and wall: instead, the segments of one predicted class are looked at on screens of `SCREEN` tiles, doubtful ones
  first; wrong ones are corrected, the others are accepted by one key. The next screen is of the class whose next tiles
  are most doubtful.

* some tags and wall: the same, but bags are tagged only as long as that pays: tags change labels of segments, and when
  those of the latest bags have changed fewer per second than the wall is expected to correct, the wall begins
  (`tagging_pays`). Segments of bags without tags are on the wall like the others.

In a review the model is trained again from the previous one after a screen's number of segments (later, when a tenth
more were reviewed). The annotator stops by a rule that does not know the truth: the model's probabilities predict how
many of the segments left are wrong, corrected by how many of the latest reviewed were (`predicted_errors`). Orders,
suggestions and the model are those of the app.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miml_core.bags import UNKNOWN, BagSet
from miml_core.models.base import Model
from miml_core.progress import Progress, ignore_progress
from miml_core.review.annotator import (
    ACCEPTED,
    CORRECTED,
    SCREEN,
    TILE,
    TYPED,
    AccuracyCurve,
    Labels,
    accuracy_of,
    bags_with_labels,
    fit_model,
    labels_of,
    wall_screen,
)
from miml_core.review.economy_tagging import tag_bags
from miml_core.review.queue import top_two

TARGET = 0.95
LABELLED_SHARES = (0.02, 0.05, 0.1, 0.2, 0.4, 0.7)
MOST_SECONDS = 0.5
"""Reviewing ends after this share of the seconds of labelling one by one."""
LEAST_REVIEWED = 2 * SCREEN
"""Segments that are reviewed before the annotator trusts the number of errors expected."""
RECENT = 3 * SCREEN
"""The latest segments reviewed are the most like those left: only these correct the number of errors expected."""
LEAST_DOUBT = 0.01
"""No prediction is taken to be surer than this."""

N_STEPS = 5
"""Number of steps that `measure_economy` reports."""


def measure_economy(bags: BagSet, truth: Labels, seed: int = 0, progress: Progress = ignore_progress) -> dict[str, Any]:
    """Return accuracy against seconds for every strategy of labelling a set.

    Parameters
    ----------
    bags : BagSet
        With the true tags, and without labels.
    truth : (N,) int
        Class of each segment, one of its bag's tags, or `BACKGROUND`.
    seed : int
        Determines the order of bags and segments.
    progress : Progress
        Called after each curve.

    Returns
    -------
    dict
        "one_by_one_seconds", and "ways": by name, the points, those where the annotator stopped, and the share of the
        seconds of labelling one by one at which `TARGET` was reached.
    """
    curves = {"segments one by one": label_one_by_one(bags, truth, seed)}
    progress(1, N_STEPS, {})
    tagged = tag_bags(bags, truth, seed)
    progress(2, N_STEPS, {})
    for name, seconds in (("", tagged.typed), (", with suggestions", tagged.suggested)):
        curves[f"tags only{name}"] = tagged.curve(seconds)
    for done, review, then in ((3, review_least_sure, "least sure"), (4, review_wall, "wall")):
        found = review(bags, truth, tagged.model)
        progress(done, N_STEPS, {})
        for name, seconds in (("", tagged.typed), (", with suggestions", tagged.suggested)):
            curves[f"tags and {then}{name}"] = found.delayed_by(seconds[-1])
    some = tagged.some
    found = review_wall(bags.replace(tags=some.tags), truth, some.model)
    progress(N_STEPS, N_STEPS, {})
    curves["some tags and wall, with suggestions"] = found.delayed_by(some.seconds)
    every = TYPED * bags.n_segments
    return {
        "segments": bags.n_segments,
        "tags": int((bags.tags > 0).sum()),
        "suggested_tags": tagged.n_suggested,
        "bags": bags.n_bags,
        "tagged_until_wall": int((some.tags != 0).any(axis=1).sum()),
        "one_by_one_seconds": every,
        "ways": {name: _figures(curve, every) for name, curve in curves.items()},
    }


def _figures(curve: AccuracyCurve, every: float) -> dict[str, Any]:
    def share(seconds: float | None) -> float | None:
        return None if seconds is None else round(seconds / every, 4)

    return {
        "points": [asdict(point) for point in curve.points],
        "target_share_of_seconds": share(curve.reached(TARGET)),
        "stopped": None if curve.stopped is None else asdict(curve.stopped),
        "stopped_share_of_seconds": share(curve.stopped.seconds if curve.stopped else None),
    }


# segments one by one


def label_one_by_one(bags: BagSet, truth: Labels, seed: int = 0) -> AccuracyCurve:
    """Return the accuracy of typed labels and of a model that learns from them only; no tag is known."""
    curve, order = AccuracyCurve(), np.random.default_rng(seed).permutation(bags.n_segments)
    untagged = bags.replace(tags=np.zeros_like(bags.tags))
    for share in LABELLED_SHARES:
        labelled = bags_with_labels(untagged, truth, order[: max(1, round(share * len(order)))])
        curve.add(TYPED * int((labelled.labels != UNKNOWN).sum()), accuracy_of(fit_model(labelled), labelled, truth))
    curve.add(TYPED * bags.n_segments, 1.0)
    return curve


# review


def review_least_sure(bags: BagSet, truth: Labels, model: Model) -> AccuracyCurve:
    """Review segments one at a time, those with the smallest lead first."""

    def choose(probabilities: NDArray[np.float64], open_: Labels) -> Labels:
        lead = top_two(probabilities)[2]
        return open_[np.argsort(lead[open_], kind="stable")[:SCREEN]]

    return _review(bags, truth, model, choose, right=ACCEPTED, wrong=CORRECTED)


def review_wall(bags: BagSet, truth: Labels, model: Model) -> AccuracyCurve:
    """Review screens of segments of one predicted class, doubtful ones first."""

    return _review(bags, truth, model, wall_screen, right=TILE, wrong=TILE + CORRECTED)


def _review(
    bags: BagSet,
    truth: Labels,
    model: Model,
    choose: Callable[[NDArray[np.float64], Labels], Labels],
    *,
    right: float,
    wrong: float,
) -> AccuracyCurve:
    """Review until the target is reached and the annotator has stopped, or nothing is left, or it takes too long."""
    curve, seconds, known = AccuracyCurve(), 0.0, bags
    wrong_before: list[bool] = []
    doubt_before: list[float] = []
    learnt = 0
    while True:
        probabilities = model.annotate(known)
        labels, doubt = labels_of(probabilities, known), np.maximum(1.0 - top_two(probabilities)[1], LEAST_DOUBT)
        accuracy = float((labels == truth).mean())
        curve.add(seconds, accuracy)
        open_ = np.flatnonzero(known.labels == UNKNOWN)
        left = predicted_errors(doubt[open_], doubt_before[-RECENT:], wrong_before[-RECENT:])
        enough = len(wrong_before) >= LEAST_REVIEWED or not len(open_)
        if curve.stopped is None and enough and left <= (1.0 - TARGET) * bags.n_segments:
            curve.stopped = curve.points[-1]
        done = curve.stopped is not None and curve.reached(TARGET) is not None
        if done or not len(open_) or seconds > MOST_SECONDS * TYPED * bags.n_segments:
            return curve
        screen = choose(probabilities, open_)
        is_wrong = (labels != truth)[screen]
        seconds += float(np.where(is_wrong, wrong, right).sum())
        wrong_before += is_wrong.tolist()
        doubt_before += doubt[screen].tolist()
        known = bags_with_labels(known, truth, screen)
        if len(wrong_before) - learnt >= max(SCREEN, learnt // 10):
            model, learnt = fit_model(known, model), len(wrong_before)


def predicted_errors(doubt: NDArray[np.float64], reviewed_doubt: Sequence[float], wrong: Sequence[bool]) -> float:
    """Return how many of the segments left are expected to be wrong.

    Parameters
    ----------
    doubt : (n,) float
        One minus the probability of the likeliest class, of the segments left.
    reviewed_doubt : sequence of m float
        The same of segments that were reviewed, at that time.
    wrong : sequence of m bool
        Whether these were wrong. If they were wrong more often than the probabilities predicted, so are the others.

    Examples
    --------
    >>> predicted_errors(np.full(100, 0.125), [0.25] * 8, [True] * 4 + [False] * 4)
    25.0
    >>> predicted_errors(np.full(100, 0.1), [], [])
    inf
    """
    if not len(wrong):
        return float("inf")
    return float(doubt.sum() * np.sum(wrong) / max(np.sum(reviewed_doubt), 1e-9))
