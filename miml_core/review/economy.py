"""Measure what correct labels cost: a simulated annotator labels a set of known truth, and its seconds are counted.

Ways to label all segments of a set:

* one by one: the label of each segment is typed, in random order; a model that learns from these labels only predicts
  the rest. Labelling every segment in this way is what all seconds are compared with.
* tags only: the tags of each bag are typed, or accepted where the model suggests them. The model learns from the bags
  that are tagged so far; it is trained again when their number has grown by `GROWTH`.
* tags and least sure: then segments are reviewed one at a time, those with the smallest lead first; a right one is
  accepted, a wrong one is corrected.
* tags and wall: instead, the segments of one predicted class are looked at on screens of `SCREEN` tiles, doubtful ones
  first; wrong ones are corrected, the others are accepted by one key. The next screen is of the class whose next tiles
  are most doubtful.

In both, the model is trained again from the previous one after a screen's number of segments (later, when a tenth more
were reviewed). The annotator stops by a rule that does not know the truth: the model's probabilities predict how many
of the segments left are wrong, corrected by how many of those reviewed before were (`predicted_errors`). Orders,
suggestions and the model are those of the app.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miml_core.bags import BACKGROUND, UNKNOWN, BagSet
from miml_core.models.base import Model
from miml_core.posterior import DEFAULT_LEAK
from miml_core.review.queue import top_two
from miml_core.review.suggestions import LEAST_PROBABILITY, MOST_SUGGESTIONS, rank_tags

Labels = NDArray[np.int64]

TYPED, ACCEPTED, CORRECTED, TILE = 3.0, 1.0, 1.5, 0.2
"""Seconds per typed tag or label, accepted suggestion, corrected segment, and tile that is looked at on the wall."""

SCREEN = 60
TARGET = 0.95
FIRST_BAGS, GROWTH = 5, 1.3
LABELLED_SHARES = (0.02, 0.05, 0.1, 0.2, 0.4, 0.7)
MOST_SECONDS = 0.5
"""Reviewing is given up after this share of the seconds of labelling one by one."""
LEAST_DOUBT = 0.01
"""No prediction is taken to be surer than this."""


@dataclass(frozen=True)
class Point:
    """After some seconds, the share of segments whose label, given or predicted, is right."""

    seconds: float
    accuracy: float


@dataclass
class Way:
    """One way to label a set.

    Attributes
    ----------
    points : list of Point
        Accuracy against seconds.
    stopped : Point, optional
        Where the annotator stopped without knowing the truth.
    """

    points: list[Point] = field(default_factory=list)
    stopped: Point | None = None

    def reached(self, accuracy: float) -> float | None:
        """Return the seconds after which the accuracy was reached, if it was.

        Examples
        --------
        >>> Way([Point(10, 0.9), Point(20, 0.96)]).reached(0.95)
        20
        """
        return next((point.seconds for point in self.points if point.accuracy >= accuracy), None)

    def add(self, seconds: float, accuracy: float) -> None:
        self.points.append(Point(round(seconds, 1), round(accuracy, 4)))


N_STEPS = 4
"""Number of times that `measure_economy` calls its `step`."""


def measure_economy(
    bags: BagSet, truth: Labels, seed: int = 0, step: Callable[[], None] = lambda: None
) -> dict[str, Any]:
    """Return accuracy against seconds for every way to label a set.

    Parameters
    ----------
    bags : BagSet
        With the true tags, and without labels.
    truth : (N,) int
        Class of each segment, one of its bag's tags, or `BACKGROUND`.
    seed : int
        Determines the order of bags and segments.
    step : callable
        Called after each way.

    Returns
    -------
    dict
        "one_by_one_seconds", and "ways": by name, the points, those where the annotator stopped, and the share of the
        seconds of labelling one by one at which `TARGET` was reached.
    """
    ways = {"segments one by one": label_one_by_one(bags, truth, seed)}
    step()
    tagged = tag_bags(bags, truth, seed)
    step()
    for name, seconds in (("", tagged.typed), (", with suggestions", tagged.suggested)):
        ways[f"tags only{name}"] = tagged.way(seconds)
    for review in (review_least_sure, review_wall):
        found = review(bags, truth, tagged.model)
        step()
        for name, seconds in (("", tagged.typed), (", with suggestions", tagged.suggested)):
            later = Way([Point(round(seconds[-1] + one.seconds, 1), one.accuracy) for one in found.points])
            if found.stopped is not None:
                later.stopped = Point(round(seconds[-1] + found.stopped.seconds, 1), found.stopped.accuracy)
            ways[f"tags and {review.__name__.removeprefix('review_').replace('_', ' ')}{name}"] = later
    every = TYPED * bags.n_segments
    return {
        "segments": bags.n_segments,
        "tags": int((bags.tags > 0).sum()),
        "suggested_tags": tagged.n_suggested,
        "one_by_one_seconds": every,
        "ways": {name: _figures(way, every) for name, way in ways.items()},
    }


def _figures(way: Way, every: float) -> dict[str, Any]:
    def share(seconds: float | None) -> float | None:
        return None if seconds is None else round(seconds / every, 4)

    return {
        "points": [asdict(point) for point in way.points],
        "target_share_of_seconds": share(way.reached(TARGET)),
        "stopped": None if way.stopped is None else asdict(way.stopped),
        "stopped_share_of_seconds": share(way.stopped.seconds if way.stopped else None),
    }


# segments one by one


def label_one_by_one(bags: BagSet, truth: Labels, seed: int = 0) -> Way:
    """Return the accuracy of typed labels and of a model that learns from them only; no tag is known."""
    way, order = Way(), np.random.default_rng(seed).permutation(bags.n_segments)
    untagged = bags.replace(tags=np.zeros_like(bags.tags))
    for share in LABELLED_SHARES:
        labelled = _with_labels(untagged, truth, order[: max(1, round(share * len(order)))])
        way.add(TYPED * int((labelled.labels != UNKNOWN).sum()), _accuracy(_fit(labelled), labelled, truth))
    way.add(TYPED * bags.n_segments, 1.0)
    return way


# tags


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
    """

    typed: list[float]
    suggested: list[float]
    accuracies: list[float]
    n_suggested: int
    model: Model

    def way(self, seconds: list[float]) -> Way:
        found = Way()
        for each, accuracy in zip(seconds, self.accuracies):
            found.add(each, accuracy)
        return found


def tag_bags(bags: BagSet, truth: Labels, seed: int = 0) -> TaggedBags:
    """Tag all bags in random order; tags are suggested by the model of the bags that are tagged already."""
    order = np.random.default_rng(seed).permutation(bags.n_bags)
    tags = np.zeros_like(bags.tags)
    typed, suggested, accuracies = [0.0], [0.0], [0.0]
    done = n_suggested = 0
    model: Model | None = None
    while done < bags.n_bags:
        until = min(bags.n_bags, max(FIRST_BAGS, round(GROWTH * done)))
        chosen = order[done:until]
        n_tags = int((bags.tags[chosen] > 0).sum())
        found = 0 if model is None else count_suggested(model.predict_tags(bags[chosen]), bags.tags[chosen])
        tags[chosen] = bags.tags[chosen]
        typed.append(typed[-1] + TYPED * n_tags)
        suggested.append(suggested[-1] + ACCEPTED * found + TYPED * (n_tags - found))
        so_far = bags.replace(tags=tags.copy())
        model = _fit(so_far)
        accuracies.append(_accuracy(model, so_far, truth))
        done, n_suggested = until, n_suggested + found
    assert model is not None
    return TaggedBags(typed[1:], suggested[1:], accuracies[1:], n_suggested, model)


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


# review


def review_least_sure(bags: BagSet, truth: Labels, model: Model) -> Way:
    """Review segments one at a time, those with the smallest lead first."""

    def choose(probabilities: NDArray[np.float64], open_: Labels) -> Labels:
        lead = top_two(probabilities)[2]
        return open_[np.argsort(lead[open_], kind="stable")[:SCREEN]]

    return _review(bags, truth, model, choose, right=ACCEPTED, wrong=CORRECTED)


def review_wall(bags: BagSet, truth: Labels, model: Model) -> Way:
    """Review screens of segments of one predicted class, doubtful ones first."""

    def choose(probabilities: NDArray[np.float64], open_: Labels) -> Labels:
        top, probability, _ = top_two(probabilities)
        screens = []
        for column in np.unique(top[open_]):
            mine = open_[top[open_] == column]
            screens.append(mine[np.argsort(probability[mine], kind="stable")[:SCREEN]])
        return min(screens, key=lambda screen: float(probability[screen].mean()))

    return _review(bags, truth, model, choose, right=TILE, wrong=TILE + CORRECTED)


def _review(
    bags: BagSet,
    truth: Labels,
    model: Model,
    choose: Callable[[NDArray[np.float64], Labels], Labels],
    *,
    right: float,
    wrong: float,
) -> Way:
    """Review until the target is reached and the annotator has stopped, or nothing is left, or it takes too long."""
    way, seconds, known = Way(), 0.0, bags
    wrong_before: list[bool] = []
    doubt_before: list[float] = []
    learnt = 0
    while True:
        probabilities = model.annotate(known)
        labels, doubt = _labels(probabilities, known), np.maximum(1.0 - top_two(probabilities)[1], LEAST_DOUBT)
        accuracy = float((labels == truth).mean())
        way.add(seconds, accuracy)
        open_ = np.flatnonzero(known.labels == UNKNOWN)
        left = predicted_errors(doubt[open_], doubt_before, wrong_before)
        if way.stopped is None and left <= (1.0 - TARGET) * bags.n_segments:
            way.stopped = way.points[-1]
        done = way.stopped is not None and way.reached(TARGET) is not None
        if done or not len(open_) or seconds > MOST_SECONDS * TYPED * bags.n_segments:
            return way
        screen = choose(probabilities, open_)
        is_wrong = (labels != truth)[screen]
        seconds += float(np.where(is_wrong, wrong, right).sum())
        wrong_before += is_wrong.tolist()
        doubt_before += doubt[screen].tolist()
        known = _with_labels(known, truth, screen)
        if len(wrong_before) - learnt >= max(SCREEN, learnt // 10):
            model, learnt = _fit(known, model), len(wrong_before)


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


# helpers


def _fit(bags: BagSet, earlier: Model | None = None) -> Model:
    from miml_core.models.ored_lr import ORedLR

    return ORedLR(background=True, leak=DEFAULT_LEAK).fit(bags, warm_start=earlier)


def _with_labels(bags: BagSet, truth: Labels, rows: Labels) -> BagSet:
    labels = bags.labels.copy()
    labels[rows] = truth[rows]
    return bags.replace(labels=labels)


def _labels(probabilities: NDArray[np.float64], bags: BagSet) -> Labels:
    """Return the label of each segment: given, or the likeliest."""
    best = top_two(probabilities)[0]
    predicted = np.where(best == bags.n_classes, BACKGROUND, best)
    return np.where(bags.labels == UNKNOWN, predicted, bags.labels)


def _accuracy(model: Model, bags: BagSet, truth: Labels) -> float:
    return float((_labels(model.annotate(bags), bags) == truth).mean())
