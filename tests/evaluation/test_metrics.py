"""Metrics on cases small enough to work out by hand."""

import numpy as np
import pytest

from miml_core.evaluation import metrics

TAGS = np.array([[1, -1, 1, -1], [-1, 1, -1, -1]])
SCORES = np.array([[0.9, 0.8, 0.3, 0.1], [0.2, 0.1, 0.7, 0.05]])


def test_segments_of_unknown_class_are_not_counted():
    truth = [0, 1, -1, 1]
    assert metrics.instance_accuracy(truth, [0, 0, 0, 1]) == pytest.approx(2 / 3)
    # class 0: precision 1/2, recall 1; class 1: precision 1, recall 1/2; both F1 = 2/3
    assert metrics.macro_f1(truth, [0, 0, 5, 1]) == pytest.approx(2 / 3)


def test_a_class_that_only_the_prediction_has_does_not_count_as_one_more_class():
    assert metrics.macro_f1([0, 0], [0, 7]) == pytest.approx(2 / 3)


def test_the_background_column_never_wins():
    probabilities = [[0.1, 0.2, 0.7], [0.3, 0.1, 0.6]]
    assert metrics.predicted_classes(probabilities, 2).tolist() == [1, 0]


def test_key_segments():
    truth = [0, 1, -1, 1, 1]
    tags = [[1, 1], [1, 1]]
    scores = np.array([[0.9, 0.8], [0.1, 0.3], [1.0, 1.0], [0.5, 0.2], [0.1, 0.1]])
    # bag 0: class 0 found in segment 0 (right), class 1 in segment 0 (wrong); bag 1: class 1 right, class 0 has none
    assert metrics.key_instance_accuracy(truth, scores, [0, 3, 5], tags) == pytest.approx(2 / 3)
    assert np.isnan(metrics.key_instance_accuracy([-1], [[1.0]], [0, 1], [[1]]))


def test_probabilities():
    truth, p = [0, 1], np.array([[0.8, 0.2], [0.6, 0.4]])
    assert metrics.log_likelihood(truth, p) == pytest.approx((np.log(0.8) + np.log(0.4)) / 2)
    assert metrics.brier_score(truth, p) == pytest.approx((2 * 0.04 + 2 * 0.36) / 2)
    # one in the bin of 0.8 (right), one in the bin of 0.6 (wrong)
    assert metrics.calibration_error(truth, p) == pytest.approx((0.2 + 0.6) / 2)
    assert metrics.calibration_error([0] * 4 + [1], np.tile([0.8, 0.2], (5, 1))) == pytest.approx(0)
    assert metrics.log_likelihood([0], [[0.0, 1.0]]) == pytest.approx(np.log(1e-300))


def test_the_union_of_predicted_classes():
    tags = metrics.union_tags([0, 2, 2, 3, -2], [0, 2, 5], n_classes=3)
    assert tags.tolist() == [[True, False, True], [False, False, True]]


def test_rankings_of_tags():
    # bag 0: present 0, 2; ranks 0:1 1:2 2:3 3:4. Wrong pairs: (2, 1) of 4. bag 1: present 1, rank 3; wrong pairs 2 of 3
    assert metrics.ranking_loss(TAGS, SCORES) == pytest.approx((1 / 4 + 2 / 3) / 2)
    assert metrics.average_precision(TAGS, SCORES) == pytest.approx(((1 + 2 / 3) / 2 + 1 / 3) / 2)
    assert metrics.one_error(TAGS, SCORES) == pytest.approx(1 / 2)
    assert metrics.coverage(TAGS, SCORES) == pytest.approx((2 / 4 + 2 / 4) / 2)
    assert metrics.ranking_loss([[1, -1]], [[0.5, 0.5]]) == 1


def test_bags_without_an_order_are_left_out_of_rankings():
    more = np.vstack([TAGS, [[1, 1, 1, 1], [-1, -1, -1, -1], [1, 0, -1, -1]]])
    scores = np.vstack([SCORES, np.zeros((3, 4))])
    for measure in (metrics.ranking_loss, metrics.average_precision, metrics.one_error, metrics.coverage):
        assert measure(more, scores) == pytest.approx(measure(TAGS, SCORES))
        assert np.isnan(measure(more[2:], scores[2:]))


def test_hamming_loss_leaves_out_what_is_not_known():
    assert metrics.hamming_loss([[1, -1, 0], [-1, -1, 1]], [[1, 1, 1], [0, 0, 1]]) == pytest.approx(1 / 5)
    found = metrics.bag_measures(TAGS, SCORES, SCORES > 0.5)
    assert found["hamming_loss"] == pytest.approx(4 / 8)
    assert set(found) == {"hamming_loss", "ranking_loss", "average_precision", "one_error", "coverage"}
