"""Reliability diagrams: bins, the calibration error, intervals."""

import numpy as np
import pytest

from miml_core.evaluation.reliability import expected_calibration_error, reliability


def test_bins_hold_every_prediction_once() -> None:
    rng = np.random.default_rng(0)
    probability = np.concatenate([rng.uniform(0.1, 1.0, 500), [0.0, 1.0]])
    right = rng.uniform(size=502) < probability
    found = reliability(probability, right)
    assert sum(one.count for one in found) == 502
    assert sum(one.count * one.share_right for one in found) == pytest.approx(right.sum())
    assert all(one.low <= one.mean_probability <= one.high for one in found)
    assert all(one.interval[0] <= one.share_right <= one.interval[1] for one in found)


def test_honest_probabilities_have_a_small_error_and_extreme_ones_a_large_one() -> None:
    rng = np.random.default_rng(1)
    probability = rng.uniform(0.3, 1.0, 20_000)
    right = rng.uniform(size=20_000) < probability
    assert expected_calibration_error(probability, right) < 0.02
    assert expected_calibration_error(np.ones(20_000), right) == pytest.approx(1 - right.mean())


def test_empty_bins_are_left_out() -> None:
    assert [one.low for one in reliability([0.05, 0.95], [False, True], bins=2)] == [0.0, 0.5]
    assert reliability([], []) == []
    assert np.isnan(expected_calibration_error([], []))
