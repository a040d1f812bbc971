"""The simulated annotator: what its actions cost, its model, and what it reads from predictions."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from miml_core.bags import BACKGROUND, UNKNOWN, BagSet
from miml_core.models.base import Model
from miml_core.posterior import DEFAULT_LEAK
from miml_core.review.queue import top_two

Labels = NDArray[np.int64]

TYPED, ACCEPTED, CORRECTED, TILE = 3.0, 1.0, 1.5, 0.2
"""Seconds per typed tag or label, accepted suggestion, corrected segment, and tile that is looked at on the wall."""

SCREEN = 60


@dataclass(frozen=True)
class Point:
    """After some seconds, the share of segments whose label, given or predicted, is right."""

    seconds: float
    accuracy: float


@dataclass
class AccuracyCurve:
    """Accuracy of one strategy of labelling against the seconds it took.

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
        >>> AccuracyCurve([Point(10, 0.9), Point(20, 0.96)]).reached(0.95)
        20
        """
        return next((point.seconds for point in self.points if point.accuracy >= accuracy), None)

    def delayed_by(self, seconds: float) -> AccuracyCurve:
        """Return the same curve, begun after other work of some seconds."""
        later = [Point(round(seconds + one.seconds, 1), one.accuracy) for one in (*self.points, self.stopped) if one]
        return AccuracyCurve(later) if self.stopped is None else AccuracyCurve(later[:-1], later[-1])

    def add(self, seconds: float, accuracy: float) -> None:
        """Add a point, rounded."""
        self.points.append(Point(round(seconds, 1), round(accuracy, 4)))


def wall_screen(probabilities: NDArray[np.float64], open_: Labels) -> Labels:
    """Return the segments of the screen whose predictions are the most doubtful."""
    top, probability, _ = top_two(probabilities)
    screens = []
    for column in np.unique(top[open_]):
        mine = open_[top[open_] == column]
        screens.append(mine[np.argsort(probability[mine], kind="stable")[:SCREEN]])
    return min(screens, key=lambda screen: float(probability[screen].mean()))


def fit_model(bags: BagSet, earlier: Model | None = None) -> Model:
    """Return the annotator's model of the bags: ORed logistic regression with a background."""
    from miml_core.models.ored_lr import ORedLR

    return ORedLR(background=True, leak=DEFAULT_LEAK).fit(bags, warm_start=earlier)


def bags_with_labels(bags: BagSet, truth: Labels, rows: Labels) -> BagSet:
    """Return the bags with the true labels of some rows added."""
    labels = bags.labels.copy()
    labels[rows] = truth[rows]
    return bags.replace(labels=labels)


def labels_of(probabilities: NDArray[np.float64], bags: BagSet) -> Labels:
    """Return the label of each segment: given, or the likeliest."""
    best = top_two(probabilities)[0]
    predicted = np.where(best == bags.n_classes, BACKGROUND, best)
    return np.where(bags.labels == UNKNOWN, predicted, bags.labels)


def accuracy_of(model: Model, bags: BagSet, truth: Labels) -> float:
    """Return the share of segments whose label, given or predicted, is right."""
    return float((labels_of(model.annotate(bags), bags) == truth).mean())
