"""What accepting all predictions above a threshold would mean: how many there are, and how many of them are right."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from miml_core.evaluation.reliability import reliability
from miml_core.review.class_quality import Share

FEWEST_CHECKED = 30
"""With fewer checked segments only the predicted probabilities are used."""
_AS_GOOD_AS = 10
"""The probabilities count as much as this many checked segments in each bin of the reliability diagram."""
_BINS = 10


@dataclass(frozen=True, eq=False)
class OpenPredictions:
    """Counts of the predictions that nobody has labelled, by probability.

    Parameters
    ----------
    counts : (m + 1,) int
        Number of predictions in each of `m` equal parts of 0 to 1, then of those that are exactly 1.
    totals : (m + 1,) float
        Sum of their probabilities.
    """

    counts: NDArray[np.int64]
    totals: NDArray[np.float64]

    @classmethod
    def of(cls, probabilities: ArrayLike, parts: int = 100) -> OpenPredictions:
        """Count predictions by their probability."""
        values = np.asarray(probabilities, dtype=np.float64)
        which = np.searchsorted(np.arange(parts + 1) / parts, values, side="right") - 1
        totals = np.bincount(which, weights=values, minlength=parts + 1)
        return cls(np.bincount(which, minlength=parts + 1), totals.astype(np.float64))


@dataclass(frozen=True)
class ThresholdOutlook:
    """What to expect of the predictions of at least `threshold`."""

    threshold: float
    n: int
    """How many predictions that is."""
    n_errors: float
    """How many of them are expected to be wrong."""
    checked: Share
    """Of the checked segments of such a probability, those that were right."""

    @property
    def share_right(self) -> float | None:
        """The expected share of right ones; None of no predictions."""
        return 1.0 - self.n_errors / self.n if self.n else None


def outlook(
    threshold: float, predictions: OpenPredictions, checked_probabilities: ArrayLike, right: ArrayLike
) -> ThresholdOutlook:
    """Return what to expect of all open predictions of at least `threshold`.

    Probabilities are corrected by what people found in segments of about the same probability, if they checked enough.

    Parameters
    ----------
    threshold : float
        From 0 to 1, a multiple of the parts of `predictions`.
    predictions : OpenPredictions
    checked_probabilities : (n,) float
        Probabilities of the predictions that people checked.
    right : (n,) bool
        Whether these were right.

    Examples
    --------
    >>> waiting = OpenPredictions.of(np.full(1000, 0.95))
    >>> round(outlook(0.9, waiting, [], []).n_errors)
    50
    >>> round(outlook(0.9, waiting, np.full(90, 0.95), np.arange(90) < 60).n_errors)  # people found 67 % right
    305
    """
    probability, is_right = np.asarray(checked_probabilities, dtype=np.float64), np.asarray(right, dtype=bool)
    parts = len(predictions.counts) - 1
    first = round(threshold * parts)
    expected = predictions.totals.copy()
    if len(probability) >= FEWEST_CHECKED:
        middles = np.minimum((np.arange(parts + 1) + 0.5) / parts, 1 - 0.5 / parts)
        for bin_ in reliability(probability, is_right, _BINS):
            offset = (bin_.share_right - bin_.mean_probability) * bin_.count / (bin_.count + _AS_GOOD_AS)
            inside = (middles >= bin_.low) & (middles < bin_.high)
            expected[inside] += predictions.counts[inside] * offset
    expected = np.clip(expected, 0.0, predictions.counts)
    above = probability >= threshold
    n = int(predictions.counts[first:].sum())
    return ThresholdOutlook(
        threshold, n, float(n - expected[first:].sum()), Share.of(int(is_right[above].sum()), int(above.sum()))
    )
