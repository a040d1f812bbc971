"""What a threshold would mean, and how reliable each class is, on predictions whose truth is known."""

from __future__ import annotations

import numpy as np
import pytest

from miml_core.review.class_quality import class_quality
from miml_core.review.threshold import FEWEST_CHECKED, OpenPredictions, outlook

N = 20_000


def drawn(seed: int, too_sure: float) -> tuple[np.ndarray, np.ndarray]:
    """Return probabilities and whether each prediction is right; the true share is `p ** too_sure`."""
    rng = np.random.default_rng(seed)
    probability = rng.beta(4, 1, N)
    return probability, rng.uniform(size=N) < probability**too_sure


@pytest.mark.parametrize("too_sure", [1.0, 3.0])
@pytest.mark.parametrize("threshold", [0.5, 0.8, 0.95])
def test_expected_errors_are_those_found_later(too_sure, threshold):
    """Also where the model is too sure: 300 checked segments correct what it says of the other thousands."""
    probability, right = drawn(0, too_sure)
    checked, checked_right = drawn(1, too_sure)
    found = outlook(threshold, OpenPredictions.of(probability), checked[:300], checked_right[:300])
    above = probability >= threshold
    assert found.n == above.sum()
    assert found.n_errors / found.n == pytest.approx((above & ~right).sum() / above.sum(), abs=0.05)
    seen = checked[:300] >= threshold
    assert (found.checked.n, found.checked.n_right) == (seen.sum(), (seen & checked_right[:300]).sum())
    assert found.checked.low <= (above & right).sum() / above.sum() <= found.checked.high


def test_few_checked_segments_do_not_change_the_models_own_expectation():
    probability, _ = drawn(0, 1.0)
    wrong = np.zeros(FEWEST_CHECKED - 1, dtype=bool)
    own = outlook(0.9, OpenPredictions.of(probability), [], [])
    few = outlook(0.9, OpenPredictions.of(probability), np.full(len(wrong), 0.95), wrong)
    assert few.n_errors == own.n_errors and few.checked.n == len(wrong)
    assert own.n_errors == pytest.approx((1 - probability[probability >= 0.9]).sum(), rel=1e-6)


@pytest.mark.parametrize("threshold", [0.0, 0.29, 0.57, 0.9, 1.0])
def test_counts_are_those_of_the_probabilities(threshold):
    probability = np.array([0.0, 0.29, 0.5699, 0.57, 0.9, 0.999, 1.0, 1.0])
    found = outlook(threshold, OpenPredictions.of(probability), [], [])
    assert found.n == (probability >= threshold).sum()
    assert outlook(0.5, OpenPredictions.of([]), [], []).share_right is None


def test_precision_and_recall_of_each_class():
    guess = [1] * 10 + [2] * 5 + [-2] * 3
    truth = [1] * 8 + [2, -2] + [2] * 4 + [3] + [-2] * 3
    found = {one.class_id: one for one in class_quality(guess, truth)}
    assert sorted(found) == [-2, 1, 2, 3]
    assert (found[1].precision.value, found[1].recall.value) == (0.8, 1.0)
    assert (found[2].precision.value, found[2].recall.value) == (0.8, 0.8)
    assert (found[-2].precision.value, found[-2].recall.value) == (1.0, 0.75)
    assert found[3].precision.value is None and found[3].recall.value == 0.0
    assert (found[3].precision.low, found[3].precision.high) == (0.0, 1.0), "nothing is known"
    assert found[1].precision.low < 0.8 < found[1].precision.high
