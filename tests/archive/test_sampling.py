"""Stratified samples: inclusion probabilities, spread, and intervals that cover the truth."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.bench_coverage import CLASSES, MEANS, RIGHT, simulate
from miml_core.archive.sampling import (
    EDGES,
    Stratum,
    allocate,
    draw_sample,
    draw_systematic,
    estimate_classes,
    estimate_share,
)
from miml_core.errors import BagtagError

REPEATS = 1000
NOISE = 0.015
"""Two standard errors of a simulated coverage near 95 %."""


@pytest.mark.parametrize("calibration", RIGHT)
def test_intervals_cover_the_truth(calibration):
    found = [
        one
        for class_kind in CLASSES
        for answers in (20, 50)
        for one in simulate(class_kind, calibration, answers, REPEATS, seed=answers)
    ]
    assert min(one.share for one in found) >= 0.93 - NOISE
    counts = np.array([one.share for one in found if one.first == 0 and "common" in one.class_kind])
    assert counts.max() <= 0.97 + NOISE and 0.94 <= counts.mean() <= 0.97
    assert all(one.share <= 0.97 + NOISE for one in found if one.answers > 40 and "common" in one.class_kind)
    alike = [one for one in found if one.alike > 0.5]
    assert all(one.share > 0.95 and 0 < one.width < 0.7 for one in alike), "cautious, not empty"


def test_more_answers_make_narrower_intervals():
    widths = [simulate("common, evenly spread", "calibrated", n, 200)[0].width for n in (20, 50, 100, 400)]
    assert widths == sorted(widths, reverse=True) and widths[3] < 0.6 * widths[1]


def test_estimates_have_no_bias():
    sizes, shares = CLASSES["common, mostly sure"], RIGHT["overconfident"]
    rng = np.random.default_rng(0)
    drawn = allocate(sizes, MEANS, 100)
    right = np.round(sizes * shares).astype(int)
    hits = rng.hypergeometric(right, sizes - right, drawn, (20_000, len(sizes)))
    value, _, _ = estimate_share(sizes, drawn, hits)
    assert value.mean() == pytest.approx(right.sum() / sizes.sum(), abs=0.002)


def test_all_items_answered_leave_no_doubt():
    value, low, high = estimate_share([10, 4], [10, 4], [7, 4])
    assert value == low == high == pytest.approx(11 / 14)


def test_strata_without_answers_are_left_out_and_no_answers_are_nan():
    value, low, high = estimate_share([100, 100], [0, 20], [0, 20])
    assert value == 1.0 == high and 0.7 < low < 1.0
    assert all(np.isnan(part) for part in estimate_share([100], [0], [0]))


def test_every_detection_is_as_likely():
    rng = np.random.default_rng(0)
    counts = np.zeros(37)
    for _ in range(20_000):
        places = draw_systematic(37, 8, rng)
        assert len(set(places.tolist())) == 8
        counts[places] += 1
    np.testing.assert_allclose(counts / 20_000, 8 / 37, atol=0.015)


def test_a_sample_is_spread_over_classes_bins_sites_and_days():
    rng = np.random.default_rng(1)
    n = 20_000
    class_of = rng.integers(-1, 3, n)
    probability = rng.beta(5, 1, n)
    place_of = rng.integers(0, 30, n)
    strata, chosen, stratum_of = draw_sample(["a", "b", "c"], class_of, probability, place_of, 60, seed=3)
    assert len(chosen) == len(set(chosen.tolist())) == 180 and (class_of[chosen] >= 0).all()
    assert [one.class_name for one in strata] == sorted(one.class_name for one in strata)
    for number, one in enumerate(strata):
        rows = chosen[stratum_of == number]
        assert len(rows) == one.drawn >= min(3, one.size)
        assert (probability[rows] >= one.low).all()
        assert {("a", "b", "c")[k] for k in class_of[rows]} == {one.class_name}
    assert sum(one.size for one in strata) == np.count_nonzero(class_of >= 0)
    largest = max(range(len(strata)), key=lambda k: strata[k].drawn)
    assert len(set(place_of[chosen[stratum_of == largest]].tolist())) >= 0.7 * strata[largest].drawn
    again = draw_sample(["a", "b", "c"], class_of, probability, place_of, 60, seed=3)
    np.testing.assert_array_equal(again[1], chosen)
    with pytest.raises(BagtagError, match="nothing to sample"):
        draw_sample(["a"], np.full(3, -1), np.ones(3), np.zeros(3, int), 5)


@pytest.mark.parametrize("n", [1, 7, 50, 500])
def test_allocation_uses_the_whole_sample(n):
    sizes = np.array([2, 900, 30, 5])
    drawn = allocate(sizes, [0.1, 0.5, 0.9, 0.99], n)
    assert (drawn <= sizes).all() and (drawn >= np.minimum(sizes, 3)).all()
    assert drawn.sum() == max(min(n, sizes.sum()), 2 + 3 + 3 + 3)


def test_classes_thresholds_and_hidden_detections():
    strata = [Stratum("wren", 0.4, 1000, 20), Stratum("wren", 0.9, 4000, 20), Stratum("robin", 0.9, 500, 10)]
    stratum_of = np.repeat([0, 1, 2], [20, 20, 10])
    answers = ["wren"] * 10 + ["robin"] * 6 + [""] * 4 + ["wren"] * 19 + [None] + ["robin"] * 8 + ["wren"] * 2
    wren, robin = estimate_classes(strata, stratum_of, answers)
    assert (wren.detections, wren.drawn, wren.answered, robin.answered) == (5000, 40, 39, 10)
    assert wren.correct.value == pytest.approx(1000 * 0.5 + 4000)
    assert wren.of_class.value == pytest.approx(1000 * 0.5 + 4000 + 500 * 0.2)
    assert robin.of_class.value == pytest.approx(1000 * 0.3 + 500 * 0.8) and robin.correct.value == pytest.approx(400)
    (t1, n1, p1), (t2, n2, p2) = wren.thresholds
    assert (t1, n1, t2, n2) == (0.4, 5000, 0.9, 4000) and p1.value == pytest.approx(0.9) and p2.value == 1.0
    assert p2.low < 1.0 and wren.threshold_for(0.8) in (0.4, 0.9) and wren.threshold_for(0.99) is None
    assert set(EDGES) >= {t1, t2}
