"""Review: orderings, the interval of an accuracy, tag suggestions."""

from __future__ import annotations

import numpy as np
import pytest

from miml_core.intervals import wilson_interval
from miml_core.review.queue import shuffled, top_two
from miml_core.review.suggestions import rank_tags


@pytest.mark.parametrize(("confidence", "z"), [(0.95, 1.959964), (0.9, 1.644854)])
@pytest.mark.parametrize("right", [0, 3, 10])
def test_the_interval_is_wilsons(right: int, confidence: float, z: float) -> None:
    n, share = 10, right / 10
    centre, half = share + z**2 / (2 * n), z * (share * (1 - share) / n + z**2 / (4 * n**2)) ** 0.5
    low, high = wilson_interval(right, n, confidence)
    assert (low, high) == pytest.approx(((centre - half) / (1 + z**2 / n), (centre + half) / (1 + z**2 / n)))


def test_an_empty_sample_has_the_full_interval() -> None:
    assert wilson_interval(0, 0) == (0.0, 1.0)


def test_top_two_agrees_with_sorting() -> None:
    probabilities = np.random.default_rng(0).dirichlet(np.ones(6), size=50)
    top, probability, margin = top_two(probabilities)
    ordered = np.sort(probabilities, axis=1)
    assert (top == probabilities.argmax(axis=1)).all()
    assert probability == pytest.approx(ordered[:, -1])
    assert margin == pytest.approx(ordered[:, -1] - ordered[:, -2])
    assert top_two(np.array([[0.4]]))[2] == pytest.approx([0.4])


def test_the_shuffle_is_fair_and_stays_the_same() -> None:
    ids = np.arange(1, 20_001)
    places = shuffled(ids)
    assert len(set(places.tolist())) == len(ids) and (places >= 0).all()
    assert (shuffled(ids[500:510]) == places[500:510]).all(), "an id keeps its place whatever else there is"
    first = ids[np.argsort(places)[:2000]]
    assert np.mean(first) == pytest.approx(10_000, abs=4 * 20_000 / np.sqrt(12 * 2000))
    assert np.mean(first % 2) == pytest.approx(0.5, abs=0.05)


def test_suggestions_leave_out_what_is_decided_and_join_merged_classes() -> None:
    ranked = rank_tags(np.array([0.2, 0.9, 0.5, np.nan, 1.7]), [1, 2, 1, 3, 4], decided={2})
    assert ranked == [(4, 1.0), (1, 0.5)]
