"""Tagging by the simulated annotator: what it costs, and when the wall would correct more in the same time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from miml_core.bags import BagSet
from miml_core.models.base import Model
from miml_core.review.annotator import (
    ACCEPTED,
    CORRECTED,
    TILE,
    TYPED,
    AccuracyCurve,
    Labels,
    accuracy_of,
    fit_model,
    wall_screen,
)
from miml_core.review.queue import top_two
from miml_core.review.suggestions import LEAST_PROBABILITY, MOST_SUGGESTIONS, rank_tags

FIRST_BAGS, GROWTH = 5, 1.15
LEAST_BATCHES = 20
"""Batches of tagged bags, of that growing size, before it is asked whether tagging pays: 74 bags."""


@dataclass(frozen=True, eq=False)
class PartlyTagged:
    """The tags at the time when tagging no longer paid, what they cost with suggestions, and their model."""

    tags: NDArray[np.int8]
    seconds: float
    model: Model


@dataclass
class TaggedBags:
    """What tagging cost, and the model of all tags.

    Attributes
    ----------
    typed, suggested : list of float
        Seconds up to each time the model was trained: all tags typed, and those accepted that the model suggested.
    accuracies : list of float
        Share of right segments each time, also of bags that are not tagged yet.
    n_suggested : int
        Number of tags that were suggested.
    model : Model
    some : PartlyTagged
        As long as tagging paid.
    """

    typed: list[float]
    suggested: list[float]
    accuracies: list[float]
    n_suggested: int
    model: Model
    some: PartlyTagged

    def curve(self, seconds: list[float]) -> AccuracyCurve:
        """Return the accuracies against `typed` or `suggested` seconds."""
        found = AccuracyCurve()
        for each, accuracy in zip(seconds, self.accuracies):
            found.add(each, accuracy)
        return found


def tag_bags(bags: BagSet, truth: Labels, seed: int = 0) -> TaggedBags:
    """Tag all bags, the first ones at random; tags are suggested by the model of the bags that are tagged already."""
    left = np.random.default_rng(seed).permutation(bags.n_bags)
    known = bags.replace(tags=np.zeros_like(bags.tags))
    typed, suggested, accuracies = [0.0], [0.0], [0.0]
    n_suggested = 0
    model: Model | None = None
    some: PartlyTagged | None = None
    gains: list[tuple[int, float]] = []
    while len(left):
        done = bags.n_bags - len(left)
        if model is not None:
            left = left[np.argsort(-worth_tagging(model, known)[left], kind="stable")]
        chosen, left = np.split(left, [max(1, max(FIRST_BAGS, round(GROWTH * done)) - done)])
        n_tags = int((bags.tags[chosen] > 0).sum())
        found = changed = 0
        if model is not None:
            found = count_suggested(model.predict_tags(known[chosen]), bags.tags[chosen])
            changed = count_changed(model, known[chosen], bags[chosen])
        seconds = ACCEPTED * found + TYPED * (n_tags - found)
        tags = known.tags.copy()
        tags[chosen] = bags.tags[chosen]
        known = bags.replace(tags=tags)
        typed.append(typed[-1] + TYPED * n_tags)
        suggested.append(suggested[-1] + seconds)
        model = fit_model(known)
        accuracies.append(accuracy_of(model, known, truth))
        n_suggested += found
        gains.append((changed, seconds))
        if some is None and not (len(left) and tagging_pays(gains, model.annotate(known))):
            some = PartlyTagged(tags, suggested[-1], model)
    assert model is not None and some is not None
    return TaggedBags(typed[1:], suggested[1:], accuracies[1:], n_suggested, model, some)


def tagging_pays(gains: Sequence[tuple[int, float]], probabilities: NDArray[np.float64]) -> bool:
    """Return whether tags still correct more segments per second than the wall is expected to.

    Parameters
    ----------
    gains : sequence of (int, float)
        For each batch of tagged bags, how many labels of its segments the tags changed, and what they cost. The latest
        two decide; before there are `LEAST_BATCHES`, tagging always pays, since the model has to learn first.
    probabilities : (n, C) float
        Of all segments, as the model predicts them now: its next screen of the wall is the alternative.

    Examples
    --------
    >>> unsure = np.full((60, 2), 0.5)  # 30 wrong ones on a screen take 57 seconds
    >>> tagging_pays([(30, 10.0)] * LEAST_BATCHES, unsure), tagging_pays([(3, 10.0)] * LEAST_BATCHES, unsure)
    (True, False)
    """
    if len(gains) < LEAST_BATCHES:
        return True
    changed, seconds = np.sum(gains[-2:], axis=0)
    screen = wall_screen(probabilities, np.arange(len(probabilities)))
    wrong = float((1.0 - top_two(probabilities)[1][screen]).sum())
    return bool(changed * (TILE * len(screen) + CORRECTED * wrong) >= wrong * seconds)


def count_changed(model: Model, before: BagSet, after: BagSet) -> int:
    """Return how many segments have another label when the tags of their bags are known."""
    return int((top_two(model.annotate(before))[0] != top_two(model.annotate(after))[0]).sum())


def count_suggested(probabilities: NDArray[np.float64], tags: NDArray[np.int8]) -> int:
    """Return how many present tags are among the suggestions that the Tag page shows.

    Examples
    --------
    >>> count_suggested(np.array([[0.9, 0.05, 0.5]]), np.array([[1, 1, -1]]))
    1
    """
    found = 0
    for row, present in zip(probabilities, tags > 0):
        shown = [c for c, p in rank_tags(row, range(len(row)), ()) if p >= LEAST_PROBABILITY][:MOST_SUGGESTIONS]
        found += int(present[shown].sum())
    return found


def worth_tagging(model: Model, bags: BagSet) -> NDArray[np.float64]:
    """Return a number per bag by which bags are offered for tagging, the largest first (the app's sort "doubt").

    It is the square of the number of segments that the model expects to be wrong, divided by the number of segments:
    of bags that are equally doubtful the longer one, which has more to gain, but also more tags to type. The order
    between the two was chosen on HJA using its true labels.
    """
    doubt = np.concatenate([[0.0], np.cumsum(1.0 - top_two(model.annotate(bags))[1])])
    expected = doubt[bags.offsets[1:]] - doubt[bags.offsets[:-1]]
    return np.asarray(expected**2 / np.maximum(np.diff(bags.offsets), 1))
