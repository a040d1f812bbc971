"""Labels of segments: corrections, accepted predictions, and what the model learns from them."""

from __future__ import annotations

import numpy as np
import pytest

from miml_core.bags import BACKGROUND, UNKNOWN
from miml_core.errors import BagtagError
from miml_core.project import Gone, Project
from tests.project.conftest import store_run


def test_a_correction_adds_the_tag_in_the_same_act_and_undo_takes_both_back(small: Project) -> None:
    small.tag(1, 2)
    small.finish(1)
    segment = small.segments(1)[0]
    result = small.correct(segment.id, 1)
    assert result.touched == [segment.id]
    assert small.bag(1).tags == {1: 1, 2: 1}
    assert small.segment(segment.id).label == 1
    small.undo()
    assert small.bag(1).tags == {2: 1}
    assert small.segment(segment.id).label is None
    small.redo()
    assert small.bag(1).tags == {1: 1, 2: 1}
    assert small.segment(segment.id).label == 1


def test_labels_reach_the_bagset(small: Project) -> None:
    first, second, third, *_ = small.segments(1)
    small.correct(first.id, 2)
    small.correct([second.id, third.id], BACKGROUND)
    bags, index = small.bagset()
    labels = dict(zip(index.segment_ids.tolist(), bags.labels.tolist()))
    column = index.class_ids.index(2)
    assert labels[first.id] == column
    assert labels[second.id] == labels[third.id] == BACKGROUND
    assert sum(label != UNKNOWN for label in labels.values()) == 3


def test_a_label_can_be_taken_back(small: Project) -> None:
    segment = small.segments(1)[0]
    small.correct(segment.id, 1)
    small.correct(segment.id, None)
    assert small.segment(segment.id).label is None
    assert small.bag(1).n_reviewed == 0
    assert small.bag(1).tags == {1: 1}, "the person may still mean the tag"


def test_accepting_confirms_what_is_predicted(predicted: Project) -> None:
    segments = predicted.segments(1)
    predicted.accept(segments[0].id)
    seen = predicted.segment(segments[0].id)
    assert seen.label == 1 and seen.accepted and seen.annotator == "Ann"
    predicted.correct(segments[1].id, 2)
    predicted.accept_bag(1)
    labels = [segment.label for segment in predicted.segments(1)]
    assert labels == [1, 2, 1, 1, 1], "what a person said before stays"
    assert predicted.bag(1).n_reviewed == 5
    predicted.undo()
    assert [segment.label for segment in predicted.segments(1)] == [1, 2, None, None, None]


def test_nothing_to_accept_without_a_prediction(small: Project) -> None:
    with pytest.raises(BagtagError, match="train a model first"):
        small.accept(small.segments(1)[0].id)
    with pytest.raises(BagtagError, match="train a model first"):
        small.accept_bag(1)


def test_a_deleted_segment_cannot_be_corrected(small: Project) -> None:
    segment = small.segments(1)[0]
    small.delete(segment.id)
    with pytest.raises(Gone):
        small.correct(segment.id, 1)


def test_a_changed_mind_does_not_change_what_had_been_predicted(predicted: Project) -> None:
    segment = predicted.segments(1)[0]
    predicted.correct(segment.id, 2, sampled=True)
    assert predicted.sample_accuracy().n_right == 0
    store_run(predicted, lambda n: np.tile([0.0, 1.0, 0.0, 0.0], (n, 1)))
    predicted.correct(segment.id, 3)
    assert predicted.sample_accuracy(0).n == 1
    assert predicted.sample_accuracy(0).n_right == 0
