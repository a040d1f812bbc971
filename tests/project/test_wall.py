"""Which segments a wall shows, in which order, and what it shows of them."""

from __future__ import annotations

import numpy as np
import pytest

from miml_core.bags import BACKGROUND
from miml_core.errors import BagtagError
from miml_core.project import Project
from miml_core.project.queries.wall import WallQuery
from tests.project.conftest import store_run

WREN, ROBIN, OWL = 1, 2, 3


def mixed(n: int) -> np.ndarray:
    """Predict Wren with .5, .6, .7, .8 and .9 in every five segments, and the background for the last one."""
    wren = np.tile([0.5, 0.6, 0.7, 0.8, 0.9], n // 5)
    table = np.column_stack([wren, 1 - wren - 0.05, np.zeros(n), np.full(n, 0.05)])
    table[-1] = [0.1, 0.1, 0.1, 0.7]
    return table


@pytest.fixture
def predicted(small: Project) -> Project:
    store_run(small, mixed, mixed)
    return small


def ids(project: Project, **query: object) -> list[int]:
    found = project.review.wall_ids(WallQuery(**query))  # type: ignore[arg-type]
    assert project.review.wall_size(WallQuery(**query)) == len(found)  # type: ignore[arg-type]
    return found


def test_doubtful_first_or_sure_first(predicted: Project) -> None:
    assert ids(predicted, predicted=WREN) == [1, 6, 2, 7, 3, 8, 4, 9, 5]
    assert ids(predicted, predicted=WREN, order="sure") == [5, 4, 9, 3, 8, 2, 7, 1, 6]
    assert ids(predicted, predicted=BACKGROUND) == [10] and ids(predicted, predicted=OWL) == []
    with pytest.raises(BagtagError, match="choose another list"):
        ids(predicted, predicted=WREN, order="backwards")


def test_labels_move_a_segment_between_the_lists(predicted: Project) -> None:
    predicted.edits.accept([1, 10])
    predicted.edits.set_label(2, ROBIN)
    predicted.edits.set_label(7, WREN)
    predicted.edits.accept_above(0.85)
    assert ids(predicted, predicted=WREN) == [6, 3, 8, 4, 9]
    assert ids(predicted, predicted=WREN, show="checked") == [1, 7]
    assert ids(predicted, predicted=WREN, show="threshold") == [5]
    assert sorted(ids(predicted, predicted=WREN, show="all")) == [1, 3, 4, 5, 6, 7, 8, 9]
    assert ids(predicted, predicted=ROBIN, show="checked") == [2]
    assert ids(predicted, predicted=BACKGROUND, show="checked") == [10]
    predicted.edits.delete([6, 7])
    assert ids(predicted, predicted=WREN, show="all") == [1, 3, 8, 4, 9, 5]


def test_counts_for_the_choice_of_a_class_equal_the_lists(predicted: Project) -> None:
    predicted.edits.accept([1, 10])
    predicted.edits.set_label(2, ROBIN)
    predicted.edits.accept_above(0.75)
    for one in predicted.review.wall_classes():
        counts = {"open": one.n_open, "unsure": one.n_unsure, "checked": one.n_checked, "threshold": one.n_threshold}
        assert {show: len(ids(predicted, predicted=one.label, show=show)) for show in counts} == counts
    assert {one.label for one in predicted.review.wall_classes()} == {WREN, ROBIN, BACKGROUND}


def test_a_best_guess_below_the_threshold_is_in_a_list_of_its_own(predicted: Project) -> None:
    predicted.review.set_sure_from(0.75)
    assert ids(predicted, predicted=WREN) == [4, 9, 5]
    assert ids(predicted, predicted=WREN, show="unsure") == [1, 6, 2, 7, 3, 8]
    assert ids(predicted, predicted=WREN, show="all") == [1, 6, 2, 7, 3, 8, 4, 9, 5]
    assert ids(predicted, predicted=BACKGROUND, show="unsure") == [10]
    (wren,) = [one for one in predicted.review.wall_classes() if one.label == WREN]
    assert (wren.n_open, wren.n_unsure) == (3, 6)
    predicted.edits.accept_above(0.65)  # some of these have a label, and none is sure
    (wren,) = [one for one in predicted.review.wall_classes() if one.label == WREN]
    assert (wren.n_open, wren.n_unsure, wren.n_threshold) == (0, 4, 5)


def test_a_given_list_keeps_its_order_and_loses_what_is_gone(predicted: Project) -> None:
    predicted.edits.delete(3)
    assert ids(predicted, segments=(9, 3, 1, 77, 5)) == [9, 1, 5]
    items = predicted.review.wall(WallQuery(segments=(9, 3, 1, 5)), offset=1, limit=2)
    assert [item.segment_id for item in items] == [1, 5]


def test_items_have_place_label_and_likeliest_classes(predicted: Project) -> None:
    predicted.edits.set_label(7, OWL)
    first, second = predicted.review.wall_items([7, 77, 1])
    assert (first.segment_id, first.bag_id, first.number, first.bag) == (7, 2, 2, "clip 1.wav")
    assert (first.label, first.accepted, first.checked_by) == (OWL, False, "eye")
    assert (first.left, first.right, first.low, first.high) == (1.0, 1.8, 5000.0, 7000.0)
    assert [label for label, _ in second.guesses] == [WREN, ROBIN, BACKGROUND]
    assert second.guesses[0][1] == pytest.approx(0.5, abs=1e-3)
    assert second.label is None and second.checked_by is None
